"""A run can be verified: every later change in it is found, and nothing outside it is read."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asct.errors import StoreError
from asct.plan.model import Retry
from asct.store.checksums import checksum, evidence, is_evidence, is_intact, read_sums, scan, sums_text
from asct.store.reader import read_run
from asct.store.verify import verify
from tests.engine.conftest import Lab
from tests.engine.plant import job, point


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run with a retried repeat, a failed repeat, a warm-up, and files of several kinds."""
    folder = tmp_path_factory.mktemp("whole")
    lab = Lab(folder)
    once = f"[ -e {folder}/once ] || {{ touch {folder}/once; exit 1; }}; echo 5"
    jobs = [
        job(point(script="echo 1; echo note >&2"), point(script="echo 2"), repeats=2, warmup=1),
        job(point(script=once), name="b", retry=Retry(1, ("failed",))),
        job(point(script="echo no; exit 1"), name="c"),
    ]
    return lab.run(*jobs).stored.layout.root


@pytest.fixture
def root(whole: Path, tmp_path: Path) -> Path:
    """Return a copy of the run that a test may change."""
    return shutil.copytree(whole, tmp_path / "copy")


def errors(root: Path) -> list[str]:
    """Return the codes of the errors in a run."""
    try:
        return [item.code for item in verify(read_run(root)) if item.severity == "error"]
    except StoreError as error:
        return [item.code for item in error.diagnostics]


def test_a_whole_run_is_listed_completely(whole: Path) -> None:
    assert errors(whole) == []
    names = {path.name for path in whole.rglob("*") if path.is_file() and is_evidence(str(path.relative_to(whole)))}
    assert names == {
        "run.json", "plan.yaml", "plan.resolved.json", "journal.jsonl", "records.jsonl", "local.json", "status.json",
        "stdout", "stderr",
    }  # fmt: skip
    assert {path.name for path in whole.glob("jobs/local/*/*/*")} == {"w1", "r1", "r2", "r1.try1"}
    assert not [path for path in whole.rglob("stderr") if path.stat().st_size == 0]


def test_sha256sum_understands_the_checksums(whole: Path) -> None:
    command = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    assert subprocess.run(command, cwd=whole, check=False).returncode == 0


@pytest.mark.parametrize("how", ["deleted", "emptied", "a byte longer", "a link"])
def test_every_file_is_covered(whole: Path, tmp_path: Path, how: str) -> None:
    covered = [path for path in scan(whole).files if is_evidence(path) or path == "SHA256SUMS"]
    assert len(covered) > 20
    for name in covered:
        root = tmp_path / "copy"
        shutil.copytree(whole, root)
        path = root / name
        if how == "a byte longer":
            path.write_bytes(path.read_bytes() + b"\n")
        elif how == "emptied":
            path.write_bytes(b"")
        else:
            path.unlink()
            if how == "a link":
                path.symlink_to(whole / name)
        assert errors(root), name
        shutil.rmtree(root)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_changed_byte_and_any_cut_is_found(
    whole: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    covered = [path for path in scan(whole).files if is_evidence(path) or path == "SHA256SUMS"]
    name = data.draw(st.sampled_from(covered))
    before = (whole / name).read_bytes()
    at = data.draw(st.integers(0, len(before) - 1))
    changed = data.draw(st.sampled_from([bytes([value]) for value in range(256) if value != before[at]] + [b""]))
    root = tmp_path_factory.mktemp("changed") / "run"
    shutil.copytree(whole, root)
    (root / name).write_bytes(before[:at] + changed + (before[at + 1 :] if changed else b""))
    assert errors(root)
    shutil.rmtree(root)


def test_nothing_outside_is_followed_and_foreign_files_are_told(root: Path) -> None:
    (root / "notes.txt").write_text("next to run.json anything may be kept")
    assert errors(root) == []
    point_folder = next(root.glob("jobs/local/a/*"))
    (point_folder / "r1" / "mine").write_text("")
    assert errors(root) == ["E518"]
    (root / "jobs/local/loop").symlink_to(root)
    os.mkfifo(point_folder / "pipe")
    (root / "facts" / "elsewhere").symlink_to("/etc")
    assert sorted(errors(root)) == ["E510", "E510", "E510", "E518"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_read_is_told(root: Path) -> None:
    closed = next(root.glob("jobs/local/a/*/r1"))
    closed.chmod(0)
    try:
        assert "E515" in errors(root)
    finally:
        closed.chmod(0o700)


def test_files_are_no_strangers_if_their_list_is_lost(whole: Path, tmp_path: Path) -> None:
    """Otherwise, the message would advise the user to move the results out of the run."""
    for name, code in (("SHA256SUMS", "E512"), ("r1/status.json", "E508")):
        root = tmp_path / name.replace("/", "-")
        shutil.copytree(whole, root)
        path = next(root.glob(name if "/" not in name else f"jobs/local/a/*/{name}"))
        path.unlink() if code == "E512" else path.write_text(path.read_text()[:100])
        findings = verify(read_run(root))
        assert [item.code for item in findings] == ([code] if code == "E512" else [code, "E517"])
        assert all(item.hint for item in findings)


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("journal.jsonl", ["E512"]),
        ("plan.resolved.json", ["E512"]),
        ("facts/local.json", ["E512"]),
        ("records.jsonl", ["E512"]),
        ("jobs/local/c/*/r1/status.json", ["E512"]),
    ],
)
def test_a_missing_file_is_one_finding(root: Path, name: str, codes: list[str]) -> None:
    next(root.glob(name)).unlink()
    findings = verify(read_run(root))
    assert [item.code for item in findings] == codes and all(item.hint for item in findings)


