"""Make errors in the plan that `asct run` generates point to the arguments of the command.

Each setting is kept as a Node with its location in the text that the user wrote: `--user-config` (one option per line)
or the settings file. After the generated plan has been resolved, the locations in it are replaced with those in the
user's text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from asct.diagnostics.model import Diagnostic, Span
from asct.diagnostics.wording import WITHOUT_PLAN
from asct.plan.model import Node

OPTION: Final = "--user-config"
"""The name under which diagnostics show settings given on the command line."""

WrittenSettings = Mapping[str, Mapping[str, Node]]
"""Settings as the user wrote them, keyed by benchmark."""


def moving(written: WrittenSettings, file: str, plan: str) -> Callable[[Diagnostic], Diagnostic]:
    """Return a function that replaces locations in `plan`, the generated text named `file`, with the locations in
    `written`. All other locations in the generated text are removed."""
    pairs: list[tuple[Span, Span]] = []

    def moved_span(span: Span | None) -> Span | None:
        if span is None or span.file != file:
            return span
        if not pairs:
            pairs.extend(_settings(written, file, plan))
        inside = [(made, own) for made, own in pairs if _contains(made, span)]
        return min(inside, key=lambda pair: pair[0].length)[1] if inside else None

    def moved(diagnostic: Diagnostic) -> Diagnostic:
        notes = tuple((text, moved_span(span)) for text, span in diagnostic.notes)
        return replace(diagnostic, span=moved_span(diagnostic.span), notes=notes)

    return moved


def _settings(written: WrittenSettings, file: str, plan: str) -> Iterator[tuple[Span, Span]]:
    """Yield the location of each setting in the generated plan, paired with its location in the user's text."""
    from asct.plan.findings import Findings
    from asct.plan.nodes import parse_yaml

    root = parse_yaml(plan, file, Findings())
    for entry in root.value["benchmarks"].value if root is not None else ():
        if isinstance(entry.value, dict) and "config" in entry.value:
            own = written.get(entry.value["uses"].value, {})
            for name, node in entry.value["config"].value.items():
                if name in own:
                    yield from _pairs(node, own[name])


def _pairs(made: Node, own: Node) -> Iterator[tuple[Span, Span]]:
    if made.key_span is not None:
        yield made.key_span, own.location
    yield made.span, own.span
    if isinstance(made.value, list):
        items = own.value if isinstance(own.value, list) and len(own.value) == len(made.value) else None
        for index, item in enumerate(made.value):
            yield from _pairs(item, own if items is None else items[index])


def _contains(outer: Span, inner: Span) -> bool:
    return outer.line == inner.line and outer.column <= inner.column < outer.column + outer.length


def option_node(item: str, number: int, value: Any) -> Node:
    """Return a setting of --user-config as a Node with `value`. `number` is the position of the option, counted from
    0."""
    path, _, text = item.partition("=")
    owner, _, name = path.partition(".")
    key = Span(OPTION, number + 1, len(owner) + 2, max(1, len(name)))
    if not text:
        return Node(value, key, key)
    start = len(path) + 2
    whole = Span(OPTION, number + 1, start, len(text))
    if isinstance(value, list):
        parts = text.split(",")
        starts = [start + sum(len(part) + 1 for part in parts[:index]) for index in range(len(parts))]
        spans = [Span(OPTION, number + 1, at, max(1, len(part))) for at, part in zip(starts, parts, strict=True)]
        # A range such as `1-9` has more values than parts.
        spans = spans if len(spans) == len(value) else [whole] * len(value)
        value = [Node(one, span) for one, span in zip(value, spans, strict=True)]
    return Node(value, whole, key)


def words_text(words: Sequence[str]) -> tuple[str, dict[str, Span]]:
    """Return a command line that consists of the words that select benchmarks, and the location of each word in it."""
    text, spans = WITHOUT_PLAN, {}
    for word in words:
        spans[word] = Span(WITHOUT_PLAN, 1, len(text) + 2, max(1, len(word)))
        text += f" {word}"
    return text, spans
