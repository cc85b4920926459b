"""The shape of the code: sizes of files and functions, and modules without import cycles."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from asct.transports import transports

ROOT = Path(__file__).parents[1]
FILE_LINES, FUNCTION_LINES, C_LINES = 600, 60, 300
CODE = sorted((ROOT / "asct").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
KERNELS = sorted(path for ending in ("*.c", "*.h") for path in (ROOT / "kernels").rglob(ending))


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the name and the length of each function, without decorators."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


@pytest.mark.parametrize(("paths", "most"), [(CODE, FILE_LINES), (TESTS, FILE_LINES), (KERNELS, C_LINES)])
def test_files_are_short(paths: list[Path], most: int) -> None:
    assert len(paths) > 10
    assert {str(path.relative_to(ROOT)): lines_of(path) for path in paths if lines_of(path) > most} == {}


def test_functions_are_short() -> None:
    found = {f"{path.relative_to(ROOT)}:{name}": size for path in [*CODE, *TESTS] for name, size in functions(path)}
    assert {name: size for name, size in found.items() if size > FUNCTION_LINES} == {}


def test_class_names_are_unique() -> None:
    found = Counter(
        node.name
        for path in CODE
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in found.items() if count > 1] == []


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path, known: set[str]) -> set[str]:
    """Return the asct modules that a file imports when it is loaded, except imports for type checkers and within
    functions."""
    module, found = module_of(path), set()
    pending: list[ast.stmt] = list(ast.parse(path.read_text(encoding="utf-8")).body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{name.name}" for name in node.names} & known or {str(node.module)}
        elif isinstance(node, ast.Try):
            pending += node.body
    return (found & known) - {module}


def test_transports_do_not_import_one_another() -> None:
    """This includes transports that .importlinter does not list yet."""
    known = {f"asct.hosts.{name}" for name, _ in transports()}
    assert len(known) >= 3
    for path in CODE:
        if module_of(path) in known:
            assert imports_of(path, known) == set()


def test_no_modules_import_one_another_in_a_circle() -> None:
    known = {module_of(path) for path in CODE}
    graph = {module_of(path): imports_of(path, known) for path in CODE}
    assert sum(map(len, graph.values())) > len(graph)
    assert len(list(TopologicalSorter(graph).static_order())) == len(known)
