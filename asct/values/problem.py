"""The error that every parser of this package raises: what is wrong, and apart from it the way out."""

from __future__ import annotations

_SHOWN = 40


class BadValueError(ValueError):
    """A text that is not the value it should be.

    `message` says what is wrong (lower case, no full stop), `label` stands beside a caret, `hint` says what to write
    instead. `str()` joins message, label and hint, for callers that know nothing of the parts.
    """

    def __init__(self, message: str, hint: str, *, label: str = "") -> None:
        self.message = message
        self.hint = hint
        self.label = label
        super().__init__("; ".join(part for part in (message, label, hint) if part))


def shown(value: object) -> str:
    """A value as it may stand in a message: bounded, one line, without control characters."""
    text = value if isinstance(value, str) else repr(value)[: _SHOWN * 2]
    text = "".join(mark if mark.isprintable() else "\N{REPLACEMENT CHARACTER}" for mark in text[: _SHOWN + 1])
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
