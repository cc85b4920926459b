"""Consent to overwrite devices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.errors import SafetyError
from asct.plan.findings import Findings
from asct.plan.model import Destroys, Plan, Safety
from asct.planner.resolve import resolve
from asct.planner.safety import check_consent
from asct.sdk.facts import HostFacts
from asct.sdk.guard import Target
from asct.sdk.needs import Needs
from asct.sdk.params import setting
from tests.planner.building import load, refused, resolved
from tests.planner.fakes import Disk, DiskParams, FakeCatalog

GOOD = Destroys(
    "a", "/dev/disk/by-id/nvme-ACME_X1", "S6X", False, "scratch", load("benchmarks: [disk]").benchmarks[0].span
)
HOSTS = "hosts: {a: {transport: local}, b: {transport: local}}\ngroups: {g: [a]}\nbenchmarks: [disk]"


class OverwritingParams(DiskParams):
    overwrite: bool = setting(False, "Leave to overwrite a file")


def plan_with(*destroys: Destroys) -> Plan:
    return load(HOSTS)._replace(safety=Safety(destroys))


def found(*destroys: Destroys) -> list[str]:
    findings = Findings()
    check_consent(plan_with(*destroys), findings)
    assert all(item.code == "E250" and item.span == GOOD.span and item.hint for item in findings.all())
    return [item.message for item in findings.all()]


def test_a_whole_consent_holds() -> None:
    assert found(GOOD, GOOD._replace(host="b"), GOOD._replace(device="/dev/loop7", serial="/tmp/backing")) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"device": "${host.vars.disk}"}, "template"),
        ({"host": "${vars.h}"}, "template"),
        ({"serial": "${host.vars.serial}"}, "template"),
        ({"host": "g"}, "unknown host `g`"),
        ({"host": "*"}, "unknown host `*`"),
        ({"device": "/dev/sda"}, "does not identify a device"),
        ({"device": "/dev/disk/by-id/../../sda"}, "does not identify a device"),
        ({"device": "/dev/disk/by-id/a/../../sda"}, "does not identify a device"),
        ({"serial": None}, "has no `serial`"),
        ({"serial": ""}, "has no `serial`"),
        ({"device": "/dev/loop0", "serial": None}, "does not identify"),
        ({"device": "/dev/loop0", "serial": "LOOP-1"}, "does not identify"),
        ({"device": "/dev/loop0p1", "serial": "/tmp/backing"}, "does not identify a device"),
        ({"device": "/dev/disk/by-path/pci-0"}, "does not identify a device"),
        ({"device": "/dev/disk/by-id/*"}, "does not identify a device"),
        ({"serial": "-"}, "has no `serial`"),
        ({"serial": "S6X\t1"}, "invalid character"),
        ({"serial": "S6X\n"}, "invalid character"),
        ({"serial": " S6X"}, "invalid character"),
        ({"reason": "a\x1b[2J"}, "invalid character"),
        ({"host": "a\u2028"}, "invalid character"),
    ],
)
def test_half_a_consent_does_not(changes: dict[str, str | None], message: str) -> None:
    messages = found(GOOD._replace(**changes))
    assert len(messages) == 1 and message in messages[0]


def test_one_pass_tells_all_mistakes_of_a_consent() -> None:
    bad = GOOD._replace(host="qq", device="/dev/sda", serial=None, reason="a\x1b[2J")
    texts = ("invalid character", "unknown host `qq`", "`/dev/sda` does not identify", "has no `serial`")
    messages = found(bad)
    assert len(messages) == len(texts) and all(any(text in message for message in messages) for text in texts)
    assert [text in " ".join(found(bad, bad)) for text in (*texts, "listed twice")] == [True] * 5


def test_one_device_is_named_once() -> None:
    assert "listed twice" in found(GOOD, GOOD)[0]


DEVICES = st.from_regex(r"/dev/(loop[0-9]+|disk/by-id/[a-zA-Z0-9:.-]+)", fullmatch=True)


@given(st.one_of(DEVICES, st.text()), st.one_of(st.text(), st.text().map("/{}".format)))
def test_no_hostile_text_becomes_a_consent(device: str, serial: str) -> None:
    """Whatever is accepted results in one line of the targets file that contains exactly this text."""
    findings = Findings()
    check_consent(plan_with(GOOD._replace(device=device, serial=serial)), findings)
    if findings.all():
        return
    assert device.startswith(("/dev/disk/by-id/", "/dev/loop"))
    fields = Target(device, "write", serial).line().split("\t")
    assert fields == ["write", "0", "0", serial, device] and serial not in ("", "-")


@given(st.sampled_from(("", " ", "\t", "\n", "\x00", "$", "${x}", "..", "*", "\u202e", "'", ";", "\\")))
def test_marks_in_a_device_are_refused(mark: str) -> None:
    findings = Findings()
    check_consent(plan_with(GOOD._replace(device=f"/dev/disk/by-id/nvme-A{mark}B")), findings)
    assert bool(findings.all()) == bool(mark)


TWO_HOSTS = """
hosts: {a: {transport: local}, b: {transport: local}}
benchmarks: [{uses: disk, config: {rw: %s, filename: [/dev/disk/by-id/nvme-X]}}]
safety: {destroys: [{host: a, device: /dev/disk/by-id/nvme-X, serial: S1, reason: scratch}]}
"""


def test_writing_to_a_device_needs_consent_on_that_host() -> None:
    (found,) = refused(TWO_HOSTS % "write")
    assert "on b" in found.message
    assert "the existing consent is for a" in found.hint
    assert len(resolved(TWO_HOSTS % "write", hosts=("a",)).jobs) == 1
    assert len(resolved(TWO_HOSTS % "read").jobs) == 2


def written_to(path: str) -> str:
    return f"""
