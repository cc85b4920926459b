"""Diagnostics of `asct run` suggest only what works without a plan file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from asct.diagnostics.model import Diagnostic
from asct.diagnostics.wording import PHRASES, WITHOUT_PLAN, for_run, wording_of

PACKAGE = Path(__file__).parents[2] / "asct"
MEASURING = ("engine", "hosts", "toolchain", "instruments", "benchmarks")
"""The packages whose diagnostics `asct run` may print after its plan has been resolved."""


def texts(*folders: str) -> Iterator[str]:
    """Yield all strings in the source code that are not docstrings, with `?` in place of computed parts."""
    for path in (path for folder in folders for path in (PACKAGE / folder).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
                yield node.value
    for path in (path for folder in folders for path in (PACKAGE / folder).rglob("errors.yaml")):
        yield from strings(yaml.safe_load(path.read_text(encoding="utf-8")))


def strings(value: object) -> Iterator[str]:
    """Yield all strings in a YAML document that are not keys, with `x` in place of computed parts."""
    if isinstance(value, str):
        yield re.sub(r"\{[^}]*\}", "x", value)
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(item)


def test_each_phrase_occurs_in_a_diagnostic() -> None:
    found = "\n".join(texts("engine", "hosts", "planner", "store", "toolchain"))
    assert [phrase for phrase, _ in PHRASES if phrase not in found] == []


def test_no_hint_after_the_plan_is_resolved_names_a_key_of_a_plan() -> None:
    hints = {text for text in texts(*MEASURING) if "`" in text and " " in text and "\n" not in text}
    reworded = [for_run(Diagnostic("E601", "", hint=text)).hint for text in hints]
    assert len(reworded) > 100
    assert [text for text in reworded if "safety.destroys`" in text or "` in the plan" in text] == []


def test_no_message_of_a_check_of_targets_names_a_key_of_a_plan() -> None:
    """These messages come from a program on the host and are shown as they are; the hints name the remedy."""
    sources = (PACKAGE.parent / "kernels" / "guard").glob("*.c")
    found = [text for path in sources for text in re.findall(r"\bcheck\([^;]*\);", path.read_text(encoding="utf-8"))]
    assert len(found) > 50
    assert [text for text in found if "`" in text] == []


@pytest.mark.parametrize(("device", "serial"), [("/dev/loop0", "BACKING_FILE"), ("/dev/disk/by-id/nvme-X", "SERIAL")])
def test_a_suggested_consent_has_the_form_that_the_device_needs(device: str, serial: str) -> None:
    message = f"`disk` would overwrite {device} on local without consent"
    found = for_run(Diagnostic("E251", message, hint="add host, device and serial to `safety.destroys`"))
    assert found.hint == f"add `--destroys local:{device}:{serial}`"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "unknown host `g`; `destroys` does not accept groups or patterns",
            "unknown host `g`; `--destroys` accepts one host, not a group or pattern",
        ),
        ("`serial` in `destroys` is a template", "`serial` in `--destroys` is a template"),
        ("set `serial` to the path of its backing file", "write the path of its backing file as SERIAL"),
    ],
)
def test_consent_is_named_as_an_option(text: str, expected: str) -> None:
    assert for_run(Diagnostic("E250", text)).message == expected


def test_a_hint_names_the_run_to_resume() -> None:
    found = Diagnostic("E610", "lost", hint="`asct resume` measures the rest")
    for plan, folder, command in [
        (WITHOUT_PLAN, "data.1", "asct resume data.1"),
        (WITHOUT_PLAN, "my data", "asct resume 'my data'"),
        ("p.yaml", "results/p/1", "asct resume"),
        ("p.yaml", "/srv/results/p/1", "asct resume /srv/results/p/1"),
    ]:
        assert wording_of(plan, Path(folder))(found).hint == f"`{command}` measures the rest"


def test_the_run_of_someone_else_is_not_resumed_by_its_folder() -> None:
    from asct.hosts.errors import host_locked

    found = host_locked("a", "run x of root", "1", "5")
    assert wording_of(WITHOUT_PLAN, Path("data.1"))(found).hint == found.hint


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("change `iodepth` in the plan", "change it with `--user-config BENCHMARK.iodepth=VALUE`"),
        ("reduce the sweep, or raise the limit: `limits: {points: 9}`", "reduce the sweep"),
    ],
)
def test_settings_and_limits(hint: str, expected: str) -> None:
    assert for_run(Diagnostic("E601", "", hint=hint)).hint == expected
