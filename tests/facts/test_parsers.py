"""All parsers on files that are truncated, missing or contain something else: fields may be unknown, but no exception
is raised."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asct.facts.cpu import processors
from asct.facts.exchange import COMMANDS, LASTING, PROBES, TRIAL
from asct.facts.files_snapshot import load
from asct.facts.reading import facts_of
from asct.facts.snapshot import CommandOutput, Snapshot
from asct.facts.sources import TOOLS
from asct.facts.unknown import UnknownFacts
from asct.sdk.facts import HostFacts
from tests.facts.made import snapshot
from tests.facts.shapes import SHAPES

WHEN = datetime(2026, 1, 2, tzinfo=UTC)
DATA = Path(__file__).parent / "data"
DUMPS = sorted(path.name for path in DATA.glob("*.tar.*"))
SAID = [*COMMANDS, *LASTING, *PROBES, *TRIAL, *(f"tool-{name}" for name in TOOLS)]

ODD = (
    "", " ", "\n\n", "\0", "-1", "-", "+1", "0", "4294967295", "18446744073709551616", "9" * 400, "0x",
    "0xffffffffffffffff", "1e400", "nan", "inf", "<unsupported>", "(null)", "none", "0-", "-3", "3-1", "0-4294967295",
    "0-2047", "0,,1", "1:2:3", "0-9:0", ",".join(["ffffffff"] * 3000), "ffffffff," * 3, "zz", "\ufffd\ufffd", "\u0663",
    "\u00b2", ":", "a" * 5000, "32Q", "0K", "-32K", "processor : 0", "processor : 99999",
    "processor : 0\nprocessor : 0",
)  # fmt: skip


@cache
def machine(name: str) -> Snapshot:
    return snapshot(SHAPES[name]()) if name in SHAPES else load(DATA / name)


def valid(facts: HostFacts) -> None:
    """Check that the facts conform to their schema, even after conversion to JSON and back."""
    text = facts.model_dump_json(by_alias=True)
    assert json.loads(text)["schema"] == "asct.facts/1"
    assert HostFacts.model_validate_json(text) == facts


def mutated(text: str) -> st.SearchStrategy[str]:
    """Return a strategy for the text with either end removed, a part removed, something inserted, or everything
    replaced."""
    at = st.integers(0, min(len(text), 4000))
    return st.one_of(
        st.sampled_from(ODD),
        st.text(max_size=60),
        at.map(lambda cut: text[:cut]),
        at.map(lambda cut: text[cut:]),
        st.tuples(at, st.integers(0, 20)).map(lambda cut: text[: cut[0]] + text[cut[0] + cut[1] :]),
        st.tuples(at, st.sampled_from(ODD)).map(lambda put: text[: put[0]] + put[1] + text[put[0] :]),
    )


@settings(max_examples=100)
@given(st.data())
def test_odd_texts_never_raise(data: st.DataObject) -> None:
    base = machine(data.draw(st.sampled_from([*DUMPS, *SHAPES])))
    files = dict(base.files)
    for path in data.draw(st.lists(st.sampled_from(sorted(files)), max_size=12)):
        files[path] = data.draw(mutated(base.files[path]))
    for path in data.draw(st.lists(st.sampled_from(sorted(files)), max_size=40)):
        files.pop(path, None)
    said = st.builds(CommandOutput, st.integers(0, 255), st.sampled_from(ODD) | st.text(max_size=60))
    commands = data.draw(st.dictionaries(st.sampled_from(SAID), said))
    valid(facts_of(Snapshot(files, commands), "h", WHEN))


@pytest.mark.parametrize("name", ["2arm-2c.tar.bz2", "hybrid"])
def test_every_kind_of_file_may_hold_anything(name: str) -> None:
    """Either one file of a kind or all files of the kind are replaced."""
    base = machine(name)
    kinds: dict[str, list[str]] = {}
    for path in base.files:
        kinds.setdefault(re.sub(r"\d+", "N", path), []).append(path)
    for paths in kinds.values():
        for number, odd in enumerate(ODD):
            changed = paths[-1:] if number % 2 else paths
            processors(Snapshot({**base.files, **dict.fromkeys(changed, odd)}), UnknownFacts())
        processors(Snapshot({path: text for path, text in base.files.items() if path not in paths}), UnknownFacts())


@pytest.mark.parametrize("name", [*DUMPS, *SHAPES])
def test_a_part_of_the_files_is_enough(name: str) -> None:
    """Each tenth of the files is missing in turn, and then each tenth is the only one present."""
    base = machine(name)
    paths = sorted(base.files)
    for part in range(10):
        chosen = set(paths[part::10])
        valid(facts_of(Snapshot({path: text for path, text in base.files.items() if path in chosen}), "h", WHEN))
        processors(Snapshot({path: text for path, text in base.files.items() if path not in chosen}), UnknownFacts())
