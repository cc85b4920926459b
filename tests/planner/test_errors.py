"""Every error of the planner, at its location: the word in the plan below which the caret must appear."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from asct.diagnostics.codes import all_codes
from asct.diagnostics.model import Diagnostic
from tests.planner.building import at, refused


@dataclass(frozen=True)
class Case:
    """A case. The error points to the nth occurrence of `word`; "" means that the error has no location."""

    code: str
    text: str
    word: str
    hint: str
    nth: int = 0
    sets: tuple[str, ...] = ()


HOSTS = "hosts: {a: {transport: local}, b: {transport: local}}\n"
SWEEP = "benchmarks:\n  - id: disk\n    uses: disk\n    sweep:\n"
CASES = [
    Case("E201", "benchmarks: [disc]", "disc", "did you mean `disk`?"),
    Case("E201", "benchmarks: [disk levels]", "disk levels", "`[disk, levels]`"),
    Case("E202", "benchmarks: [{uses: disk, config: {iodeth: 4}}]", "iodeth", "did you mean `iodepth`?"),
    Case("E202", "defaults: {config: {nope_nope: 1}}\nbenchmarks: [disk]", "nope_nope", "asct list settings"),
    Case("E203", "benchmarks: [disk]", "", "did you mean `disk`?", sets=("dsk.iodepth=4",)),
    Case(
        "E204",
        "benchmarks: [{uses: disk, config: {bs: 4K, block_size: 8K}}]",
        "block_size",
        "main name is `block_size`",
    ),
    Case(
        "E205",
        HOSTS
        + "groups: {g: {hosts: [a], config: {iodepth: 2}}, h: {hosts: [a], config: {iodepth: 3}}}\nbenchmarks: [disk]",
        "3",
        "for host `a`",
    ),
    Case("E206", HOSTS + "benchmarks: [{uses: disk, hosts: [c]}]", "c]", "known: a, b"),
    Case("E206", HOSTS + "benchmarks: [{uses: disk, hosts: ['x*']}]", "'x*'", "a, b"),
    Case("E208", "benchmarks: [{uses: disk, config: {duration: 30}}]", "30", "write `30s`"),
    Case("E208", "benchmarks: [{uses: disk, config: {block_size: 4q}}]", "4q", "units are"),
    Case(
        "E208", "benchmarks: [{uses: disk, config: {block_size: [4K, 8K]}}]", "[4K", "`sweep: {block_size: [4K, 8K]}`"
    ),
    Case("E208", "benchmarks: [{uses: disk, config: {iodepth: {from: 1, to: 8, times: 2}}}]", "{from", "`sweep: {iod"),
    Case("E208", "benchmarks: [{uses: disk, config: {iodepth: 0}}]", "0", "write at least 1"),
    Case("E208", "benchmarks: [{uses: disk, config: {rwmixread: 101}}]", "101", "write at most 100"),
    Case("E208", "benchmarks: [{uses: disk, config: {rw: randread2}}]", "randread2", "did you mean `randread`?"),
    Case("E208", "benchmarks: [{uses: disk, config: {rw: random}}]", "random", "write one of `read`"),
    Case("E208", "benchmarks: [{uses: disk, config: {rwmixread: half}}]", "half", "write a whole number"),
    Case("E208", "benchmarks: [{uses: disk, config: {rwmixread: true}}]", "true", "write a number"),
    Case("E208", "benchmarks: [{uses: disk, config: {direct: perhaps}}]", "perhaps", "`true` or `false`"),
    Case("E208", "benchmarks: [{uses: disk, config: {file_names: [x, 3]}}]", "3", "write text"),
    Case("E208", "benchmarks: [{uses: depth, config: {iodepth_sweep_steps: [1, 0]}}]", "0", "write at least 1"),
    Case("E208", "benchmarks: [{uses: depth, config: {iodepth_sweep_steps: [0]}}]", "0", "write at least 1"),
    Case("E208", "benchmarks: [{uses: depth, config: {iodepth_sweep_steps: []}}]", "[]", "use at least 1"),
    Case("E208", SWEEP + "      block_size: [4K, 5q]", "5q", "units are"),
    Case("E208", "benchmarks: [{uses: peak, config: {data_size: bits}}]", "bits", "or `auto`"),
    Case("E209", "benchmarks: [{uses: disk, config: {rw: read, rwmixread: 50}}]", "50", ""),
    Case("E209", SWEEP + "      rw: [read, randrw]\n      rwmixread: [100, 77]", "77", ""),
    Case("E202", "benchmarks: [{uses: disk, config: {repeats: 3}}]", "repeats", "write it next to `uses`"),
    Case("E210", SWEEP + "      repeats: [1, 2]", "repeats", "write it next to `uses`"),
    Case("E210", SWEEP + "      iodeth: [1, 2]", "iodeth", "did you mean `iodepth`?"),
    Case("E210", SWEEP.replace("disk", "depth") + "      iodepth_sweep_steps: [1, 2]", "iodepth_s", "sweep `iodepth`"),
    Case("E211", SWEEP + "      bs: [4K]\n      block_size: [8K]", "block_size", "remove one"),
    Case("E211", SWEEP + "      bs: [4K]\n      zip: [{block_size: [8K], iodepth: [1]}]", "block_size", "remove one"),
    Case(
        "E211", "benchmarks: [{uses: depth, config: {iodepth: 1, iodepth_sweep_steps: [2]}}]", "iodepth:", "remove one"
    ),
    Case("E213", SWEEP + "      zip: [{iodepth: [1, 2], numjobs: [1]}]", "iodepth", "same number"),
    Case("E214", SWEEP + "      block_size: [4K, 8K, 4096]", "4096", "remove one of them"),
    Case("E214", SWEEP + "      iodepth: [1, 2]\n      include: [{iodepth: 2}]", "{iodepth", "remove one of them"),
    Case("E214", "benchmarks: [{uses: depth, config: {iodepth_sweep_steps: [2, 2]}}]", "2", "remove one", nth=1),
    Case("E215", SWEEP + "      block_size: [4K]\n      exclude: [{block_size: 8K}]", "{block", "never 8192"),
    Case(
        "E215", SWEEP + "      block_size: [4K]\n      exclude: [{iodepth: 8}]", "iodepth", "swept settings: block_size"
    ),
    Case(
        "E215",
        SWEEP + "      iodepth: [1, 8]\n      where: iodepth < 4\n      exclude: [{iodepth: 8}]",
        "{iodepth",
        "remove it",
    ),
    Case(
        "E216",
        SWEEP.replace("disk", "depth") + "      iodepth: [1]\n      include: [{iodepth_sweep_steps: [2]}]",
        "iodepth_sweep",
        "use `iodepth`",
    ),
    Case("E217", "limits: {points: 3}\n" + SWEEP + "      iodepth: [1, 2, 3, 4]", "iodepth", "points: 4"),
    Case("E217", HOSTS + "limits: {points: 3}\n" + SWEEP + "      iodepth: [1, 2]", "limits", "`a/disk` has"),
    Case("E218", SWEEP + "      iodepth: [1, 2]\n      where: iodepth > 2", "iodepth", "every combination"),
    Case(
        "E219",
        "benchmarks: [levels, {uses: disk, needs: {c: levels}, sweep: {block_size: ['${needs.c.dram.optimum_size}']}}]",
        "'${",
        "under `config`",
    ),
    Case("E220", "benchmarks: [{uses: disk, needs: {c: lvels}}]", "lvels", ""),
    Case("E220", "benchmarks: [{uses: disk, needs: {c: levels}}]", "levels", "add `- levels`"),
    Case(
        "E221",
        HOSTS + "benchmarks: [{uses: levels, hosts: [a]}, {uses: disk, needs: {c: levels}}]",
        "levels",
        "(currently a)",
        nth=1,
    ),
    Case("E222", "benchmarks: [disk, {uses: peak, needs: {cache: disk}}]", "disk", "uses: levels", nth=1),
    Case(
        "E223",
        "benchmarks: [{id: x, uses: disk, needs: {c: y}}, {id: y, uses: disk, needs: {c: x}}]",
        "{id: x",
        "remove one",
    ),
    Case(
        "E224",
        "benchmarks: [{uses: peak, config: {data_size: '${needs.cache.dram.size}'}}]",
        "needs.cache.dram.size",
        "did you mean `dram.optimum_size`?",
    ),
    Case(
        "E225",
        "benchmarks: [{id: lv, uses: levels, sweep: {stride: [64, 128]}}, {uses: peak, needs: {cache: lv}}]",
        "lv}}",
        "without a sweep",
    ),
    Case("E230", "benchmarks: [disk]\nexpect: [{metric: disc.iops, min: 1}]", "disc.iops", "did you mean `disk`?"),
    Case("E230", "benchmarks: [disk]\nexpect: [{metric: iops, min: 1}]", "iops", "write `disk.iops`"),
    Case("E231", "benchmarks: [disk]\nexpect: [{metric: disk.iop, min: 1}]", "disk.iop", "did you mean `iops`?"),
    Case("E232", "benchmarks: [levels]\nexpect: [{metric: levels.used, min: 1K}]", "levels.used", "latency"),
    Case("E233", "benchmarks: [disk]\nexpect: [{metric: 'disk.*', min: 1}]", "'disk.*'", "for each metric"),
    Case("E234", "benchmarks: [disk]\nexpect: [{metric: disk.clat_p99, max: 200}]", "200", "such as"),
    Case("E234", "benchmarks: [disk]\nexpect: [{metric: disk.iops, max: 200us}]", "200us", "such as"),
    Case("E234", "benchmarks: [disk]\nexpect: [{metric: disk.iops, min: 85%}]", "85%", "add `of:"),
    Case("E234", "benchmarks: [disk]\nexpect: [{metric: disk.iops, reference: 200us}]", "200us", "such as"),
    Case("E234", "benchmarks: [disk]\nexpect: [{metric: disk.iops, reference: 85%}]", "85%", "with a unit"),
    Case("E234", "benchmarks: [disk]\nexpect: [{metric: disk.iops, reference: 0}]", "0", "the rated value"),
    Case("E231", "benchmarks: [disk]\nexpect: [{metric: disk.iop, reference: 1}]", "disk.iop", "did you mean `iops`?"),
    Case("E233", "benchmarks: [disk]\nexpect: [{metric: 'disk.*', reference: 1}]", "'disk.*'", "for each metric"),
    Case("E236", "benchmarks: [depth]\nexpect: [{metric: depth.iops, at: {iodepth: 3}, reference: 1}]", "3", "values:"),
    Case("E234", "benchmarks: [disk]\nexpect: [{metric: disk.iops, min: 3, max: 2}]", "2", ""),
    Case(
        "E234",
        "benchmarks: [peak]\nexpect: [{metric: peak.bandwidth, min: 1 GB/s, of: theoretical_bandwidth}]",
        "1 GB",
        "5%",
    ),
    Case("E235", "benchmarks: [levels]\nexpect: [{metric: levels.latency, at: {lvl: L1}, max: 1 s}]", "lvl", "`level`"),
    Case(
        "E235",
        "benchmarks: [{uses: disk, config: {iodepth: 8}}]\nexpect: [{metric: disk.iops, at: {iodepth: 8}, min: 1}]",
        "iodepth",
        "remove `iodepth`",
        nth=1,
    ),
    Case("E236", "benchmarks: [levels]\nexpect: [{metric: levels.latency, at: {level: L4}, max: 1 s}]", "L4", "L1"),
    Case("E236", "benchmarks: [depth]\nexpect: [{metric: depth.iops, at: {iodepth: 3}, min: 1}]", "3", "1, 2, 4"),
    Case(
        "E236",
        SWEEP
        + "      zip: [{iodepth: [1, 2], numjobs: [3, 4]}]\n"
        + "expect: [{metric: disk.iops, at: {iodepth: 1, numjobs: 4}, min: 1}]",
        "1, numjobs: 4",
        "`asct plan`",
    ),
    Case(
        "E237",
        HOSTS + "benchmarks: [{uses: disk, hosts: [a]}]\nexpect: [{metric: disk.iops, min: 1, by: {b: {min: 2}}}]",
        "b: {min",
        "it runs on a",
    ),
    Case(
        "E237",
        HOSTS + "benchmarks: [disk]\nexpect: [{metric: disk.iops, min: 1, by: {bb: {min: 2}}}]",
        "bb",
        "did you mean `b`?",
    ),
    Case(
        "E238",
        "benchmarks: [peak]\nexpect: [{metric: peak.bandwidth, min: 5%, of: pink}]",
        "pink",
        "known: theoretical_bandwidth",
    ),
    Case(
        "E239",
        "benchmarks: [disk]\nbaseline: {run: x}\nexpect: [{metric: disk.iops, versus: baseline}]",
        "{metric",
        "add `no_worse_than: 5%`",
    ),
    Case(
        "E239",
        "benchmarks: [disk]\nexpect: [{metric: disk.iops, versus: baseline, no_worse_than: 5%}]",
        "{metric",
        "PATH",
    ),
    Case(
        "E239",
        "benchmarks: [disk]\nbaseline: {run: x}\nexpect: [{metric: disk.cpu_usr, versus: baseline, no_worse_than: 5%}]",
        "disk.cpu_usr",
        "`min` or `max`",
    ),
    Case("E240", "limits: {duration: 1s}\nbenchmarks: [{uses: disk, repeats: 3}]", "limits", "raise the limit"),
    Case(
        "E241",
        "safety: {max_written: 1MiB}\nbenchmarks: [{uses: disk, config: {rw: write}, repeats: 2}]",
        "safety",
        "1 MiB",
    ),
    Case("E251", "benchmarks: [{uses: disk, config: {rw: write, filename: [/dev/sda]}}]", "{uses", "safety.destroys"),
    Case("E252", "benchmarks: [{uses: disk, config: {filename: [/boot/x]}}]", "[/boot/x]", ""),
]
ELSEWHERE = {"E207", "E226", "E242", "E250", "E253", "E260", "E261", "E262"}
"""Errors raised by the selection, by `bind`, by consents that the loader accepts, or by frozen plans, and warnings. All
of them have their own tests."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.code}-{case.word[:12]}")
def test_an_error_points_at_its_place_and_gives_the_way_out(case: Case) -> None:
    found = [item for item in refused(case.text, case.sets) if item.code == case.code]
    assert found, refused(case.text, case.sets)
    assert case.hint in found[0].hint
    if case.word:
        span = found[0].span
        assert span is not None
        assert (span.line, span.column) == at(case.text, case.word, case.nth), found[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.code}-{case.word[:12]}")
