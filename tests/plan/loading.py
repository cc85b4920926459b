"""Loads plans for the tests: from a text, from a folder of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from asct.diagnostics.model import Diagnostic
from asct.plan.load import load_plan
from asct.plan.model import Loaded, Plan

HEAD = "plan: 1\nname: t\n"
"""Two lines; what a test adds begins on line 3."""
BODY = HEAD + "benchmarks: [noop]\n"
"""Three lines."""


def load(text: str, *, profile: str | None = None, sets: Sequence[str] = ()) -> Loaded:
    """A plan of this text that stands in no file."""
    return load_plan(Path("p.yaml"), profile=profile, sets=sets, text=text)


def plan_of(text: str, *, profile: str | None = None, sets: Sequence[str] = ()) -> Plan:
    """The plan of a text without errors."""
    loaded = load(text, profile=profile, sets=sets)
    assert not loaded.diagnostics, [item.message for item in loaded.diagnostics]
    assert loaded.plan is not None
    return loaded.plan


def load_folder(folder: Path, files: Mapping[str, str], main: str = "p.yaml") -> Loaded:
    """A plan in a folder with these files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return load_plan(folder / main)


def where(item: Diagnostic) -> str:
    """`E104 p.yaml:3:1` with the file's own name."""
    if item.span is None:
        return item.code
    return f"{item.code} {Path(item.span.file).name}:{item.span.line}:{item.span.column}"
