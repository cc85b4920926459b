"""What is loaded when: a command that needs no heavy libraries costs little more than a bare interpreter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic.version import VERSION

from asct.__main__ import PYDANTIC_KNOWN

LIBRARIES = {
    "jinja2", "jsonschema", "matplotlib", "numpy", "paramiko", "plotly", "pyarrow", "pydantic", "rich",
    "yaml",
}  # fmt: skip
STANDARD = {"asyncio", "email", "http", "multiprocessing", "sqlite3", "urllib.request", "xml"}
"""Slow modules of the standard library."""


def loaded(*arguments: str) -> set[str]:
    """Return the names of all modules that `asct ARGUMENTS` has loaded when it ends."""
    program = (
        "import sys\n"
        "from asct.__main__ import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    assert not end.code, end.code\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


def complete(line: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the modules that TAB loads after `line`."""
    monkeypatch.setenv("_ASCT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    return loaded()


@pytest.mark.parametrize(
    "arguments",
    [
        ("version",),
        ("version", "--json"),
        ("--version",),
        ("--help",),
        ("apply", "--help"),
        ("help", "results", "list"),
        ("list",),
        ("list", "-v"),
        ("list", "settings", "sids"),
        ("list", "metrics", "latency-sweep", "--json"),
        ("list", "kernels"),
        ("list", "formats"),
        ("list", "transports"),
        ("explain", "latency-sweep"),
        ("explain", "storage-fio.bs"),
        ("explain", "noisy-host"),
        ("explain", "E104"),
    ],
)
def test_a_command_that_only_informs_loads_no_library_and_no_benchmark(arguments: tuple[str, ...]) -> None:
    assert slow(loaded(*arguments)) == set()


@pytest.mark.parametrize(
    "line",
    [
        "asct ap",
        "asct run lat",
        "asct explain latency-s",
        "asct list settings s",
        "asct report -f ",
        "asct run ls --user-config ls.w",
    ],
)
def test_completion_loads_no_library_and_no_benchmark(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert slow(complete(line, monkeypatch)) == set()


def slow(names: set[str]) -> set[str]:
    """Return the libraries, the slow modules, and the parts of asct that run plans or import benchmarks."""
    prefixes = ("asct.benchmarks.", "asct.engine.run", "asct.hosts.", "asct.sdk")
    own = {name for name in names if name.startswith(prefixes)}
    return own | names & (LIBRARIES | STANDARD)


def test_checking_a_plan_loads_its_benchmarks_and_neither_transports_nor_reports_nor_facts(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("plan: 1\nname: one\nbenchmarks: [ls, storage-fio]\n")
    names = loaded("check", str(plan))
    assert names & (LIBRARIES - {"pydantic", "yaml"}) == set()
    benchmarks = {name.split(".")[2] for name in names if name.startswith("asct.benchmarks.")}
    assert benchmarks == {"latency_sweep", "storage_fio"}
    unused = ("asct.hosts.", "asct.export", "asct.figures", "asct.engine.run", "asct.sdk.facts")
    assert not {name for name in names if name.startswith(unused)}


LOADER = "pydantic.plugin._loader"
NEWER = "import pydantic.version\npydantic.version.VERSION = '2.99.0'\n"


@pytest.mark.parametrize(("before", "searched"), [("", False), (NEWER, True)], ids=["known", "newer"])
def test_only_a_known_pydantic_does_without_its_plugin_loader(before: str, searched: bool, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("plan: 1\nname: p\nbenchmarks: [noop]\n")
    program = (
        f"import sys\n{before}"
        "from asct.__main__ import main\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        f"    print('entry_points' in vars(sys.modules['{LOADER}']))\n"
    )
    command = [sys.executable, "-c", program, "check", str(plan)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, str(searched)), done.stderr


def test_the_installed_pydantic_is_a_known_one() -> None:
    assert VERSION.startswith(PYDANTIC_KNOWN), f"see whether {LOADER} of {VERSION} has other callers, then add it"


def test_an_interrupt_during_the_imports_ends_without_a_traceback() -> None:
    program = (
        "import os, signal, sys\n"
        "from asct.__main__ import main\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'asct.cli.app':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program, "list"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\ninterrupted\n")
