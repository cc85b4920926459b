"""A single pass finds every mistake in a plan, whatever else is wrong, and reports no consequences of other
mistakes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from asct.diagnostics.model import errors
from asct.plan.load import load_plan
from asct.planner.resolve import resolve
from tests.planner.fakes import CATALOG


class Mistake(NamedTuple):
    """A line of the plan below, the same line with a mistake, and the code of its error."""

    right: str
    wrong: str
    code: str


PLAN = """\
plan: 1
name: bringup
vars:
  runtime: 2s
  max_qd: 128
  total: "${vars.max_qd * 2}"
  scratch: ./scratch
hosts:
  a: {transport: local}
  b: {transport: ssh, address: b.lab, labels: {rack: r1}, vars: {disk: /tmp/b}}
  c: {transport: ssh, address: c.lab, labels: {rack: r2}, vars: {disk: /tmp/c}}
  d: {transport: ssh, port: 22}
groups:
  lab: [b, c]
  pair: {hosts: [a, b], vars: {kind: x}}
defaults:
  repeats: 2
  timeout: 15m
  order: interleaved
  config: {time_cap: 2s}
benchmarks:
  - levels
  - id: first
    uses: disk
    hosts: [a]
    config:
      rw: randrw
      duration: "${vars.runtime}"
      block_size: 4K
    sweep:
      iodepth: [1, 2, 4]
      numjobs: {from: 1, to: 4, times: 2}
      where: iodepth * numjobs <= vars.max_qd
      exclude:
        - {iodepth: 4, numjobs: 4}
    retry: {max: 1, on: [timeout]}
  - id: second
    uses: disk
    hosts: [lab]
    tags: [storage]
    config:
      file_names: ["${host.vars.disk}"]
      rw: randrw
      duration: 1s
    sweep:
      block_size: [4K, 8K, 16K]
      rwmixread: {from: 0, to: 100, step: 50}
      zip:
        - {iodepth: [1, 2], numjobs: [1, 2]}
      include:
        - {iodepth: 64}
  - id: third
    extends: first
    repeats: 3
  - id: mixed
    uses: disk
    config: {rw: randrw, rwmixread: 50, duration: 3s}
  - id: deep
    uses: depth
    config:
      iodepth_sweep_steps: [1, 2, 4]
  - id: peak
    uses: peak
    needs:
      cache: levels
    config:
      data_size: "${needs.cache.dram.optimum_size}"
expect:
  - metric: levels.latency
    at: {level: DRAM}
    max: 130 ns
  - metric: first.iops
    at: {iodepth: 4}
    min: 550k
  - metric: second.clat_p99
    max: 2 ms
    by:
      b: {max: 1 ms}
  - metric: peak.bandwidth
    min: 85%
    of: theoretical_bandwidth
  - metric: deep.iops
    versus: baseline
    no_worse_than: 5%
    severity: warn
baseline:
  run: latest
safety:
  max_written: 2TiB
limits:
  points: 5000
report:
  formats: [html]
profiles:
  quick:
    vars: {runtime: 1s}
    benchmarks: {first: {repeats: 1}}
