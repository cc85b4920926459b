"""What the compiler generated for the timed loops: the intended loads and adds, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.kernels.disassembly import instructions

pytestmark = pytest.mark.kernels

X86, ARM = "x86_64", pytest.param("aarch64", marks=pytest.mark.arm)


@pytest.fixture(params=[X86, ARM])
def disassembly(request: pytest.FixtureRequest) -> tuple[str, Path]:
    fixture = "built" if request.param == "x86_64" else "built_arm"
    return request.param, request.getfixturevalue(fixture)["chase"]


def loop(program: tuple[str, Path], function: str) -> list[str]:
    """Return the body of the only loop, from the target of the backward branch to the branch."""
    listing = instructions(program, function)
    backward = []
    for address, text in listing:
        branch = re.match(r"(?:j\w+|b\.\w+|cbnz \w+,) ?([0-9a-f]+)", text)
        if branch and int(branch.group(1), 16) <= address:
            backward.append((int(branch.group(1), 16), address))
    assert len(backward) == 1, listing
    start, end = backward[0]
    return [text for address, text in listing if start <= address <= end]


def test_the_chase_is_64_dependent_loads_a_turn_and_the_count(disassembly: tuple[str, Path]) -> None:
    body = loop(disassembly, "loop_loads")
    pattern = {"x86_64": r"mov \(%(r\w+)\),%(r\w+)", "aarch64": r"ldr (x\d+), \[(x\d+)\]"}[disassembly[0]]
    loads = [found.groups() for found in (re.fullmatch(pattern, text) for text in body) if found]
    assert len(loads) == 64
    # Each load takes its address from the register it writes: one chain through one register.
    assert {a for a, _ in loads} == {b for _, b in loads} and len({a for a, _ in loads}) == 1
    others = [text for text in body if not re.fullmatch(pattern, text)]
    assert len(others) <= 3
    assert all(re.match(r"(sub|subs|dec|j\w+|b\.\w+|cbnz|cmp|test)\b", text) for text in others), others


def test_the_probe_is_64_dependent_adds_of_registers_a_turn(disassembly: tuple[str, Path]) -> None:
    body = loop(disassembly, "loop_adds")
    if disassembly[0] == "x86_64":
        adds = [found.groups() for found in (re.fullmatch(r"add %(r\w+),%(r\w+)", text) for text in body) if found]
        chain = {target for _, target in adds}
        constant = {source for source, _ in adds}
    else:
        three = [re.fullmatch(r"add (x\d+), (x\d+), (x\d+)", text) for text in body]
        assert all(found.group(1) == found.group(2) for found in three if found)
        adds = [found.groups() for found in three if found]
        chain, constant = {target for target, _, _ in adds}, {source for _, _, source in adds}
    assert len(adds) == 64
    assert len(chain) == len(constant) == 1 and chain != constant
    others = [text for text in body if not re.match(r"add [%x]\w+, ?[%x]", text)]
    assert len(others) <= 3
    assert not [text for text in others if "(" in text or "[" in text], "the probe touches memory"


@pytest.mark.parametrize("function", ["loop_loads", "loop_adds"])
def test_no_call_and_no_store_in_the_timed_functions(function: str, disassembly: tuple[str, Path]) -> None:
    texts = [text for _, text in instructions(disassembly, function)]
    assert not [text for text in texts if re.match(r"(call|bl|blr|push|st[rp])\b", text)]
    assert not [text for text in texts if re.search(r",\s*-?\w*\(%\w+", text)], "a store"
