"""Readings before and after a repeat, and their evaluation. The tests use text, because stolen time, heat and drives
are not available on demand."""

from __future__ import annotations

import json
import re
import struct
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.engine.telemetry.readings import READING, counter_growth, parse_reading
from asct.engine.telemetry.summary import summarize
from asct.sdk.guard import Target, guarded
from asct.sdk.step import HostReadings, Output, Step, Tool
from asct.store.model import Telemetry
from asct.store.schemas import violations
from tests.engine import readings
from tests.engine.readings import reading

SECOND = {"user": 50, "idle": 750}
"""Ticks in one second on eight CPUs, if half of one CPU is busy."""


def told(
    before: str, after: str, cpu_s: float | None = 0.5, step: Step | None = None, stdout: str = "", steps: int = 1
) -> Telemetry:
    output = Output(step or Step("s", Tool("sh")), 0, {"stdout": stdout}, int(1e9))
    around = HostReadings(before, after, None if cpu_s is None else int(cpu_s * 1e9))
    return summarize([(output, around)] * steps)


def reasons(telemetry: Telemetry) -> dict[str, str]:
    return {reason.what: reason.state for reason in telemetry.verdict.reasons}


def after(changes: dict[str, str] | None = None, **more: int) -> str:
    return reading(101.0, changes, **{**SECOND, **more})


def test_a_reading_is_understood() -> None:
    moment = parse_reading(reading()).moment
    assert (moment.uptime_s, moment.load1, moment.running) == (100.0, 0.5, 3)
    assert (moment.online, moment.clock_source) == ("0-7", "tsc")
    assert moment.clock_hz == {"policy0": 3.0e9} and moment.clock_limit_hz == {"policy0": 3.1e9}
    assert moment.governor == {"policy0": "performance"}
    assert moment.celsius == {"coretemp hwmon2": 54.0, "nvme nvme0": 41.85, "x86_pkg_temp thermal_zone3": -1.0}
    assert moment.critical_celsius == {"coretemp hwmon2": 100.0}
    assert moment.cooling == {"cpufreq-cpu0 cooling_device0": 0}
    counters = moment.counters
    assert (counters["ticks_steal"], counters["context_switches"], counters["interrupts"]) == (5, 5000, 9000)
    assert (counters["heat_throttles"], counters["pressure_memory_us"], counters["quota_us"]) == (4, 700, 0)


def test_a_quota_of_version_1_is_in_nanoseconds() -> None:
    group = "/sys/fs/cgroup/cpu/cpu.stat"
    found = parse_reading(f"{group}:nr_throttled 3\n{group}:throttled_time 5000000")
    assert found.moment.counters == {"quota_throttled": 3, "quota_us": 5000}


def test_counters_of_a_device_that_came_anew_do_not_count() -> None:
    first = parse_reading(f"{readings.THROTTLES}:9\n{readings.GROUP}:nr_throttled 1")
    second = parse_reading(f"{readings.THROTTLES}:2\n{readings.GROUP}:nr_throttled 4\n/other_throttle_count:7")
    assert counter_growth(first, second) == {"quota_throttled": 3}


@given(st.text(max_size=200), st.text(max_size=20))
def test_no_text_is_too_odd(text: str, value: str) -> None:
    """Random values for every path, and random lines, raise no exception and never result in an invalid document."""
    paths = [line.rpartition(":")[0] for line in reading().splitlines()]
    fuzzed = "\n".join([text, *(f"{path}:{value}" for path in paths)])
    found = told(fuzzed, reading())
    json.dumps(found.model_dump(), allow_nan=False)
    assert not violations("telemetry", json.loads(found.model_dump_json(by_alias=True)), "x")


@pytest.mark.parametrize("cut", range(0, 1200, 37))
def test_a_reading_cut_short_gives_what_is_there(cut: int) -> None:
    assert told(reading()[:cut], after()[: cut + 11]).verdict.state in ("stable", "unknown", "noisy")


