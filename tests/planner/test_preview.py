"""The estimated cost of a plan, and the limits on the cost."""

from __future__ import annotations

import json
from dataclasses import replace

from asct.planner.costs import needs_of
from asct.planner.preview import preview
from asct.sdk.facts import HostFacts
from asct.sdk.needs import Needs
from tests.planner.building import resolved
from tests.planner.fakes import CATALOG, Disk, DiskParams, FakeCatalog

TEXT = """
hosts: {a: {transport: local}, b: {address: b.lab}}
defaults: {repeats: 3, warmup: 1}
benchmarks:
  - {uses: disk, config: {rw: write, duration: 10s}, sweep: {iodepth: [1, 2]}}
  - {uses: peak, hosts: [b], config: {time_cap: 5s}}
"""


def test_time_and_bytes_count_every_repeat_and_warm_up() -> None:
    job = resolved(TEXT).jobs[0]
    spent = needs_of(job, Disk())
    assert spent.seconds == 2 * 4 * 10
    assert spent.writes == {"": 2 * 4 * 2**20} and list(spent.scratch.values()) == [2**30]


def test_a_preview_sums_up_by_host() -> None:
    found = preview(resolved(TEXT), CATALOG)
    a, b = found.hosts
    assert (a.points, a.measurements, a.seconds) == (2, 6, 80.0)
    assert [(item.job.id, item.cost.seconds, item.job.reason) for item in b.jobs] == [
        ("disk", 80.0, "named in the plan"), ("levels", 8.0, "needed by peak"), ("peak", 20.0, "named in the plan"),
    ]  # fmt: skip
    assert list(map(str, b.privileges)) == ["root: reserves 2 MiB pages (levels)"] and a.privileges == ()
    assert found.seconds == b.seconds == 108.0
    assert (found.jobs, found.points, found.measurements) == (4, 6, 18)
    assert a.jobs[0].swept == {"iodepth": (1, 2)}


def test_a_privilege_is_told_once_with_its_jobs_kernels_and_hosts() -> None:
    text = """
hosts: {a: {transport: local}, b: {address: b.lab, sudo: true}, c: {address: c.lab, sudo: true}}
benchmarks: [{id: one, uses: levels}, {id: two, uses: levels, hosts: [b, c]}]
"""
    with_root, with_sudo = preview(resolved(text), CATALOG).privileges
    assert str(with_root) == "root: reserves 2 MiB pages (one)" and with_root.hosts == ("a",)
    assert str(with_sudo) == "sudo -n chase: reserves 2 MiB pages (one, two)" and with_sudo.hosts == ("b", "c")


def test_the_longest_time_counts_rounds_up_to_the_time_limit() -> None:
    class Rounds(Disk):
        def needs(self, params: DiskParams, facts: HostFacts | None) -> Needs:
            return replace(super().needs(params, facts), longest_s=7200.0)

    job = resolved(TEXT).jobs[0]
    for limit, longest in ((None, 7200.0), (60.0, 60.0), (5.0, 10.0)):
        spent = needs_of(job._replace(timeout_s=limit), Rounds())
        assert (spent.seconds, spent.longest_s) == (80.0, 8 * longest)
    assert preview(resolved(TEXT), CATALOG).longest_s == 108.0


def test_a_setting_that_waits_is_estimated_with_the_default() -> None:
    plan = resolved("benchmarks: [{uses: peak, config: {data_size: '${needs.cache.dram.optimum_size}'}}]")
    assert preview(plan, CATALOG).seconds == 3.0


def test_the_document_is_plain_json_with_its_schema_first() -> None:
    body = preview(resolved(TEXT), CATALOG).to_json()
    text = json.dumps(body, allow_nan=False)
    assert text.startswith('{"schema": "asct.preview/1"')
    assert json.loads(text)["hosts"][1]["jobs"][1]["needs"] == {}
    assert body["hosts"][0]["writes"] == {"": 8 * 2**20}


def test_devices_that_are_destroyed_are_shown() -> None:
    class Purging(Disk):
        def needs(self, params: DiskParams, facts: HostFacts | None) -> Needs:
            return replace(super().needs(params, facts), purges=params.file_names)

    text = """
benchmarks: [{uses: disk, config: {rw: write, filename: [/dev/loop3]}, repeats: 2}]
safety:
  destroys:
    - {host: local, device: /dev/loop3, serial: /img, reason: scratch, overwrite: true}
    - {host: local, device: /dev/loop4, serial: /other}
"""
    plan = resolved(text)
    body = preview(plan, CATALOG).to_json()["hosts"][0]
    used, idle = body["destroys"]
    assert used == {
        "device": "/dev/loop3", "serial": "/img", "reason": "scratch", "overwrite": True, "written": True,
        "purged": False, "bytes": 2 << 20,
    }  # fmt: skip
    assert (idle["device"], idle["written"], idle["bytes"]) == ("/dev/loop4", False, 0)
    (host,) = preview(plan, FakeCatalog(Purging())).hosts
    assert host.destroys[0].purged and host.jobs[0].cost.purges == {"/dev/loop3": None}
