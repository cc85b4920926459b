"""The script that applies and undoes the fixes for a host.

It is a POSIX shell script that must be run as root. It does not use sudo, and it quotes every value.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Final

from asct.disturbances.build import counted
from asct.resources import text
from asct.sdk.disturbance import Disturbance, Setting
from asct.values.text import wrapped_lines

LAST: Final = "smt-siblings"
"""The fix that is applied last and undone first, because it takes CPUs offline that other fixes configure."""
_WIDTH: Final = 100


def script(host: str, when: str, findings: Sequence[Disturbance], file: str = "FILE") -> str:
    """Return the text of the script, which the user saves as `file`. The script's `undo` command restores the state
    that the host had at `when`."""
    able = sorted((item for item in findings if item.scripted), key=lambda item: item.name == LAST)
    by_hand = [item for item in findings if not item.scripted]
    about = [f"Created for {host} from its state at {when}.", *_by_hand(by_hand)]
    parts = [_part("head", file=file, about="\n".join(map(_comment, about)))]
    parts += [_part("begin")] if able else []
    parts += [_part("put")] if any(item.settings for item in able) else []
    parts += [_part("run")] if any(not item.settings for item in able) else []
    parts += [_functions(item) for item in able]
    return "\n".join([*parts, _tail(able) if able else _part("nothing")])


def _part(name: str, **values: str) -> str:
    """Return a part of script.sh, with each `@name@` replaced by its value."""
    _, *parts = re.split(r"^#: (\w+)\n", text(__file__, "script.sh"), flags=re.MULTILINE)
    found = dict(zip(parts[::2], parts[1::2], strict=True))[name]
    return re.sub(r"@(\w+)@", lambda match: values[match[1]], found)


def _by_hand(findings: Iterable[Disturbance]) -> list[str]:
    """Return a comment line for each finding that must be fixed manually."""
    lines = []
    for item in findings:
        way = "; ".join([*item.fix, *([item.advice] if item.advice else [])])
        lines.append(f"Manual: {item.title}: {way}" if way else f"Manual: {item.title}")
    return lines


def _functions(item: Disturbance) -> str:
    name = item.name.replace("-", "_")
    head = [f"{item.name}: {item.title}", f"Observed: {item.seen}", f"Effect: {item.effect}",
            f"{item.sure.capitalize()}: {item.why}"]  # fmt: skip
    apply, undo = (_body(item, which) for which in ("value", "was"))
    return "\n".join([*map(_comment, head), f"apply_{name}() {{", *apply, "}", f"undo_{name}() {{", *undo, "}", ""])


def _body(item: Disturbance, which: str) -> list[str]:
    lines = [line for setting in item.settings for line in _put(setting, getattr(setting, which))]
    if not item.settings:
        lines = [f"    run {line}" for line in (item.fix if which == "value" else item.undo)]
    return lines or ["    : # nothing to undo"]


def _put(setting: Setting, value: str) -> list[str]:
    if not setting.numbers:
        return [f"    put {shlex.quote(value)} {shlex.quote(setting.path)}"]
    before, _, behind = setting.path.partition("{}")
    path = f'{shlex.quote(before)}"$n"{shlex.quote(behind)}'
    loop = counted(setting.numbers)
    return [f"    for n in {loop}; do", f"        put {shlex.quote(value)} {path}", "    done"]


def _tail(able: Sequence[Disturbance]) -> str:
    names = [item.name for item in able]
    sure = [item.name for item in able if item.sure != "possible" and item.touches]
    none = '{ echo "asct: no fix is likely to matter; specify the fixes to apply" >&2; usage; }'
    cases = [f"    {part}-{name}) {part}_{name.replace('-', '_')} ;;" for part in ("apply", "undo") for name in names]
    return _part(
        "tail",
        all=", ".join(names),
        sure=" ".join(["set", "--", *sure]) if sure else none,
        every="".join(f" {name}" for name in reversed(names)),
        pattern=" | ".join(names),
        cases="\n".join(cases),
    )


def _comment(line: str) -> str:
    """Format text from a host as a shell comment that cannot end the line, control a terminal or execute commands."""
    plain = "".join(mark if mark.isprintable() else " " for mark in line)
    style = {"initial_indent": "# ", "subsequent_indent": "#   "}
    return "\n".join(wrapped_lines(plain, _WIDTH, break_on_hyphens=False, **style))
