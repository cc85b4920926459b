from __future__ import annotations

import re
from pathlib import Path

import pytest

from asct.diagnostics.codes import all_codes, lookup
from asct.plan.load import load_plan
from asct.planner.resolve import resolve
from asct.registry import installed

PACKAGE = Path(__file__).parents[2] / "asct"
SECTIONS = ("## Example", "## Fix")
EXAMPLES = re.compile(r"^```yaml\n(plan: .*?)^```$", re.MULTILINE | re.DOTALL)


def test_each_code_in_the_source_has_a_file_and_each_file_is_used() -> None:
    paths = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("errors.yaml")]
    sources = (path.read_text(encoding="utf-8") for path in paths)
    assert {code for text in sources for code in re.findall(r"\bE[1-9][0-9]{2}\b", text)} == set(all_codes())


@pytest.mark.parametrize("code", all_codes())
def test_a_code_has_a_title_an_explanation_an_example_and_a_fix(code: str) -> None:
    found = lookup(code)
    assert found is not None
    assert re.fullmatch(r"E[1-9][0-9]{2}", code)
    assert found.title and not found.title.endswith(".") and not found.title.startswith("#")
    meaning, *sections = re.split(r"^(?=## )", found.text, flags=re.MULTILINE)
    assert len(meaning.strip()) > 20
    assert [section.split("\n")[0] for section in sections] == list(SECTIONS)
    assert all(len(section.split("\n", 1)[1].strip()) > 10 for section in sections)


@pytest.mark.parametrize("code", [code for code in all_codes() if EXAMPLES.search(lookup(code).text)])
def test_a_plan_as_example_produces_its_code_and_its_fix_is_valid(code: str) -> None:
    wrong, *fixed = (_codes(plan) for plan in EXAMPLES.findall(lookup(code).text))
    assert wrong == {code}
    assert all(found == set() for found in fixed)


def _codes(text: str) -> set[str]:
    loaded = load_plan(Path("lab.yaml"), text=text)
    plan = loaded.plan or loaded.partial
    resolved = resolve(plan, installed()).diagnostics if plan else ()
    return {item.code for item in (*loaded.diagnostics, *resolved)}


@pytest.mark.parametrize("code", ["E000", "E1", "E1000", "101", "../E101", "E1\n1"])
def test_an_unknown_code(code: str) -> None:
    assert lookup(code) is None
