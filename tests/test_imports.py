"""What is loaded when: a command that needs nothing heavy costs little more than a bare interpreter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"pandas", "plotly", "fabric", "paramiko", "jinja2", "pydantic", "yaml", "numpy", "jsonschema", "tabulate"}


def loaded(*arguments: str) -> set[str]:
    """The top-level modules that `asct ARGUMENTS` has loaded when it ends."""
    program = (
        "import sys\n"
        "from asct.__main__ import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    assert not end.code, end.code\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("arguments", [("version",), ("version", "--json"), ("--version",)])
def test_version_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    assert loaded(*arguments) & HEAVY == set()


def test_checking_a_plan_loads_neither_transports_nor_reports(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("plan: 1\nname: one\nbenchmarks: [latency-sweep, storage-fio]\n")
    assert loaded("check", str(plan)) & {"pandas", "plotly", "fabric", "paramiko", "jinja2", "numpy"} == set()
