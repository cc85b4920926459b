"""Plans from YAML text, put together without the loader, so that the planner is tested by itself."""

from __future__ import annotations

from typing import Any

from asct.diagnostics.model import Diagnostic
from asct.plan.findings import Findings
from asct.plan.model import Bound, Destroys, Entry, Execution, Expectation, HostSpec, Limits, Node, Plan, Safety, Sweep
from asct.plan.nodes import parse_yaml
from asct.planner.model import Job, ResolvedPlan
from asct.planner.resolve import Resolution, resolve
from asct.planner.selection import Selection
from tests.planner.fakes import CATALOG

FILE = "plan.yaml"


def load(text: str, overrides: dict[str, str] | None = None) -> Plan:
    """The plan that `text` describes; only the keys that these tests use."""
    findings = Findings()
    root = parse_yaml(text, FILE, findings)
    assert root is not None and not findings.all(), findings.all()
    top: dict[str, Node] = root.value
    hosts = {name: _host(name, node) for name, node in _map(top, "hosts").items()} or {"local": HostSpec("local")}
    groups = {name: node for name, node in _map(top, "groups").items()}
    defaults = _map(top, "defaults")
    safety = _map(top, "safety")
    limits = {key: node.plain() for key, node in _map(top, "limits").items()}
    return Plan(
        name=_plain(top, "name", "test"),
        description=_plain(top, "description", ""),
        path=FILE,
        text=text,
        files={FILE: text},
        vars=_map(top, "vars"),
        hosts=hosts,
        groups={name: tuple(_list(_map_of(node), "hosts")) for name, node in groups.items()},
        defaults_config=_map(defaults, "config"),
        group_config={name: _map(_map_of(node), "config") for name, node in groups.items()},
        host_config={name: _map(_map_of(node), "config") for name, node in _map(top, "hosts").items()},
        execution=_execution(defaults),
        benchmarks=tuple(_entry(node) for node in _items(top, "benchmarks")),
        expect=tuple(_expectation(node) for node in _items(top, "expect")),
        baseline=top.get("baseline"),
        safety=Safety(tuple(_destroys(node) for node in _items(safety, "destroys")), _plain(safety, "max_written", None)),
        limits=Limits(**limits),
        overrides=tuple((path, _set_node(value)) for path, value in (overrides or {}).items()),
    )


def run(text: str, overrides: dict[str, str] | None = None, **selection: tuple[str, ...]) -> Resolution:
    """Load and resolve with the fake catalog."""
    return resolve(load(text, overrides), CATALOG, Selection(**selection))


def resolved(text: str, overrides: dict[str, str] | None = None, **selection: tuple[str, ...]) -> ResolvedPlan:
    """The plan, which must have no error."""
    found = run(text, overrides, **selection)
    assert found.plan is not None, found.diagnostics
    return found.plan


def job(text: str, name: str | None = None, overrides: dict[str, str] | None = None) -> Job:
    """The last job, or the one with the id `name`."""
    jobs = resolved(text, overrides).jobs
    return next(item for item in reversed(jobs) if name in (None, item.id))


def refused(text: str, overrides: dict[str, str] | None = None, **selection: tuple[str, ...]) -> list[Diagnostic]:
    """The errors of a plan that must not resolve."""
    found = run(text, overrides, **selection)
    assert found.plan is None
    return [item for item in found.diagnostics if item.severity == "error"]


def at(text: str, word: str, occurrence: int = 0) -> tuple[int, int]:
    """Line and column of the nth occurrence of a word."""
    position = -1
    for _ in range(occurrence + 1):
        position = text.index(word, position + 1)
    before = text[:position].split("\n")
    return len(before), len(before[-1]) + 1


def _set_node(value: str) -> Node:
    node = parse_yaml(value, "--set", Findings())
    assert node is not None
    return node


def _map(members: dict[str, Node], key: str) -> dict[str, Node]:
    return _map_of(members[key]) if key in members else {}


def _map_of(node: Node) -> dict[str, Node]:
    return node.value if isinstance(node.value, dict) else {}


def _items(members: dict[str, Node], key: str) -> list[Node]:
    return members[key].value if key in members else []


def _list(members: dict[str, Node], key: str) -> list[Any]:
    return [item.plain() for item in _items(members, key)]


def _plain(members: dict[str, Node], key: str, default: Any) -> Any:
    return members[key].plain() if key in members else default


def _host(name: str, node: Node) -> HostSpec:
    members = _map_of(node)
    known = {key: members[key].plain() for key in ("transport", "address", "labels") if key in members}
    return HostSpec(name, **known, vars=_map(members, "vars"), span=node.span)


def _execution(members: dict[str, Node]) -> Execution:
    names = ("repeats", "warmup", "timeout_s", "order", "strict")
    return Execution(**{name: members[name].plain() for name in names if name in members})


def _entry(node: Node) -> Entry:
    if isinstance(node.value, str):
        return Entry(node.value, node.value, node.span, node.span)
    members: dict[str, Node] = node.value
    uses = members.get("uses", members.get("id", node))
    hosts = tuple(members["hosts"].value) if "hosts" in members else None
    return Entry(
        id=_plain(members, "id", uses.value),
        uses=uses.value,
        span=node.span,
        uses_span=uses.span,
        hosts=hosts,
        tags=tuple(_list(members, "tags")),
        config=_map(members, "config"),
        sweep=_sweep(members["sweep"]) if "sweep" in members else None,
        needs=_map(members, "needs"),
        execution=_execution(members),
    )


def _sweep(node: Node) -> Sweep:
    members = dict(node.value)
    zips = tuple(item.value for item in members.pop("zip", Node([], node.span)).value)
    where = members.pop("where", None)
    exclude = tuple(members.pop("exclude", Node([], node.span)).value)
    include = tuple(members.pop("include", Node([], node.span)).value)
    return Sweep(members, zips, where, exclude, include, node.span)


def _bound(members: dict[str, Node]) -> Bound:
    return Bound(members.get("min"), members.get("max"), members.get("no_worse_than"))


def _expectation(node: Node) -> Expectation:
    members: dict[str, Node] = node.value
    return Expectation(
        metric=members["metric"],
        span=node.span,
        at=_map(members, "at"),
        bound=_bound(members),
        by={name: (item, _bound(item.value)) for name, item in _map(members, "by").items()},
        of=members.get("of"),
        versus=_plain(members, "versus", None),
        severity=_plain(members, "severity", "fail"),
        if_missing=_plain(members, "if_missing", "fail"),
    )


def _destroys(node: Node) -> Destroys:
    values = node.plain()
    overwrite = values.get("overwrite", False)
    return Destroys(
        values["host"], values["device"], values.get("serial"), overwrite, values.get("reason", ""), node.span
    )
