"""Reword diagnostics for `asct run`, which has options where a plan has keys. Most diagnostics are written for plans.
For a run without a plan file, the phrases below are replaced so that every hint fits the command that the user
typed."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from asct.diagnostics.model import Diagnostic

WITHOUT_PLAN: Final = "asct run"
"""The path of the plan that `asct run` creates. Diagnostics show it instead of a file name."""

_CONSENT: Final = "`--destroys HOST:DEVICE:SERIAL`"
PHRASES: Final[tuple[tuple[str, str], ...]] = (
    ("add host, device and serial to `safety.destroys`", f"add {_CONSENT}"),
    ("and add it with its serial to `safety.destroys`", f"and allow it with {_CONSENT}"),
    ("and, with its serial number, in `safety.destroys`", f"and in {_CONSENT}"),
    ("set `overwrite: true` for it in `safety.destroys`", "add `--overwrite`"),
    ("`destroys` does not accept groups or patterns", "`--destroys` accepts one host, not a group or pattern"),
    ("set `serial` to the path of its backing file", "write the path of its backing file as SERIAL"),
    ("in `destroys`", "in `--destroys`"),
    ("`safety.destroys` lists", "`--destroys` names"),
    ("`safety.destroys`", "`--destroys`"),
    ("`overwrite: true` in `config` applies", "the setting `overwrite` applies"),
    ("set `overwrite: true` in the benchmark's config", "add `--user-config BENCHMARK.overwrite=true`"),
    ("use a host name from the plan", "use `local`, or the address given to `--host`"),
    ("the plan does not allow the block device", "no `--destroys` allows the block device"),
    ("set a `workdir` for the host", "use a plan that sets a `workdir` for the host"),
    ("set another `workdir` for the host", "use a plan that sets another `workdir` for the host"),
    ("set the host's `workdir` to", "use a plan that sets the host's `workdir` to"),
    ("increase `timeout` in the plan", "use a plan that increases `timeout`"),
    ("reduce `--forks`, then", "stop other programs, then"),
    ("set `address`, `port` or `jump` in the plan, or correct ~/.ssh/config", "correct ~/.ssh/config"),
    ("select another folder with `--results DIR`", "select another folder with `--output-dir`"),
)  # fmt: skip
"""Phrases in diagnostics for plans, and their replacements. Earlier entries take precedence."""
_SETTING: Final = re.compile(r"(set|change) `(\w+)` in the plan")
_LIMIT: Final = re.compile(r"or set `(?:limits|safety): \{[^`]*\}` in the plan; the preview")
_RAISE: Final = re.compile(r", or raise the limit: `limits: [^`]*`")
_UNCONSENTED: Final = re.compile(r"would overwrite (?P<device>/dev/(?:disk/by-id/|loop)\S+) on (?P<host>\S+) without")
_DEFAULT_RESULTS: Final = Path("results")
_OF_RUN: Final = re.compile(r"`(asct resume|asct results rebuild)`")
_RESUME: Final = re.compile(r"(?<!continue it with )`asct resume`")


_ANY_PHRASE: Final = re.compile("|".join(re.escape(phrase) for phrase, _ in PHRASES))
_OTHER: Final = dict(PHRASES)


def for_run(diagnostic: Diagnostic) -> Diagnostic:
    """Return a copy of a diagnostic whose message and hint mention `asct run` options instead of plan keys."""
    message, hint = (_reworded(text) for text in (diagnostic.message, diagnostic.hint))
    if found := _UNCONSENTED.search(message):
        serial = "BACKING_FILE" if found["device"].startswith("/dev/loop") else "SERIAL"
        hint = hint.replace("HOST:DEVICE:SERIAL", f"{found['host']}:{found['device']}:{serial}")
    return replace(diagnostic, message=message, hint=hint)


def wording_of(plan: str, folder: Path | None = None) -> Callable[[Diagnostic], Diagnostic]:
    """Return the function that rewords a run's diagnostics. `plan` is the path of the run's plan. `folder` is the run's
    folder; hints name it where `asct resume` would not find the run without an argument."""

    def reword(diagnostic: Diagnostic) -> Diagnostic:
        found = for_run(diagnostic) if plan == WITHOUT_PLAN else diagnostic
        return found if folder is None else replace(found, hint=_RESUME.sub(f"`{resume_command(folder)}`", found.hint))

    return reword


def naming(folder: Path) -> Callable[[Diagnostic], Diagnostic]:
    """Return a function that adds the path of the run in `folder` to those commands in a hint that need it."""
    near = os.path.relpath(folder) if folder.is_relative_to(Path.cwd()) else str(folder)

    def reword(diagnostic: Diagnostic) -> Diagnostic:
        return replace(diagnostic, hint=_OF_RUN.sub(rf"`\1 {shlex.quote(near)}`", diagnostic.hint))

    return reword


def resume_command(folder: Path) -> str:
    """Return the command that resumes the run in `folder`."""
    return "asct resume" if folder.parent.parent == _DEFAULT_RESULTS else f"asct resume {shlex.quote(str(folder))}"


def _reworded(text: str) -> str:
    text = _ANY_PHRASE.sub(lambda found: _OTHER[found[0]], text)
    text = _SETTING.sub(r"\1 it with `--user-config BENCHMARK.\2=VALUE`", text)
    text = _LIMIT.sub("or select fewer benchmarks; `--dry-run`", text)
    return _RAISE.sub("", text)
