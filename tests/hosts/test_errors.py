"""The diagnostics of transports: the calls match the entries, which no type checker can verify."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from asct.hosts import errors

FOLDER = Path(errors.__file__).parent
PLACES = sorted(FOLDER.rglob("errors.yaml"))


def called(path: Path) -> Iterator[tuple[str, set[str], str]]:
    """Yield the name, the keywords and the location of each call of `problem` in a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        name = node.func if isinstance(node, ast.Call) else None
        if isinstance(name, ast.Attribute | ast.Name) and getattr(name, "attr", getattr(name, "id", "")) == "problem":
            kind = name.value.id if isinstance(name, ast.Attribute) else ""
            own = path.parent.name == "slurm" and not (path.name == "link.py" and kind == "errors")
            texts = FOLDER / "slurm" / "errors.yaml" if own else FOLDER / "errors.yaml"
            assert isinstance(node.args[0], ast.Constant), f"{path}:{node.lineno}: the name is not a constant"
            yield str(texts), {str(word.arg) for word in node.keywords} - {"hint"}, str(node.args[0].value)


def test_calls_give_the_values_that_the_texts_name() -> None:
    found = [call for path in FOLDER.rglob("*.py") for call in called(path)]
    assert len(found) > 50
    for texts, keywords, name in found:
        entry = errors.entries(texts)[name]
        named = {field for text in (entry["message"], entry["hint"]) for _, field, _, _ in Formatter().parse(text)}
        assert keywords == named - {None, "place"}, f"{texts}: {name}"


@pytest.mark.parametrize("texts", PLACES, ids=lambda path: path.parent.name)
def test_each_text_is_used(texts: Path) -> None:
    used = {name for path in FOLDER.rglob("*.py") for own, _, name in called(path) if own == str(texts)}
    assert used == set(errors.entries(str(texts)))
