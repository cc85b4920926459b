"""The script of fixes, run on a synthetic tree: what it writes, and that its undo restores every byte."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from asct.disturbances import assess
from asct.disturbances.script import script
from asct.sdk.disturbance import Disturbance, Setting
from tests.disturbances.made import SAMPLE, disturbed, policy, with_cpu

WHEN = "2026-11-21T04:28:13Z"


def files(finding: Disturbance) -> dict[str, str]:
    """Return the original content of the files of a finding."""
    return {
        setting.path.format(number): f"{setting.was}\n"
        for setting in finding.settings
        for number in setting.numbers or [0]
    }


class Tree:
    """A folder that contains these files and stands for /. Programs that the script starts are recorded instead of
    run."""

    def __init__(self, folder: Path, text: str, content: dict[str, str]) -> None:
        self.root, self.content = folder / "root", content
        self.file = folder / "fix.sh"
        self.file.write_text(text)
        for path, body in content.items():
            place = self.root / path.strip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(body)
        self.programs = folder / "bin"
        self.programs.mkdir()
        self.ran = folder / "ran"
        for name in ("systemctl", "sync", "sudo"):
            (self.programs / name).write_text(f'#!/bin/sh\necho "{name} $*" >>{self.ran}\n')
            (self.programs / name).chmod(0o755)

    def run(self, *words: str, root: bool = True) -> subprocess.CompletedProcess[str]:
        env = {"PATH": f"{self.programs}:{os.environ['PATH']}", **({"ASCT_ROOT": str(self.root)} if root else {})}
        return subprocess.run(["sh", str(self.file), *words], capture_output=True, text=True, check=False, env=env)

    def now(self) -> dict[str, str]:
        found = (path for path in self.root.rglob("*") if path.is_file())
        return {f"/{path.relative_to(self.root)}": path.read_text() for path in found}


def tree_of(folder: Path, findings: Sequence[Disturbance]) -> Tree:
    content: dict[str, str] = {}
    for item in findings:
        content.update(files(item))
    return Tree(folder, script("h1", WHEN, findings), content)


@pytest.fixture
def everything(tmp_path: Path) -> Tree:
    return tree_of(tmp_path, assess(disturbed(), SAMPLE).findings)


def test_the_undo_restores_every_value(everything: Tree) -> None:
    findings = assess(disturbed(), SAMPLE).findings
    names = [item.name for item in findings if item.scripted]
    for _ in range(2):  # twice is as good as once
        done = everything.run("apply", *names)
        assert (done.returncode, done.stderr) == (0, "")
        expected = {
            setting.path.format(number): f"{setting.value}\n"
            for item in findings
            for setting in item.settings
            for number in setting.numbers or [0]
        }
        assert everything.now() == expected != everything.content
    for _ in range(2):
        done = everything.run("undo")
        assert (done.returncode, done.stderr) == (0, "")
        assert everything.now() == everything.content
    assert "sudo" not in everything.ran.read_text()
    assert {"systemctl stop irqbalance", "systemctl start irqbalance", "sync "} == set(
        everything.ran.read_text().splitlines()
    )


def test_what_is_only_possible_or_touches_nothing_is_left_until_it_is_named(everything: Tree) -> None:
    assert everything.run("apply").returncode == 0
    now = everything.now()
    changed = {path for path, text in now.items() if text != everything.content[path]}
    assert "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor" in changed
    assert "/sys/kernel/mm/transparent_hugepage/enabled" in changed
    for path in ("/sys/devices/system/cpu/cpufreq/boost", "/proc/sys/kernel/perf_event_paranoid",
                 "/proc/sys/kernel/io_uring_disabled"):  # fmt: skip
        assert path not in changed
    assert everything.run("apply", "boost").returncode == 0
    assert everything.now()["/sys/devices/system/cpu/cpufreq/boost"] == "0\n"
    assert everything.run("undo", "boost").returncode == 0
    assert everything.now() == now, "only what is named is undone"


def test_where_nothing_is_sure_a_name_is_asked_for(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, assess(with_cpu(boost=True)).findings)
    done = tree.run("apply")
    assert (done.returncode, tree.now()) == (2, tree.content) and "names: boost" in done.stderr
    assert tree.run("apply", "boost").returncode == 0 and tree.now() != tree.content
    assert tree.run("undo").returncode == 0 and tree.now() == tree.content


def test_threads_go_last_and_come_back_first(everything: Tree) -> None:
    text = everything.file.read_text()
    apply, undo = (line for line in text.splitlines() if "set --" in line)
    assert apply.split("set -- ")[1].split()[-1] == "smt-siblings"
    assert undo.split("set -- ")[1].split()[0] == "smt-siblings"


@pytest.mark.parametrize("words", [(), ("help",), ("apply", "nosuch"), ("undo", "governor", "x y"), ("apply", "*")])
def test_wrong_usage_changes_nothing(everything: Tree, words: tuple[str, ...]) -> None:
    done = everything.run(*words)
    assert done.returncode == 2 and "usage: " in done.stderr and "governor" in done.stderr
    assert everything.now() == everything.content


def test_it_needs_root_and_says_so(everything: Tree) -> None:
    (everything.programs / "id").write_text("#!/bin/sh\necho 1000\n")
    (everything.programs / "id").chmod(0o755)
    done = everything.run("apply", root=False)
    assert (done.returncode, done.stderr) == (1, "asct: root is required; nothing was changed\n")


def test_files_that_are_gone_are_told_and_not_made(everything: Tree) -> None:
    gone = everything.root / "sys/devices/system/cpu/cpu5/cpufreq/scaling_governor"
    gone.unlink()
    stuck = everything.root / "sys/devices/system/clocksource/clocksource0/current_clocksource"
    stuck.unlink()
    stuck.symlink_to("/proc/self/nosuch")
    done = everything.run("apply")
    assert done.returncode == 1
    assert "/sys/devices/system/cpu/cpu5/cpufreq/scaling_governor does not exist" in done.stderr
    assert not gone.exists()
    assert everything.now()["/sys/devices/system/cpu/cpu6/cpufreq/scaling_governor"] == "performance\n", "it goes on"


HOSTILE = (
    "a b",
    "'; touch pwned; '",
    "$(touch pwned)",
    "`touch pwned`",
    "-n",
    "a\\nb",
    "%s%n",
    '"',
    "'\"'$(touch pwned)'\"'",
)
STEERING = (
    "\ntouch pwned\n#",
    "\x1b]0;pwned\x07",
    "a\x00b",
    "\r\u2028touch pwned",
    "\u202etouch pwned",
    "\udc9b1m",
    "\x9b2J",
)


@pytest.mark.parametrize("value", HOSTILE)
def test_words_of_a_host_are_written_and_never_run(tmp_path: Path, value: str) -> None:
    policies = [policy(cpu, value) for cpu in (0, 1)]
    findings = assess(with_cpu(policies=policies)).findings
    named = findings[0].model_copy(update={"title": value, "seen": value, "effect": value, "why": value})
    hand = named.model_copy(update={"name": "hand", "scripted": False, "fix": [value], "advice": value})
    tree = Tree(tmp_path, script(f"h {value}", value, [named, hand]), files(named))
    assert (tree.run("apply").returncode, tree.run("undo").returncode) == (0, 0)
    assert tree.now() == {path: f"{value}\n" for path in tree.content}
    assert not list(tmp_path.rglob("pwned")) and not Path("pwned").exists()


@pytest.mark.parametrize("value", STEERING)
def test_what_would_steer_a_terminal_is_not_in_the_script(tmp_path: Path, value: str) -> None:
    finding = next(item for item in assess(with_cpu(policies=[policy(0, value)])).findings if item.name == "governor")
    assert not any(setting.was == value for setting in finding.settings)
    named = finding.model_copy(update={"title": value, "seen": value, "effect": value, "why": value})
    hand = named.model_copy(update={"name": "hand", "scripted": False, "fix": [value], "advice": value})
    text = script(f"h {value}", value, [named, hand])
    assert all(mark.isprintable() or mark == "\n" for mark in text)
    tree = Tree(tmp_path, text, files(named))
    assert (tree.run("apply", "governor").returncode, tree.run("undo").returncode) == (0, 0)
    assert tree.now() == tree.content
    assert not list(tmp_path.rglob("pwned")) and not Path("pwned").exists()


def test_a_path_of_a_host_is_one_word(tmp_path: Path) -> None:
    setting = Setting(path="/sys/a b/$(touch pwned)/{}/x'y", value="1", was="0", numbers=[4, 9])
    finding = Disturbance(
        name="odd", title="odd", seen="s", effect="e", touches=["*"], sure="certain", why="w", source="s",
        settings=[setting], scripted=True,
    )  # fmt: skip
    tree = Tree(tmp_path, script("h", WHEN, [finding]), files(finding))
    assert tree.run("apply").returncode == 0
    assert set(tree.now().values()) == {"1\n"} and len(tree.now()) == 2
    assert not list(tmp_path.rglob("pwned"))


def test_without_anything_to_change(tmp_path: Path) -> None:
    hand = [item for item in assess(disturbed(), SAMPLE).findings if not item.scripted]
    tree = Tree(tmp_path, script("h1", WHEN, hand), {})
    done = tree.run("apply")
    assert (done.returncode, done.stderr) == (0, "asct: no finding on this host has a fix that a script can apply\n")
    assert "# Manual: fio missing: apt-get install fio" in tree.file.read_text()


@pytest.mark.parametrize("value", ["plain", *HOSTILE])
def test_shellcheck_has_nothing_to_say(tmp_path: Path, value: str) -> None:
    checker = shutil.which("shellcheck")
    assert checker is not None, "run .ci/setup test"
    findings = assess(disturbed(), SAMPLE).findings
    findings = [findings[0].model_copy(update={"title": value, "seen": value}), *findings[1:]]
    file = tmp_path / "fix.sh"
    for given in (findings, []):
        file.write_text(script(value, WHEN, given))
        done = subprocess.run([checker, "--shell=sh", str(file)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "")


def test_lines_for_people_do_what_the_script_does(tmp_path: Path) -> None:
    """The displayed commands, wrapped as on a narrow terminal, are run in a folder that replaces /."""
    from asct.cli.doctor_text import folded

    findings = [item for item in assess(disturbed(), SAMPLE).findings if item.settings]
    tree = tree_of(tmp_path, findings)

    def run(which: str) -> None:
        lines = [part for item in findings for line in getattr(item, which) for part in folded(line, 60)]
        text = "\n".join(lines).replace(">/", f">{tree.root}/")
        subprocess.run(["sh", "-eu"], input=text, check=True, text=True)

    run("fix")
    assert set(tree.now().values()) >= {"performance\n", "madvise\n"}
    run("undo")
    assert tree.now() == tree.content