def test_a_quiet_host_is_stable() -> None:
    found = told(reading(), after(ctxt=600, intr=40))
    assert (found.verdict.state, reasons(found)) == ("stable", {})
    assert (found.growth["context_switches"], found.growth["interrupts"]) == (600, 40)
    assert found.shares["idle"] == 0.9375 and found.shares["steal"] == 0.0
    assert (found.own_cpu_s, found.others_cpus) == (0.5, 0.0)
    assert found.before.load1 == 0.5 and found.elapsed_s == 1.0


@pytest.mark.parametrize(
    ("changes", "more", "reason", "state"),
    [
        ({}, {"steal": 4}, "steal", "noisy"),
        ({}, {"user": 150}, "others", "noisy"),
        ({"/proc/pressure/memory": "some avg10=9.00 total=200700"}, {}, "memory-pressure", "noisy"),
        ({}, {"pswpin": 300}, "swap", "noisy"),
        ({}, {"nr_throttled": 1, "throttled_usec": 4000}, "quota", "noisy"),
        ({}, {"nr_throttled": 2, "throttled_usec": 20_000}, "quota", "invalid"),
        ({readings.THROTTLES: "5"}, {}, "heat", "invalid"),
        ({f"{readings.COOLER}/cur_state": "2"}, {}, "cooling", "invalid"),
        ({f"{readings.CORE}/temp1_input": "96000"}, {}, "temperature", "noisy"),
        ({f"{readings.CLOCKS}/scaling_cur_freq": "2700000"}, {}, "clock", "noisy"),
        ({f"{readings.CLOCKS}/scaling_max_freq": "2500000"}, {}, "clock-limit", "noisy"),
        ({f"{readings.CLOCKS}/scaling_governor": "powersave"}, {}, "governor", "noisy"),
        ({readings.ONLINE: "0-6"}, {}, "online", "invalid"),
        ({readings.CLOCK_SOURCE: "hpet"}, {}, "clock-source", "invalid"),
    ],
)
def test_each_disturbance_is_told(changes: dict[str, str], more: dict[str, int], reason: str, state: str) -> None:
    found = told(reading(), after(changes, **more))
    assert reasons(found) == {reason: state}
    assert found.verdict.state == state
    (only,) = found.verdict.reasons
    assert only.seen > only.limit and only.means


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({}, {"steal": 2}),  # too few ticks to say anything
        ({}, {"user": 58}),  # the shell that starts the program
        ({f"{readings.CLOCKS}/scaling_cur_freq": "2900000"}, {}),
        ({f"{readings.CORE}/temp1_input": "94000"}, {}),
        ({}, {"pswpin": 200}),
        ({"/proc/pressure/memory": "some avg10=9.00 total=30700"}, {}),
    ],
)
def test_little_is_quiet(changes: dict[str, str], more: dict[str, int]) -> None:
    assert reasons(told(reading(), after(changes, **more))) == {}


def test_a_clock_that_may_move_says_nothing() -> None:
    free = {f"{readings.CLOCKS}/scaling_governor": "schedutil"}
    slower = {**free, f"{readings.CLOCKS}/scaling_cur_freq": "1000000"}
    assert reasons(told(reading(changes=free), after(slower))) == {}


def test_the_worst_reason_comes_first_and_decides() -> None:
    found = told(reading(), after({readings.THROTTLES: "5"}, steal=40))
    assert list(reasons(found).items()) == [("heat", "invalid"), ("steal", "noisy")]
    assert found.verdict.state == "invalid"


def test_of_several_steps_only_their_own_time_counts() -> None:
    found = told(reading(), after(steal=2, ctxt=7), steps=3)
    assert (found.growth["context_switches"], found.elapsed_s, found.steps) == (21, 3.0, 3)
    assert (found.own_cpu_s, reasons(found)) == (1.5, {"steal": "noisy"})


