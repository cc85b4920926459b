"""Rules for disturbances. A rule is a function that evaluates a host, and an entry in rules.yaml that describes it.

Commands are generated from settings, so that the displayed fix, the script and the undo agree.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Final, TypeVar

from asct.disturbances.sample import ActivitySample
from asct.sdk.disturbance import Certainty, Disturbance, Setting, Unseen
from asct.sdk.facts import HostFacts


@dataclass(frozen=True, slots=True)
class MeasuredScope:
    """What a run measures, which decides which disturbances matter. `paths` are the files, folders and devices that it
    opens (the work folder for temporary files), `devices` maps those that are devices to their kernel names (`sda`),
    `tools` are the programs that it uses if the host has them."""

    paths: tuple[str, ...] = ()
    devices: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[str, ...] = ()


_T = TypeVar("_T")


class UndeterminedError(Exception):
    """Raised inside a rule that cannot judge; the rule catches it."""

    def __init__(self, unseen: Iterable[Unseen]) -> None:
        super().__init__()
        self.unseen = tuple(unseen)


@dataclass(frozen=True, slots=True)
class RuleInput:
    """The input of all rules. `sample` is empty if activity was not sampled; `wanted` is None if the scope is
    unknown."""

    facts: HostFacts
    sample: ActivitySample = field(default_factory=ActivitySample)
    wanted: MeasuredScope | None = None

    def unseen(self, what: str, *fields: str) -> Iterator[Unseen]:
        """Yield that `what` could not be judged, with the reason why the first unknown field of `fields` is unknown.

        Yield nothing if no field is unknown: then the host does not have it.
        """
        for name in fields:
            if name in self.facts.unknown:
                yield Unseen(what=what, why=self.facts.unknown[name])
                return

    def known(self, value: _T | None, what: str, *fields: str) -> _T:
        """Return the value of a fact. If it is missing, end the rule and report that `what` could not be judged."""
        if value is None:
            raise UndeterminedError(self.unseen(what, *fields))
        return value


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a rule observed on a host, how certain the disturbance is, and why.

    The fix writes `settings` and the undo restores their old values; otherwise `fix` and `undo` are shell lines, which
    may run unattended if `scripted`. `name` and `effect` replace those of a rule that has several findings.
    """

    title: str
    seen: str
    sure: Certainty
    why: str
    settings: Sequence[Setting] = ()
    fix: Sequence[str] = ()
    undo: Sequence[str] = ()
    advice: str = ""
    scripted: bool = False
    name: str = ""
    effect: str = ""


Evaluations = Iterable[Evaluation | Unseen]
_PRINTABLE: Final = re.compile(r"[\x20-\x7e]*")


@dataclass(frozen=True, slots=True)
class DisturbanceRule:
    """A disturbance that asct can detect: its key in rules.yaml and the function that detects it."""

    key: str
    judge: Callable[[RuleInput], Evaluations]

    def __call__(self, look: RuleInput) -> Iterator[Disturbance | Unseen]:
        """The findings of this rule on a host, and what it could not judge."""
        try:
            for item in self.judge(look):
                yield item if isinstance(item, Unseen) else self._finding(item)
        except UndeterminedError as gap:
            yield from gap.unseen

    def _finding(self, item: Evaluation) -> Disturbance:
        """Settings whose old value or path is not printable ASCII are left out: the kernel writes no such value."""
        chosen = [one for one in item.settings if one.value != one.was and _PRINTABLE.fullmatch(one.path + one.was)]
        own = {"name": item.name, "effect": item.effect} if item.name else {}
        return Disturbance(
            **{"name": self.key, **descriptions()[self.key], **own},
            title=item.title,
            seen=item.seen,
            sure=item.sure,
            why=item.why,
            fix=[*writes(chosen, "value"), *item.fix],
            undo=[*writes(chosen, "was"), *item.undo],
            advice=item.advice,
            scripted=item.scripted or bool(chosen),
            settings=chosen,
        )


def rule(key: str) -> Callable[[Callable[[RuleInput], Evaluations]], DisturbanceRule]:
    """Make a rule from a function that yields evaluations; `key` is its entry in rules.yaml."""
    return lambda judge: DisturbanceRule(key, judge)


@cache
def descriptions() -> dict[str, dict[str, Any]]:
    """The effect, affected metrics and source of each rule, and its name if that is not its key, from rules.yaml."""
    import yaml  # here, because most commands do not look for disturbances

    text = Path(__file__).with_name("rules.yaml").read_text("utf-8")
    found: dict[str, dict[str, Any]] = yaml.load(text, yaml.CSafeLoader)
    return found


def writes(settings: Iterable[Setting], which: str) -> list[str]:
    """Return shell lines that write the `value` or the `was` of each setting."""
    return [line for item in settings for line in _loop(item, _printing(getattr(item, which)))]


def _printing(value: str) -> str:
    """Use printf for unusual values, because the echo of some shells has options and interprets backslashes."""
    plain = re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.,-]*", value, re.ASCII) is not None
    return f"echo {value} >" if plain else f"printf '%s\\n' {shlex.quote(value)} >"


def _loop(item: Setting, command: str) -> list[str]:
    if not item.numbers:
        return [command + shlex.quote(item.path)]
    if len(item.numbers) == 1:
        return [command + item.path.format(item.numbers[0])]
    return [f"for n in {counted(item.numbers)}; do", f"  {command}{item.path.format('$n')}", "done"]


def counted(numbers: Sequence[int]) -> str:
    """Return the words of a shell loop over `numbers`, for example `$(seq 0 79) 96`."""
    words: list[str] = []
    for _, run in groupby(enumerate(sorted(set(numbers))), key=lambda item: item[1] - item[0]):
        row = [number for _, number in run]
        words += [f"$(seq {row[0]} {row[-1]})"] if len(row) > 2 else map(str, row)
    return " ".join(words)
