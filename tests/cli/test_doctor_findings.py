"""`asct doctor` reports disturbances, and writes a script with the fixes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from asct.cli.doctor_text import disturbance_lines, folded
from asct.doctor.model import HostReport
from asct.engine.services import Services
from asct.hosts.base import Host
from asct.sdk.disturbance import CERTAINTIES, Disturbance
from asct.sdk.facts import HostFacts
from tests.cli.conftest import Asct
from tests.disturbances.made import disturbed, quiet
from tests.doctor.stub import LOOK, META, guard, ports
from tests.engine import plant

PORTS = "asct.engine.services.default_services"
PLAN = """
plan: 1
name: memory
hosts: {one: {transport: local}, two: {transport: local}}
benchmarks: [{uses: latency-sweep, hosts: [one]}, {uses: noop, hosts: [two]}]
"""


def facts_as(known: HostFacts, **changes: Any) -> Services:
    def collect(host: Host, _folder: Path) -> HostFacts:
        return known.model_copy(update={"host": host.name})

    return plant.collaborators(**{"catalog": ports().catalog, "provide": guard(*LOOK), "collect_facts": collect,
                                  **changes})  # fmt: skip


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PORTS, lambda: facts_as(disturbed()))


def test_each_finding_has_effect_fix_and_undo_within_80_columns(asct: Asct) -> None:
    ended = asct("doctor")
    assert ended.code == 0
    assert "disturbances affect measurements; 1 other does not" in ended.out
    for text in ("    effect    clocks stay below", "    affects   memory, storage",
                 "    certain   this governor requests",
                 "      echo schedutil >/sys/devices/system/cpu/cpu$n/cpufreq/scaling_governor",
                 "    undo, as root", "  hardware counters not accessible"):  # fmt: skip
        assert text in ended.out
    assert [line for line in ended.out.splitlines() if len(line) > 80 or "\x1b" in line] == []
    assert "sudo" not in ended.out.replace("`sudo: true`", "")
    assert "    source    " in asct("doctor", "-v").out and "    source    " not in ended.out


def test_long_commands_are_folded_as_a_shell_takes_them() -> None:
    command = "  echo balance_performance >/sys/devices/system/cpu/cpu$n/cpufreq/energy_performance_preference"
    assert folded(command, 80) == [
        "  echo balance_performance \\",
        "    >/sys/devices/system/cpu/cpu$n/cpufreq/energy_performance_preference",
    ]
    assert folded("echo 1 >/x", 80) == ["echo 1 >/x"]
    quoted = f"printf '%s\\n' 'a > b' >/{'x' * 90}"
    assert folded(quoted, 80) == [quoted]


def test_colours_are_left_to_terminals(asct: Asct) -> None:
    assert "\x1b[" in asct("doctor", "--color", "always").out


def test_a_plan_puts_first_what_touches_it(asct: Asct, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    ended = asct("doctor", "plan.yaml", "--host", "one")
    assert ended.code == 0
    assert "governor powersave, schedutil\n" in ended.out
    assert "these do not affect the plan (-v shows details): " in ended.out
    head, _, folded_away = ended.out.partition("these do not affect the plan")
    for title in ("clock source hpet", "hardware counters not accessible"):
        assert title not in head and title in " ".join(folded_away.split())
    assert "clock source hpet\n    seen" in asct("doctor", "plan.yaml", "--host", "one", "-v").out


def _touching(*words: str) -> Disturbance:
    return Disturbance(
        name="n", title="t", seen="s", effect="e", touches=list(words), sure="certain", why="w", source="s"
    )


@pytest.mark.parametrize(
    ("touches", "subjects", "text"),
    [
        (["memory"], None, "1 disturbance affects measurements"),
        ([], {"memory"}, "no disturbance affects the plan"),
        (["memory", "storage", "cpu", "*"], {"memory"}, "1 disturbance affects the plan; 3 others do not"),
        (["storage", "cpu", "*"], {"memory"}, "no disturbance affects the plan; 3 other disturbances were found"),
        (["storage"], {"memory"}, "no disturbance affects the plan; 1 other disturbance was found"),
    ],
)
def test_disturbances_are_counted(touches: list[str], subjects: set[str] | None, text: str) -> None:
    known = None if subjects is None else frozenset(subjects)
    report = HostReport("a", "local", "", "ok", findings=tuple(map(_touching, touches)), subjects=known)
    assert next(disturbance_lines(report, 80, verbose=False)) == f"  {text}"


def test_as_a_document(asct: Asct, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    (alone,) = asct("doctor", "--json").document["hosts"]
    assert {item["touches_plan"] for item in alone["findings"]} == {None}
    order = [CERTAINTIES.index(item["sure"]) for item in alone["findings"]]
    assert order == sorted(order)
    one, two = asct("doctor", "plan.yaml", "--json").document["hosts"]
    about = {item["name"]: item["touches_plan"] for item in one["findings"]}
    assert (about["governor"], about["io-uring"], about["cpu-quota"]) == (True, False, True)
    about = {item["name"]: item["touches_plan"] for item in two["findings"]}
    assert (about["governor"], about["cpu-quota"]) == (False, True), "noop measures neither memory nor storage"
    governor = next(item for item in one["findings"] if item["name"] == "governor")
    assert governor["settings"][0]["was"] == "schedutil" and governor["undo"] and governor["source"]


def test_what_a_plan_lacks_is_told(asct: Asct, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("plan: 1\nname: st\nbenchmarks: [storage-io-depth-sweep]\n")
    ended = asct("doctor", "plan.yaml", "--json")
    (found,) = ended.document["hosts"]
    names = {item["name"] for item in found["findings"]}
    assert "no-mpstat" in names and "no-fio" not in names, "what is needed is a problem, what is only used a finding"


def test_what_could_not_be_judged_says_why(asct: Asct, monkeypatch: pytest.MonkeyPatch) -> None:
    blind = quiet().model_copy(update={"unknown": {"thermal": "needs root", "system.irqbalance": "needs root"}})
    blind = blind.model_copy(update={"thermal": [], "system": blind.system.model_copy(update={"irqbalance": None})})
    monkeypatch.setattr(PORTS, lambda: facts_as(blind))
    out = asct("doctor").out
    assert "  not checked\n    temperatures, irqbalance: needs root\n" in out


def test_the_script_of_this_machine(asct: Asct, tmp_path: Path) -> None:
    ended = asct("doctor", "--fix-script")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("#!/bin/sh\n") and "apply_governor() {" in ended.out
    subprocess.run(["sh", "-n"], input=ended.out, text=True, check=True)
    assert list(tmp_path.iterdir()) == [], "nothing is made"


def test_the_script_of_a_plan_has_what_touches_it(asct: Asct, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    text = asct("doctor", "plan.yaml", "--host", "one", "--fix-script").out
    assert "apply_governor() {" in text and "apply_clock_source" not in text
    assert asct("doctor", "plan.yaml", "--fix-script").code == 2, "two hosts have a script each"
    ended = asct("doctor", "plan.yaml", "--fix-script", "-o", "fixes")
    assert (ended.code, ended.out.splitlines()) == (0, ["fixes/one.sh", "fixes/two.sh"])
    assert "sh one.sh undo" in (tmp_path / "fixes/one.sh").read_text()
    assert asct("doctor", "plan.yaml", "--fix-script", "-o", "fixes").code == 2, "an undo is not written over"
    assert asct("doctor", "plan.yaml", "--fix-script", "-o", "fixes", "--force").code == 0


def test_a_host_that_cannot_be_reached_has_no_script(asct: Asct) -> None:
    ended = asct("doctor", "--host", "127.0.0.1:1", "--fix-script")
    assert (ended.code, ended.out) == (3, "") and "error[E3" in ended.err


def test_without_a_guard_what_was_found_is_told(asct: Asct, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = facts_as(disturbed(), provide=guard(META))
    monkeypatch.setattr(PORTS, lambda: chosen)
    ended = asct("doctor", "--fix-script")
    assert ended.code == 3 and "apply_governor" in ended.out and "E445" in ended.err


@pytest.mark.parametrize(
    "words", [("-o", "x"), ("--fix-script", "--json"), ("--fix-script", "--host", "a", "--host", "b")]
)
def test_wrong_usage(asct: Asct, words: tuple[str, ...], tmp_path: Path) -> None:
    assert asct("doctor", *words).code == 2
    assert list(tmp_path.iterdir()) == []
