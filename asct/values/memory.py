"""Recognize exceptions that a lack of memory causes."""

from __future__ import annotations

from typing import Final

_MESSAGES: Final = ("Cannot allocate memory", "failed to map segment")
"""Parts of the messages of OSError and ImportError when the process is out of memory (strerror of ENOMEM, ld.so)."""
_ENOUGH_BYTES: Final = 64 << 20
"""A process that can allocate this much, about as much as a command of asct needs, is not out of memory."""


def is_out_of_memory(problem: BaseException | None) -> bool:
    """Return whether `problem`, or an exception that it followed, was raised because this process is out of memory.

    Where CPython and its extension modules do not check an allocation, they raise SystemError instead of MemoryError.
    """
    seen: set[int] = set()
    while problem is not None and id(problem) not in seen:  # an exception that was raised twice may follow itself
        seen.add(id(problem))
        if isinstance(problem, MemoryError) or (isinstance(problem, SystemError) and not _has_memory()):
            return True
        if isinstance(problem, OSError | ImportError) and any(text in str(problem) for text in _MESSAGES):
            return True
        problem = problem.__cause__ or problem.__context__
    return False


def _has_memory() -> bool:
    try:
        bytes(_ENOUGH_BYTES)  # reserves zeroed memory, but touches none of it
    except MemoryError:
        return False
    return True
