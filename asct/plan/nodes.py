"""Convert YAML text to nodes with locations: YAML 1.2 core rules applied to the events of PyYAML's C parser.

A loop builds the nodes from events after checking depth and size, because the recursive `compose` crashes the
interpreter at 50,000 brackets. Aliases, tags, merge keys and multiple documents are rejected.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from asct.diagnostics.model import Span
from asct.plan.findings import Findings
from asct.plan.model import REJECTED, Node
from asct.plan.scalars import has_leading_zero, resolve
from asct.resources import data
from asct.values.error import BadValueError, clip

MAX_BYTES: Final = 8 << 20
MAX_DEPTH: Final = 100
MAX_NODES: Final = 300_000

_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")


class _TooMuchError(Exception):
    """Raised if the text is too deeply nested or too large."""


@dataclass(slots=True)
class _Open:
    """A list or map that is still being read. `key` is the key whose value comes next."""

    node: Node
    key: str | None = None
    key_span: Span | None = None
    skip: bool = False
    """Whether the next value must be skipped because its key is not a string."""
    reject: bool = False
    """Whether the next value must be rejected because of an error in its key."""
    discard: bool = False
    """Whether the collection must be discarded once it is complete, because it is used as a key."""
    tagged: bool = False
    keys: dict[str, Span] = field(default_factory=dict)


def decode(data: bytes, file: str, findings: Findings) -> str | None:
    """Decode the contents of a file, omitting the byte order mark if there is one. Returns None after reporting an
    error."""
    if len(data) > MAX_BYTES:
        _too_large(file, findings)
        return None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        findings.error("E102", f"{file} is UTF-16, not UTF-8", None, "save it as UTF-8")
        return None
    data = data.removeprefix(BOM_UTF8)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        place = _place_of(file, data[: problem.start].decode("utf-8", "replace"))
        message = f"the file is not valid UTF-8: byte 0x{data[problem.start]:02x}"
        findings.error("E102", message, place, "save the file as UTF-8")
        return None


def parse_yaml(text: str, file: str, findings: Findings) -> Node | None:
    """Parse the document in `text`. Returns None if the document is empty, or after an error that ends parsing.

    Errors such as duplicate keys and aliases are reported, but parsing continues.
    """
    if len(text) > MAX_BYTES:
        _too_large(file, findings)
        return None
    text = text.removeprefix("\ufeff")
    found = _UNPRINTABLE.search(text)
    if found:
        mark = f"U+{ord(found.group()):04X}"
        place = _place_of(file, text[: found.start()])
        findings.error(
            "E102",
            f"the file contains the control character {mark}",
            place,
            "remove it, or use an escape in quoted text",
        )
        return None
    builder = _NodeBuilder(file, findings)
    try:
        return builder.build(text)
    except _TooMuchError:
        return None
    except yaml.YAMLError as problem:
        _report_syntax(problem, text, file, findings)
        return None


def _too_large(file: str, findings: Findings) -> None:
    findings.error(
        "E109",
        f"{file} is larger than {MAX_BYTES >> 20} MiB",
        None,
        "check that this is the right file; plans rarely exceed a few KiB",
    )


def _place_of(file: str, before: str) -> Span:
    lines = _BREAKS.split(before)
    return Span(file, len(lines), len(lines[-1]) + 1)


class _NodeBuilder:
    """Converts events to nodes. `stack` contains the collections that have not ended yet."""

    def __init__(self, file: str, findings: Findings) -> None:
        self.file = file
        self.findings = findings
        self.stack: list[_Open] = []
        self.root: Node | None = None
        self.documents = 0
        self.count = 0

    def build(self, text: str) -> Node | None:
        """Parse the text and return the root node."""
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.ScalarEvent):
                self._scalar(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._start(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._end()
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                self.documents += 1
                if self.documents > 1:
                    self._error(
                        "E108",
                        "the file contains more than one document",
                        event,
                        "keep one plan per file; remove the `---`",
                    )
                    raise _TooMuchError
        return self.root

    def _span(self, event: Any) -> Span:
        start, end = event.start_mark, event.end_mark
        length = end.column - start.column if end.line == start.line else 1
        return Span(self.file, start.line + 1, start.column + 1, max(1, length))

    def _error(self, code: str, message: str, event: Any, hint: str) -> None:
        self.findings.error(code, message, self._span(event), hint)

    def _count(self, event: Any) -> None:
        self.count += 1
        if self.count > MAX_NODES:
            self._error(
                "E109", f"the file contains more than {MAX_NODES} values", event, "use ranges instead of long lists"
            )
            raise _TooMuchError

    def _tag(self, event: Any) -> bool:
        """Report an error if there is a tag, and return whether there is one."""
        if event.tag is not None:
            hint = "quote text that begins with `!`" if event.tag.startswith("!") else "remove the tag"
            self._error("E108", f"tags are not supported: `{clip(event.tag)}`", event, hint)
        return event.tag is not None

    def _scalar(self, event: Any) -> None:
        self._count(event)
        tagged = self._tag(event)
        span = self._span(event)
        top = self.stack[-1] if self.stack else None
        plain = not event.style
        if top is not None and isinstance(top.node.value, dict) and top.key_span is None:
            self._key(top, event.value, span, plain)
            return
        value = REJECTED if tagged else self._value(event.value, span, plain)
        self._add(Node(value, span, top.key_span if top else None))

    def _value(self, text: str, span: Span, plain: bool) -> Any:
        if not plain:
            return text
        try:  # `Findings.parsed` is not used, because its result None would be ambiguous
            value = resolve(text)
        except BadValueError as problem:
            self.findings.bad_value(problem, span)
            return REJECTED
        if has_leading_zero(text):
            hint = f"write `{value}`, or `0o...` for octal; quote it if it is text"
            self.findings.warn("E130", f"`{text}` is read as the number {value}", span, hint)
        return value

    def _key(self, top: _Open, text: str, span: Span, plain: bool) -> None:
        top.key, top.key_span, top.skip, top.reject = text, span, False, False
        if plain and text == "<<":
            self.findings.error(
                "E108", "merge keys (`<<`) are not supported: they are not part of YAML 1.2", span, "use `extends`"
            )
            top.skip = True
        elif text in top.keys:
            self.findings.twice("E105", f"duplicate key `{clip(text)}`", span, top.keys[text], "remove one of them")
        elif plain and not isinstance(self._value(text, span, plain), str):
            hint = f'write `"{clip(text)}":`' if text else "add a name before the colon"
            self.findings.error("E106", f"key `{clip(text)}` is not text", span, hint)
            top.reject = True
        top.keys.setdefault(text, span)

    def _start(self, event: Any) -> None:
        self._count(event)
        tagged = self._tag(event)
        if len(self.stack) >= MAX_DEPTH:
            self._error(
                "E109",
                f"the nesting is deeper than {MAX_DEPTH} levels",
                event,
                "use fewer levels; a plan normally needs no more than about six",
            )
            raise _TooMuchError
        top = self.stack[-1] if self.stack else None
        discard = False
        if top is not None and isinstance(top.node.value, dict) and top.key_span is None:
            self._error(
                "E106",
                "a key is a list or a map",
                event,
                "keys must be text: quote the key, and write templates as `${...}`",
            )
            discard = True
        span = self._span(event)
        empty: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        self.stack.append(_Open(Node(empty, span, top.key_span if top else None), discard=discard, tagged=tagged))

    def _end(self) -> None:
        done = self.stack.pop()
        if done.discard:
            top = self.stack[-1]
            top.key, top.key_span, top.skip = "", done.node.span, True
            return
        self._add(done.node.rejected() if done.tagged else done.node)

    def _alias(self, event: Any) -> None:
        name = clip(event.anchor)
        hint = f'repeat the value, or use `extends` or `vars`; quote patterns: `"*{name}"`'
        self._error("E108", f"aliases are not supported: `*{name}`", event, hint)
        top = self.stack[-1] if self.stack else None
        if top is not None and isinstance(top.node.value, dict) and top.key_span is None:
            top.key, top.key_span, top.skip = "", self._span(event), True
        else:
            self._add(Node(REJECTED, self._span(event), top.key_span if top else None))

    def _add(self, node: Node) -> None:
        if not self.stack:
            self.root = node
            return
        top = self.stack[-1]
        if isinstance(top.node.value, list):
            top.node.value.append(node)
            return
        if not top.skip and top.key is not None:
            first = top.node.value.get(top.key)
            node = node.rejected() if top.reject else node
            top.node.value[top.key] = node if first is None else _joined(first, node)
        top.key = top.key_span = None


def _joined(first: Node, second: Node) -> Node:
    """Combine the values of a duplicate key, so that both are checked. Maps and lists are joined; otherwise, the first
    value is used."""
    if isinstance(first.value, dict) and isinstance(second.value, dict):
        return first._replace(value={**second.value, **first.value})
    if isinstance(first.value, list) and isinstance(second.value, list):
        known = [item.plain() for item in first.value]
        return first._replace(value=first.value + [item for item in second.value if item.plain() not in known])
    return first


_BREAKS: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_HINTS: Final = (
    (re.compile(r"\{\{"), "write templates as `${vars.name}`, not `{{ name }}`"),
    (re.compile(r"[\w-]\[[0-9]+:[0-9]+"), 'quote host ranges: "node[01:16]"'),
)
_UNQUOTED_TEMPLATE: Final = re.compile(r"(?<![\"'\w])\$\{[^}\n]*\}?")


def _report_syntax(problem: Exception, text: str, file: str, findings: Findings) -> None:
    """Report an exception raised by PyYAML. An error at the end of the text is reported at the last line that is not
    empty."""
    reason = str(getattr(problem, "problem", None) or getattr(problem, "reason", None) or "it cannot be read")
    context, start = getattr(problem, "context", None), getattr(problem, "context_mark", None)
    mark = getattr(problem, "problem_mark", None) or start
    span, near = Span(file, 1, 1), []
    if mark is not None:
        lines = _BREAKS.split(text)
        numbers = {mark.line, mark.line - 1, start.line if start else mark.line}
        near = [lines[number] for number in sorted(numbers) if 0 <= number < len(lines)]
        span = Span(file, mark.line + 1, mark.column + 1)
        if mark.line > 0 and not (mark.line < len(lines) and lines[mark.line].strip()):
            last = max((number for number, line in enumerate(lines[: mark.line]) if line.strip()), default=0)
            span = Span(file, last + 1, max(1, len(lines[last].rstrip())))
    message = f"not valid YAML: {reason}" + (f" {context}" if context else "")
    findings.error("E103", message, span, _syntax_hint(reason, near))


def _syntax_hint(reason: str, lines: list[str]) -> str:
    if "cannot start any token" in reason and any(re.match(r" *\t", line) for line in lines):
        return "this line is indented with a tab; indent with spaces"
    for line in lines:
        found = _UNQUOTED_TEMPLATE.search(line)
        if found and re.search(r"[\[{]", line.replace("${", "")):
            return f'quote templates inside `{{...}}` and `[...]`: "{found[0]}"'
    for pattern, hint in _HINTS:
        if any(pattern.search(line) for line in lines):
            return hint
    by_problem = data(__file__, "words.yaml")["by_problem"].items()
    return next((hint for part, hint in by_problem if part in reason), "check quotes, brackets and indentation")