benchmarks: [{{uses: disk, config: {{rw: write, filename: ['{path}']}}}}]
safety: {{destroys: [{{host: local, device: /dev/disk/by-id/nvme-X, serial: S1}}]}}
"""


@pytest.mark.parametrize("path", ["/dev/sda", "//dev/sda", "/./dev/sda", "/dev/disk/by-id/nvme-X-part1", "/dev//loop0"])
def test_another_name_of_a_device_is_not_consented(path: str) -> None:
    codes = {item.code: item for item in refused(written_to(path))}
    assert set(codes) == {"E251"}
    assert "/dev/disk/by-id/" in codes["E251"].hint or "by-id" in path


def test_a_file_in_memory_is_no_device() -> None:
    assert len(resolved("benchmarks: [{uses: disk, config: {rw: write, filename: [/dev/shm/x]}}]").jobs) == 1
    assert [
        item.code for item in refused("benchmarks: [{uses: disk, config: {rw: write, filename: [/dev/shmx]}}]")
    ] == ["E251"]


def test_purging_and_a_mix_of_reads_only_count_as_writing() -> None:
    class Purging(Disk):
        name = "disk"

        def needs(self, params: DiskParams, facts: HostFacts | None) -> Needs:
            return Needs(purges=params.file_names)

    class Mixed(Disk):
        name = "disk"

        def needs(self, params: DiskParams, facts: HostFacts | None) -> Needs:
            return Needs(writes_bytes=tuple((name, 0) for name in params.file_names))

    plan = load("benchmarks: [{uses: disk, config: {rw: read, filename: [/dev/loop7]}}]")
    for benchmark in (Purging(), Mixed()):
        found = resolve(plan, FakeCatalog(benchmark))
        assert [item.code for item in found.diagnostics] == ["E251"]
        with pytest.raises(SafetyError):
            found.required()


def test_overwrite_in_config_stands_for_a_file() -> None:
    class Overwriting(Disk):
        params_model = OverwritingParams

    text = "benchmarks: [{uses: disk, config: {rw: write, filename: [/dev/loop7], overwrite: true}}]"
    (found,) = resolve(load(text), FakeCatalog(Overwriting())).diagnostics
    assert (found.code, "only to regular files" in found.hint) == ("E251", True)


def test_a_consent_that_no_job_needs_is_told() -> None:
    warnings = [item for item in resolved(TWO_HOSTS % "read").diagnostics if item.code == "E253"]
    assert [item.message for item in warnings] == [
        "`safety.destroys` lists /dev/disk/by-id/nvme-X on a, but no job writes to it"
    ]
    assert warnings[0].severity == "warning" and warnings[0].span is not None
    assert not resolved(TWO_HOSTS % "write", hosts=("a",)).diagnostics, "not of a part of the plan"
    assert not resolved(TWO_HOSTS % "read", benchmarks=("disk",)).diagnostics
