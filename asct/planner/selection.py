"""Select the entries and hosts that the command-line options specify, and determine the hosts of each entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from asct.plan.findings import Findings
from asct.plan.model import Entry, Plan
from asct.plan.names import is_pattern, matching
from asct.planner.context import NOWHERE, JobDraft, ResolveContext
from asct.values.suggest import did_you_mean

Pair = tuple[str, str]
"""An entry id and a host."""


class Selection(NamedTuple):
    """The parts of a plan that the user selected. An empty field selects everything.

    `hosts` contains names, groups, ranges or patterns, separated by commas; `benchmarks` contains entry ids or
    patterns; `tags` contains entry tags. To be selected, an entry must match at least one word in each non-empty field.
    """

    hosts: tuple[str, ...] = ()
    benchmarks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


def hosts_named(word: str, plan: Plan) -> list[str]:
    """Return the hosts that match a name, group, range or pattern, in plan order. `all` matches every host."""
    if word in plan.hosts:
        return [word]
    if word in plan.groups:
        return [name for name in plan.hosts if name in plan.groups[word]]
    if word == "all":
        return list(plan.hosts)
    return matching(word, plan.hosts) if is_pattern(word) else []


def hosts_of(entry: Entry, plan: Plan, findings: Findings) -> list[str]:
    """Return the hosts of an entry, in plan order. Report an error for each word that matches no host."""
    if entry.hosts is None:
        return list(plan.hosts)
    found: set[str] = set()
    for node in entry.hosts:
        word = str(node.value)
        matches = hosts_named(word, plan)
        if not matches and not findings.hides("hosts") and not findings.hides("groups", word):
            message, hint = unknown_host(word, plan)
            findings.error("E206", message, node.span, hint)
            findings.gaps.add(("benchmarks", entry.id, "hosts"))
        found.update(matches)
    return [name for name in plan.hosts if name in found]


def unknown_host(word: str, plan: Plan) -> tuple[str, str]:
    """Return a message and a hint for a word that matches no host."""
    known = [*plan.hosts, *plan.groups]
    if word in plan.groups:
        return f"group `{word}` has no hosts", "add a host to it"
    if is_pattern(word):
        return f"pattern `{word}` matches no host", did_you_mean(
            "", known, "known hosts: " + ", ".join(sorted(known)[:12])
        )
    return f"unknown host or group `{word}`", did_you_mean(word, known)


def select(plan: Plan, selection: Selection, where: dict[str, list[str]], findings: Findings) -> list[Pair]:
    """Return the selected (entry id, host) pairs in plan order. `where` maps each entry id to the entry's hosts.

    Report an error if a word matches nothing or the selection is empty.
    """
    hosts = _hosts(plan, selection.hosts, findings)
    ids = _ids(plan, selection.benchmarks, findings)
    tagged = _tagged(plan, selection.tags, findings)
    selected = [entry.id for entry in plan.benchmarks if entry.id in ids and entry.id in tagged]
    pairs = [(name, host) for name in selected for host in where[name] if host in hosts]
    if not pairs and plan.benchmarks and not (findings.errors or findings.gaps):
        hint = "`asct plan` without a selection shows all jobs"
        findings.error("E207", "nothing in the plan matches all parts of the selection", None, hint)
    return pairs


def _hosts(plan: Plan, words: Sequence[str], findings: Findings) -> set[str]:
    found: set[str] = set() if words else {*plan.hosts, NOWHERE.name}
    for word in (part for text in words for part in text.split(",")):
        matches = hosts_named(word, plan)
        found.update(matches)
        if not matches and not findings.hides("hosts"):
            message, hint = unknown_host(word, plan)
            findings.error("E207", f"`--host {word}` matches nothing: {message}", None, hint)
    return found


def _ids(plan: Plan, words: Sequence[str], findings: Findings) -> set[str]:
    known = [entry.id for entry in plan.benchmarks]
    found: set[str] = set() if words else set(known)
    for word in words:
        matches = [word] if word in known else matching(word, known) if is_pattern(word) else []
        found.update(matches)
        if not matches and not findings.hides("benchmarks"):
            message = f"`--benchmark {word}` matches nothing: the plan has no such id"
            findings.error("E207", message, None, did_you_mean(word, known))
    return found


def _tagged(plan: Plan, words: Sequence[str], findings: Findings) -> set[str]:
    known = {tag for entry in plan.benchmarks for tag in entry.tags}
    for word in words:
        if word not in known:
            message = f"`--tag {word}` matches nothing: no benchmark in the plan has this tag"
            findings.error(
                "E207", message, None, did_you_mean(word, known, "no benchmark has tags" if not known else "")
            )
    return {entry.id for entry in plan.benchmarks if not words or any(tag in words for tag in entry.tags)}


def check_overrides(context: ResolveContext, drafts: Sequence[JobDraft]) -> None:
    """Report each `--set` that affects only benchmarks excluded by the selection (E203)."""
    for override in context.overrides if drafts else ():
        if not any(override.meets(draft.entry, draft.benchmark.name) for draft in drafts):
            name = override.entry_id or override.benchmark
            message = f"`--set {name}.{override.spelling}` has no effect, because `{name}` is not selected"
            context.findings.error("E203", message, override.node.span, "select it as well, or remove the option")