def test_a_changed_record_is_found_without_the_checksums_of_the_run(root: Path) -> None:
    (root / "SHA256SUMS").unlink()
    records = root / "records.jsonl"
    text = records.read_text()
    assert text.count('"value":5') == 1
    records.write_text(text.replace('"value":5', '"value":6'))
    findings = verify(read_run(root))
    assert [item.code for item in findings] == ["E512", "E517"]
    assert "the records of jobs/local/b/" in findings[1].message


def test_no_checksum_is_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("5\n")
    (tmp_path / "link").symlink_to("raw")
    expected = checksum(tmp_path / "raw")
    assert is_intact(tmp_path, "raw", expected) and not is_intact(tmp_path, "link", expected)
    with pytest.raises(OSError, match="symbolic links"):
        checksum(tmp_path / "link")


def test_a_damaged_line_of_the_checksums_makes_no_file_a_stranger(root: Path) -> None:
    lines = (root / "SHA256SUMS").read_text().splitlines(keepends=True)
    (root / "SHA256SUMS").write_text("".join([f"zz{lines[0][2:]}", *lines[1:]]))
    [finding] = verify(read_run(root))
    assert (finding.code, finding.hint) == ("E508", "restore it from a backup")


def test_checksums_are_read_strictly(whole: Path) -> None:
    listed = evidence(whole)
    text = sums_text(listed)
    assert read_sums(text) == (listed, [])
    first = text.partition("\n")[0]
    for line in (
        first[1:],
        first.replace("  ", " *"),
        first.upper(),
        f"{'0' * 64}  ../x",
        f"{'0' * 64}  jobs/../../x",
        "",
        first,
    ):
        assert read_sums(f"{text}{line}\n")[1] == [len(listed) + 1], line
    assert read_sums(text[:-1])[1] == [len(listed)]


def test_lines_of_intact_files_are_not_compared_with_their_schema(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison takes most of the time for a run of ten thousand points."""
    kinds: list[str] = []

    def violations(kind: str, *_: object, **__: object) -> list[object]:
        kinds.append(kind)
        return []

    monkeypatch.setattr("asct.store.verify.violations", violations)
    assert verify(read_run(whole)) == []
    assert sorted(kinds) == ["disturbances", "facts", "run"]


def test_files_beside_a_torn_status_are_listed(root: Path) -> None:
    """A power failure may truncate a status. `asct resume` keeps the folder and measures the repeat again."""
    status = next(root.glob("jobs/local/b/*/r1.try1/status.json"))
    raw = status.with_name("stdout").relative_to(root)
    assert str(raw) not in evidence(root), "the status lists it"
    status.with_name("stdout").write_text("what it printed\n")
    whole_text = status.read_text()
    for cut in range(1, len(whole_text), 40):
        status.write_text(whole_text[:cut])
        assert str(raw) in evidence(root)


@pytest.mark.parametrize("name", ["a\\u0000b", "../../../../../../run.json", "/etc/hostname"])
def test_paths_that_lead_out_of_the_folder_are_damage(root: Path, name: str) -> None:
    status = next(root.glob("jobs/local/a/*/r1/status.json"))
    status.write_text(status.read_text().replace('"stdout":', f'"{name}":', 1))
    assert "E508" in errors(root)
    sums = root / "SHA256SUMS"
    sums.write_text(sums.read_text() + f"{'0' * 64}  facts/a\0b\n")
    assert "E508" in errors(root)
