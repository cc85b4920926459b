"""Load a plan: read the file, merge the files that it includes, apply the profile and `--set`, and check the result.

All findings are reported at once. No host is contacted. The planner checks names that require the registry (benchmarks,
settings, metrics), sweeps, and templates under `config`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from asct.plan.changes import (
    FILE,
    Overrides,
    apply_profile,
    check_profiles,
    expectation_names,
    profile_entries,
    read_sets,
    text_of,
)
from asct.plan.entries import collect_entries, extended, read_entries
from asct.plan.fields import ParseContext, Section, kind_of
from asct.plan.findings import Findings
from asct.plan.hosts import LOCAL, HostMaps, read_groups, read_hosts, split_hosts, with_group_vars
from asct.plan.includes import FileMerger, MergedFiles, inherited
from asct.plan.model import REJECTED, Execution, Loaded, Node, Plan
from asct.plan.names import folder_name
from asct.plan.scope import Scope, hidden_names
from asct.plan.sections import (
    EXECUTION_KEYS,
    filled,
    read_baseline,
    read_execution,
    read_expectations,
    read_inputs,
    read_limits,
    read_report,
    read_safety,
)
from asct.plan.sources import PlanFiles
from asct.plan.templates import resolved_vars
from asct.values.error import clip

LANGUAGE_VERSION: Final = 1
PLAN_KEYS: Final = (
    "plan", "name", "description", "vars", "hosts", "groups", "defaults", "benchmarks", "expect", "baseline", "safety",
    "profiles", "limits", "report", "include", "inputs", "strict", "select", "extends",
)  # fmt: skip


def load_plan(path: Path, *, profile: str | None = None, sets: Sequence[str] = (), text: str | None = None) -> Loaded:
    """Load the plan from `text` if it is set, otherwise from the file `path`. Errors are not raised; they are returned
    in `diagnostics`.

    `profile` names a profile of the plan. `sets` are strings of the form PATH=VALUE; their locations refer to a file
    named `--set` with one option per line.
    """
    findings = Findings()
    sources = PlanFiles(path.parent, findings)
    root = sources.main(path, text)
    if sets:
        sources.texts[FILE] = text_of(sets)
    plan: Plan | None = None
    if root is not None:
        plan = _Loading(path, sources, findings).plan(root, profile, sets)
    elif not findings.failed:
        findings.error("E107", f"{path} is empty", None, "a plan starts with `plan: 1`; `asct init` creates one")
    return Loaded(None if findings.failed else plan, findings.all(), dict(sources.texts), plan)


def variants(plan: Plan) -> Iterator[Plan]:
    """Yield the plan as written (without a profile or `--set`), and then with each of its profiles applied."""
    for profile in (None, *plan.profiles):
        found = load_plan(Path(plan.path), profile=profile, text=plan.text).partial
        if found is not None:
            yield found


class _Loading:
    """Loads one plan. The attributes are the state that all steps share: path, files and findings."""

    def __init__(self, path: Path, sources: PlanFiles, findings: Findings) -> None:
        self._path = path
        self._sources = sources
        self._findings = findings

    def plan(self, root: Node, profile: str | None, sets: Sequence[str]) -> Plan | None:
        """Return the plan, or None if the file is not a plan or its version is not supported."""
        if not self._is_plan(root):
            return None
        root = inherited(root, str(self._path), self._sources, self._findings)
        context = ParseContext(self._findings, Scope())
        section = Section(context, root, "the plan", PLAN_KEYS)
        if not self._findings.hides("name"):
            section.required("name", "add `name: ...`; it becomes the name of the results folder")
        gathered = FileMerger(self._sources, self._findings).gather(section, (str(self._path),))
        overrides = read_sets(sets, self._findings)
        whole = self._layered(section, gathered, profile, overrides)
        return self._read(whole, gathered, profile, overrides)

    def _is_plan(self, root: Node) -> bool:
        """Return whether the file is a plan of a supported version."""
        findings = self._findings
        if not isinstance(root.value, dict):
            if root.value is not REJECTED:
                message = f"a plan must be a map, not {kind_of(root.value)}"
                findings.error("E106", message, root.span, "start the file with `plan: 1`")
            return False
        version = root.value.get("plan")
        if version is None:
            findings.error(
                "E110",
                "`plan: 1` is missing, so the file might not be a plan",
                root.span,
                "start the file with `plan: 1`",
            )
            return not {"benchmarks", "select", "extends"}.isdisjoint(root.value)
        if version.value == LANGUAGE_VERSION and isinstance(version.value, int) and version.value is not True:
            return True
        if isinstance(version.value, int) and version.value > LANGUAGE_VERSION:
            message = (
                f"version {clip(version.value)} of the plan language is newer than the versions that this asct supports"
            )
            findings.error("E110", message, version.span, f"use a newer asct, or write `plan: {LANGUAGE_VERSION}`")
            return False
        if version.value is not REJECTED:
            message = f"{kind_of(version.value)} is not a version of the plan language"
            findings.error("E110", message, version.span, f"write `plan: {LANGUAGE_VERSION}`")
        return not {"benchmarks", "select", "extends"}.isdisjoint(root.value)

    def _layered(self, section: Section, gathered: MergedFiles, profile: str | None, overrides: Overrides) -> Section:
        """Return the plan merged with the included files, after applying the profile and `--set`, except where they
        change hosts and benchmarks."""
        members = dict(section.members)
        for key, part in (("vars", gathered.vars), ("groups", gathered.groups), ("profiles", gathered.profiles)):
            if part:
                members[key] = (members.get(key) or section.node)._replace(value=dict(part))
        members |= gathered.lists
        members = apply_profile(members, gathered.profiles, profile, self._findings)
        members = overrides.change_sections(members)
        return Section(section.context, section.node._replace(value=members), "the plan", None)

    def _scope(self, section: Section) -> Scope:
        """Return the names that templates outside hosts and `config` may read."""
        fields = {key: str(node.value) for key in ("name", "description") if (node := section.members.get(key))}
        inputs, variables = read_inputs(section), section.mapping("vars")
        scope = Scope(plan=fields, inputs=inputs, environment=None, hidden=hidden_names(self._findings.gaps))
        return scope._replace(vars=resolved_vars(variables, scope, self._findings))

    def _read(self, section: Section, gathered: MergedFiles, profile: str | None, overrides: Overrides) -> Plan:
        scope = self._scope(section)
        context = ParseContext(self._findings, scope)
        section = Section(context, section.node, "the plan", None)
        part = section.members.get
        local = {} if self._findings.hides("hosts") else {LOCAL: Node({}, section.node.span)}
        maps = gathered.hosts.maps or local
        hosts = overrides.change_hosts(HostMaps(dict(maps), {LOCAL: section.node.span, **gathered.hosts.spans}))
        hosts, grouped = split_hosts(hosts, part("groups"), context)
        groups = read_groups(grouped, list(hosts.maps), context)
        specs, host_config = read_hosts(with_group_vars(hosts, groups, self._findings), context)
        execution, shared = _defaults(section)
        entries = self._entries(section, gathered, profile)
        check_profiles(gathered.profiles, list(scope.vars), list(entries), expectation_names(part("expect")), context)
        baseline, confirm = read_baseline(part("baseline"), context)
        plan = Plan(
            name=self._name(section),
            description=section.text("description") or "",
            path=str(self._path),
            text=self._sources.texts[str(self._path)],
            files=dict(self._sources.texts),
            vars=scope.vars,
            hosts=specs,
            groups=groups.members,
            defaults_config=shared,
            group_config={name: config for name, config in groups.config.items() if config},
            host_config=host_config,
            execution=execution,
            benchmarks=read_entries(overrides.change_entries(entries), context),
            expect=read_expectations(part("expect"), context),
            baseline=baseline,
            confirm=confirm,
            safety=read_safety(part("safety"), context, gathered.safety),
            select=tuple(section.text_nodes("select")),
            limits=read_limits(part("limits"), context),
            report=read_report(part("report"), context),
            inputs=tuple(scope.inputs),
            profiles=tuple(gathered.profiles),
            overrides=tuple(overrides.settings),
        )
        return plan._replace(gaps=frozenset(self._findings.gaps))

    def _entries(self, section: Section, gathered: MergedFiles, profile: str | None) -> Mapping[str, Node]:
        """Return the entries in `benchmarks` with the profile and `extends` applied."""
        node = section.members.get("benchmarks")
        if node is None and "select" not in section.members and not self._findings.hides("benchmarks"):
            section.required("benchmarks", "add `benchmarks: [latency-sweep]`; `asct list` lists the benchmarks")
        if node is None:
            return {}
        found = collect_entries(node, self._findings)
        chosen = gathered.profiles.get(profile) if profile is not None else None
        return extended(profile_entries(found, chosen), self._findings)

    def _name(self, section: Section) -> str:
        name = section.text("name")
        if name is None:
            return ""
        span = section.members["name"].span
        return self._findings.parsed(partial(folder_name, what="a plan"), name, span, "E111") or ""


def _defaults(section: Section) -> tuple[Execution, dict[str, Node]]:
    """Return the default execution keys for entries, and the settings in `defaults.config`."""
    node = section.members.get("defaults")
    strict = Execution(strict=section.flag("strict"))
    if node is None:
        return filled(strict), {}
    defaults = Section(section.context, node, "`defaults`", (*EXECUTION_KEYS, "config"), ("defaults",))
    return filled(filled(read_execution(defaults), below=strict)), defaults.mapping("config")
