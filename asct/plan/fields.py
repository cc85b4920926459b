"""Read the maps in a plan key by key. Types are checked; unknown keys and empty values are reported."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from asct.plan.findings import Findings
from asct.plan.model import REJECTED, Gap, Node
from asct.plan.scope import Scope
from asct.plan.templates import evaluate, has_template
from asct.resources import data
from asct.values.duration import parse_duration, require_unit
from asct.values.error import clip
from asct.values.size import parse_size
from asct.values.suggest import ALIKE, did_you_mean, nearest

T = TypeVar("T")

_PLACES_SHOWN: Final = 2


class ParseContext(NamedTuple):
    """The state that all parts of the parser share: the findings so far, and the names that templates outside `config`
    may read. If `literal` is true, templates are rejected (E125)."""

    findings: Findings
    scope: Scope
    literal: bool = False

    def settled(self, node: Node) -> Node:
        """Return the node with its templates evaluated. Values with errors are REJECTED."""
        if not self.literal:
            return evaluate(node, self.scope, self.findings)
        if has_template(node):
            self.findings.error("E125", "templates are not allowed here", node.span, "write the value itself")
            return node.rejected()
        return node


def kind_of(value: object) -> str:
    """Return a description of a value's type for use in messages."""
    if value is None:
        return "nothing"
    for kind, name in ((bool, f"`{str(value).lower()}`"), (dict, "a map"), (list, "a list")):
        if isinstance(value, kind):
            return name
    return f"`{clip(value)}`"


