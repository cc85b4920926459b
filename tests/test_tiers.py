"""Which tests are fast, which groups contain the other tests, and which changes call for a group."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import changed
from tests.tiers import GROUPS, SAMPLES, SLICES, called_by, group_of, slice_of

TESTS = Path(__file__).parent


@pytest.mark.parametrize(
    ("test", "marks", "group"),
    [
        ("plan/test_load.py::test_x", (), ""),
        ("hosts/test_contract.py::test_x[slurm]", ("slurm",), "slurm"),
        ("hosts/test_links.py::test_x", ("ssh", "e2e"), "links"),
        ("machines/test_drives.py::test_x", ("machines", "fio"), "drives"),
        ("machines/test_facts.py::test_x", ("machines",), "guests"),
        ("kernels/test_guard_program.py::test_x", ("kernels",), "guard"),
        ("kernels/test_build.py::test_the_kernels_write_a_whole_stream[load]", ("kernels",), ""),
        ("e2e/test_failures.py::test_x", ("e2e",), "commands"),
    ],
)
def test_a_test_is_fast_or_belongs_to_one_group(test: str, marks: tuple[str, ...], group: str) -> None:
    assert group_of(test, marks) == group


def test_what_the_groups_name_exists() -> None:
    for test in [*SAMPLES, *(file for group in GROUPS for file in group.files if file.endswith(".py"))]:
        assert (TESTS / test.partition("::")[0]).is_file(), test
    for path in (path for group in GROUPS for path in group.paths):
        assert list(TESTS.parent.glob(f"{path.rstrip('/')}*")), path


def test_tests_run_without_xdist() -> None:
    words = ["-p", "no:xdist", "-p", "no:cacheprovider", "tests/values/test_size.py"]
    command = [sys.executable, "-m", "pytest", *words]
    done = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_sample_names_a_test() -> None:
    for file, _, name in (sample.partition("::") for sample in SAMPLES):
        assert f"def {name.partition('[')[0]}(" in (TESTS / file).read_text() or not name, name


@pytest.mark.parametrize(
    ("path", "called"),
    [
        ("kernels/guard/stack.c", {"guard", "drives"}),
        ("asct/hosts/ssh/link.py", {"ssh", "links", "slurm"}),
        ("asct/export/html.py", {"browser"}),
        ("docs/testing.md", set()),
    ],
)
def test_a_change_calls_for_groups(path: str, called: set[str]) -> None:
    assert called <= set(called_by([path]))
    assert called or not called_by([path])


def test_groups_with_most_changes_come_first() -> None:
    assert called_by(["templates/a", "asct/export/b", "asct/statistics/c"])[0] == "browser"


def test_slices_are_of_like_size() -> None:
    counts = [0] * SLICES
    for number in range(8000):
        counts[slice_of(f"a/test_b.py::test_c[{number}]")] += 1
    assert min(counts) > 800


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a repository with one commit in place of this one."""
    monkeypatch.setattr(changed, "ROOT", tmp_path)
    monkeypatch.setattr(changed, "RECORD", tmp_path / "passed")
    (tmp_path / ".gitignore").write_text("passed\n")
    commit(tmp_path)
    return tmp_path


def commit(folder: Path) -> None:
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "c"]):
        subprocess.run(["git", *words], cwd=folder, check=True)


def test_what_changed_since_the_recorded_commit(repository: Path) -> None:
    assert changed.record() == 0
    recorded = changed.RECORD.read_text().strip()
    assert changed.changed_since(recorded) == []
    (repository / "kernels").mkdir()
    (repository / "kernels" / "a.c").touch()
    commit(repository)
    assert (changed.changed_since(recorded), changed.number()) == (["kernels/a.c"], 2)


@pytest.mark.parametrize("recorded", ["", "0123456789012345678901234567890123456789", "no commit"])
def test_a_commit_that_the_history_does_not_have(repository: Path, recorded: str) -> None:
    assert changed.changed_since(recorded) is None


def test_a_tree_with_changes_is_not_recorded(repository: Path) -> None:
    (repository / "new").touch()
    changed.record()
    assert not changed.RECORD.exists()


def test_a_shallow_clone_has_its_turn_as_well(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("shallow")
    for number in range(2):
        (repository / f"file{number}").touch()
        commit(repository)
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{repository}", str(folder)], check=True)
    changed.ROOT = folder  # restored by the fixture
    assert changed.number() > SLICES


def test_a_copy_without_history_has_a_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed, "ROOT", tmp_path)
    assert (changed.number(), changed.changed_since("HEAD")) == (0, None)
