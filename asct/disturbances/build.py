"""The building blocks of disturbance rules.

A rule consists of a function that evaluates a host, and an entry in rules.yaml that describes the disturbance. The
displayed fix, the script and the undo are generated from the same settings, so that they always agree.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, TypeVar

from asct.disturbances.sample import ActivitySample
from asct.resources import data
from asct.sdk.disturbance import Disturbance, Setting, Unseen
from asct.sdk.facts import HostFacts


@dataclass(frozen=True, slots=True)
class MeasuredScope:
    """What a run measures and uses on a host. This determines which disturbances matter.

    `paths` contains the files, folders and devices that the run opens; the work folder stands for temporary files.
    `devices` maps the devices among these paths to the names that the Linux kernel uses (`sda`). `tools` contains the
    programs that the run uses if they are installed.
    """

    paths: tuple[str, ...] = ()
    devices: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[str, ...] = ()


_T = TypeVar("_T")


class UndeterminedError(Exception):
    """Raised inside a rule that cannot evaluate a host because facts are missing; `DisturbanceRule` catches it."""

    def __init__(self, unseen: Iterable[Unseen]) -> None:
        super().__init__()
        self.unseen = tuple(unseen)


@dataclass(frozen=True, slots=True)
class RuleInput:
    """The input of all rules.

    `sample` is empty if activity was not sampled; `scope` is None if it is unknown.
    """

    facts: HostFacts
    sample: ActivitySample = field(default_factory=ActivitySample)
    scope: MeasuredScope | None = None

    def unseen(self, what: str, *fields: str) -> Iterator[Unseen]:
        """Report that `what` could not be assessed, with the reason why the first unknown field in `fields` is unknown.

        If all fields are known, report nothing, because the host does not have the feature.
        """
        for name in fields:
            if name in self.facts.unknown:
                yield Unseen(what=what, why=self.facts.unknown[name])
                return

    def known(self, value: _T | None, what: str, *fields: str) -> _T:
        """Return the value of a fact. If the value is missing, end the rule and report that `what` could not be
        assessed."""
        if value is None:
            raise UndeterminedError(self.unseen(what, *fields))
        return value


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A rule's observation on a host: the values for the placeholders in its entry in rules.yaml, and the case that
    applies.

    The fix writes `settings`, and the undo restores their old values. If there are no settings, the entry contains
    shell lines, which the script may run only if the entry sets `scripted`.
    """

    values: Mapping[str, object]
    settings: Sequence[Setting] = ()
    case: str = ""


Evaluations = Iterable[Evaluation | Unseen]
_PRINTABLE: Final = re.compile(r"[\x20-\x7e]*")


@dataclass(frozen=True, slots=True)
class DisturbanceRule:
    """A disturbance that asct can detect: its key in rules.yaml, and the function that detects it."""

    key: str
    judge: Callable[[RuleInput], Evaluations]

    def __call__(self, host: RuleInput) -> Iterator[Disturbance | Unseen]:
        """Yield the findings of this rule on a host and the conditions that it could not assess."""
        try:
            for item in self.judge(host):
                yield item if isinstance(item, Unseen) else self._finding(item)
        except UndeterminedError as gap:
            yield from gap.unseen

    def _finding(self, item: Evaluation) -> Disturbance:
        """Build the finding.

        Settings are omitted if their path or old value is not printable ASCII, because the Linux kernel never reports
        such values.
        """
        chosen = [one for one in item.settings if one.value != one.was and _PRINTABLE.fullmatch(one.path + one.was)]
        entry = {"name": self.key, "fix": [], "undo": [], **descriptions()[self.key]}
        cases = entry.pop("cases", {})
        texts = _filled({**entry, **cases.get(item.case, {})}, item.values)
        return Disturbance(
            **{
                **texts,
                "fix": [*writes(chosen, "value"), *texts["fix"]],
                "undo": [*writes(chosen, "was"), *texts["undo"]],
                "scripted": texts.get("scripted", False) or bool(chosen),
            },
            settings=chosen,
        )


def _filled(texts: Mapping[str, Any], values: Mapping[str, object]) -> dict[str, Any]:
    """Replace each `{name}` in a rule's entry with the value of that name."""
    return {
        key: item.format_map(values)
        if isinstance(item, str)
        else [line.format_map(values) for line in item]
        if isinstance(item, list)
        else item
        for key, item in texts.items()
    }


def rule(key: str) -> Callable[[Callable[[RuleInput], Evaluations]], DisturbanceRule]:
    """Return a decorator that turns a function into a rule. The function yields evaluations; `key` is the key of the
    rule's entry in rules.yaml."""
    return lambda judge: DisturbanceRule(key, judge)


def descriptions() -> dict[str, dict[str, Any]]:
    """Return a mapping from each key in rules.yaml to its entry.

    An entry contains `cases` and the fields of a Disturbance. The name defaults to the key.
    """
    found: dict[str, dict[str, Any]] = data(__file__, "rules.yaml")
    return found


def writes(settings: Iterable[Setting], which: str) -> list[str]:
    """Return shell lines that write the attribute `which` (`value` or `was`) of each setting."""
    return [line for item in settings for line in _loop(item, _printing(getattr(item, which)))]


def _printing(value: str) -> str:
    """Return the shell command that prints a value, including the redirection operator.

    Unusual values are printed with printf, because in some shells echo accepts options and interprets backslashes.
    """
    plain = re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.,-]*", value, re.ASCII) is not None
    return f"echo {value} >" if plain else f"printf '%s\\n' {shlex.quote(value)} >"


def _loop(item: Setting, command: str) -> list[str]:
    if not item.numbers:
        return [command + shlex.quote(item.path)]
    if len(item.numbers) == 1:
        return [command + item.path.format(item.numbers[0])]
    return [f"for n in {counted(item.numbers)}; do", f"  {command}{item.path.format('$n')}", "done"]


def counted(numbers: Sequence[int]) -> str:
    """Return the word list for a shell loop over `numbers`, such as `$(seq 0 79) 96`."""
    words: list[str] = []
    for _, run in groupby(enumerate(sorted(set(numbers))), key=lambda item: item[1] - item[0]):
        row = [number for _, number in run]
        words += [f"$(seq {row[0]} {row[-1]})"] if len(row) > 2 else map(str, row)
    return " ".join(words)
