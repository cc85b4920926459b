"""Making findings: commands from settings, so that what is shown, what a script does and its undo are one thing."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

from asct.disturbances.sample import Sample
from asct.sdk.disturbance import Disturbance, Setting, Unseen
from asct.sdk.facts import HostFacts


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be measured, as far as it decides what disturbs it. `paths` are files, folders and devices that are
    opened (the work folder where temporary files go), `devices` the kernel's names of those that are devices (`sda`),
    `tools` programs that are used where the host has them."""

    paths: tuple[str, ...] = ()
    devices: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Look:
    """All that there is to judge by. `sample` is what two looks a second apart show, None without them; `wanted` is
    None when nobody said what is to be measured."""

    facts: HostFacts
    sample: Sample | None = None
    wanted: Wanted | None = None

    def unseen(self, what: str, *fields: str) -> Iterator[Unseen]:
        """That something could not be judged, with the reason that the facts have for the first of `fields` that has
        one. Nothing when no field is told to be unknown: then there is nothing of the kind on the host."""
        for name in fields:
            if name in self.facts.unknown:
                yield Unseen(what=what, why=self.facts.unknown[name])
                return


Found = Iterable[Disturbance | Unseen]
_WORDS: Final = re.compile(r"[\x20-\x7e]*")


def scripted(settings: Sequence[Setting], **fields: Any) -> Disturbance:
    """A finding whose fix is to write `settings`, and whose undo writes what was there. A value that the kernel would
    not have, with control characters or others than ASCII, is not written again."""
    chosen = [item for item in settings if item.value != item.was and _WORDS.fullmatch(item.path + item.was)]
    fix, undo = writes(chosen, "value"), writes(chosen, "was")
    return Disturbance(settings=chosen, fix=fix, undo=undo, scripted=bool(chosen), **fields)


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
