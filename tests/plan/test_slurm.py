from __future__ import annotations

import pytest

from asct.hosts.slurm.options import nodes_of, option_problem
from asct.values.error import BadValueError
from tests.plan.loading import BODY, load, plan_of, where


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n1", ["n1"]),
        ("n1,n2.lab", ["n1", "n2.lab"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[08-10,3],m", ["n08", "n09", "n10", "n3", "m"]),
        ("r[1-2]n[1,5]", ["r1n1", "r1n5", "r2n1", "r2n5"]),
    ],
)
def test_lists_of_nodes(text: str, expected: list[str]) -> None:
    assert nodes_of(text) == expected


@pytest.mark.parametrize(
    "text", ["", "n1,", "/etc/nodes", "n[3-1]", "n[1", "n[]", "n[a-b]", "n[1-999999]", "n1,n[1-2]", "n1 n2", "n[1-]"]
)
def test_what_is_no_list_of_nodes(text: str) -> None:
    with pytest.raises(BadValueError):
        nodes_of(text)


def test_a_host_of_several_nodes_is_several_hosts_and_a_group() -> None:
    plan = plan_of(
        BODY + "vars: {many: 2}\n"
        "hosts:\n"
        "  lab: {transport: slurm, partition: p, nodelist: 'n[1-2]', vars: {dir: '/x/${host.name}'}}\n"
        "  any: {transport: slurm, nodes: '${vars.many}', account: a}\n"
        "  one: {transport: slurm, nodelist: n7, nodes: 1}\n"
        "groups: {every: [lab, one]}\n"
    )
    assert {name: dict(host.options) for name, host in plan.hosts.items()} == {
        "lab-n1": {"partition": "p", "nodelist": "n1"}, "lab-n2": {"partition": "p", "nodelist": "n2"},
        "any-1": {"account": "a"}, "any-2": {"account": "a"}, "one": {"nodelist": "n7", "nodes": 1},
    }  # fmt: skip
    assert plan.groups == {
        "lab": ("lab-n1", "lab-n2"), "any": ("any-1", "any-2"), "every": ("lab-n1", "lab-n2", "one"),
    }  # fmt: skip
    assert plan.hosts["lab-n2"].vars["dir"].value == "/x/lab-n2"


@pytest.mark.parametrize(
    ("host", "groups", "code", "text"),
    [
        ("nodelist: 'n[2-1]'", "", "E112", "range"),
        ("nodelist: /etc/passwd", "", "E112", "not a list of nodes"),
        ("nodes: 2-4", "", "E112", "not a valid number of nodes"),
        ("nodes: 0", "", "E112", "not a valid number of nodes"),
        ("nodes: 3, nodelist: 'n[1-2]'", "", "E112", "lists 2"),
        ("nodelist: '${vars.none}'", "", "E121", "vars.none"),
        ("nodes: 2", "groups: {lab: [lab-1]}\n", "E113", "a group and a host"),
        ("options: [--array=1-4]", "", "E112", "cannot run jobs"),
        ("options: ['--exclude=${vars.file}']", "vars: {file: /etc/passwd}\n", "E112", "would read a file"),
        ("options: ['--qos=${vars.odd}']", 'vars: {odd: "a\\0b"}\n', "E112", "not an sbatch option"),
        (r'partition: "a\0b"', "", "E112", "control characters"),
        (r'account: "a\nb"', "", "E112", "control characters"),
        ("constraint: '${vars.odd}'", 'vars: {odd: "a\\eb"}\n', "E112", "control characters"),
    ],
)
def test_what_cannot_be_a_slurm_host(host: str, groups: str, code: str, text: str) -> None:
    loaded = load(BODY + f"hosts:\n  lab: {{transport: slurm, {host}}}\n{groups}")
    assert [item.code for item in loaded.diagnostics] == [code]
    assert text in loaded.diagnostics[0].message
    assert where(loaded.diagnostics[0]).startswith(f"{code} p.yaml:")


@pytest.mark.parametrize(
    "option",
    [
        "--qos=high",
        "--reservation=lab",
        "--time=30",
        "-t30",
        "--exclusive",
        "--exclude=n3",
        "--gres=gpu:1",
        "--bb=pool",
        "-xn3",
    ],
)
def test_options_for_sbatch(option: str) -> None:
    assert option_problem(option) == ""


@pytest.mark.parametrize(
    "option",
    [
        "--array=1", "--arr=1", "-a1", "--wrap=reboot", "--output=/tmp/x", "-o/tmp/x", "--parsable", "--hold", "-H",
        "--partition=p", "-pp", "--nodes=2", "-N2", "--dependency=singleton", "--exclusive=user", "script.sh", "--",
        "-", "", ":", "--qos high", "--qos=a\nb", "--n=1", "--clusters=other", "-Mother", "--uid=0",
        "--exclude=/etc/passwd", "--exclud=a/b", "-x/etc/passwd", "--nodefile=/etc/passwd", "-F/etc/passwd", "--bbf=/x",
        "--burst-buffer-file=/x", "--exclus=user", "--qos=a\0b",
    ],
)  # fmt: skip
def test_options_that_a_job_cannot_have(option: str) -> None:
    assert option_problem(option)
