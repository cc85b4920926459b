"""Parsing the output of guard: complete output is accepted, and anything else is refused with the reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

from asct.instruments.guard_output import lines_of, read_guard_output
from asct.sdk.guard import StopRule, Target, guarded, handle_path, inspection, targets_in
from asct.sdk.step import Kernel, Output, Step, Tool

PATH = "/dev/disk/by-id/nvme-X"
META: dict[str, Any] = {"t": "meta", "abi": 1, "kernel": "guard"}
CHECK: dict[str, Any] = {"t": "check", "path": PATH, "name": "identity", "ok": True, "detail": "it is nvme0n1"}
DEVICE: dict[str, Any] = {"t": "device", "when": "before", "path": PATH, "bytes": 4096, "model": None, "links": [PATH]}
SAMPLE: dict[str, Any] = {
    "t": "sample",
    "real_ns": 5,
    "mono_ns": 1,
    "program_cpu_ns": None,
    "host_cpu_ns": 7,
    "devices": [[1, 2, 3, 4, 5, 6, 7], None],
    "temperatures_mc": [41000, None],
}
EXIT: dict[str, Any] = {"t": "exit", "status": 128, "stopped": "interval", "started_ns": 1, "ended_ns": 9, "samples": 2}
END: dict[str, Any] = {"t": "end", "ok": True}
WHOLE = [META, CHECK, DEVICE, {"t": "ready"}, SAMPLE, SAMPLE, EXIT, DEVICE | {"when": "after", "bytes": 4097}, END]


def output(*lines: dict[str, Any], status: int = 0) -> Output:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return Output(Step("point", Kernel("guard")), status, {"stdout": text, "stderr": ""})


def test_a_whole_stream() -> None:
    guard = read_guard_output(output(*WHOLE))
    assert [device.scalar("bytes") for device in (*guard.before, *guard.after)] == [4096, 4097]
    assert guard.before[0].path == PATH and guard.before[0].scalar("links") is None
    assert [(check.name, check.ok) for check in guard.checks] == [("identity", True)]
    assert guard.samples[1].devices == ((1, 2, 3, 4, 5, 6, 7), None)
    assert (guard.samples[0].program_cpu_ns, guard.samples[0].host_cpu_ns) == (None, 7)
    assert (guard.status, guard.stopped, guard.started_ns, guard.ended_ns) == (128, "interval", 1, 9)


def test_a_look_without_a_program() -> None:
    guard = read_guard_output(output(META, CHECK | {"ok": None}, DEVICE, {"t": "ready"}, END))
    assert guard.status is None and guard.stopped == "" and not guard.samples and not guard.after
    assert guard.checks[0].ok is None


def test_names_are_put_together_from_their_bytes() -> None:
    as_bytes = "/data/Größe 磁盘".encode().decode("latin-1")
    guard = read_guard_output(
        output(META, CHECK | {"path": as_bytes}, DEVICE | {"path": as_bytes, "links": [as_bytes]}, END)
    )
    assert guard.checks[0].path == guard.before[0].path == "/data/Größe 磁盘"
    assert guard.before[0].fields["links"] == ["/data/Größe 磁盘"]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (output(*WHOLE[:-1]), "`guard` kernel failed"),
        (output(*WHOLE[:5], status=-9), "exit status -9"),
        (output(META, {"t": "end", "ok": False, "error": "refused: mounted: x", "path": "x"}, status=4), "status 4"),
        (output(), "output is incomplete"),
        (output(META, {"t": "check", "path": PATH}, END), "invalid line: 'ok'"),
        (output(META, CHECK | {"ok": 1}, END), "`ok` in a check line is 1, not a boolean"),
        (output(META, SAMPLE | {"mono_ns": "soon"}, END), "`mono_ns` is 'soon'"),
        (output(META, SAMPLE | {"devices": [[1, 2]]}, END), r"counters of a drive are \[1, 2\]"),
        (output(META, SAMPLE | {"devices": [[1.5] * 7]}, END), "counters of a drive are"),
        (output(META, SAMPLE | {"host_cpu_ns": "x"}, END), "a counter is 'x'"),
        (output(META, DEVICE, EXIT | {"status": None}, END), "`status` is None"),
        (output(META, EXIT, EXIT, END), "several `exit` lines"),
        (output(META, DEVICE | {"path": 7}, END), "`path` is 7"),
    ],
)
def test_what_is_not_a_whole_stream_is_refused_with_the_reason(broken: Output, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_guard_output(broken)


@pytest.mark.parametrize("backward", [False, True])
def test_lines_are_found_in_damaged_output(backward: bool) -> None:
    whole = [f'{{"t":"sample","mono_ns":{number}}}' for number in range(3)]
    text = "\n".join((
        '{"t":"meta"}', 'cut{"t":"sample","mo' + whole[0], '{"t":"sample","mono_ns":1e999}',
        '{"t":"sample","mono', whole[1], '{"t":"sample"]', "[" * 9,
        '{"t":"samples"}', whole[2], '{"t":"sample",',
    ))  # fmt: skip
    found = [line["mono_ns"] for line in lines_of(text, "sample", backward=backward)]
    assert found == ([2, 1, 0] if backward else [0, 1, 2])
    assert list(lines_of("", "sample", backward=backward)) == []
    for end in ("", "\n"):
        assert list(lines_of(f'{{"t":"sample"{end}' * 100_000, "sample", backward=backward)) == []


def test_targets_are_read_back_as_they_were_given() -> None:
    given = [Target(PATH, "write", "a b", overwrite=True), Target("/data/a file", "read", dirty=True)]
    assert targets_in(inspection(given)) == given
    assert targets_in(guarded(Step("point", Tool("fio")), "/bin/fio", given)) == given
    assert targets_in(Step("point", Tool("fio"), files={"targets": "of its own"})) == []


def test_orders_become_arguments() -> None:
    step = Step("point", Tool("fio"), ("job.fio",), files={"job.fio": "[x]\n"})
    targets = [Target("/data/file", "read"), Target(PATH, "write", "S1", overwrite=True, dirty=True)]
    made = guarded(step, "/usr/bin/fio", targets, stop=StopRule(0.02, 5.0, 100), whole_drive=True)
    assert made.program == Kernel("guard")
    assert made.files == {
        "targets": f"read\t0\t0\t-\t/data/file\nwrite\t1\t1\tS1\t{PATH}\n",
        "job.fio": "[x]\n",
    }
    head, tail = " ".join(made.arguments).split(" -- ")
    assert head == "--whole-drive 1 --targets targets --stop-ppm 20000 --stop-min-ms 5000 --stop-min-ios 100"
    assert tail == "/usr/bin/fio job.fio"
    assert inspection(targets).arguments == ("--targets", "targets") and handle_path(1) == "/proc/self/fd/101"


@pytest.mark.parametrize("path", ["/dev/a\tb", "/dev/a\nb", "/dev/\x1b[2J"])
def test_names_that_would_break_a_line_are_refused(path: str) -> None:
    with pytest.raises(ValueError, match="not permitted in a target name"):
        Target(path, "read").line()
