"""Changes to a plan: profiles (`quick: {vars: {runtime: 2s}}`) and `--set PATH=VALUE`.

`--set` is the highest layer. Its values are parsed like values in a plan; their locations refer to the text of the
option.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from asct.diagnostics.model import Span
from asct.plan.entries import ENTRY_KEYS
from asct.plan.fields import ParseContext, Section, merged
from asct.plan.findings import Findings
from asct.plan.hosts import HostMaps
from asct.plan.model import REJECTED, Node
from asct.plan.nodes import parse_yaml
from asct.plan.sections import CHANGEABLE_BOUNDS, EXECUTION_KEYS, read_execution, read_limits, read_report
from asct.values.error import clip
from asct.values.suggest import did_you_mean, nearest

FILE: Final = "--set"
"""The key in `Plan.files` for the text of all `--set` options, one per line."""

SECTIONS: Final = (
    "vars", "defaults", "limits", "report", "baseline", "hosts", "expect", "strict", "name", "description",
)  # fmt: skip
_SCALARS: Final = ("strict", "name", "description")
_STRUCTURAL: Final = tuple(key for key in ENTRY_KEYS if key not in ("id", "uses", "extends", "config"))
_HINT: Final = "write `--set vars.runtime=5s` or `--set ID.SETTING=VALUE`"

Parts = Sequence[tuple[str, Span]]


class Assignment(NamedTuple):
    """One `--set` option: its path, both as written and split into parts, and its value."""

    path: str
    parts: Parts
    value: Node

    def behind(self, known: Iterable[str], start: int = 0) -> tuple[str, Parts] | None:
        """Return the longest known name that begins at `parts[start]`, and the parts after it. Names may contain
        dots."""
        names = [name for name, _ in self.parts[start:]]
        for count in range(len(names), 0, -1):
            name = ".".join(names[:count])
            if name in known:
                return name, self.parts[start + count :]
        return None


@dataclass(slots=True)
class Overrides:
    """The changes that `--set` options make to sections, hosts and entries. Changes to settings are left to the
    planner."""

    assignments: list[Assignment]
    findings: Findings
    settings: list[tuple[str, Node]] = field(default_factory=list)

    def change_sections(self, members: Mapping[str, Node]) -> dict[str, Node]:
        """Return the sections of the plan with the changes applied, except hosts and benchmarks."""
        changed = dict(members)
        for item in self.assignments:
            head, span = item.parts[0]
            if head not in SECTIONS or head == "hosts":
                continue
            if (len(item.parts) == 1) is not (head in _SCALARS):
                what = (
                    f"`{head}` has no keys that can be set"
                    if head in _SCALARS
                    else f"`{head}` cannot be set as a whole"
                )
                example = "=VALUE" if head in _SCALARS else ".NAME=VALUE"
                self.findings.error("E119", f"{what} with --set", span, f"write `--set {head}{example}`")
            elif head == "expect":
                self._change_expectation(item, changed)
            elif head != "vars" or self._is_variable(item, changed):
                changed[head] = _with(changed.get(head), item.parts[1:], item.value, span)
        return changed

    def _is_variable(self, item: Assignment, members: Mapping[str, Node]) -> bool:
        variables = members["vars"].value if "vars" in members and members["vars"].value is not REJECTED else {}
        name, span = item.parts[1]
        if name in variables:
            return True
        if self.findings.hides("vars"):
            return False
        hint = did_you_mean(name, variables, "--set can change only variables that the plan defines")
        self.findings.error("E119", f"the plan has no variable `{clip(name)}`", span, hint)
        return False

    def _change_expectation(self, item: Assignment, members: dict[str, Node]) -> None:
        names = expectation_names(members.get("expect"))
        target, span = item.behind(names, 1), item.parts[1][1]
        if target is None:
            word = ".".join(name for name, _ in item.parts[1:])
            hint = did_you_mean(word.rpartition(".")[0] or word, names) or "write `--set expect.ID.max=130ns`"
            self.findings.error("E119", f"`--set {clip(item.path)}` refers to an unknown expectation", span, hint)
        elif not target[1] or target[1][0][0] not in CHANGEABLE_BOUNDS:
            message = f"`--set {clip(item.path)}` does not name a bound"
            self.findings.error("E119", message, span, f"--set can change only {', '.join(CHANGEABLE_BOUNDS)}")
        else:
            change = _with(None, target[1], item.value, span)
            members["expect"] = change_expectations(members["expect"], {target[0]: change})

    def change_hosts(self, found: HostMaps) -> HostMaps:
        """Return the hosts with all changes to `hosts.NAME.KEY` applied."""
        maps = dict(found.maps)
        for item in self.assignments:
            if item.parts[0][0] != "hosts":
                continue
            target = item.behind(maps, 1)
            if target is None and self.findings.hides("hosts"):
                continue
            if target is None or not target[1]:
                span = item.parts[min(1, len(item.parts) - 1)][1]
                word = ".".join(name for name, _ in item.parts[1:])
                hint = did_you_mean(word.rpartition(".")[0] or word, maps) or "write `--set hosts.NAME.KEY=VALUE`"
                self.findings.error("E119", f"`--set {clip(item.path)}` refers to an unknown host", span, hint)
                continue
            maps[target[0]] = _with(maps[target[0]], target[1], item.value, item.parts[0][1])
        return HostMaps(maps, found.spans)

    def change_entries(self, found: Mapping[str, Node]) -> dict[str, Node]:
        """Return the entries with changes such as `ID.repeats` applied. Settings are left to the planner."""
        maps = dict(found)
        for item in self.assignments:
            if item.parts[0][0] not in SECTIONS:
                self._change_entry(item, maps)
        return maps

    def _change_entry(self, item: Assignment, maps: dict[str, Node]) -> None:
        uses = {str(node.value["uses"].value) for node in maps.values() if "uses" in node.value}
        target = item.behind({*maps, *uses})
        if target is None:
            self._unknown(item, [*maps, *uses])
            return
        name, rest = target
        users = [key for key, body in maps.items() if "uses" in body.value and str(body.value["uses"].value) == name]
        ids = [name] if name in maps else users
        if not rest:
            self.findings.error("E119", f"`{clip(name)}` cannot be set as a whole", item.parts[0][1], _HINT)
        elif rest[0][0] in _STRUCTURAL:
            for key in ids:
                maps[key] = _with(maps[key], rest, item.value, item.parts[0][1])
        elif len(setting := rest[1:] if rest[0][0] == "config" else rest) == 1:
            self.settings.append((f"{name}.config.{setting[0][0]}", item.value._replace(key_span=setting[0][1])))
        else:
            self.findings.error("E119", f"`--set {clip(item.path)}` does not name a setting", rest[0][1], _HINT)

    def _unknown(self, item: Assignment, names: Sequence[str]) -> None:
        """Handle an unknown name.

        Report the name if it is a misspelled section. Keep it if it may be a benchmark, because only the planner knows
        the benchmarks.
        """
        head, span = item.parts[0]
        if head == "safety":
            hint = "edit it in the plan"
            self.findings.error("E119", "`safety` cannot be changed with --set", span, hint)
        elif len(item.parts) < 2 or (head.islower() and nearest(head, SECTIONS, 0.75) and not nearest(head, names)):
            hint = did_you_mean(head, [*SECTIONS, *names], _HINT)
            self.findings.error("E119", f"`--set {clip(item.path)}` matches nothing in the plan", span, hint)
        else:
            self.settings.append((item.path, item.value))


def read_sets(sets: Sequence[str], findings: Findings) -> Overrides:
    """Parse the options in order. Report and skip invalid ones."""
    found = [_read(text, number, findings) for number, text in enumerate(sets)]
    return Overrides([item for item in found if item is not None], findings)


def text_of(sets: Sequence[str]) -> str:
    """Join all options, one per line, so that errors can point to a location in the text."""
    return "\n".join(_line(text) for text in sets)


def _line(text: str) -> str:
    return "".join(" " if mark in "\r\n\x85\u2028\u2029" else mark for mark in text)


def _read(text: str, number: int, findings: Findings) -> Assignment | None:
    line = _line(text)
    path, equals, value_text = line.partition("=")
    place = Span(FILE, number + 1, 1, max(1, len(path)))
    if not equals or not path.strip():
        hint = f"write `--set {clip(path.strip())}=VALUE`" if "." in path.strip() else _HINT
        findings.error("E119", f"`--set {clip(line)}` is not PATH=VALUE", place, hint)
        return None
    if not value_text.strip():
        findings.error("E119", f"`--set {clip(path)}` has no value", place, 'write `""` for empty text')
        return None
    parts: list[tuple[str, Span]] = []
    column = 1
    for name in path.split("."):
        parts.append((name.strip(), Span(FILE, number + 1, column, max(1, len(name)))))
        column += len(name) + 1
    if not all(name for name, _ in parts):
        findings.error("E119", f"`--set {clip(path)}` has an empty name", place, _HINT)
        return None
    value = parse_yaml("\n" * number + " " * (len(path) + 1) + value_text, FILE, findings)
    return None if value is None else Assignment(path.strip(), parts, value)


def _with(node: Node | None, parts: Parts, value: Node, span: Span) -> Node:
    """Return the node with `value` set at the path `parts`, creating missing maps."""
    if not parts:
        return value._replace(key_span=node.key_span if node and node.key_span else span)
    (name, place), *rest = parts
    members = node.value if node is not None and isinstance(node.value, dict) else {}
    inner = _with(members.get(name), rest, value, place) if rest else value._replace(key_span=place)
    whole = node if node is not None else Node({}, span, span)
    return whole._replace(value={**members, name: inner})


PROFILE_KEYS: Final = ("vars", "defaults", "limits", "report", "strict", "benchmarks", "expect")
_LAID_OVER: Final = ("vars", "defaults", "limits", "report", "strict")
_CHANGEABLE: Final = tuple(key for key in ENTRY_KEYS if key not in ("id", "uses", "extends"))


def apply_profile(
    members: dict[str, Node], profiles: Mapping[str, Node], name: str | None, findings: Findings
) -> dict[str, Node]:
    """Return the sections of the plan with the profile applied. Report an unknown profile as an error."""
    if name is None:
        return members
    profile = profiles.get(name)
    if profile is None and findings.hides("profiles"):
        return members
    if profile is None:
        hint = did_you_mean(name, profiles, "add the profile to `profiles`, or remove `--profile`")
        span = members["profiles"].location if "profiles" in members else None
        findings.error("E114", f"the plan has no profile `{clip(name)}`", span, hint)
        return members
    changed = dict(members)
    for key in _LAID_OVER:
        over = profile.value.get(key) if isinstance(profile.value, dict) else None
        if over is not None and over.value not in (None, REJECTED):
            changed[key] = merged(changed[key], over) if key in changed else over
    bounds = profile.value.get("expect") if isinstance(profile.value, dict) else None
    if "expect" in changed and bounds is not None and isinstance(bounds.value, dict):
        changed["expect"] = change_expectations(changed["expect"], bounds.value)
    return changed


def expectation_names(section: Node | None) -> list[str]:
    """Return the names by which profiles and `--set` refer to expectations: their ids and metrics."""
    items = section.value if section is not None and isinstance(section.value, list) else []
    return list(dict.fromkeys(name for item in items for name in _names(item)))


def change_expectations(section: Node, changes: Mapping[str, Node]) -> Node:
    """Return the section `expect` with the changes applied to the bounds of expectations. Each change is keyed by an id
    or metric."""
    if not isinstance(section.value, list):
        return section
    found = []
    for item in section.value:
        for name, change in changes.items():
            if name in _names(item) and isinstance(change.value, dict):
                allowed = {key: value for key, value in change.value.items() if key in CHANGEABLE_BOUNDS}
                item = merged(item, change._replace(value=allowed))._replace(span=item.span)  # noqa: PLW2901
        found.append(item)
    return section._replace(value=found)


def _names(item: Node) -> list[str]:
    members = item.value if isinstance(item.value, dict) else {}
    return [node.value for key in ("id", "metric") if (node := members.get(key)) and isinstance(node.value, str)]


def profile_entries(found: Mapping[str, Node], profile: Node | None) -> Mapping[str, Node]:
    """Return the entries with the changes from the `benchmarks:` section of a profile. These changes must be made
    before `extends` is applied, so that other entries inherit them."""
    changes = profile.value.get("benchmarks") if profile is not None and isinstance(profile.value, dict) else None
    if changes is None or not isinstance(changes.value, dict):
        return found
    maps = dict(found)
    for name, over in changes.value.items():
        if name in maps and isinstance(over.value, dict):
            allowed = over._replace(value={key: item for key, item in over.value.items() if key in _CHANGEABLE})
            maps[name] = merged(maps[name], allowed)._replace(span=maps[name].span)
    return maps


def check_profiles(
    profiles: Mapping[str, Node],
    variables: Sequence[str],
    ids: Sequence[str],
    expectations: Sequence[str],
    context: ParseContext,
) -> None:
    """Check every profile, whether selected or not: keys, values, and the names of variables, benchmarks and
    expectations."""
    for name, node in profiles.items():
        section = Section(context, node, f"profile `{clip(name)}`", PROFILE_KEYS, ("profiles", name))
        if not context.findings.hides("vars"):
            _known(section.mapping("vars").items(), variables, "the plan has no variable", context.findings)
        if not context.findings.hides("benchmarks"):
            _known(section.mapping("benchmarks").items(), ids, "the plan has no benchmark", context.findings)
        for key, change in section.mapping("benchmarks").items():
            path = (*section.path, "benchmarks", key)
            read_execution(Section(context, change, f"`{clip(key)}` in profile `{clip(name)}`", _CHANGEABLE, path))
        _known(section.mapping("expect").items(), expectations, "the plan has no expectation", context.findings)
        for key, change in section.mapping("expect").items():
            what = f"the expectation `{clip(key)}` in profile `{clip(name)}`"
            Section(context, change, what, CHANGEABLE_BOUNDS)
        if "defaults" in section.members:
            defaults = section.members["defaults"]
            read_execution(
                Section(context, defaults, "`defaults`", (*EXECUTION_KEYS, "config"), (*section.path, "defaults"))
            )
        read_limits(section.members.get("limits"), context)
        read_report(section.members.get("report"), context)
        section.flag("strict")


def _known(items: Iterable[tuple[str, Node]], names: Sequence[str], message: str, findings: Findings) -> None:
    for key, node in items:
        if key not in names:
            span = node.location
            findings.error(
                "E114", f"{message} `{clip(key)}`", span, did_you_mean(key, names, "add it to the plan first")
            )
