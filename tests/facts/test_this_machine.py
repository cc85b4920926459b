"""Facts of this machine, compared with programs that determine them in other ways."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from asct.facts.exchange import script
from asct.facts.mounts import _OF_THE_KERNEL
from asct.facts.reading import facts_of
from asct.facts.snapshot import from_output
from asct.sdk.facts import HostFacts
from tests.facts import lscpu
from tests.facts.test_parsers import WHEN

TOKEN = "token"


def said(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout


def told(*words: str) -> Any:
    return json.loads(said(*words))


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> HostFacts:
    return look(tmp_path_factory)


def look(factory: pytest.TempPathFactory, *before: str) -> HostFacts:
    """Return the facts. The words before the shell command switch to another account."""
    folder = factory.mktemp("account")
    folder.chmod(0o777)
    for parent in folder.parents:
        if str(parent).startswith(str(factory.getbasetemp())):
            parent.chmod(0o755)
    words = [*before, "sh", "-s", TOKEN, "/tmp", str(folder)]
    done = subprocess.run(words, input=script(), capture_output=True, text=True, check=True)
    return facts_of(from_output(done.stdout, TOKEN), "h", WHEN)


def test_block_devices_are_those_of_lsblk(facts: HostFacts) -> None:
    columns = "NAME,TYPE,SIZE,RO,RM,ROTA,SCHED,LOG-SEC,PHY-SEC,PKNAME,MOUNTPOINT"
    listed: dict[str, Any] = {}
    ahead = list(told("lsblk", "-J", "-b", "-o", columns)["blockdevices"])
    while ahead:
        one = ahead.pop()
        listed[one["name"]] = one
        ahead += one.get("children", [])
    made = {one.name: one for one in facts.block_devices}
    assert all(name.startswith("loop") for name in listed.keys() - made.keys())
    assert all(made[name].kind in ("loop", "virtual") for name in made.keys() - listed.keys())
    kinds = {"part": "partition", "crypt": "dm", "lvm": "dm"}
    for name, one in listed.items():
        fact = made[name]
        if fact.kind == "loop":  # tests that run beside this one make and unmake them
            continue
        assert fact.kind == ("zram" if name.startswith("zram") else kinds.get(one["type"], one["type"]))
        assert (fact.size_bytes, fact.read_only) == (one["size"], one["ro"])
        assert one["mountpoint"] is None or one["mountpoint"] in fact.mounted_at
        if fact.kind == "disk":
            assert (fact.removable, fact.rotational, fact.scheduler) == (one["rm"], one["rota"], one["sched"])
            assert (fact.logical_bytes, fact.physical_bytes) == (one["log-sec"], one["phy-sec"])


def test_mounts_are_those_of_findmnt(facts: HostFacts) -> None:
    listed = told("findmnt", "-J", "-l", "-b", "-o", "TARGET,SOURCE,FSTYPE,OPTIONS,SIZE")["filesystems"]
    seen = {one["target"]: one for one in listed if one["fstype"] not in _OF_THE_KERNEL}
    made = {one.target: one for one in facts.mounts}
    assert {target for target in seen if not target.startswith(("/proc/", "/sys/"))} == set(made)
    for target, fact in made.items():
        one = seen[target]
        assert fact.type == one["fstype"]
        assert set(one["options"].split(",")) <= set(fact.options)
        assert one["source"].partition("[")[0] == fact.source
        if fact.type in ("ext4", "xfs"):
            status = os.statvfs(target)
            assert fact.size_bytes == status.f_blocks * status.f_frsize


def test_interfaces_and_addresses_are_those_of_ip(facts: HostFacts) -> None:
    listed = {one["ifname"]: one for one in told("ip", "-j", "-d", "addr")}
    made = {one.name: one for one in facts.network.interfaces}
    assert made.keys() == listed.keys()
    for name, one in listed.items():
        fact = made[name]
        assert (fact.mtu, fact.state) == (one["mtu"], one["operstate"].lower())
        assert fact.mac in (one.get("address"), None)
        kind = one.get("linkinfo", {}).get("info_kind")
        assert kind not in ("bridge", "bond", "vlan", "veth", "tun") or fact.kind == kind
        assert (fact.kind == "loopback") == (one["link_type"] == "loopback")
        for family, addresses in (("inet", fact.ipv4), ("inet6", fact.ipv6)):
            told_ = [f"{part['local']}/{part['prefixlen']}" for part in one["addr_info"] if part["family"] == family]
            assert addresses == told_
    for version, family in (("-4", facts.network.ipv4), ("-6", facts.network.ipv6)):
        routes = told("ip", version, "-j", "route", "show", "default")
        gateways = {route["gateway"] for route in routes if "gateway" in route}
        assert gateways <= set(facts.network.gateways)
        assert family is None or any(family in str(one["addr_info"]) for one in listed.values())
        assert (family is None) <= (not routes or facts.network.gateways == [])


def test_the_system_is_that_of_uname_and_getconf(facts: HostFacts) -> None:
    system = facts.system
    uname = os.uname()
    assert (system.arch, system.kernel, system.kernel_version) == (uname.machine, uname.release, uname.version)
    assert system.hostname == uname.nodename
    assert system.uid == os.getuid()
    assert system.libc == said("getconf", "GNU_LIBC_VERSION").strip()
    assert system.uptime_s is not None
    assert system.irq_default_affinity
    assert system.irqbalance in (None, bool(subprocess.run(["pgrep", "-x", "irqbalance"], check=False).returncode == 0))


def test_the_rest_is_that_of_lscpu(facts: HostFacts) -> None:
    lscpu.compare_rest(facts, lscpu.Answer(lscpu.summary(said("lscpu"))))


def test_functions_are_where_the_kernel_has_them(facts: HostFacts) -> None:
    places = {path.name: path.resolve() for path in Path("/sys/bus/pci/devices").glob("*")}
    classes = {name: int((place / "class").read_text(), 16) for name, place in places.items()}
    wanted = {name for name, code in classes.items() if code >> 16 in (1, 2, 3, 0x12) or code >> 8 in (0x502, 0xB40)}
    assert {one.address for one in facts.pci} == wanted
    for one in facts.pci:
        assert places[one.address].parts[-2 - len(one.bridges) : -1] == (f"pci{one.root}", *one.bridges)
    attached = {one.pci_address: one.name for one in facts.network.interfaces if one.pci_address}
    assert all(name in one.names for one in facts.pci for at, name in attached.items() if at == one.address)


def test_memory_is_that_of_free(facts: HostFacts) -> None:
    rows = {line.split(":")[0]: line.split()[1:] for line in said("free", "-b").splitlines()[1:]}
    assert facts.memory.total_bytes == int(rows["Mem"][0])
    assert facts.memory.swap_total_bytes == int(rows["Swap"][0])
    assert facts.memory.default_huge_page_bytes in {pool.page_bytes for pool in facts.memory.huge_pages}
    assert facts.memory.page_bytes == int(said("getconf", "PAGESIZE"))
    assert sum(node.memory_bytes or 0 for node in facts.nodes) <= facts.memory.total_bytes


def test_limits_are_those_of_the_shell(facts: HostFacts) -> None:
    shell = said("bash", "-c", "ulimit -l; ulimit -n; ulimit -u").split()
    scales = {"memlock": 1024, "nofile": 1, "nproc": 1}
    for (name, scale), text in zip(scales.items(), shell, strict=True):
        assert facts.limits[name] == (None if text == "unlimited" else int(text) * scale)


def test_perf_lists_the_same_monitors(facts: HostFacts) -> None:
    assert facts.perf.pmus == sorted(os.listdir("/sys/bus/event_source/devices"))  # noqa: PTH208
    assert facts.perf.paranoid == int(said("cat", "/proc/sys/kernel/perf_event_paranoid"))
    assert facts.perf.btf == os.path.exists("/sys/kernel/btf/vmlinux")  # noqa: PTH110


def test_an_account_without_privileges_is_told_what_needs_root(
    facts: HostFacts, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if os.getuid() != 0:
        assert facts.system.uid == os.getuid()
        return
    other = look(tmp_path_factory, "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    assert other.system.uid == 65534
    assert other.system.kernel_options == facts.system.kernel_options
    assert [one.name for one in other.network.interfaces] == [one.name for one in facts.network.interfaces]
    there, before = ({one.name for one in found.block_devices if one.kind != "loop"} for found in (other, facts))
    assert there == before
    more = {name for name, reason in other.unknown.items() if name not in facts.unknown}
    assert all(
        re.search(r"needs root|not there|absent|does not report|not present|not query|not checked", other.unknown[name])
        for name in more
    )
