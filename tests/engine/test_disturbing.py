"""Disturbances that exist before a run: they are stored in the run, and reported in one line if they affect the
measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from asct.diagnostics.model import Diagnostic
from asct.disturbances import assess
from asct.engine.preflight import disturbance_notice, measured_scope
from asct.engine.services import Services
from asct.errors import HostError, HostLost
from asct.hosts.base import CommandResult, Host
from asct.hosts.factory import make_host
from asct.sdk.facts import Cpu, HostFacts
from asct.sdk.needs import JobNeeds, Needs, Scratch
from asct.store.verify import verify
from tests.disturbances.made import SAMPLE, disturbed, policy, with_cpu
from tests.engine import plant
from tests.engine.conftest import Lab
from tests.engine.plant import job, point


class Memory(plant.Probe):
    name = "memory-probe"
    keywords = ("memory",)


SHELF = plant.Shelf((plant.Probe(), Memory()))


def ports(**fields: Any) -> Services:
    def collect(host: Host, folder: Path) -> HostFacts:
        return plant.facts(host, folder).model_copy(update=fields)

    return plant.collaborators(catalog=SHELF, collect_facts=collect)


def told(done: plant.Done) -> list[tuple[str, str, str]]:
    return [(item.code, item.severity, item.message) for _, item in done.outcome.events.findings]


LIMITED = Cpu(cpus=4, online=[0, 1, 2, 3], allowed=[0, 1], policies=[policy(0, "schedutil")])


def test_what_touches_the_plan_is_told_once_and_all_is_kept(lab: Lab) -> None:
    done = lab.run(job(benchmark="memory-probe"), job(name="b"), ports=ports(cpu=LIMITED))
    assert done.code == 0
    message = "host local: 2 disturbances: 2 CPUs excluded, governor schedutil"
    assert told(done) == [("E432", "warning", message)]
    found = done.stored.disturbances()["local"]
    assert [item.name for item in found.findings] == ["cpu-mask", "governor"]
    assert done.stored.layout.disturbances("local").name == "local.json"
    assert verify(done.stored) == []


def test_what_does_not_touch_the_plan_is_kept_and_not_told(lab: Lab) -> None:
    done = lab.run(job(), ports=ports(cpu=LIMITED))
    assert (done.code, told(done)) == (0, [])
    assert len(done.stored.disturbances()["local"].findings) == 2


def test_what_cannot_be_judged_is_kept_with_its_reason(lab: Lab) -> None:
    done = lab.run(job(), ports=ports(unknown={"memory.thp": "no such file"}))
    (unseen,) = done.stored.disturbances()["local"].unseen
    assert (unseen.what, unseen.why) == ("transparent huge pages", "no such file")


def test_a_damaged_file_is_found(lab: Lab) -> None:
    done = lab.run(job(), ports=ports())
    done.stored.layout.disturbances("local").write_text('{"schema": "asct.disturbances/1", "findings": 3}')
    assert {item.code for item in verify(done.stored)} == {"E508", "E517"}


def test_a_host_that_comes_back_is_not_told_again(lab: Lab) -> None:
    lost = {"times": 0}

    class Losing(plant.Probe):
        """A host whose connection is lost once."""

        name = "memory-probe"
        keywords = ("memory",)

    def make(spec: Any, folder: Path) -> Host:
        host = make_host(spec, folder=folder)
        run = host.run

        def once(*arguments: Any, **more: Any) -> Any:
            lost["times"] += 1
            if lost["times"] == 1:
                raise HostLost("local", Diagnostic("E320", "gone"))
            return run(*arguments, **more)

        host.run = once  # type: ignore[method-assign]
        return host

    catalog = plant.Shelf((Losing(),))
    chosen = ports(cpu=LIMITED)
    changed = plant.collaborators(catalog=catalog, collect_facts=chosen.collect_facts, make_host=make)
    done = lab.run(job(point(), point(script="echo 2"), benchmark="memory-probe"), ports=changed)
    assert lost["times"] > 1
    assert [code for code, *_ in told(done)].count("E432") == 1


def test_the_line_names_the_worst_and_counts_the_rest() -> None:
    line = disturbance_notice(assess(disturbed(), SAMPLE), {"*", "memory", "memory.latency"})
    assert line is not None and line.severity == "warning"
    assert line.message.startswith("host h1: 13 disturbances: CPUs busy with other processes, ")
    assert line.message.endswith(" and 9 more")
    likely = with_cpu(policies=[policy(0, "schedutil")])
    line = disturbance_notice(assess(likely), {"memory"})
    assert line is not None
    assert (line.severity, line.message) == ("note", "host h1: 1 disturbance: governor schedutil")
    assert disturbance_notice(assess(likely), {"*"}) is None
    assert disturbance_notice(assess(with_cpu(boost=True)), {"memory"}) is None, "only possible"


class Answering:
    """A host that resolves these links or raises an exception, and counts how often it is asked."""

    work = "/var/tmp/asct/run"

    def __init__(self, links: dict[str, str] | Exception) -> None:
        self.links, self.asked = links, 0

    def execute(self, argv: list[str], **_: object) -> CommandResult:
        self.asked += 1
        if isinstance(self.links, Exception):
            raise self.links
        return CommandResult(0, "".join(f"{self.links.get(path, '')}\n" for path in argv[4:]), "")


def asked(host: Any, *needs: Needs) -> Any:
    return measured_scope(host, [JobNeeds.of([one]) for one in needs])


def test_what_jobs_open_and_use() -> None:
    by_id = "/dev/disk/by-id/nvme-ACME"
    host = Answering({by_id: "/dev/nvme0n1"})
    found = asked(
        host,
        Needs(targets=(by_id, "/dev/gone", "/srv/file"), optional_tools=("mpstat",)),
        Needs(scratch=Scratch("scratch", 1), optional_tools=("mpstat", "nvme"), tools=(("fio", ""),)),
    )
    assert set(found.paths) == {by_id, "/dev/gone", "/srv/file", "/var/tmp/asct/run"}
    assert (dict(found.devices), found.tools, host.asked) == ({by_id: "nvme0n1"}, ("mpstat", "nvme"), 1)


def test_without_devices_nobody_is_asked() -> None:
    host = Answering({})
    assert asked(host, Needs(targets=("/srv/file",))).devices == {} and host.asked == 0


def test_a_host_that_does_not_tell_and_one_that_is_gone() -> None:
    needs = Needs(targets=("/dev/sda",))
    silent = Answering(HostError("h", Diagnostic("E328", "too long")))
    assert asked(silent, needs).devices == {}
    with pytest.raises(HostLost):
        asked(Answering(HostLost("h", Diagnostic("E320", "gone"))), needs)
