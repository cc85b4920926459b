"""The error raised by the parsers of this package, with a separate hint."""

from __future__ import annotations

from asct.values.text import printable

_SHOWN = 40


class BadValueError(ValueError):
    """An invalid value.

    `message` describes the error (in lower case, without a period), `label` is printed next to the caret, and `hint`
    says what to write instead. `str()` joins the message, label and hint.
    """

    def __init__(self, message: str, hint: str, *, label: str = "") -> None:
        self.message = message
        self.hint = hint
        self.label = label
        super().__init__("; ".join(part for part in (message, label, hint) if part))


def shown(value: object) -> str:
    """Return a value as text for messages: at most 40 characters on one line, without control characters."""
    return printable(value if isinstance(value, str) else repr(value)[: _SHOWN * 2], _SHOWN)
