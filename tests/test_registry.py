"""The registry, and the index, which contains what is known about benchmarks so that they need not be imported."""

from __future__ import annotations

from asct.registry import INDEX, Registry, describe, index_text, installed


def test_the_index_is_up_to_date() -> None:
    current = index_text()
    assert INDEX.read_text(encoding="utf-8") == current, "asct/benchmarks/index.json is out of date: run `make index`"


def test_the_index_describes_benchmarks_as_they_are() -> None:
    assert installed().infos == [describe(item) for item in Registry().all()]


def test_values_are_written_as_in_a_plan() -> None:
    found = installed().info("sids")
    assert found is not None and found.name == "storage-io-depth-sweep"
    written = {name: found.setting(name) for name in ("bs", "runtime", "direct", "iodepth_sweep_steps", "file_names")}
    values = {"bs": 4096, "runtime": 90.0, "direct": True, "iodepth_sweep_steps": [1, 2], "file_names": []}
    texts = {name: setting.format_value(values[name]) for name, setting in written.items() if setting is not None}
    assert texts == {"bs": "4K", "runtime": "1m30s", "direct": "true", "iodepth_sweep_steps": "1,2", "file_names": "-"}
    assert found.setting("nope") is None and installed().info("nope") is None
