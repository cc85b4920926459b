"""Reading settings with the models of benchmarks, including models that validate several settings together."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import field_validator, model_validator

from asct.plan.load import load_plan
from asct.planner.model import Job
from asct.planner.resolve import Resolution, resolve
from asct.planner.settings import InvalidSettings, Settings
from asct.sdk.params import Duration, Params, Size, setting
from tests.planner.building import job
from tests.planner.fakes import Depth, Disk, FakeCatalog, Levels


class RequiredParams(Params):
    """A setting without a default."""

    size: Size = setting(..., "Must be given")
    half: Size | None = setting(None, "Another")
    pause: list[Duration] | None = setting(None, "Durations inside a list")


class AcrossParams(Params):
    """A setting that depends on another one, and a rule that involves two settings."""

    size: Size = setting(4096, "Bytes")
    half: Size | None = setting(None, "Follows from size")
    mode: Literal["a", "b"] = setting("a", "One of two")

    @field_validator("mode", mode="before")
    @classmethod
    def _lower(cls, value: Any) -> Any:
        return value.lower() if isinstance(value, str) else value

    @model_validator(mode="before")
    @classmethod
    def _derive(cls, values: dict[str, Any]) -> dict[str, Any]:
        if isinstance(values.get("size"), int) and values.get("half") is None:
            return {**values, "half": values["size"] // 2}
        return values

    @model_validator(mode="after")
    def _rule(self) -> AcrossParams:
        if self.mode == "b" and self.size > 8192:
            raise ValueError("mode b holds 8 KiB at most")
        return self


class Across(Levels):
    """A benchmark with such settings."""

    name = "across"
    params_model = AcrossParams
    aliases = ()
    results = ()

    def needs(self, params: Any, facts: Any) -> Any:
        raise AssertionError("not asked for without limits")


class Required(Across):
    """A benchmark with a required setting."""

    name = "required"
    params_model = RequiredParams


def run(text: str) -> Resolution:
    loaded = load_plan(Path("plan.yaml"), text=f"{text}\nname: t\nplan: 1\n")
    assert loaded.plan is not None, loaded.diagnostics
    return resolve(loaded.plan, FakeCatalog(Across(), Required(), Disk()))


def only(text: str) -> Job:
    found = run(text)
    assert found.plan is not None, found.diagnostics
    return found.plan.jobs[0]


def test_what_a_model_derives_belongs_to_the_point() -> None:
    points = only("benchmarks: [{uses: across, sweep: {size: [4K, 8K]}}]").points
    assert [point.settings["half"] for point in points] == [2048, 4096]


def test_a_swept_setting_is_what_the_model_makes_of_it() -> None:
    points = only("benchmarks: [{uses: across, config: {size: 4K}, sweep: {mode: [A, b]}}]").points
    assert [point.swept["mode"] for point in points] == ["a", "b"]


def test_a_missing_setting_is_told_at_the_entry() -> None:
    found = run("benchmarks:\n  - {uses: required}").diagnostics
    assert [item.code for item in found] == ["E209"] and "`size`" in found[0].message and found[0].span is not None
    assert found[0].span.line == 2


def test_a_rule_about_several_settings_is_told_in_its_own_words() -> None:
    found = run("benchmarks: [{uses: across, config: {mode: b}, sweep: {size: [4K, 64K]}}]").diagnostics
    assert [item.message for item in found] == ["mode b holds 8 KiB at most"]


def test_durations_inside_a_list_need_units_too() -> None:
    text = "benchmarks: [{uses: required, config: {size: 4K, pause: [1s, 3]}}]"
    found = run(text).diagnostics
    assert found[0].message == "`pause`: `3` needs a unit"
    assert found[0].span is not None and text[found[0].span.column - 1] == "3"


def test_values_in_a_required_models_field_are_read_alone() -> None:
    reader = Settings(Required())
    assert reader.read("pause", ["1s", "500ms"], from_plan=True) == [1.0, 0.5]
    with pytest.raises(InvalidSettings) as caught:
        reader.read("half", "4q")
    assert caught.value.problems[0].setting == "half"


def test_defaults_are_canonical() -> None:
    assert Settings(Depth()).defaults["iodepth_sweep_steps"] == [1, 2, 4]
    assert "size" not in Settings(Required()).defaults


def test_a_list_setting_can_be_swept() -> None:
    points = job("benchmarks: [{uses: disk, sweep: {filename: [[/a], [/a, /b]]}}]").points
    assert [point.settings["file_names"] for point in points] == [["/a"], ["/a", "/b"]]


def test_settings_come_back_through_the_model() -> None:
    text = "benchmarks: [{uses: depth, config: {bs: 64K, runtime: 1m30s, filename: [/x]}}]"
    for point in job(text).points:
        params = Depth.params_model.model_validate(point.settings)
        assert params.model_dump(mode="json", exclude={"iodepth_sweep_steps"}) == point.settings


def test_an_included_setting_that_waits_elsewhere() -> None:
    text = """
benchmarks:
  - levels
  - id: d
    uses: disk
    needs: {c: levels}
    config: {block_size: "${needs.c.dram.optimum_size}"}
    sweep: {iodepth: [1], include: [{iodepth: 2, block_size: 8K}]}
"""
    first, second = job(text, "d").points
    assert second.settings["block_size"] == 8192
    assert first.settings["block_size"] == first.swept["block_size"] and first.settings["block_size"].aliases == ("c",)