def flow(value: Any) -> str:
    """Return a value as text that fits on one line of a plan."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {flow(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(flow, value))}]"
    return str(value).lower() if isinstance(value, bool) else "null" if value is None else clip(value)


def _unindented(members: Mapping[str, Node], known: Collection[str]) -> dict[str, str]:
    """Return the unknown keys that were probably meant to be indented below the preceding known key, because that key
    has no value. Each unknown key is mapped to that known key."""
    found: dict[str, str] = {}
    above: str | None = None
    for key, item in members.items():
        if key in known:
            above = key if item.value is None else None
        elif above is not None:
            found[key] = above
    return found


def _belongs(key: str) -> str:
    """Return a hint that lists the sections that a key belongs to. If the key is unknown, list the sections of the key
    that it resembles; if it resembles none, return an empty string."""
    from asct.plan.keys import common_keys  # imported here because it reads the schema

    places: dict[str, list[str]] = {}
    for known in common_keys():
        if not known.place.startswith("profiles."):  # each of their keys belongs to another section, too
            places.setdefault(known.name, []).append(known.place)
    name = nearest(key, places, ALIKE)
    if name is None:
        return ""
    shortest = sorted(places[name], key=lambda place: place.count("."))[:_PLACES_SHOWN]
    return f"`{name}` belongs to {' or '.join(map(_place, shortest))}"


def _place(place: str) -> str:
    if place.endswith("[]"):
        return f"an item of `{place.removesuffix('[]')}`"
    return f"`{place}`" if place else "the plan"


class Section:
    """A map in the plan. `name` describes the map in messages. A node that is not a map is reported and treated as
    empty.

    If `keys` is None, all keys are accepted. If an unknown key resembles a missing key, its value is treated as the
    value of that key, so that errors in it are found too. `path` locates the section in `Findings.gaps`, to which keys
    with errors are added.
    """

    def __init__(
        self, context: ParseContext, node: Node, name: str, keys: Sequence[str] | None, path: Gap = ()
    ) -> None:
        self.context = context
        self.findings = context.findings
        self.node = node
        self.name = name
        self.path = path
        self.members: dict[str, Node] = {}
        if not isinstance(node.value, dict):
            self.findings.gaps.add(path)
            self.wrong(node, name, "a map", data(__file__, "words.yaml")["forms"].get(name, "write `key: value` pairs"))
            return
        known = {key: item for key, item in node.value.items() if keys is None or key in keys}
        above = _unindented(node.value, known)
        self.members = {key: self._present(key, item, key in above.values()) for key, item in known.items()}
        for key, item in node.value.items():
            if key not in known:
                self._unknown(key, item, keys or (), above.get(key))

    def _present(self, key: str, item: Node, unindented: bool) -> Node:
        """Return the value of a known key. Report a missing value, unless the next key seems to be an unindented part
        of the value."""
        if item.value is not None:
            return item
        if unindented:
            return item.rejected()
        self.findings.error("E106", f"`{clip(key)}` has no value", item.location, "add a value, or remove the line")
        return item.rejected()

    def _unknown(self, key: str, item: Node, keys: Sequence[str], above: str | None) -> None:
        """Report an unknown key, and treat its value as the value of the key that was probably meant. `above` is the
        known key that it is probably a part of."""
        if item.value is REJECTED:
            return
        other = data(__file__, "words.yaml")["elsewhere"].get(key)
        suggestion = other if other in keys else nearest(key, keys, ALIKE)
        hint = did_you_mean(key, keys, f"known: {', '.join(sorted(keys))}")
        if item.value is None and ":" in key:
            hint = f"add a space after the colon of `{clip(key)}`"
        elif above is not None:
            hint = f"indent it below `{clip(above)}`, which has no value"
        elif suggestion is not None:
            hint = f"did you mean `{suggestion}`?"
            self.members.setdefault(suggestion, item)
        elif "uses" in keys:
            example = f"`config: {{{clip(key)}: {clip(flow(item.plain()))}}}`"
            hint = f"a setting belongs in `config`, as in {example}; {hint}"
        elif "config" not in keys:  # otherwise, the key may be a setting
            hint = _belongs(other or key) or hint
        self.findings.error("E104", f"unknown key `{clip(key)}` in {self.name}", item.location, hint)

    def wrong(self, node: Node, what: str, expected: str, hint: str = "") -> None:
        """Report a value of the wrong type, unless it was already rejected."""
        if node.value is not REJECTED:
            message = f"{what} must be {expected}, not {kind_of(node.value)}"
            self.findings.error("E106", message, node.span, hint)

    def required(self, key: str, hint: str) -> Node | None:
        """Return the node of a required key. If the key is missing, report it."""
        if key not in self.members and isinstance(self.node.value, dict):
            self.findings.error("E107", f"{self.name} has no `{key}`", self.node.span, hint)
            self.findings.gaps.add((*self.path, key))
        return self.members.get(key)

    def hides(self, key: str) -> bool:
        """Return whether the value of a key is unknown because of an error."""
        return self.findings.hides(*self.path, key)

    def settled(self, key: str) -> Node | None:
        """Return the node of a key with its templates evaluated, or None if it is missing or invalid."""
        return self._read(key, lambda node: node)

    def _read(self, key: str, read: Callable[[Node], T | None]) -> T | None:
        """Return the result of applying `read` to the value of a key, or None if the key is missing, its value is
        invalid, or `read` reports an error."""
        node = self.members.get(key)
        if node is None:
            return None
        settled = self.context.settled(node)
        found = read(settled) if settled.sound else None
        if found is None:
            self.findings.gaps.add((*self.path, key))
        return found

    def text(self, key: str) -> str | None:
        """Return the non-empty text of a key, or None if it is missing or invalid."""

        def read(node: Node) -> str | None:
            if isinstance(node.value, str):
                if node.value.strip():
                    return node.value
                self.findings.error("E106", f"`{key}` is empty", node.span, "add a value, or remove the line")
                return None
            quote = f'quote it: `"{clip(node.value)}"`' if isinstance(node.value, int | float) else ""
            self.wrong(node, f"`{key}`", "text", quote)
            return None

        return self._read(key, read)

    def scalar(self, key: str) -> str | int | None:
        """Return the text or the whole number of a key, or None if it is missing or invalid."""
        node = self.settled(key)
        if node is None:
            return None
        if isinstance(node.value, bool) or not isinstance(node.value, str | int):
            self.findings.gaps.add((*self.path, key))
            self.wrong(node, f"`{key}`", "text or a number")
            return None
        return node.value

    def whole(self, key: str, low: int, high: int) -> int | None:
        """Return an integer from `low` to `high`, or None if it is missing or invalid."""

        def read(node: Node) -> int | None:
            value = node.value
            if isinstance(value, bool) or not isinstance(value, int):
                self.wrong(node, f"`{key}`", "a whole number", f"write a number from {low} to {high}")
                return None
            if not low <= value <= high:
                message = f"`{key}` must be from {low} to {high}, not {clip(value)}"
                self.findings.error("E112", message, node.span, f"write a number from {low} to {high}")
                return None
            return value

        return self._read(key, read)

    def flag(self, key: str) -> bool | None:
        """Return `true` or `false` as a bool, or None if it is missing or invalid."""

        def read(node: Node) -> bool | None:
            if isinstance(node.value, bool):
                return node.value
            text = str(node.value).lower() if isinstance(node.value, str) else ""
            boolean = {"yes": "true", "on": "true", "no": "false", "off": "false"}.get(text)
            hint = f"write `{boolean}`: YAML 1.2 reads `{node.value}` as text" if boolean else "write `true` or `false`"
            self.wrong(node, f"`{key}`", "`true` or `false`", hint)
            return None

        return self._read(key, read)

    def choice(self, key: str, options: Sequence[str]) -> str | None:
        """Return one of the words in `options`, or None if it is missing or invalid."""
        return self._read(key, lambda node: self.chosen(node, key, options))

    def chosen(self, node: Node, key: str, options: Sequence[str]) -> str | None:
        """Return the value of a node, which must be one of the words in `options`, or None after an error."""
        if isinstance(node.value, str) and node.value in options:
            return node.value
        one_of = f"write one of {', '.join(options)}" if len(options) > 1 else f"write `{options[0]}`"
        hint = did_you_mean(str(node.value), options, one_of)
        self.findings.error("E112", f"{kind_of(node.value)} is not valid for `{key}`", node.span, hint)
        return None

    def duration(self, key: str) -> float | None:
        """Return a duration in seconds, or None if it is missing or invalid. A number without a unit is rejected."""

        def parse(value: object) -> float:
            require_unit(value)
            return parse_duration(value)

        return self._read(key, lambda node: self.findings.parsed(parse, node.value, node.span))

    def size(self, key: str) -> int | None:
        """Return a size in bytes, or None if it is missing or invalid."""
        return self._read(key, lambda node: self.findings.parsed(parse_size, node.value, node.span))

    def mapping(self, key: str) -> dict[str, Node]:
        """Return the members of a map without evaluating their templates, or an empty dictionary if the map is missing
        or invalid."""
        node = self.members.get(key)
        if node is None:
            return {}
        if isinstance(node.value, dict):
            return node.value
        self.findings.gaps.add((*self.path, key))
        self.wrong(node, f"`{key}`", "a map", "write `name: value` pairs")
        return {}

    def labels(self, key: str, what: str) -> dict[str, str]:
        """Return a map whose values are strings or numbers, with each value converted to text. `what` describes one
        value in messages."""
        labels: dict[str, str] = {}
        for name, node in self.mapping(key).items():
            value = self.context.settled(node)
            if isinstance(value.value, str | int | float):
                labels[name] = str(value.value).lower() if isinstance(value.value, bool) else str(value.value)
            else:
                self.findings.gaps.add((*self.path, key, name))
                self.wrong(value, f"{what} `{clip(name)}`", "text")
        return labels

    def items(self, key: str) -> list[Node]:
        """Return the items of a list without evaluating their templates. A single string is treated as a list with one
        item."""
        node = self.members.get(key)
        if node is None:
            return []
        if isinstance(node.value, str):
            return [node]
        if isinstance(node.value, list):
            return node.value
        self.findings.gaps.add((*self.path, key))
        self.wrong(node, f"`{key}`", "a list", "write `[a, b]`")
        return []

    def text_nodes(self, key: str) -> list[Node]:
        """Return the valid items of a list of strings, with templates evaluated."""
        found: list[Node] = []
        for item in self.items(key):
            node = self.context.settled(item)
            if isinstance(node.value, str) and node.value:
                found.append(node)
            else:
                self.findings.gaps.add((*self.path, key))
                self.wrong(node, f"an item of `{key}`", "text")
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the items of a list of strings without their locations."""
        return tuple(str(node.value) for node in self.text_nodes(key))


def merged(base: Node, over: Node) -> Node:
    """Return `base` overridden by `over`. Maps are merged key by key; any other value is replaced."""
    if not isinstance(base.value, dict) or not isinstance(over.value, dict):
        return over
    members: dict[str, Any] = dict(base.value)
    for key, item in over.value.items():
        members[key] = merged(members[key], item) if key in members else item
    return over._replace(value=members)
