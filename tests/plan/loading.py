"""Load plans for the tests, from text or from a folder of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from asct.diagnostics.model import Diagnostic
from asct.plan.findings import Findings
from asct.plan.load import load_plan
from asct.plan.model import Loaded, Node, Plan
from asct.plan.nodes import parse_yaml

HEAD = "plan: 1\nname: t\n"
"""Two lines. What a test adds begins on line 3."""
BODY = HEAD + "benchmarks: [noop]\n"
"""Three lines."""


def node_of(text: str) -> Node:
    """Return the node in a text, which must be valid YAML."""
    node = parse_yaml(text, "f", Findings())
    assert node is not None
    return node


def load(text: str, *, profile: str | None = None, sets: Sequence[str] = ()) -> Loaded:
    """Load a plan from this text, which is not in any file."""
    return load_plan(Path("p.yaml"), profile=profile, sets=sets, text=text)


def plan_of(text: str, *, profile: str | None = None, sets: Sequence[str] = ()) -> Plan:
    """Return the plan in a text, which must have no errors."""
    loaded = load(text, profile=profile, sets=sets)
    assert not loaded.diagnostics, [item.message for item in loaded.diagnostics]
    assert loaded.plan is not None
    return loaded.plan


def load_folder(folder: Path, files: Mapping[str, str], main: str = "p.yaml") -> Loaded:
    """Load a plan from a folder that contains these files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return load_plan(folder / main)


def where(item: Diagnostic) -> str:
    """Return `E104 p.yaml:3:1`, with the file name but not its folder."""
    if item.span is None:
        return item.code
    return f"{item.code} {Path(item.span.file).name}:{item.span.line}:{item.span.column}"
