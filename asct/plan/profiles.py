"""`profiles:`: named changes to a plan (`quick: {vars: {runtime: 2s}, benchmarks: {matrix: {repeats: 1}}}`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from asct.diagnostics.model import Span
from asct.diagnostics.suggest import did_you_mean
from asct.plan.entries import ENTRY_KEYS, EntryMaps
from asct.plan.execution import EXECUTION_KEYS, read_execution
from asct.plan.fields import Desk, Section, merged
from asct.plan.findings import Findings
from asct.plan.model import Node
from asct.plan.sections import read_limits, read_report
from asct.values.problem import shown

PROFILE_KEYS: Final = ("vars", "defaults", "limits", "report", "strict", "benchmarks")
_LAID_OVER: Final = ("vars", "defaults", "limits", "report", "strict")
_CHANGEABLE: Final = tuple(key for key in ENTRY_KEYS if key not in ("id", "uses", "extends"))


def apply_profile(
    members: dict[str, Node], profiles: Mapping[str, Node], name: str | None, findings: Findings
) -> dict[str, Node]:
    """The sections of the plan with those of the profile laid over. A profile that is not there is an error."""
    if name is None:
        return members
    profile = profiles.get(name)
    if profile is None:
        hint = did_you_mean(name, profiles, "the plan has no profiles" if not profiles else "")
        findings.error("E114", f"the plan has no profile `{shown(name)}`", _place(members), hint)
        return members
    changed = dict(members)
    for key in _LAID_OVER:
        over = profile.value.get(key) if isinstance(profile.value, dict) else None
        if over is not None and over.value is not None:
            changed[key] = merged(changed[key], over) if key in changed else over
    return changed


def _place(members: Mapping[str, Node]) -> Span | None:
    node = members.get("profiles")
    return None if node is None else node.key_span or node.span


def profile_entries(found: EntryMaps, profile: Node | None) -> EntryMaps:
    """The entries with the `benchmarks:` of a profile laid over; entries that extend them inherit the change."""
    changes = profile.value.get("benchmarks") if profile is not None and isinstance(profile.value, dict) else None
    if changes is None or not isinstance(changes.value, dict):
        return found
    maps = dict(found.maps)
    for name, over in changes.value.items():
        if name in maps and isinstance(over.value, dict):
            kept = replace(over, value={key: item for key, item in over.value.items() if key in _CHANGEABLE})
            maps[name] = replace(merged(maps[name], kept), span=maps[name].span)
    return EntryMaps(maps)


def check_profiles(profiles: Mapping[str, Node], variables: Sequence[str], ids: Sequence[str], desk: Desk) -> None:
    """Every profile, chosen or not: its keys, the variables and benchmarks it names, and its values."""
    for name, node in profiles.items():
        section = Section(desk, node, f"profile `{shown(name)}`", PROFILE_KEYS)
        _known(section.mapping("vars").items(), variables, "the plan has no variable", desk.findings)
        _known(section.mapping("benchmarks").items(), ids, "the plan has no benchmark", desk.findings)
        for key, change in section.mapping("benchmarks").items():
            read_execution(Section(desk, change, f"`{shown(key)}` in profile `{shown(name)}`", _CHANGEABLE))
        if "defaults" in section.members:
            defaults = section.members["defaults"]
            read_execution(Section(desk, defaults, "`defaults`", (*EXECUTION_KEYS, "config")))
        read_limits(section.members.get("limits"), desk)
        read_report(section.members.get("report"), desk)
        section.flag("strict")


def _known(items: Iterable[tuple[str, Node]], names: Sequence[str], message: str, findings: Findings) -> None:
    for key, node in items:
        if key not in names:
            span = node.key_span or node.span
            findings.error(
                "E114", f"{message} `{shown(key)}`", span, did_you_mean(key, names, "add it to the plan first")
            )
