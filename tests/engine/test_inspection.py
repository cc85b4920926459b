"""Decisions based on guard's output: a device may be written only if the output is complete and every check passed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.diagnostics.codes import lookup
from asct.engine.guard import CHECKS, REFUSED, REQUIRED, inspection_result, is_refusal, refusal, refused_check
from asct.instruments.guard_output import TargetCheck
from asct.sdk.guard import Target

TARGET = Target("/dev/loop7", "write", "/img")
END = {"t": "end", "ok": True}


def lines(*bodies: dict[str, Any]) -> str:
    return "".join(json.dumps(body) + "\n" for body in bodies)


def check(name: str, ok: object = True, detail: str = "", path: str = TARGET.path) -> dict[str, Any]:
    return {"t": "check", "path": path, "name": name, "ok": ok, "detail": detail}


def passed(*, without: str = "") -> list[dict[str, Any]]:
    return [check(name) for name in sorted(REQUIRED) if name != without]


def codes(status: int | None, text: str, stderr: str = "") -> list[str]:
    return [item.code for item in inspection_result("h", [TARGET], status, text, stderr).refusals]


def test_every_check_passed() -> None:
    device = {"t": "device", "when": "before", "path": TARGET.path, "bytes": 5}
    found = inspection_result("h", [TARGET], 0, lines({"t": "meta"}, device, *passed(), {"t": "ready"}, END))
    assert (found.refusals, len(found.checks)) == ([], len(REQUIRED))
    assert [(item.path, item.scalar("bytes")) for item in found.devices] == [(TARGET.path, 5)]


def test_all_refusals_are_told_with_their_names() -> None:
    text = lines(*passed(), check("mounted", False, "on /mnt"), check("data", None), {"t": "end", "ok": False})
    found = inspection_result("h", [TARGET], 4, text)
    assert [item.code for item in found.refusals] == ["E442", "E444"]
    assert found.refusals[0].message == "host h: refused to use /dev/loop7: check `mounted` failed: on /mnt"
    assert "could not be completed" in found.refusals[1].message
    assert all(item.hint for item in found.refusals)


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_each_check_is_explained(name: str) -> None:
    named = CHECKS[name]
    text = lookup(named.code)
    assert named.hint and text is not None and f"`{name}`" in text.text
    assert is_refusal(refused_check("h", TargetCheck("/dev/x", name, False)))


def test_a_name_that_leads_nowhere_has_a_way_out_for_devices_and_files() -> None:
    hint = refused_check("h", TargetCheck("/new/file", "identity", False, "no such file; nothing is created")).hint
    assert hint is not None and "asct doctor" in hint and "omit `file_names`" in hint


def test_codes_of_refusals_exist() -> None:
    assert all(lookup(code) is not None for code in REFUSED)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (0, ""),
        (0, lines(*passed())),
        (None, lines(*passed(), END)),
        (3, lines(*passed(), END)),
        (-9, lines(*passed())),
        (0, lines(END)),
        (0, lines(*passed(), {"t": "end", "ok": False, "error": "no memory"})),
        (0, lines(*passed(), {"t": "end", "ok": 1})),
        (0, lines(*passed(without="exclusive"), END)),
        (0, lines(*(check(name, path="/dev/other") for name in REQUIRED), END)),
        (0, lines(*passed(), END) + "garbage\n"),
        (0, lines(*passed(), {"t": "check", "name": "x"}, END)),
        (0, lines(*passed(without="mounted"), check("mounted", 1), END)),
        (0, lines(*passed(without="mounted"), check("mounted", "true"), END)),
        (4, lines(*passed(), {"t": "end", "ok": False})),
    ],
)
def test_anything_less_is_refused(status: int | None, text: str) -> None:
    assert codes(status, text, "last words") == ["E445"]


def test_a_refusal_without_its_line_still_counts() -> None:
    text = lines(*passed(), {"t": "end", "ok": False, "error": "refused: serial: it is X"})
    assert codes(4, text) == ["E440"]


def test_a_target_that_is_read_is_not_judged_here() -> None:
    text = lines(*passed(), check("mounted", False, path="/data/file"), END)
    assert inspection_result("h", [TARGET, Target("/data/file", "read")], 0, text).refusals == []


def test_why_a_step_was_refused() -> None:
    text = lines(check("identity", False, "gone"), {"t": "end", "ok": False, "error": "refused: identity: gone"})
    found = refusal("h", text)
    assert found is not None and found.message == "host h: refused to use /dev/loop7: check `identity` failed: gone"
    assert refusal("h", lines({"t": "end", "ok": False, "error": "no such option"})) is None
    assert refusal("h", "garbage") is None


@given(st.text(max_size=400), st.text(max_size=400))
def test_hostile_words_stay_one_harmless_line(path: str, detail: str) -> None:
    message = refused_check("h", TargetCheck(path, "mounted", False, detail)).message
    assert message.isprintable() and len(message) < 800


@given(st.lists(st.one_of(st.none(), st.integers(), st.text(), st.dictionaries(st.text(), st.integers())), max_size=5))
def test_no_stream_is_a_pass_by_chance(bodies: list[Any]) -> None:
    text = "".join(json.dumps(body) + "\n" for body in bodies)
    assert codes(0, text) == ["E445"]
