"""A benchmark, a transport, a report format and a command are found by their place: no line names them elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

import asct.benchmarks
import asct.cli.commands
import asct.export
import asct.hosts
from asct.cli.app import root
from asct.export import formats
from asct.hosts.opening import make_host, transports
from asct.plan.model import HostSpec
from asct.registry import Registry

BENCHMARK = """
from asct.sdk.benchmark import Benchmark
from asct.sdk.params import Params


class Added(Benchmark[Params]):
    name = "added"
    title = summary = "added"
    version = "1"
    params_model = Params
    needs = steps = parse = lambda *_: ()


BENCHMARK = Added()
"""
TRANSPORT = '"""Added: a transport."""\n\ndef make(spec, folder):\n    return f"host {spec.name}"\n'
FORMAT = (
    'NAME = "added"\nSUFFIX = ".txt"\nFILE = "added.txt"\nSUMMARY = "a format"\n\ndef render(view):\n    return ""\n'
)
COMMAND = (
    'import click\n\n@click.command("added")\ndef command():\n    """Added: a command."""\n    click.echo("ran")\n'
)


Lay = Callable[[ModuleType, str, str], None]


@pytest.fixture
def lay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lay]:
    """Puts a file into a package, by a further folder of it; all is forgotten afterwards."""
    made: list[ModuleType] = []

    def put(package: ModuleType, name: str, text: str) -> None:
        folder = tmp_path / package.__name__
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
        made.append(package)

    transports.cache_clear()
    yield put
    transports.cache_clear()
    for package in made:
        sys.modules.pop(f"{package.__name__}.added", None)
        vars(package).pop("added", None)


def test_a_benchmark_is_a_folder(lay: Lay) -> None:
    lay(asct.benchmarks, "added/__init__.py", BENCHMARK)
    registry = Registry()
    assert "added" in registry.names()
    found = registry.get("added")
    assert found is not None and found.title == "added"


def test_a_transport_is_a_file(lay: Lay) -> None:
    lay(asct.hosts, "added.py", TRANSPORT)
    assert ("added", "Added: a transport.") in transports()
    assert make_host(HostSpec("n1", transport="added")) == "host n1"


def test_a_report_format_is_a_file(lay: Lay) -> None:
    lay(asct.export, "added.py", FORMAT)
    assert formats()["added"].FILE == "added.txt"


def test_a_command_is_a_file(lay: Lay) -> None:
    lay(asct.cli.commands, "added.py", COMMAND)
    runner = CliRunner()
    assert runner.invoke(root, ["added"]).output == "ran\n"
    assert "Added: a command." in runner.invoke(root, ["--help"]).output


@pytest.mark.parametrize(("package", "name"), [(asct.benchmarks, "added/__init__.py"), (asct.export, "added.py")])
def test_a_broken_one_fails_loudly(package: ModuleType, name: str, lay: Lay) -> None:
    lay(package, name, "BENCHMARK = NAME = None\n")
    with pytest.raises(TypeError, match="added"):
        Registry().all() if package is asct.benchmarks else formats()
