"""Consent to overwrite devices."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asct.plan.model import Destroys, Plan, Safety
from asct.planner.findings import Findings
from asct.planner.safety import check_consent
from tests.planner.building import load, refused, resolved

GOOD = Destroys(
    "a", "/dev/disk/by-id/nvme-ACME_X1", "S6X", False, "scratch", load("benchmarks: [disk]").benchmarks[0].span
)
HOSTS = "hosts: {a: {transport: local}, b: {transport: local}}\ngroups: {g: [a]}\nbenchmarks: [disk]"


def plan_with(*destroys: Destroys) -> Plan:
    return replace(load(HOSTS), safety=Safety(destroys))


def found(*destroys: Destroys) -> list[str]:
    findings = Findings()
    check_consent(plan_with(*destroys), findings)
    assert all(item.code == "E250" and item.span == GOOD.span and item.hint for item in findings.all())
    return [item.message for item in findings.all()]


def test_a_whole_consent_holds() -> None:
    assert found(GOOD, replace(GOOD, host="b"), replace(GOOD, device="/dev/loop7", serial="/tmp/backing")) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"device": "${host.vars.disk}"}, "template"),
        ({"host": "${vars.h}"}, "template"),
        ({"serial": "${host.vars.serial}"}, "template"),
        ({"host": "g"}, "unknown host `g`"),
        ({"host": "*"}, "unknown host `*`"),
        ({"device": "/dev/sda"}, "does not name one device"),
        ({"device": "/dev/disk/by-id/../../sda"}, "does not name one device"),
        ({"device": "/dev/disk/by-id/a/../../sda"}, "does not name one device"),
        ({"serial": None}, "without its serial"),
        ({"serial": ""}, "without its serial"),
        ({"device": "/dev/loop0", "serial": None}, "no identity"),
    ],
)
def test_half_a_consent_does_not(changes: dict[str, str | None], message: str) -> None:
    messages = found(replace(GOOD, **changes))
    assert len(messages) == 1 and message in messages[0]


def test_one_device_is_named_once() -> None:
    assert "named twice" in found(GOOD, GOOD)[0]


def test_writing_to_a_device_needs_consent_on_that_host() -> None:
    text = """
hosts: {a: {transport: local}, b: {transport: local}}
benchmarks: [{uses: disk, config: {rw: %s, filename: [/dev/disk/by-id/nvme-X]}}]
safety: {destroys: [{host: a, device: /dev/disk/by-id/nvme-X, serial: S1, reason: scratch}]}
"""
    messages = [item.message for item in refused(text % "write")]
    assert len(messages) == 1 and "on b" in messages[0]
    assert len(resolved(text % "write", hosts=("a",)).jobs) == 1
    assert len(resolved(text % "read").jobs) == 2