"""

MISTAKES = [
    Mistake("  runtime: 2s", "  runtime: *fast", "E108"),
    Mistake('  total: "${vars.max_qd * 2}"', '  total: "${vars.max_dq * 2}"', "E121"),
    Mistake("  scratch: ./scratch", "  my-scratch: ./scratch", "E111"),
    Mistake("  a: {transport: local}", "  a: {transport: locla}", "E112"),
    Mistake("{rack: r1}, vars: {disk: /tmp/b}}", "{rack: [r1]}, vars: {disk: /tmp/b}}", "E106"),
    Mistake("r2}, vars: {disk: /tmp/c}}", "r2}, vras: {disk: /tmp/c}}", "E104"),
    Mistake("port: 22}", "port: 220000}", "E112"),
    Mistake("  lab: [b, c]", "  lab: [b, cc]", "E114"),
    Mistake("  pair: {hosts: [a, b],", "  pair: {hosts: [a, b, 7],", "E106"),
    Mistake("  repeats: 2\n", "  repeats: 2x\n", "E106"),
    Mistake("  timeout: 15m", "  timeout: 15", "E112"),
    Mistake("  order: interleaved", "  order: intreleaved", "E112"),
    Mistake("  config: {time_cap: 2s}", "  config: {tme_capp_x: 2s}", "E202"),
    Mistake("    hosts: [a]\n", "    hosts: [aa]\n", "E206"),
    Mistake("      block_size: 4K", "      block_size: 4k", "E208"),
    Mistake("[4K, 8K, 16K]", "[4K, 8k, 16K]", "E208"),
    Mistake("{from: 0, to: 100, step: 50}", "{from: 0, to: 100, stp: 50}", "E124"),
    Mistake("      where: iodepth * numjobs <= vars.max_qd", "      where: iodepth * numjobs <= 8 8", "E120"),
    Mistake("        - {iodepth: 4, numjobs: 4}", "        - {iodepth: 9, numjobs: 4}", "E215"),
    Mistake("    retry: {max: 1, on: [timeout]}", "    retry: {max: 1, on: [tmeout]}", "E112"),
    Mistake("    tags: [storage]", "    tags: [[storage]]", "E106"),
    Mistake("      duration: 1s", "      duration: 1", "E208"),
    Mistake("        - {iodepth: [1, 2], numjobs: [1, 2]}", "        - {iodepth: [1, 2], numjobs: [1]}", "E213"),
    Mistake("        - {iodepth: 64}", "        - {iodepht: 64}", "E202"),
    Mistake("    repeats: 3", "    repetitions: 3", "E104"),
    Mistake("rwmixread: 50, ", "rwmixread: 50, rw: read, ", "E105"),
    Mistake("{rw: randrw,", "{rw: read,", "E209"),
    Mistake("duration: 3s}", "durration: 3s}", "E202"),
    Mistake("      iodepth_sweep_steps: [1, 2, 4]", "      iodepth_sweep_steps: [1, 2, 2]", "E214"),
    Mistake("      cache: levels", "      cache: lvels", "E220"),
    Mistake('"${needs.cache.dram.optimum_size}"', '"${needs.cach.dram.optimum_size}"', "E121"),
    Mistake("    at: {level: DRAM}", "    at: {level: DRM}", "E236"),
    Mistake("    max: 130 ns", "    max: 130ms ns", "E234"),
    Mistake("  - metric: first.iops", "  - metric: first.iop", "E231"),
    Mistake("    at: {iodepth: 4}", "    at: {iodepth: 5}", "E236"),
    Mistake("    max: 2 ms", "    max: 2 parsecs", "E234"),
    Mistake("      b: {max: 1 ms}", "      bb: {max: 1 ms}", "E237"),
    Mistake("    of: theoretical_bandwidth", "    of: theoretical_bandwith", "E238"),
    Mistake("    versus: baseline", "    versus: basline", "E112"),
    Mistake("  run: latest", "  run: [latest]", "E106"),
    Mistake("  max_written: 2TiB", "  max_written: 2t", "E112"),
    Mistake("  points: 5000", "  points: many", "E106"),
    Mistake("  formats: [html]", "  formats: [htlm]", "E112"),
    Mistake("    vars: {runtime: 1s}", "    vars: {runtim: 1s}", "E114"),
    Mistake("benchmarks: {first:", "benchmarks: {frst:", "E114"),
    Mistake("  - levels\n", "  - levles\n", "E201"),
]

Error = tuple[str, int, str]
"""The code, line and message of an error."""


def found(text: str) -> list[Error]:
    loaded = load_plan(Path("plan.yaml"), text=text)
    assert loaded.partial is not None
    items = dict.fromkeys([*loaded.diagnostics, *resolve(loaded.partial, CATALOG).diagnostics])
    assert all(item.span is not None for item in errors(items))
    return [(item.code, item.span.line if item.span else 0, item.message) for item in errors(items)]


def with_mistakes(*mistakes: Mistake) -> str:
    """Return the plan with these mistakes. The other lines keep their numbers."""
    text = PLAN
    for mistake in mistakes:
        assert text.count(mistake.right) == 1, mistake.right
        text = text.replace(mistake.right, mistake.wrong)
    return text


def test_the_plan_without_mistakes_has_no_error() -> None:
    assert not found(PLAN)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.wrong.strip())
def test_one_mistake_gives_one_error(mistake: Mistake) -> None:
    assert [code for code, _, _ in found(with_mistakes(mistake))] == [mistake.code]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.wrong.strip())
def test_a_mistake_neither_hides_others_nor_adds_errors(mistake: Mistake) -> None:
    others = [item for item in MISTAKES if item is not mistake]
    assert sorted(found(with_mistakes(*others))) == errors_of(others)


@pytest.mark.parametrize("seed", range(30))
def test_any_mistakes_together_give_the_errors_of_each(seed: int) -> None:
    some = [item for item in MISTAKES if random.Random(f"{seed} {item.wrong}").random() < 0.2]
    assert sorted(found(with_mistakes(*some))) == errors_of(some)


def test_all_mistakes_at_once() -> None:
    assert sorted(found(with_mistakes(*MISTAKES))) == errors_of(MISTAKES)


def errors_of(mistakes: Sequence[Mistake]) -> list[Error]:
    """Return the errors of plans that each contain one of the mistakes."""
    return sorted(error for mistake in mistakes for error in _alone(mistake))


@cache
def _alone(mistake: Mistake) -> list[Error]:
    return found(with_mistakes(mistake))
