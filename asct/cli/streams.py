"""Standard streams that survive a full disk or a closed stream. Output that cannot be written is discarded, and the
first failure is remembered. A run therefore finishes, and its exit code stays correct.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


_SIMILAR: Final = dict(
    zip(
        "–—‑…±×µμ→←≥≤·•“”‘’─━╸│├└┌┐┘┤┬┴┼▁▂▃▄▅▆▇█\N{NO-BREAK SPACE}",
        "---.~xuu><><.*\"\"''-##||`,.'|+++_.:-=+*# ",
        strict=True,
    )
)
"""ASCII characters that replace characters of the same width. The last eight replace the characters of sparklines."""


def similar(problem: UnicodeError) -> tuple[str, int]:
    """Replace characters that an encoding lacks with similar ASCII characters or, failing that, with question marks.
    This is an error handler for `codecs.register_error`."""
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    return "".join(_SIMILAR.get(mark, "?") for mark in problem.object[problem.start : problem.end]), problem.end


SIMILAR: Final = "asct.similar"
"""The name of the error handler `similar`."""
codecs.register_error(SIMILAR, similar)


class OutputFile(io.FileIO):
    """An output stream that discards data that it cannot write. A closed pipe still raises BrokenPipeError."""

    failure: OSError | None = None
    """The first write error."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write `data` and return its size, even after a failure."""
        size = memoryview(data).nbytes
        if self.failure is not None:
            return size
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as failure:
            self.failure = failure
            return size


def protect_streams() -> None:
    """Open /dev/null in place of closed standard streams, and make stdout and stderr discard data that they cannot
    write. Otherwise, a file in the results tree could get the file descriptor of a closed stream and receive the
    stream's output."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # POSIX: open returns the lowest free descriptor, which is `number`
    sys.stdout = _protected(sys.stdout, 1)
    sys.stderr = _protected(sys.stderr, 2)


def _protected(stream: TextIO | None, number: int) -> TextIO:
    buffer = io.BufferedWriter(OutputFile(number, "wb", closefd=False))
    if stream is None:  # the stream was closed when the interpreter started
        return io.TextIOWrapper(buffer, encoding="utf-8", errors="replace")
    errors = stream.errors if stream.encoding.lower().startswith("utf") else SIMILAR
    return io.TextIOWrapper(buffer, stream.encoding, errors, line_buffering=number == 2 or stream.isatty())


def lost_output() -> OSError | None:
    """Flush stdout and return its first write error, or None if everything was written."""
    sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw.failure if isinstance(raw, OutputFile) else None
