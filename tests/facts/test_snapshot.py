"""Converting the output of a host to what parsers see: the packed form of CPUs, outputs that are truncated anywhere,
and omissions."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asct.facts.reading import facts_of
from asct.facts.snapshot import Snapshot, from_output, stored_snapshot
from asct.facts.sources import CPU

WHEN = datetime(2026, 1, 2, tzinfo=UTC)
TOKEN = "asct-0123456789abcdef"
OUTPUT = f"""\
{TOKEN} left block_devices 12
{TOKEN} files -
/proc/loadavg:1 2 3
/etc/os-release:NAME=x
/etc/os-release:
/etc/os-release:ID=a:b
grep: a warning
{TOKEN} left /proc/self/mounts 7
{TOKEN} blocks /proc/cpuinfo
0 processor\t: 0
0-1 model name\t: A chip
0-2 flags\t\t: fpu sse
1 processor\t: 1
2 processor\t: 2
2 model name\t: Another
{TOKEN} numbered {CPU}/cpu
0-1,3 topology/physical_package_id:0
0,2-3 cache/index0/size:32K
{TOKEN} command id
0

{TOKEN} end id 0
{TOKEN} over -
"""


def test_the_parts_of_an_output() -> None:
    found = from_output(OUTPUT, TOKEN)
    assert found.text("/proc/loadavg") == "1 2 3"
    assert found.text("/etc/os-release") == "NAME=x\n\nID=a:b"
    assert found.command_output("id") == "0"
    assert found.omitted == {"block_devices": 12, "/proc/self/mounts": 7}
    assert stored_snapshot(OUTPUT) == found
    assert stored_snapshot(OUTPUT[1:]) is None


def test_what_cpus_have_in_common_is_written_out() -> None:
    found = from_output(OUTPUT, TOKEN)
    assert found.text("/proc/cpuinfo") == (
        "processor\t: 0\nmodel name\t: A chip\nflags\t\t: fpu sse\n\n"
        "processor\t: 1\nmodel name\t: A chip\nflags\t\t: fpu sse\n\n"
        "processor\t: 2\nmodel name\t: Another\nflags\t\t: fpu sse"
    )
    packages = found.matching(rf"{CPU}/cpu(\d+)/topology/physical_package_id")
    assert [(match[1], text) for match, text in packages] == [("0", "0"), ("1", "0"), ("3", "0")]
    sizes = found.matching(rf"{CPU}/cpu(\d+)/cache/index\d/size")
    assert [match[1] for match, _ in sizes] == ["0", "2", "3"]


def test_what_is_left_out_is_unknown() -> None:
    assert "12 omitted" in facts_of(from_output(OUTPUT, TOKEN), "h", WHEN).unknown["block_devices"]


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300), st.integers(0, 2000), st.integers(0, 2000))
def test_output_cut_anywhere(noise: str, cut: int, on: int) -> None:
    found = from_output(OUTPUT[:cut] + noise + OUTPUT[on:], TOKEN)
    facts_of(found, "h", WHEN)


@pytest.mark.parametrize(
    "line",
    ["0-99999999999 x:1", "0-99999 a:1\n" * 40, "5-1 x:1", "- x", "", "1,2,,3 x:1", "0-0:0 x", "\x00 \x00"],
)
@pytest.mark.parametrize(
    "kind", ["numbered /sys/x", "blocks /proc/cpuinfo", "left x 99999999999999999999999", "end id ²"]
)
def test_an_output_that_is_not_of_the_script_costs_little(line: str, kind: str) -> None:
    found = from_output(f"{TOKEN} {kind}\n{line}\n{TOKEN} over -\n", TOKEN)
    assert len(found.files) <= 100_000
    assert sum(map(len, found.files.values())) < 50_000_000


def test_a_command_without_its_end_has_failed() -> None:
    assert from_output("T command id\n0\n", "T").command_output("id") is None


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"/a/b\d", ["/a/b1", "/a/b2"]),
        (r"/a/(b1|c)", ["/a/b1", "/a/c"]),
        (r"/a/b1|/x", ["/a/b1", "/x"]),
        (r"/a/bc?1", ["/a/b1"]),
        (r"/a/c*", ["/a/c"]),
        (r".*/x", ["/x"]),
        (r"/a/c", ["/a/c"]),
    ],
)
def test_files_by_pattern(pattern: str, expected: list[str]) -> None:
    found = Snapshot(dict.fromkeys(("/x", "/a/c", "/a/b2", "/a/b1", "/a/bcd"), "t"))
    assert [match[0] for match, _ in found.matching(pattern)] == expected
