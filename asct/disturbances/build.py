"""Rules for disturbances. A rule is data (its name, its effect on which metrics, its source) with a function that
evaluates it.

Commands are generated from settings, so that the displayed fix, the script and the undo agree.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, TypeVar

from asct.disturbances.sample import ActivitySample
from asct.sdk.disturbance import Certainty, Disturbance, Setting, Unseen
from asct.sdk.facts import HostFacts


@dataclass(frozen=True, slots=True)
class MeasuredScope:
    """The scope that decides which disturbances matter. `paths` are files, folders and devices that are
    opened (the work folder where temporary files go), `devices` the kernel's names of those that are devices (`sda`),
    `tools` programs that are used where the host has them."""

    paths: tuple[str, ...] = ()
    devices: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[str, ...] = ()


_T = TypeVar("_T")


class UndeterminedError(Exception):
    """Ends a rule that cannot judge; never leaves it."""

    def __init__(self, unseen: Iterable[Unseen]) -> None:
        super().__init__()
        self.unseen = tuple(unseen)


@dataclass(frozen=True, slots=True)
class RuleInput:
    """The input of all rules. `sample` is None if activity was not sampled; `wanted` is None if it is unknown what will
    be measured."""

    facts: HostFacts
    sample: ActivitySample | None = None
    wanted: MeasuredScope | None = None

    def unseen(self, what: str, *fields: str) -> Iterator[Unseen]:
        """Yields that `what` could not be judged, with the reason of the first of `fields` that is unknown; nothing if
        none is, because then the host has no such thing."""
        for name in fields:
            if name in self.facts.unknown:
                yield Unseen(what=what, why=self.facts.unknown[name])
                return

    def known(self, value: _T | None, what: str, *fields: str) -> _T:
        """The value of a fact. If it is missing, the rule ends and reports that `what` could not be judged."""
        if value is None:
            raise UndeterminedError(self.unseen(what, *fields))
        return value


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The observation of a rule on a host: how certain the disturbance is, and why.

    The fix writes `settings` and the undo restores their old values; otherwise `fix` and `undo` are shell lines, run
    unattended if `scripted`. `name` and `effect` replace the rule's for rules with several findings.
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
_WORDS: Final = re.compile(r"[\x20-\x7e]*")


@dataclass(frozen=True, slots=True)
class DisturbanceRule:
    """A disturbance that asct can detect: its name, effect, affected metrics, source and detection."""

    name: str
    effect: str
    touches: Sequence[str]
    source: str
    judge: Callable[[RuleInput], Evaluations]

    def __call__(self, look: RuleInput) -> Iterator[Disturbance | Unseen]:
        """The findings of this rule on a host, and what it could not judge."""
        try:
            for item in self.judge(look):
                yield item if isinstance(item, Unseen) else self._finding(item)
        except UndeterminedError as gap:
            yield from gap.unseen

    def _finding(self, item: Evaluation) -> Disturbance:
        """A value that the kernel would not have, with control characters or others than ASCII, is not written."""
        chosen = [one for one in item.settings if one.value != one.was and _WORDS.fullmatch(one.path + one.was)]
        return Disturbance(
            name=item.name or self.name,
            title=item.title,
            seen=item.seen,
            effect=item.effect or self.effect,
            touches=list(self.touches),
            sure=item.sure,
            why=item.why,
            fix=[*writes(chosen, "value"), *item.fix],
            undo=[*writes(chosen, "was"), *item.undo],
            advice=item.advice,
            scripted=item.scripted or bool(chosen),
            settings=chosen,
            source=self.source,
        )


def finding(
    name: str, *, touches: Sequence[str], source: str, effect: str = ""
) -> Callable[[Callable[[RuleInput], Evaluations]], DisturbanceRule]:
    """Make a rule from a function that yields evaluations; `touches` as in Disturbance."""
    return lambda judge: DisturbanceRule(name, effect, touches, source, judge)


def writes(settings: Iterable[Setting], which: str) -> list[str]:
    """Lines of a shell that write the `value` or the `was` of each setting."""
    return [line for item in settings for line in _loop(item, _printing(getattr(item, which)))]


def _printing(value: str) -> str:
    """Some shells' echo has options and takes backslashes for more."""
    plain = re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.,-]*", value, re.ASCII) is not None
    return f"echo {value} >" if plain else f"printf '%s\\n' {shlex.quote(value)} >"


def _loop(item: Setting, command: str) -> list[str]:
    if not item.numbers:
        return [command + shlex.quote(item.path)]
    if len(item.numbers) == 1:
        return [command + item.path.format(item.numbers[0])]
    return [f"for n in {counted(item.numbers)}; do", f"  {command}{item.path.format('$n')}", "done"]


def counted(numbers: Sequence[int]) -> str:
    """The words of a loop: `$(seq 0 79) 96`."""
    words: list[str] = []
    for _, run in groupby(enumerate(sorted(set(numbers))), key=lambda item: item[1] - item[0]):
        row = [number for _, number in run]
        words += [f"$(seq {row[0]} {row[-1]})"] if len(row) > 2 else map(str, row)
    return " ".join(words)
