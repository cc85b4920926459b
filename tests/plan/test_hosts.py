from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.diagnostics.model import Span
from asct.plan.findings import Findings
from asct.plan.inventory import read_inventory
from asct.plan.model import Loaded
from asct.plan.names import expand_range
from asct.values.error import BadValueError
from tests.plan.loading import BODY, load, load_folder, plan_of, where


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", ["a"]),
        ("node[01:03]", ["node01", "node02", "node03"]),
        ("n[8:11].lab", ["n8.lab", "n9.lab", "n10.lab", "n11.lab"]),
        ("n[008:010]", ["n008", "n009", "n010"]),
        ("n[0:6:2]", ["n0", "n2", "n4", "n6"]),
        ("r[1:2]n[1:2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
    ],
)
def test_ranges(name: str, expected: list[str]) -> None:
    assert expand_range(name) == expected


@pytest.mark.parametrize(
    "name", ["a[", "a]", "a[1]", "a[1:2", "a[1:2:0]", "a[2:1]", "a[x:y]", "a[1:2]]", "a[1:9]b[1:9999]"]
)
def test_what_is_no_range(name: str) -> None:
    with pytest.raises(BadValueError):
        expand_range(name)


@given(st.text())
def test_any_name_expands_or_is_refused(name: str) -> None:
    try:
        assert expand_range(name)
    except BadValueError as problem:
        assert problem.hint


def test_what_a_host_is_by_default() -> None:
    plan = plan_of(BODY + "hosts: {local: , a: , b: {address: 10.0.0.1}, c: {transport: local}}")
    assert {name: (host.transport, host.address) for name, host in plan.hosts.items()} == {
        "local": ("local", ""), "a": ("ssh", "a"), "b": ("ssh", "10.0.0.1"), "c": ("local", ""),
    }  # fmt: skip
    assert (plan.hosts["a"].port, plan.hosts["a"].user, plan.hosts["a"].workdir) == (22, None, "/var/tmp/asct")


def test_defaults_and_templates_of_hosts() -> None:
    plan = plan_of(
        BODY + "vars: {base: /scratch}\n"
        "hosts:\n"
        "  defaults: {address: '${host.name}.lab', labels: {a: 1, b: yes},\n"
        "             vars: {dir: '${vars.base}/${host.name}', n: 1}}\n"
        "  'n[1:2]': {labels: {a: 2}, vars: {n: '${host.labels.b}'}}\n"
    )
    second = plan.hosts["n2"]
    assert (second.address, second.labels) == ("n2.lab", {"a": "2", "b": "yes"})
    assert {name: node.value for name, node in second.vars.items()} == {"dir": "/scratch/n2", "n": "yes"}


def test_options_of_transports() -> None:
    plan = plan_of(
        BODY + "hosts:\n"
        "  s: {transport: slurm, partition: gpu, nodes: 1, options: [--exclusive]}\n"
        "  t: {connect_timeout: 5s, reconnect_timeout: 2m}\n"
    )
    assert plan.hosts["s"].options == {"partition": "gpu", "nodes": 1, "options": ["--exclusive"]}
    assert plan.hosts["t"].options == {"connect_timeout": 5.0, "reconnect_timeout": 120.0}


def test_keys_of_other_transports_may_be_inherited() -> None:
    plan = plan_of(
        BODY + "hosts:\n"
        "  defaults: {port: 2222, jump: gw, partition: gpu}\n"
        "  local:\n"
        "  a: {}\n"
        "  s: {transport: slurm}\n"
    )
    assert {host.name: (host.port, host.jump, dict(host.options)) for host in plan.hosts.values()} == {
        "local": (22, None, {}), "a": (2222, "gw", {}), "s": (22, None, {"partition": "gpu"}),
    }  # fmt: skip


def test_set_may_replace_a_transport() -> None:
    hosts = BODY + "hosts: {a: {port: 2222, jump: gw}}\n"
    assert plan_of(hosts, sets=["hosts.a.transport=local"]).hosts["a"].port == 22
    (item,) = load(hosts, sets=["hosts.a.transport=local", "hosts.a.port=7"]).diagnostics
    assert "`port` has no effect" in item.message


def test_groups_hold_names_patterns_and_groups() -> None:
    plan = plan_of(
        BODY + "hosts: {'n[1:3]': {}, 'm[1:2]': {}}\n"
        "groups: {all_n: 'n*', some: ['n[2:9]'], odd: ['n[13]'], both: [odd, m2], every: [all], one: n1}\n"
    )
    assert plan.groups == {
        "all_n": ("n1", "n2", "n3"), "some": ("n2", "n3"), "odd": ("n1", "n3"), "both": ("n1", "n3", "m2"),
        "every": ("n1", "n2", "n3", "m1", "m2"), "one": ("n1",),
    }  # fmt: skip


