"""Diagnostics for transports. errors.yaml contains their messages and hints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from asct.diagnostics.model import Diagnostic, Span
from asct.resources import data
from asct.values.suggest import did_you_mean

QUOTED = 500
"""Maximum number of characters that a diagnostic quotes from a message printed by a host."""


def entries(module: str = __file__) -> Mapping[str, Any]:
    """Return the entries in the errors.yaml next to a module."""
    found: Mapping[str, Any] = data(module, "errors.yaml")
    return found


def problem(name: str, place: str, *, module: str = __file__, hint: str = "", **values: object) -> Diagnostic:
    """Return the diagnostic `name` from the errors.yaml next to `module`, with `values` filled in.

    `hint` replaces the hint in the entry.
    """
    entry = entries(module)[name]
    return Diagnostic(
        entry["code"],
        entry["message"].format(place=place, **values),
        hint=hint or entry["hint"].format(place=place, **values),
        severity=entry.get("severity", "error"),
    )


def unknown_transport(name: str, known: Sequence[str], span: Span | None) -> Diagnostic:
    return Diagnostic("E301", f"unknown transport `{name}`", span=span, hint=did_you_mean(name, known))


def unknown_key(place: str, line: str, fingerprint: str, file: str) -> Diagnostic:
    notes = (
        (f"fingerprint presented: {fingerprint}", None),
        ("compare it on the host's console: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub", None),
    )
    return replace(problem("unknown_key", place, file=file), verbatim=line, notes=notes)


def changed_key(place: str, presented: str, expected: str, file: str) -> Diagnostic:
    notes = ((f"presented {presented}", None), (f"expected  {expected}", None))
    return replace(problem("changed_key", place, file=file), notes=notes)


def revoked_key(place: str, presented: str) -> Diagnostic:
    return replace(problem("revoked_key", place), notes=((f"fingerprint presented: {presented}", None),))


def connection_lost(place: str, doing: str, detail: str = "") -> Diagnostic:
    return problem("connection_lost", place, doing=doing, more=f" ({detail})" if detail else "")


def host_locked(place: str, owner: str, pid: str, age_s: str) -> Diagnostic:
    """Return the diagnostic for a locked host, which describes the run that holds the lock. `pid` and `age_s` are
    strings as printed by the host."""
    known = pid.isdigit() and pid != "0" and age_s.isdigit()
    activity = f"has been measuring for {_duration(int(age_s))} (process {pid})" if known else "is measuring"
    return problem("host_locked", place, owner=owner, activity=activity)


def _duration(seconds: int) -> str:
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"


def not_back(cause: Diagnostic, seconds: float) -> Diagnostic:
    """Return `cause`, reworded to say that the connection could not be restored within this number of seconds."""
    hint = (
        "the host continues to run its current tasks; when it is reachable again, `asct resume` collects their "
        "results and measures the rest"
    )
    return Diagnostic(cause.code, f"{cause.message}; reconnecting failed for {seconds:g} s", hint=hint)


def kept_breaking(cause: Diagnostic, attempts: int) -> Diagnostic:
    """Return `cause`, reworded to say that an exchange failed in every attempt although the connection was
    restored."""
    hint = (
        "the host can be reached, but the data does not arrive: check the network for lost packets and a wrong MTU, "
        "then run `asct resume`"
    )
    return Diagnostic(cause.code, f"{cause.message}; {attempts} attempts failed", hint=hint)


def no_work_folder(place: str, base: str, detail: str) -> Diagnostic:
    """Return the diagnostic for a session that could not be opened. `detail` is the message from the script that opens
    sessions."""
    causes = entries()["no_work_folder"]["causes"]
    hint = next((hint for words, hint in causes.items() if words in detail), "")
    return problem("no_work_folder", place, detail=detail[:QUOTED], base=base, hint=hint)


def strange_shell(place: str, doing: str, text: str) -> Diagnostic:
    """Return the diagnostic for a login shell that did not run the command. `text` is the shell's output."""
    printed = f": it printed `{text.strip()[:200]}`" if text.strip() else ""
    return problem("strange_shell", place, doing=doing, printed=printed)
