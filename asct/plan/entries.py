"""The entries in `benchmarks:`: plain names and maps, `extends`, and sweeps."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from functools import partial

from asct.plan.fields import ParseContext, Section, flow, kind_of, merged
from asct.plan.findings import Findings
from asct.plan.model import REJECTED, SWEEP_WORDS, Entry, Node, Sweep
from asct.plan.names import case_conflict, cycle, folder_name, identifier
from asct.plan.sections import EXECUTION_KEYS, read_execution
from asct.values.error import clip
from asct.values.suggest import ALIKE, did_you_mean, nearest

ENTRY_KEYS = ("id", "uses", "extends", "hosts", "tags", "config", "sweep", "needs", *EXECUTION_KEYS)
_DASHED = re.compile(r"(\w+) *(?:-|\.\.|:) *(\w+)")
"""Matches a range in the notation of other tools: `1-4`, `1..4`, `1:4`."""


def collect_entries(node: Node, findings: Findings) -> dict[str, Node]:
    """Return the items of `benchmarks:` by id. Report duplicate ids as errors."""
    items = _items(node, findings)
    if node.value == []:
        findings.error("E107", "`benchmarks` is empty", node.span, "add a benchmark; `asct list` lists the benchmarks")
    found: dict[str, Node] = {}
    first: dict[str, Node] = {}
    for item in items:
        body = _as_map(item, findings)
        name = _id_of(body, findings) if body is not None else None
        if body is None or name is None:
            continue
        known = first.setdefault(name.value.casefold(), name)
        if known is not name:
            hint = f"give one of them an `id`: `{{id: {clip(name.value)}-2, uses: ...}}`"
            message = f"two entries have the id `{clip(name.value)}`"
            if known.value != name.value:
                message, hint = case_conflict(name.value, known.value, "the ids")
            findings.twice("E113", message, name.span, known.span, hint)
        found[_unused(name.value, found)] = body
    return found


def _unused(name: str, found: Mapping[str, Node]) -> str:
    """Return an unused id for an entry with a duplicate id, so that the content of the entry is checked as well."""
    return next(
        one for number in itertools.count(1) if (one := name if number == 1 else f"{name}-{number}") not in found
    )


def _items(node: Node, findings: Findings) -> list[Node]:
    """Return the items of `benchmarks`. A single name, or a map from names to settings, is reported as an error but
    still read."""
    if isinstance(node.value, list):
        return node.value
    message = f"`benchmarks` must be a list, not {kind_of(node.value)}"
    if isinstance(node.value, str) and len(names := re.split(r"[\s,]+", node.value)) > 1:
        findings.error("E106", message, node.span, f"write `[{', '.join(names)}]`")
        return [Node(name, node.span) for name in names if name]
    if isinstance(node.value, dict) and node.value:
        forms = [_form(key, item) for key, item in node.value.items()]
        findings.error("E106", message, node.span, f"write `[{', '.join(forms[:3])}{', ...' * (len(forms) > 3)}]`")
        return [_with_settings(key, item) for key, item in node.value.items()]
    if node.value is not REJECTED:
        form = f"[{clip(node.value)}]" if isinstance(node.value, str) else "[name, name]"
        findings.error("E106", message, node.span, f"write `{form}`")
    if isinstance(node.value, str):
        return [node]
    findings.gaps.add(("benchmarks",))
    return []


def _with_settings(name: str, settings: Node) -> Node:
    """Return the entry that corresponds to `name: {setting: value}`, a form used by other tools."""
    body = {"uses": Node(name, settings.location)}
    if isinstance(settings.value, dict):
        own = {key: item for key, item in settings.value.items() if key in ENTRY_KEYS}
        config = {key: item for key, item in settings.value.items() if key not in ENTRY_KEYS}
        body |= own | ({"config": settings._replace(value=config)} if config else {})
    return Node(body, settings.location)


def _form(name: str, settings: Node | None) -> str:
    """Return a hint that shows how to write `name: {setting: value}` as an entry."""
    if settings is None or not isinstance(settings.value, dict) or not settings.value:
        return clip(name)
    words = {key: flow(item.plain()) for key, item in settings.value.items()}
    inner = ", ".join(f"{key}: {text}" for key, text in words.items() if key not in ENTRY_KEYS)
    own = "".join(f", {key}: {text}" for key, text in words.items() if key in ENTRY_KEYS and key != "uses")
    return f"{{uses: {clip(name)}{own}" + (f", config: {{{clip(inner)}}}" if inner else "") + "}"


def _as_map(item: Node, findings: Findings) -> Node | None:
    """Return an entry as a map, or None after an error. A plain name stands for `uses: NAME`."""
    if isinstance(item.value, dict):
        return _unfolded(item, findings)
    if isinstance(item.value, str) and item.value:
        return Node({"uses": item._replace(key_span=None)}, item.span)
    if item.value is not REJECTED:
        hint = "write a name, or `{id: ..., uses: ...}`"
        findings.error("E106", f"a benchmark must be a name or a map, not {kind_of(item.value)}", item.span, hint)
    findings.gaps.add(("benchmarks",))
    return None


def _unfolded(item: Node, findings: Findings) -> Node:
    """Return an entry. The form `{sids: {duration: 2s}}`, which other tools accept, is reported as an error and read as
    the entry that was probably meant."""
    key, inner = next(iter(item.value.items()), ("", item))
    if len(item.value) != 1 or nearest(key, ENTRY_KEYS, ALIKE) or not isinstance(inner.value, dict | None):
        return item
    form = _form(key, inner)
    hint = f"write `- {form}`"
    findings.error("E106", f"`{clip(key)}` is a benchmark, not a key of an entry", inner.location, hint)
    return _with_settings(key, inner)


def _id_of(body: Node, findings: Findings) -> Node | None:
    """Return the node from which an entry takes its id: `id` or, if that is missing, `uses`."""
    name = body.value.get("id") or body.value.get("uses")
    name = name or next((item for key, item in body.value.items() if nearest(key, ("uses",), ALIKE)), None)
    if name is not None and isinstance(name.value, str):
        if "id" in body.value:  # otherwise the planner reports an unknown benchmark
            findings.parsed(partial(folder_name, what="a benchmark entry"), name.value, name.span, "E111")
        return Node(name.value, name.span)
    findings.gaps.add(("benchmarks",))
    if name is None:
        what = "`id`" if "extends" in body.value else "`uses`"
        findings.error("E107", f"a benchmark has no {what}", body.span, "add `uses: BENCHMARK` or an `id`")
    elif name.value is not REJECTED:
        number = isinstance(name.value, int | float)
        hint = f'quote it: `"{clip(name.value)}"`' if number else "write a name, or remove the entry"
        findings.error("E106", f"the id of a benchmark must be text, not {kind_of(name.value)}", name.span, hint)
    return None


def extended(found: Mapping[str, Node], findings: Findings) -> dict[str, Node]:
    """Return all entries with `extends` applied: maps are merged, and lists are replaced. Report unknown ids and cycles
    as errors."""
    done: dict[str, Node] = {}
    for name in found:
        _extend(name, found, done, findings)
    return {name: done[name] for name in found if name in done}


def _extend(name: str, maps: Mapping[str, Node], done: dict[str, Node], findings: Findings) -> None:
    """Follow `extends` to an entry that extends no other entry or is already complete, then merge the chain, starting
    from that entry."""
    chain: list[str] = []
    current: str | None = name
    while current is not None and current not in done:
        if current in chain:
            place = maps[chain[-1]].value["extends"].span
            findings.gaps.add(("benchmarks", current))
            findings.error("E115", f"`extends` forms a cycle: {cycle(chain, current)}", place, "remove one `extends`")
            break
        chain.append(current)
        current = _parent(maps[current], maps, findings)
    for link in reversed(chain):
        parent = maps[link].value.get("extends")
        base = done.get(parent.value) if parent is not None and isinstance(parent.value, str) else None
        done[link] = maps[link]
        if parent is not None and (base is None or findings.hides("benchmarks", parent.value)):
            findings.gaps.add(("benchmarks", link))
        if base is not None:
            inherited = {key: item for key, item in base.value.items() if key not in ("id", "extends")}
            done[link] = merged(base._replace(value=inherited), maps[link])


def _parent(body: Node, maps: Mapping[str, Node], findings: Findings) -> str | None:
    node = body.value.get("extends")
    if node is None:
        return None
    if isinstance(node.value, str) and node.value in maps:
        return node.value
    if not isinstance(node.value, str):
        if node.value is not REJECTED:
            findings.error("E106", f"`extends` must be an id, not {kind_of(node.value)}", node.span, "name one entry")
    elif not findings.hides("benchmarks"):
        hint = did_you_mean(node.value, maps, "use the id of another entry in this plan")
        findings.error("E114", f"`extends` refers to an unknown entry: `{clip(node.value)}`", node.span, hint)
    return None


def read_entries(found: Mapping[str, Node], context: ParseContext) -> tuple[Entry, ...]:
    """Read the entries after `extends` has been applied."""
    return tuple(_entry(name, node, context) for name, node in found.items())


def _entry(name: str, node: Node, context: ParseContext) -> Entry:
    section = Section(context, node, "a benchmark", ENTRY_KEYS, ("benchmarks", name))
    uses = section.members.get("uses") or node.rejected()
    if "uses" not in section.members and "extends" not in section.members:
        # if the entry uses `extends`, the error in the extended entry has been reported
        section.required("uses", "add `uses: BENCHMARK`; `asct list` lists the benchmarks")
    if not isinstance(uses.value, str):
        section.wrong(uses, "`uses`", "the name of a benchmark")
    return Entry(
        id=name,
        uses=uses.value if isinstance(uses.value, str) else "",
        span=node.span,
        uses_span=uses.span,
        hosts=tuple(section.text_nodes("hosts")) if "hosts" in section.members else None,
        tags=section.texts("tags"),
        config=section.mapping("config"),
        sweep=_sweep(section),
        needs=_needs(section),
        execution=read_execution(section),
    )


def _needs(section: Section) -> dict[str, Node]:
    needs: dict[str, Node] = {}
    node = section.members.get("needs")
    if node is not None and not isinstance(node.value, dict):
        section.findings.gaps.add((*section.path, "needs"))
        section.wrong(node, "`needs`", "a map", "write an alias for each entry: `needs: {cache: latency-sweep}`")
        return needs
    for alias, target in section.mapping("needs").items():
        if (
            section.findings.parsed(partial(identifier, what="an alias of `needs`"), alias, target.location, "E111")
            is None
        ):
            section.findings.gaps.add((*section.path, "needs"))
        elif isinstance(target.value, str) and target.value:
            needs[alias] = target
        else:
            section.findings.gaps.add((*section.path, "needs"))
            section.wrong(target, f"`needs.{alias}`", "the id of a benchmark")
    return needs


def _sweep(section: Section) -> Sweep:
    node = section.members.get("sweep")
    if node is None:
        return Sweep({})
    sweep = Section(section.context, node, "`sweep`", None, (*section.path, "sweep"))
    axes = {key: item for key, item in sweep.members.items() if key not in SWEEP_WORDS}
    zips = [item.value for item in _maps(sweep, "zip")]
    axes, *zips = ({key: _axis(sweep, key, item) for key, item in members.items()} for members in (axes, *zips))
    return Sweep(
        axes=axes,
        zips=tuple(zips),
        where=sweep.members.get("where"),
        exclude=tuple(_maps(sweep, "exclude")),
        include=tuple(_maps(sweep, "include")),
        span=node.span,
    )


def _axis(sweep: Section, key: str, item: Node) -> Node:
    """Return an axis: a list, a range, or a template that may evaluate to either.

    Report a single value as an error.
    """
    if isinstance(item.value, list | dict) or (isinstance(item.value, str) and "${" in item.value):
        return item
    if isinstance(item.value, str) and (found := _DASHED.fullmatch(item.value)):
        ends = f"from: {clip(found[1])}, to: {clip(found[2])}"
        hint = f"write `{{{ends}, times: 2}}` to multiply, or use `step` instead of `times` to add"
        sweep.wrong(item, f"axis `{clip(key)}`", "a list or a range", hint)
        return item.rejected()
    hint = f"write `[{clip(item.value)}]`, or move a single value under `config`"
    sweep.wrong(item, f"axis `{clip(key)}`", "a list or a range", hint)
    return item if item.value is REJECTED else item._replace(value=[item._replace(key_span=None)])


def _maps(sweep: Section, key: str) -> Sequence[Node]:
    """Return the maps in a list; a single map is treated as a list with one item."""
    node = sweep.members.get(key)
    if node is None:
        return []
    if isinstance(node.value, dict):
        return [node]
    if not isinstance(node.value, list):
        sweep.findings.gaps.add((*sweep.path, key))
        sweep.wrong(node, f"`{key}`", "a list of maps", f"write `{key}: [{{name: value}}]`")
        return []
    for item in node.value:
        if not isinstance(item.value, dict):
            sweep.findings.gaps.add((*sweep.path, key))
            sweep.wrong(item, f"an item of `{key}`", "a map", "write `{name: value}`")
    return [item for item in node.value if isinstance(item.value, dict)]