def test_variables_of_groups_stand_below_those_of_hosts() -> None:
    plan = plan_of(
        BODY
        + "hosts: {a: {vars: {x: own}}, b: {}}\ngroups: {g: {hosts: [a, b], vars: {x: group, y: '${host.name}'}}}\n"
    )
    assert {host.name: {key: node.value for key, node in host.vars.items()} for host in plan.hosts.values()} == {
        "a": {"x": "own", "y": "a"}, "b": {"x": "group", "y": "b"},
    }  # fmt: skip


INVENTORY: dict[str, Any] = {
    "_meta": {
        "hostvars": {
            "web1": {"ansible_host": "10.0.0.5", "ansible_port": 2200, "ansible_user": "u", "disk": "/dev/${x}"},
            "here": {"ansible_connection": "local", "ansible_become": True, "bad-name": 1, "tree": {"a": [1]}},
        }
    },
    "all": {"children": ["ungrouped", "web"]},
    "web": {"hosts": ["web1", "web2"]},
    "lab": {"children": ["web"], "hosts": ["here"]},
}


def inventory(tmp_path: Path, document: object, hosts: str = "{from: inv.json}") -> Loaded:
    text = document if isinstance(document, str) else json.dumps(document)
    return load_folder(tmp_path, {"p.yaml": BODY + f"hosts: {hosts}\n", "inv.json": text})


def test_an_inventory(tmp_path: Path) -> None:
    loaded = inventory(tmp_path, INVENTORY, "{from: inv.json, defaults: {user: d}, web2: {port: 7}, own: {}}")
    assert loaded.diagnostics == ()
    plan = loaded.plan
    assert plan is not None
    assert set(plan.hosts) == {"web1", "web2", "here", "own"}
    web = plan.hosts["web1"]
    assert (web.transport, web.address, web.port, web.user) == ("ssh", "10.0.0.5", 2200, "u")
    assert web.vars["disk"].value == "/dev/${x}"
    assert (plan.hosts["web2"].port, plan.hosts["web2"].user) == (7, "d")
    assert (plan.hosts["here"].transport, plan.hosts["here"].sudo) == ("local", True)
    assert plan.hosts["here"].vars["tree"].plain() == {"a": [1]}
    assert set(plan.groups["lab"]) == {"web1", "web2", "here"}


@pytest.mark.parametrize(
    ("document", "place", "message"),
    [
        ('{"all":\n  {,}}', "E117 inv.json:2:4", "the inventory is not JSON"),
        ("[1]", "E117 inv.json:1:1", "no map of groups"),
        ('{"a": []}', "E117 inv.json:1:1", "no map of groups"),
        ('{"a": {"hosts": [NaN]}}', "E117 inv.json:1:1", "NaN is not JSON"),
        ("[" * 100_000, "E117 inv.json:1:1", "the inventory is not JSON"),
        ({"g": {"hosts": ["a b"]}}, "E111 p.yaml:4:15", "cannot be the name of a host"),
        ({"g": {"hosts": ["from"]}}, "E111 p.yaml:4:15", "`from` cannot be the name of a host"),
        ({"_meta": {"hostvars": {"a": {"ansible_port": "x"}}}}, "E117 p.yaml:4:15", "hostvars.a.ansible_port: `x` is"),
    ],
)
def test_inventories_that_do_not_hold(tmp_path: Path, document: object, place: str, message: str) -> None:
    found = {where(item): item.message for item in inventory(tmp_path, document).diagnostics}
    assert place in found
    assert message in found[place]


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.sampled_from(["a", "b", "${x}"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["_meta", "hostvars", "hosts", "children", "a", "b", "ansible_host"]), inner),
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_is_an_inventory_or_refused(document: object) -> None:
    findings = Findings()
    found = read_inventory(json.dumps(document), "f", Span("p", 1, 1), findings)
    assert (found is None) is findings.failed


def test_a_host_of_a_hundred_names_is_quick_to_refuse() -> None:
    assert {item.code for item in load(BODY + "hosts: {'" + "[0:99]" * 50 + "': {}}").diagnostics} == {"E118"}


def test_groups_nested_too_deep() -> None:
    text = "".join(f"  g{number}: [g{number + 1}]\n" for number in range(60)) + "  g60: [local]\n"
    (item,) = load(BODY + "groups:\n" + text).diagnostics
    assert item.code == "E115"
    assert "deeper than 50" in item.message
