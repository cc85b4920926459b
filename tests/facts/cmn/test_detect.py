"""Detecting where CPUs enter a mesh, based on synthetic counts with noise. No mesh is available here."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.facts.cmn.cpumap import CachedCpuMap, cached_text, file_name, holds_for, with_cached
from asct.facts.cmn.detect import RequestCounts, WatchedPort, counted, decide, places, watches
from asct.facts.cmn.model import CpuPort, Mesh
from asct.facts.cmn.sysfs import Pmu, pmus
from asct.facts.snapshot import CommandOutput, Snapshot
from tests.facts.cmn.machine import machine, pmu
from tests.facts.cmn.maps import Hung, drawn, read, server_mesh

LINES = 150_000
NS = 10_000_000
CHANGED = "the meshes, CPUs or firmware have changed"


def the_pmu(**changed: str | None) -> Pmu:
    (found,) = pmus(machine(pmu(**changed)))
    return found


def watch(x: int, y: int = 0, port: int = 0, mesh: int = 0, device: int | None = None) -> WatchedPort:
    return WatchedPort(mesh, x, y, port, device, "")


def row(cpu: int, shares: Sequence[float | None], noise: Sequence[float] = (), idle_ns: int = NS) -> RequestCounts:
    """Return the counts of a CPU whose load causes these requests per line, in addition to constant traffic from
    others."""
    others = list(noise) or [0.0] * len(shares)
    pairs = list(zip(shares, others, strict=True))
    return RequestCounts(
        cpu,
        [None if share is None else round((share + other) * LINES) for share, other in pairs],
        [None if share is None else round(other * LINES * idle_ns / NS) for share, other in pairs],
        [LINES] * len(shares),
        [NS] * len(shares),
        [idle_ns] * len(shares),
    )


WATCHED = [watch(0), watch(1), watch(2)]


def test_the_port_that_follows_the_load_is_the_one() -> None:
    verdict = decide(row(0, [0.001, 1.02, 0.03]), WATCHED)
    assert verdict.watch == WATCHED[1]
    assert verdict.confidence == pytest.approx(1 - 0.03 / 1.02, abs=0.002)


def test_traffic_of_others_is_taken_off_by_what_is_there_without_the_load() -> None:
    busy = decide(row(0, [0.02, 0.9, 0.0], noise=[5.0, 0.2, 3.0]), WATCHED)
    assert busy.watch == WATCHED[1]
    longer = decide(row(0, [0.02, 0.9, 0.0], noise=[5.0, 0.2, 3.0], idle_ns=4 * NS), WATCHED)
    assert longer.watch == WATCHED[1]


UNDECIDED = {
    "no port follows": ([0.0, 0.05, 0.01], "no port showed load from this CPU (the busiest had 0.050"),
    "two ports follow": ([0.9, 0.1, 0.8], "two ports: (0,0) P0 and (2,0) P0"),
    "nothing counted": ([None, None, None], "no watchpoint counted events"),
    "one not counted, the others weak": ([0.3, None, 0.01], "1 ports could not be counted"),
}


@pytest.mark.parametrize("case", UNDECIDED)
def test_what_is_not_clear_is_left_open_with_a_reason(case: str) -> None:
    shares, why = UNDECIDED[case]
    verdict = decide(row(0, shares), WATCHED)
    assert verdict.watch is None and verdict.confidence is None
    assert why in verdict.why


def test_one_that_could_not_be_counted_does_not_hide_a_clear_one() -> None:
    assert decide(row(0, [None, 0.95, 0.01]), WATCHED).watch == WATCHED[1]


@given(st.integers(0, 2**32))
def test_a_whole_machine_with_noise_is_mapped_as_it_is(seed: int) -> None:
    """There are two CPUs per port, as in a cluster. Prefetchers, shared caches and other work change the counts."""
    chance = random.Random(seed)
    ports = [watch(x, y) for x in range(6) for y in range(4)]
    truth = {cpu: cpu // 2 for cpu in range(2 * len(ports))}
    verdicts = {}
    for cpu, own in truth.items():
        shares = [chance.gauss(0, 0.03) for _ in ports]
        shares[own] += chance.uniform(0.4, 1.6)
        noise = [chance.uniform(0.1, 2) for _ in ports]
        verdicts[cpu] = decide(row(cpu, shares, noise), ports)
    for cpu, verdict in verdicts.items():
        assert verdict.watch == ports[truth[cpu]]
        assert verdict.confidence is not None and 0.5 <= verdict.confidence <= 1


@given(
    st.lists(st.tuples(*[st.one_of(st.none(), st.integers(0, 2**63 - 1))] * 2), min_size=3, max_size=3),
    st.integers(0, 2**40),
)
def test_any_counts_give_a_place_or_a_reason(pairs: list[tuple[int | None, int | None]], lines: int) -> None:
    counts, idle = [one for one, _ in pairs], [one for _, one in pairs]
    verdict = decide(RequestCounts(0, counts, idle, [lines] * 3, [NS] * 3, [NS] * 3), WATCHED)
    assert (verdict.watch is None) == bool(verdict.why)


def test_places_by_mesh() -> None:
    ports = [watch(0, mesh=0, device=0), watch(3, 2, 1, mesh=1)]
    verdicts = {
        0: decide(row(0, [1.0, 0.0]), ports),
        1: decide(row(1, [0.0, 1.0]), ports),
        2: decide(row(2, [0.0, 0.0]), ports),
    }
    made = places(verdicts, [0, 1])
    assert made[0] == {0: CpuPort(x=0, y=0, port=0, device=0, confidence=1.0), 2: None}
    assert made[1] == {1: CpuPort(x=3, y=2, port=1, device=None, confidence=1.0), 2: None}


def test_every_port_of_a_requester_is_watched() -> None:
    mesh = server_mesh()
    made = watches(mesh, the_pmu(type="20", cpumask="3"))
    assert [(one.x, one.y, one.port) for one in made] == [(x, y, 0) for y in (0, 1, 2) for x in (1, 2)]
    assert {one.device for one in made} == {None}, "the map does not tell how many devices share a port"


def test_the_words_of_a_watchpoint() -> None:
    """type 0x7770, eventid 0 (up), bynodeid, nodeid of (1,0) in a mesh of 2 bits an axis, port 0, channel REQ."""
    first, *_ = watches(server_mesh(), the_pmu(type="20", cpumask="3"))
    kind, on, config, val, mask = first.line.split()
    assert (kind, on) == ("20", "3")
    assert int(config, 16) == 0x7770 | 1 << 31 | (1 << 5) << 32
    assert (int(val, 16), int(mask, 16)) == (0, (1 << 64) - 1)


def test_the_port_goes_into_wp_dev_sel_and_a_known_node_id_is_taken() -> None:
    places_ = {(0, 0): {3: Hung("RN-F_E")}}
    mesh = read(drawn(2, 2, places_))
    xps = [xp.model_copy(update={"node_id": 0x128}) for xp in mesh.crosspoints]
    (one,) = watches(mesh.model_copy(update={"crosspoints": xps}), the_pmu())
    assert int(one.line.split()[2], 16) == 0x7770 | 1 << 31 | 0x128 << 32 | 3 << 48


def test_the_ports_of_a_crosspoint_are_not_watched_at_the_same_time() -> None:
    """A crosspoint has two watchpoints for the traffic that its ports send to the mesh."""
    ports = {port: Hung("RN-F_E") for port in range(4)}
    mesh = read(drawn(2, 2, {(x, y): ports for x in range(2) for y in range(2)}))
    made = watches(mesh, the_pmu())
    assert len(made) == 16
    assert all(len({(one.x, one.y) for one in made[at : at + 4]}) == 4 for at in range(0, 16, 4))


UNWATCHABLE = {
    "no type": ({"type": None}, "does not report its type"),
    "no CPU": ({"cpumask": ""}, "does not report its type or the CPU"),
    "no watchpoints": ({"format/wp_mask": None}, "has no field wp_mask"),
    "a field too narrow": ({"format/nodeid": "config:32-33"}, "cannot hold"),
}


@pytest.mark.parametrize("case", UNWATCHABLE)
def test_a_pmu_that_cannot_watch_is_refused_with_the_reason(case: str) -> None:
    changed, why = UNWATCHABLE[case]
    with pytest.raises(ValueError, match=why):
        watches(server_mesh(), the_pmu(**changed))


def test_a_mesh_without_known_requesters_cannot_be_watched() -> None:
    with pytest.raises(ValueError, match="no known port has an RN-F"):
        watches(Mesh(source="pmu"), the_pmu())


SAMPLE = {"t": "sample", "cpu": 3, "counts": [5, -1], "idle": [1, 2], "lines": [9, 9], "ns": [7, 7], "idle_ns": [8, 8]}


def test_a_line_of_the_kernel() -> None:
    made = counted(SAMPLE, 2)
    assert made == RequestCounts(3, [5, None], [1, 2], [9, 9], [7, 7], [8, 8])


@pytest.mark.parametrize(
    "changed",
    [
        {"cpu": "3"},
        {"cpu": None},
        {"counts": [5]},
        {"counts": [5, "x"]},
        {"idle": None},
        {"ns": [7, 7.5]},
        {"lines": [True, 1]},
    ],
)
def test_a_line_that_is_odd_is_none(changed: dict[str, object]) -> None:
    assert counted({**SAMPLE, **changed}, 2) is None


PLACE = CpuPort(x=1, y=0, port=0, confidence=0.9)


def kept(meshes: list[Mesh], found: Snapshot) -> str:
    return cached_text(
        CachedCpuMap(
            detected_at="2026-01-01T00:00:00Z",
            holds_for=holds_for(found, meshes),
            places={0: {0: PLACE, 1: None}},
            unknown={"cpus.1": "no port followed its load"},
        )
    )


FIRMWARE = {"/sys/class/dmi/id/bios_version": "1.2.3"}


def server_that_keeps(text: str | None) -> Snapshot:
    return machine(FIRMWARE, commands={"cmn-cpus": CommandOutput(0, text or "")})


def test_what_was_detected_is_shown_again() -> None:
    mesh = server_mesh()
    (again,) = with_cached(server_that_keeps(kept([mesh], machine(FIRMWARE))), [mesh])
    assert (again.cpus, again.detected_at) == ({0: PLACE, 1: None}, "2026-01-01T00:00:00Z")
    assert again.unknown["cpus.1"] == "no port followed its load" and "cpus" not in again.unknown


FORGOTTEN = {
    "never detected": (None, "have not been detected yet"),
    "torn": ('{"schema": "asct.cmn-cpus/1", "detec', "are unreadable"),
    "of a later version": (json.dumps({"schema": "asct.cmn-cpus/2"}), "are unreadable"),
    "of another mesh": (kept([server_mesh(5, 5)], machine(FIRMWARE)), CHANGED),
    "of two meshes": (kept([server_mesh(), server_mesh()], machine(FIRMWARE)), CHANGED),
    "of other CPUs": (kept([server_mesh()], machine(FIRMWARE, cpus=9)), CHANGED),
    "of other firmware": (kept([server_mesh()], machine()), CHANGED),
}


@pytest.mark.parametrize("case", FORGOTTEN)
def test_what_does_not_fit_is_not_shown_and_says_why(case: str) -> None:
    text, why = FORGOTTEN[case]
    (mesh,) = with_cached(server_that_keeps(text), [server_mesh()])
    assert mesh.cpus == {} and why in mesh.unknown["cpus"] and "--detect" in mesh.unknown["cpus"]


def test_hosts_that_share_a_home_have_files_of_their_own() -> None:
    assert file_name(machine()) == "cmn-cpus-meshy.json"
    odd = machine(commands={"uname": CommandOutput(0, "aarch64\n../../x\n6\n1")})
    assert file_name(odd) == "cmn-cpus-.._.._x.json"