def test_a_message_is_one_plain_line(case: Case) -> None:
    for item in refused(case.text, case.sets):
        assert item.message and item.message[0] not in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        assert not item.message.endswith(".") and "\n" not in item.message
        assert "Input should" not in item.message and "pydantic" not in item.message


def test_one_mistake_gives_one_error() -> None:
    for case in CASES:
        assert [item.code for item in refused(case.text, case.sets)] == [case.code], case.text


def test_every_code_has_a_case() -> None:
    assert {case.code for case in CASES} | ELSEWHERE == {code for code in all_codes() if code.startswith("E2")}


@pytest.mark.parametrize("number", [1, 3, 8])
def test_a_missing_baseline_is_told_once_with_the_expectations_that_need_it(number: int) -> None:
    expected = "  - {metric: disk.iops, versus: baseline, no_worse_than: 5%}\n"
    (found,) = refused(f"benchmarks: [disk]\nexpect:\n{expected * number}")
    assert (found.code, found.message) == ("E239", "the plan has no `baseline`")
    lines = [(text, span and span.line - found.span.line) for text, span in found.notes if found.span]
    more = [("and by 3 more expectations", None)] if number == 8 else []
    assert lines == [("also needed here", line) for line in range(1, min(number, 5))] + more


def test_all_errors_come_at_once() -> None:
    text = """
benchmarks:
  - {id: one, uses: disk, config: {iodeth: 1, rw: wriet}}
  - {id: two, uses: dsik}
  - {id: three, uses: disk, sweep: {iodepth: [0, 1], bs: [4q]}}
"""
    assert [item.code for item in refused(text)] == ["E202", "E208", "E201", "E208", "E208"]


def test_a_bound_that_is_no_quantity_is_reported_even_if_the_metric_is_unknown() -> None:
    unknown, bound = refused("benchmarks: [disk]\nexpect: [{metric: disk.zz, max: 3 furlongs}]")
    assert (unknown.code, bound.code, bound.message) == ("E231", "E234", "`3 furlongs` is not a quantity")
    assert [item.code for item in refused("benchmarks: [disk]\nexpect: [{metric: disk.zz, max: 3 ms}]")] == ["E231"]


def test_the_same_error_on_many_hosts_is_told_once() -> None:
    text = 'hosts: {"n[01:50]": {transport: local}}\nbenchmarks: [{uses: disk, config: {iodepth: none}}]'
    found: list[Diagnostic] = refused(text)
    assert len(found) == 1
