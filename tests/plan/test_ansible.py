"""Typical Ansible inventories: the meaning of their variables, what asct does not support, and keys of the plan that
take precedence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from asct.diagnostics.model import Diagnostic
from asct.plan.inventory import translated
from asct.plan.model import Plan
from tests.plan.loading import BODY, load_folder


def loaded(tmp_path: Path, variables: dict[str, dict[str, Any]], hosts: str = "", **groups: Any) -> tuple[Plan, Any]:
    document = {"_meta": {"hostvars": variables}, "all": {"children": ["ungrouped", *groups]}, **groups}
    text = f"{BODY}hosts: {{from: lab/inv.json{hosts}}}\n"
    found = load_folder(tmp_path, {"p.yaml": text, "lab/inv.json": json.dumps(document)})
    assert found.plan is not None, [item.message for item in found.diagnostics]
    return found.plan, found.diagnostics


def errors(tmp_path: Path, variables: dict[str, Any], hosts: str = "") -> list[Diagnostic]:
    text = f"{BODY}hosts: {{from: inv.json{hosts}}}\n"
    document = {"_meta": {"hostvars": {"n1": variables}}}
    return list(load_folder(tmp_path, {"p.yaml": text, "inv.json": json.dumps(document)}).diagnostics)


@pytest.mark.parametrize(
    ("variables", "keys"),
    [
        ({"ansible_host": "10.0.0.1", "ansible_port": "2222"}, {"address": "10.0.0.1", "port": 2222}),
        ({"ansible_ssh_host": "a", "ansible_ssh_port": 7, "ansible_ssh_user": "u"},
         {"address": "a", "port": 7, "user": "u"}),
        ({"ansible_user": 1000}, {"user": "1000"}),
        ({"ansible_ssh_private_key_file": "~/.ssh/lab"}, {"identity_file": "~/.ssh/lab"}),
        ({"ansible_private_key_file": "k"}, {"identity_file": "k"}),
        ({"ansible_ssh_common_args": "-J gw1,u@gw2:2222"}, {"jump": "gw1,u@gw2:2222"}),
        ({"ansible_ssh_common_args": "-o ProxyJump=gw -o ControlPersist=60s"}, {"jump": "gw"}),
        ({"ansible_ssh_extra_args": "-oProxyJump=gw -v"}, {"jump": "gw"}),
        ({"ansible_ssh_common_args": "-o 'ProxyJump none'"}, {}),
        ({"ansible_ssh_common_args": '-o ProxyCommand="ssh -W %h:%p -q u@gw"'}, {"jump": "u@gw"}),
        ({"ansible_ssh_common_args": "-o 'ProxyCommand=ssh -p 2222 -l u gw -W %h:%p'"}, {"jump": "u@gw:2222"}),
        ({"ansible_ssh_args": "-C -i key -p 9 -l u -o UserKnownHostsFile=kh"},
         {"identity_file": "key", "port": 9, "user": "u", "known_hosts": "kh"}),
        ({"ansible_ssh_args": "-p 9", "ansible_port": 22}, {"port": 22}),
        ({"ansible_become": "yes"}, {"sudo": True}),
        ({"ansible_become": False}, {"sudo": False}),
        ({"ansible_connection": "local", "ansible_host": "x", "ansible_port": "y"}, {"transport": "local"}),
        ({"ansible_connection": "ansible.builtin.ssh"}, {}),
        ({"ansible_host": None, "ansible_user": ""}, {}),
    ],
)  # fmt: skip
def test_what_variables_say(variables: dict[str, Any], keys: dict[str, Any]) -> None:
    found = translated(variables, ())
    assert found.misfits == []
    assert found.keys == keys


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"ansible_port": "ssh"}, "ansible_port: `ssh` is not a port"),
        ({"ansible_port": 70000}, "ansible_port: `70000` is not a port"),
        ({"ansible_host": "{{ ip }}"}, "ansible_host: `{{ ip }}` is a template"),
        ({"ansible_host": ["a"]}, "ansible_host: is not text"),
        ({"ansible_become": "perhaps"}, "ansible_become: `perhaps` is neither yes nor no"),
        ({"ansible_ssh_common_args": "-o 'ProxyJump"}, "an unclosed quote"),
        ({"ansible_ssh_common_args": "-o ProxyCommand='nc -x proxy %h %p'"}, "ProxyCommand `nc -x proxy %h %p` is not"),
        ({"ansible_ssh_args": "-p x"}, "ansible_ssh_args: `x` is not a port"),
    ],
)
def test_what_cannot_be_taken_names_the_variable(tmp_path: Path, variables: dict[str, Any], message: str) -> None:
    [found] = errors(tmp_path, variables)
    assert found.code == "E117"
    assert message in found.message
    assert "inv.json: _meta.hostvars.n1." in found.message
    assert found.span is not None
    assert (found.span.line, found.span.column) == (4, 15)
    assert "n1: {" in found.hint


def test_what_the_plan_says_itself_does_not_matter_there(tmp_path: Path) -> None:
    broken = {"ansible_host": "{{ ip }}", "ansible_port": "x", "ansible_ssh_common_args": "-o ProxyCommand=nc"}
    assert errors(tmp_path, broken, ", n1: {address: 10.0.0.1, port: 22, jump: gw}") == []


def test_variables_for_ssh_do_not_matter_to_other_transports(tmp_path: Path) -> None:
    variables = {"n1": {"ansible_port": 2}, "n2": {"ansible_connection": "docker", "ansible_port": 2}}
    plan, _ = loaded(tmp_path, variables, ", n2: {transport: slurm}")
    assert {host.name: (host.transport, host.port) for host in plan.hosts.values()} == {
        "n1": ("ssh", 2), "n2": ("slurm", 22),
    }  # fmt: skip


def test_host_before_inventory_before_defaults(tmp_path: Path) -> None:
    variables: dict[str, dict[str, Any]] = {
        "n1": {"ansible_user": "inventory", "ansible_port": 2},
        "n2": {},
        "n3": {"ansible_user": "inventory"},
    }
    plan, _ = loaded(tmp_path, variables, ", defaults: {user: default, port: 9}, n1: {port: 7}, 'n[2:3]': {sudo: true}")
    assert {host.name: (host.user, host.port, host.sudo) for host in plan.hosts.values()} == {
        "n1": ("inventory", 7, False), "n2": ("default", 9, True), "n3": ("inventory", 9, True),
    }  # fmt: skip


def test_paths_start_where_the_plan_is(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "lab").touch()
    plan, _ = loaded(tmp_path, {"n1": {"ansible_ssh_private_key_file": "keys/lab"}})
    assert plan.hosts["n1"].identity_file == str(tmp_path / "keys" / "lab")


def test_groups(tmp_path: Path) -> None:
    groups: dict[str, Any] = {
        "web": {"hosts": ["n1", "n2"]}, "lab": {"children": ["web", "empty"], "hosts": ["n3"]}, "empty": {},
        "vanished": {"children": ["nowhere"]},
    }  # fmt: skip
    plan, findings = loaded(tmp_path, {"n1": {}, "n4": {}}, **groups)
    assert findings == ()
    assert plan.groups == {"web": ("n1", "n2"), "lab": ("n1", "n2", "n3"), "empty": (), "vanished": ()}
    assert set(plan.hosts) == {"n1", "n2", "n3", "n4"}


def test_hosts_that_asct_cannot_reach_are_left_out_and_named(tmp_path: Path) -> None:
    variables: dict[str, dict[str, Any]] = {f"sw{number}": {"ansible_connection": "network_cli"} for number in range(5)}
    variables |= {"n1": {}, "box": {"ansible_connection": "docker"}}
    plan, findings = loaded(tmp_path, variables, ", sw0: {transport: ssh}", net={"hosts": [*variables]})
    assert set(plan.hosts) == {"n1", "sw0"}
    assert plan.groups["net"] == ("n1", "sw0") or plan.groups["net"] == ("sw0", "n1")
    assert [item.severity for item in findings] == ["warning", "warning"]
    messages = "\n".join(item.message for item in findings)
    assert "`network_cli`: sw1, sw2, sw3 and 1 more" in messages
    assert "`docker`: box" in messages


def test_remarks_come_once_and_passwords_go_nowhere(tmp_path: Path) -> None:
    variables: dict[str, dict[str, Any]] = {
        f"n{number}": {
            "ansible_password": "secret", "ansible_ssh_common_args": "-o StrictHostKeyChecking=no",
            "ansible_python_interpreter": "/usr/bin/python3", "ansible_facts": {"a": 1}, "rack": "r1",
        }
        for number in range(3)
    }  # fmt: skip
    plan, findings = loaded(tmp_path, variables)
    assert [(item.severity, item.message.partition(": ")[2]) for item in findings] == [
        ("warning", "asct always checks host keys, so StrictHostKeyChecking and UserKnownHostsFile are ignored (3 x)"),
        ("warning", "passwords are ignored: log in with a key or an agent (3 x)"),
    ]
    own = {name: node.plain() for name, node in plan.hosts["n0"].vars.items()}
    assert own == {"ansible_python_interpreter": "/usr/bin/python3", "rack": "r1"}
    assert "secret" not in repr(plan.hosts)


def test_variables_of_groups_are_asked_for_by_host(tmp_path: Path) -> None:
    _, findings = loaded(tmp_path, {"n1": {}}, web={"hosts": ["n1"], "vars": {"a": 1}})
    assert "without `--export`" in findings[0].message
