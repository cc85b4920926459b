"""The error that the parsers in this package raise. Its hint is separate from its message."""

from __future__ import annotations

from asct.values.text import printable

_LONGEST = 40


class BadValueError(ValueError):
    """An invalid value.

    `message` says what is wrong; it starts with a lower-case letter and has no final period. `label` is printed next to
    the caret, and `hint` says what to write instead. `str()` joins the three with semicolons.
    """

    def __init__(self, message: str, hint: str, *, label: str = "") -> None:
        self.message = message
        self.hint = hint
        self.label = label
        super().__init__("; ".join(part for part in (message, label, hint) if part))


def clip(value: object) -> str:
    """Return a value as text for messages: at most 40 characters on one line, without control characters."""
    return printable(value if isinstance(value, str) else repr(value)[: _LONGEST * 2], _LONGEST)