def test_what_was_not_read_is_unknown_with_a_reason() -> None:
    found = told("", "")
    assert found.verdict.state == "unknown" and set(found.unknown) == {"before", "after"}
    torn = summarize(
        [(Output(Step("s", Tool("sh")), 0, {}), one) for one in (HostReadings(reading(), after()), HostReadings())]
    )
    assert torn.verdict.state == "unknown" and "1 of 2" in torn.unknown["steps"]
    little = told("/proc/uptime:1.00 1.00", "/proc/uptime:2.00 2.00", None)
    assert {
        "steal",
        "clock_hz",
        "celsius",
        "heat_throttles",
        "quota",
        "pressure",
        "own_cpu_s",
        "others_cpus",
        "drives",
    } == set(little.unknown)


@pytest.mark.parametrize("kind", ["user", "system", "irq", "softirq", "steal"])
@pytest.mark.parametrize("grown_by", [-1, 10**6, 10**18])
def test_ticks_that_went_back_or_are_more_than_can_be_say_nothing(kind: str, grown_by: int) -> None:
    """Some hypervisors let stolen time decrease or jump, and a truncated line contains a number with fewer digits."""
    found = told(reading(), after(None, **{kind: grown_by}))
    assert (found.verdict.state, reasons(found)) == ("stable", {})
    assert "steal" not in found.shares and "more than is possible" in found.unknown["steal"]
    assert f"ticks_{kind}" not in found.growth
    if kind in ("user", "system"):
        assert found.others_cpus is None and kind not in found.shares
    assert "idle" in found.shares


def test_time_spent_waiting_for_drives_that_goes_back_is_unknown_and_not_none() -> None:
    found = told(reading(iowait=5), after(iowait=2))
    assert "iowait" not in found.shares and {"user", "idle", "steal"} <= found.shares.keys()


@pytest.mark.parametrize("online", ["0-1", "0-63", "", "9-1", "0-99999999"])
def test_ticks_are_believed_by_the_most_cpus_that_there_were(online: str) -> None:
    found = told(reading(), after({readings.ONLINE: online}))
    assert found.growth["ticks_idle"] == 750
    assert reasons(found) == ({"online": "invalid"} if online else {})


def test_a_clock_that_went_back_leaves_nothing_to_compare() -> None:
    """A virtual machine was restored to an earlier state, so its counters belong to a different time."""
    found = told(after(steal=40), reading(50.0, {readings.THROTTLES: "9"}, user=10**4))
    assert (found.verdict.state, found.growth) == ("unknown", {})
    assert "set back" in found.unknown["after"]
    output = Output(Step("s", Tool("sh")), 0, {}, 10**9)
    both = [HostReadings(reading(), after(), 10**9), HostReadings(reading(), reading(50.0, user=10**4), 10**9)]
    mixed = summarize([(output, one) for one in both])
    assert mixed.verdict.state == "unknown" and mixed.growth["ticks_user"] == 50


def test_without_the_time_of_one_step_no_rate_is_told() -> None:
    output = Output(Step("s", Tool("sh")), 0, {}, 10**9)
    torn = reading(changes={"/proc/uptime": ""})
    mixed = summarize([(output, HostReadings(one, after(user=60), 10**9)) for one in (reading(), torn)])
    assert mixed.others_cpus is None and not any(name.startswith("pressure") for name in mixed.shares)


def test_what_is_too_brief_for_the_clocks_of_a_host_is_unknown_and_spoils_nothing() -> None:
    output = Output(Step("s", Tool("sh")), 0, {}, 9_000_000)
    brief = (output, HostReadings(reading(), brief=True))
    found = summarize([brief])
    assert found.verdict.state == "unknown" and "shorter than 20 ms" in found.unknown["after"]
    mixed = summarize([brief, (output, HostReadings(reading(), after(steal=40), 10**9)), brief])
    assert reasons(mixed) == {"steal": "noisy"} and "2 of 3" in mixed.unknown["steps"]
    assert summarize([brief, (output, HostReadings(reading(), after(), 10**9))]).verdict.state == "stable"


