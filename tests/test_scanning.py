"""Benchmarks, transports, report formats and commands are found by their location: they are not registered anywhere
else."""

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
from asct.export import get
from asct.hosts.base import Process, SessionSpec, Task
from asct.hosts.factory import make_host
from asct.plan.formats import report_formats
from asct.plan.load import load_plan
from asct.plan.schema import plan_schema
from asct.registry import Registry
from asct.transports import sources, transports

BENCHMARK = """
from asct.sdk.benchmark import Benchmark
from asct.sdk.params import Params


class Added(Benchmark[Params]):
    name = "added"
    title = summary = "added"
    aliases = ("addition",)
    version = "1"
    params_model = Params
    metrics = ()
    needs = steps = parse = lambda *_: ()


BENCHMARK = Added()
"""
TRANSPORT = '''"""Added: a transport to what only a shell reaches."""

from asct.transports import Option, Transport

TRANSPORT = Transport({"rack": Option("scalar", "Where it is", lambda text: "" if text < "r9" else "no such rack")})


def make(spec, folder):
    from asct.hosts.remote import RemoteHost
    from asct.hosts.shell import ShellLink

    def argv(command):
        return ["env", f"RACK={spec.options['rack']}", "sh", "-c", command]

    return RemoteHost(spec.name, "added", spec.workdir, ShellLink(spec.name, argv))
'''
PLAN = "plan: 1\nname: p\nbenchmarks: [noop]\nhosts: {n1: {transport: added, rack: r1}}\n"
FORMAT = 'NAME = "added"\nFILE = "added.txt"\nSUMMARY = "a format"\n\ndef render(view):\n    return ""\n'
COMMAND = (
    'import click\n\n@click.command("added")\ndef command():\n    """Added: a command."""\n    click.echo("ran")\n'
)


Lay = Callable[[ModuleType, str, str], None]


@pytest.fixture
def lay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lay]:
    """Add a file to a package by extending its search path with another folder; everything is reverted afterward."""
    made: list[ModuleType] = []

    def put(package: ModuleType, name: str, text: str) -> None:
        folder = tmp_path / package.__name__
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
        made.append(package)

    sources.cache_clear()
    yield put
    sources.cache_clear()
    for package in made:
        sys.modules.pop(f"{package.__name__}.added", None)
        vars(package).pop("added", None)


def test_a_benchmark_is_a_folder(lay: Lay) -> None:
    lay(asct.benchmarks, "added/__init__.py", BENCHMARK)
    registry = Registry()
    assert "added" in registry.names()
    found = registry.get("added")
    assert found is not None and found.title == "added"
    assert registry.get("addition") is found  # also as long as index.json does not list it
    assert [info.summary for info in registry.infos if info.name == "added"] == ["added"]


def test_a_transport_is_a_file(lay: Lay, tmp_path: Path) -> None:
    lay(asct.hosts, "added.py", TRANSPORT)
    assert ("added", "Added: a transport to what only a shell reaches.") in transports()
    plan = load_plan(Path("p.yaml"), text=PLAN).plan
    assert plan is not None
    host = make_host(plan.hosts["n1"]._replace(workdir=str(tmp_path / "work")))
    host.open(SessionSpec("r", "the tests"))
    try:
        task = Task(Process(("sh", "-c", "cat given; echo $RACK"), f"{host.work}/t"), tmp_path, files={"given": "in "})
        assert host.run(task).fetched == ("stdout", "stderr")
        assert (tmp_path / "stdout").read_text() == "in r1\n"
    finally:
        host.close()
    assert not any((tmp_path / "work").glob("run-*"))
    keys = plan_schema([])["$defs"]["host"]["properties"]
    assert "added" in keys["transport"]["enum"] and keys["rack"]["description"] == "Where it is"


@pytest.mark.parametrize(
    ("change", "code"), [(("rack: r1", "rack: r9"), "E112"), (("transport: added", "transport: local"), "E104")]
)
def test_the_options_of_a_transport_are_checked_and_its_own(lay: Lay, change: tuple[str, str], code: str) -> None:
    lay(asct.hosts, "added.py", TRANSPORT)
    assert [item.code for item in load_plan(Path("p.yaml"), text=PLAN.replace(*change)).diagnostics] == [code]


def test_a_report_format_is_a_file(lay: Lay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(asct.export, "added.py", FORMAT)
    monkeypatch.setattr("asct.plan.formats.FOLDER", tmp_path / "asct.export")
    assert report_formats() == {"added": ("added.txt", "a format")}
    assert get("added").render(None) == ""


def test_a_plan_may_name_every_report_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "added.py").write_text(FORMAT)
    monkeypatch.setattr("asct.plan.formats.FOLDER", tmp_path)
    plan = load_plan(Path("p.yaml"), text="plan: 1\nname: p\nbenchmarks: [noop]\nreport: {formats: [added]}\n").plan
    assert plan is not None and plan.report.formats == ("added",)
    assert "'enum': ['added']" in str(plan_schema([])["$defs"]["report"])


def test_a_command_is_a_file(lay: Lay) -> None:
    lay(asct.cli.commands, "added.py", COMMAND)
    runner = CliRunner()
    assert runner.invoke(root, ["added"]).output == "ran\n"
    assert "Added: a command." in runner.invoke(root, ["--help"]).output


def test_a_broken_benchmark_fails_loudly(lay: Lay) -> None:
    lay(asct.benchmarks, "added/__init__.py", "BENCHMARK = None\n")
    with pytest.raises(TypeError, match="added"):
        Registry().all()


def test_a_broken_report_format_fails_loudly(lay: Lay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(asct.export, "added.py", FORMAT.partition("def render")[0])
    monkeypatch.setattr("asct.plan.formats.FOLDER", tmp_path / "asct.export")
    with pytest.raises(TypeError, match="added is not a format"):
        get("added")
