"""Hosts of a Slurm cluster: several nodes become one host each, and extra options of sbatch are looked at."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from asct.errors import PlanError
from asct.plan.fields import ParseContext
from asct.plan.findings import Findings
from asct.plan.hosts import HostMaps
from asct.plan.model import HostSpec, Node
from asct.plan.names import MAX_HOSTS, folder_name
from asct.plan.scope import Scope
from asct.plan.templates import evaluate
from asct.values.problem import BadValueError, shown

_ITEM: Final = re.compile(r"(?:[A-Za-z0-9._-]|\[[0-9,-]+\])+", re.ASCII)
_PART: Final = re.compile(r"\[([^\]]*)\]|([^\[]+)")
_NUMBERS: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_TAKEN: Final = {
    "partition": "p", "account": "A", "constraint": "C", "nodelist": "w", "nodes": "N", "ntasks": "n", "job-name": "J",
    "dependency": "d", "kill-on-invalid-dep": "", "requeue": "", "no-requeue": "", "chdir": "D", "export": "",
    "export-file": "", "get-user-env": "", "output": "o", "error": "e", "input": "i", "open-mode": "",
}  # fmt: skip
"""What asct says itself; the first four have a key of their own."""
_BREAKING: Final = {
    "array": "a", "wrap": "", "wait": "W", "parsable": "", "test-only": "", "hold": "H", "quiet": "Q", "verbose": "v",
    "help": "h", "usage": "", "version": "V", "oversubscribe": "s", "overcommit": "O", "signal": "", "uid": "",
    "gid": "", "clusters": "M", "cluster": "", "batch": "", "ignore-pbs": "",
}  # fmt: skip
"""What changes what a job is, or what sbatch prints."""
_READING: Final = {"nodefile": "F", "burst-buffer-file": "", "bbf": ""}
"""What makes sbatch read a file of this machine; so does a slash in a list of nodes."""
_OWN_KEYS: Final = ("partition", "account", "constraint", "nodelist")
_READS: Final = "it would read a file of the machine that asct runs on"
_HINT: Final = "one whole option an item, such as `--qos=high` or `--reservation=lab`"


def nodes_of(text: str) -> list[str]:
    """The nodes of a list as Slurm writes it: `n1,rack[01-03]x[1,5]`. Raises BadValueError."""
    names: list[str] = []
    for item in re.split(r",(?![^\[]*\])", text.strip()):
        if not _ITEM.fullmatch(item):
            raise BadValueError(f"`{shown(text)}` is not a list of nodes", "write `n1,n2` or `rack[01-16]`")
        parts = [_numbers(text, inside) if inside else [plain] for inside, plain in _PART.findall(item)]
        names += ["".join(chosen) for chosen in itertools.islice(itertools.product(*parts), MAX_HOSTS + 1)]
    if len(names) > MAX_HOSTS:
        raise BadValueError(f"`{shown(text)}` names more than {MAX_HOSTS} nodes", "write a shorter list")
    if len(set(names)) < len(names):
        raise BadValueError(f"`{shown(text)}` names a node twice", "name each once")
    return names


def _numbers(text: str, inside: str) -> list[str]:
    """`01-03,7` is 01, 02, 03, 7; leading zeros of the first number of a range are kept."""
    found: list[str] = []
    for part in inside.split(","):
        match = _NUMBERS.fullmatch(part)
        first, last = (match[1], match[2] or match[1]) if match else ("1", "0")
        if not 0 <= int(last) - int(first) <= MAX_HOSTS:
            raise BadValueError(f"`{shown(text)}` has a range that cannot be", "write `rack[01-16]`")
        found += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return found


def option_problem(option: str) -> str:
    """Why an item of `options` cannot be handed to sbatch; empty when it can. sbatch takes shortened long options."""
    name, _, _ = option.partition("=")
    if not option.isprintable() or not re.fullmatch(r"--[A-Za-z][A-Za-z0-9-]*|-[A-Za-z].*", name):
        return "it is not an option of sbatch"
    long = name.removeprefix("--") if name.startswith("--") else None
    for known, letter in (_TAKEN | _BREAKING | _READING).items():
        if _means(known, long) if long else name[1] == letter:
            if known in _OWN_KEYS:
                return f"it has a key of its own, `{known}`"
            if known in _READING:
                return _READS
            return "asct says it itself" if known in _TAKEN else "a job of asct would not work with it"
    if "/" in option and (_means("exclude", long) if long else name[1] == "x"):
        return _READS
    if long and _means("exclusive", long) and option != "--exclusive":
        return "a job of asct has its node for itself"
    return ""


def _means(known: str, long: str) -> bool:
    """Whether sbatch may take `long` for the option `known`; `--bb` is one of its own."""
    return known.startswith(long) and not (known == "bbf" and long == "bb")


def check_request(body: Mapping[str, Node], scope: Scope, findings: Findings) -> None:
    """Findings for what cannot be handed to sbatch, as it is written and as it is meant."""
    options = body.get("options")
    for item in () if options is None else options.value if isinstance(options.value, list) else [options]:
        told = [value for value in (item.value, _settled(item, scope)) if isinstance(value, str)]
        problem, value = next(((why, text) for text in told if (why := option_problem(text))), ("", ""))
        if problem:
            findings.error("E112", f"`{shown(value)}` cannot be in `options`: {problem}", item.span, _HINT)
    for key in ("partition", "account", "constraint"):
        node = body.get(key)
        text = None if node is None else _settled(node, scope)
        if node is not None and isinstance(text, str) and not text.isprintable():
            findings.error("E112", f"`{shown(text)}` cannot be `{key}`: it has control characters", node.span)


def spread(hosts: HostMaps, groups: Node | None, context: ParseContext) -> tuple[HostMaps, Node | None]:
    """Hosts where a Slurm host of several nodes is a host each, and `groups` with one of its name that holds them.

    `nodelist: n[1-2]` of `lab` makes `lab-n1` and `lab-n2`; `nodes: 2` alone makes `lab-1` and `lab-2`, whose nodes
    Slurm chooses.
    """
    found, made = HostMaps(), {}
    for name, body in hosts.maps.items():
        span = hosts.spans[name]
        members = list(_members(name, body, context))
        for host, one in members or [(name, body)]:
            found.add(host, one, span, context.findings)
        if members:
            made[name] = Node([Node(host, span) for host, _ in members], span, span)
    if not made:
        return hosts, groups
    written = groups.value if groups is not None and isinstance(groups.value, dict) else {}
    for name in made.keys() & written.keys():
        span = written[name].location
        context.findings.twice(
            "E113", f"`{shown(name)}` names a group and a host of several nodes", span, hosts.spans[name],
            "rename one of the two",
        )  # fmt: skip
    whole = groups if groups is not None else Node({}, next(iter(made.values())).span)
    return found, replace(whole, value={**made, **written})


def _members(name: str, body: Node, context: ParseContext) -> Iterator[tuple[str, Node]]:
    """The hosts that a host of several nodes stands for; none for any other."""
    if not isinstance(body.value, dict):
        return
    transport = body.value.get("transport")
    if transport is None or transport.value != "slurm":
        return
    own = replace(context.scope, host=HostSpec(name))
    check_request(body.value, own, context.findings)
    told = {key: _settled(body.value.get(key), own) for key in ("nodelist", "nodes")}
    try:
        members = _names(told["nodelist"], told["nodes"])
        if len(members) < 2:
            return
        for suffix, node in members:
            changes = {key: item for key, item in body.value.items() if key not in told}
            if node is not None:
                changes["nodelist"] = replace(body.value["nodelist"], value=node)
            yield folder_name(f"{name}-{suffix}", "a host"), replace(body, value=changes)
    except BadValueError as problem:
        place = body.value.get("nodelist") or body.value["nodes"]
        context.findings.bad_value(problem, place.span, "E112")


def _settled(node: Node | None, scope: Scope) -> object:
    """The value of a key; None when it is not there or has an error, which is found again when the host is read."""
    if node is None:
        return None
    try:
        return evaluate(node, scope).value
    except PlanError:
        return None


def _names(nodelist: object, nodes: object) -> list[tuple[str, str | None]]:
    """Suffix and node of each host."""
    if nodes is not None and (isinstance(nodes, bool) or not isinstance(nodes, int) or not 1 <= nodes <= MAX_HOSTS):
        raise BadValueError(f"`nodes: {shown(nodes)}` is not a number of nodes", f"write one from 1 to {MAX_HOSTS}")
    if not isinstance(nodelist, str):
        return [(str(number), None) for number in range(1, int(nodes or 0) + 1)]
    names = nodes_of(nodelist)
    if nodes is not None and nodes != len(names):
        raise BadValueError(f"`nodes` is {nodes}, `nodelist` names {len(names)}", "leave out `nodes`")
    return [(name, name) for name in names]