def short_steps(others: int) -> Telemetry:
    """Return the telemetry of twenty steps of 30 ms on two CPUs, one of which is busy. A step counts 2, 3 or 4 ticks,
    whereas the exact time is 30 ms.

    Other programs take `others` ticks of each step."""
    output = Output(Step("s", Tool("sh")), 0, {}, 30_000_000)
    two = {readings.ONLINE: "0-1"}
    steps = [
        HostReadings(reading(changes=two), reading(100.03, two, user=(2, 4, 3, 3)[n % 4] + others), 30_000_000)
        for n in range(20)
    ]
    return summarize([(output, one) for one in steps])


def test_the_ticks_of_short_steps_are_judged_together() -> None:
    """One tick more than the exact time in every other step does not indicate another program, but a busy loop on the
    other CPU does."""
    quiet, beside = short_steps(0), short_steps(3)
    assert (quiet.verdict.state, quiet.others_cpus) == ("stable", 0.0)
    assert short_steps(1).verdict.state == "stable", "starting a program takes up to a tick"
    assert reasons(beside) == {"others": "noisy"} and beside.others_cpus == pytest.approx(1.0)


def health(**changes: int) -> str:
    """Return a SMART / Health log page in hexadecimal."""
    log = bytearray(512)
    struct.pack_into("<BHB", log, 0, changes.get("warning", 0), 315, 100)
    struct.pack_into("<Q", log, 160, changes.get("errors", 2))
    struct.pack_into("<II", log, 192, changes.get("warm", 7), 0)
    struct.pack_into("<II", log, 216, changes.get("slow", 1), 0)
    return log.hex()


def drive(before: str | None, after_: str | None, name: str = "nvme0n1") -> Telemetry:
    step = guarded(Step("s", Tool("fio")), "/usr/bin/fio", [Target("/dev/nvme0n1", "read")])
    lines: list[dict[str, Any]] = [
        {"t": "device", "when": when, "path": "/dev/nvme0n1", "drives": [name], "nvme_smart": text}
        for when, text in (("before", before), ("after", after_))
    ]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    return told(reading(), after(), step=step, stdout=text)


def test_the_health_of_a_drive_is_read_of_what_guard_says() -> None:
    found = drive(health(), health())
    assert found.verdict.state == "stable"
    assert found.before.drives["nvme0n1"].media_errors == 2
    assert found.after.drives["nvme0n1"].celsius == pytest.approx(41.85)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"warning": 4}, "drive-warning"),
        ({"errors": 3}, "drive-errors"),
        ({"warm": 8}, "drive-heat"),
        ({"slow": 2}, "drive-heat"),
    ],
)
def test_a_drive_that_suffers_makes_it_invalid(changes: dict[str, int], reason: str) -> None:
    assert reasons(drive(health(), health(**changes))) == {reason: "invalid"}


def test_without_the_right_to_ask_a_drive_its_health_is_unknown() -> None:
    assert "root" in drive(None, None).unknown["drives"]
    assert "none of the drives" in drive(None, None, "vda").unknown["drives"]


def test_the_files_found_here_are_few() -> None:
    paths = subprocess.run(["sh", "-c", READING.find], capture_output=True, text=True, check=True).stdout.splitlines()
    assert "/proc/stat" in paths and len(paths) == len(set(paths)) <= 200


def test_lines_are_kept_alike_by_grep_and_python() -> None:
    lines = [line.rpartition(":")[2] for line in reading().splitlines()]
    lines += [
        "intr 12 0 0 0 7",
        "cpu0 1 2 3",
        "softirq 5 1 1",
        "full avg10=0.00 total=9",
        "-5",
        "nr_free_pages 7",
        "",
        "a b",
    ]
    by_grep = subprocess.run(
        ["grep", "-oE", "--", READING.keep], input="\n".join(lines), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    keep = re.compile(READING.keep)
    assert by_grep == [match[0] for line in lines if (match := keep.match(line)) and match[0]]
    assert "intr 12" in by_grep and not any(line.startswith(("cpu0", "full", "nr_free")) for line in by_grep)
