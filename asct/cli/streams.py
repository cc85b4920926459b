"""Standard streams that survive a full disk, a closed stream or a closed pipe. Output that cannot be written is
discarded, and the first failure is remembered. A run therefore finishes, and its exit code stays correct.
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
    """An output stream that discards data that it cannot write."""

    failure: OSError | None = None
    """The first write error other than a closed pipe."""
    needs_reader = False
    """Whether writing to a closed pipe raises BrokenPipeError."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write `data` and return its size, even after a failure."""
        size = memoryview(data).nbytes
        if self.failure is not None:
            return size
        try:
            return super().write(data)
        except BrokenPipeError:
            if self.needs_reader:
                raise
            return size
        except OSError as failure:
            self.failure = failure
            return size


def protect_streams() -> None:
    """Open /dev/null in place of closed standard streams, and make stdout and stderr discard data that they cannot
    write. Otherwise, a file in the results tree could get the file descriptor of a closed stream and receive the
    stream's output. If stdout is a closed pipe, writing to it raises BrokenPipeError until `continue_without_reader` is
    called."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # POSIX: open returns the lowest free descriptor, which is `number`
    sys.stdout = _protected(sys.stdout, 1)
    sys.stderr = _protected(sys.stderr, 2)
    if (raw := _raw_stdout()) is not None:
        raw.needs_reader = True


def continue_without_reader() -> None:
    """Discard further output to stdout if it is a closed pipe."""
    if (raw := _raw_stdout()) is not None:
        raw.needs_reader = False


def _raw_stdout() -> OutputFile | None:
    """Return the stream below stdout, or None if `protect_streams` has not been called."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw if isinstance(raw, OutputFile) else None


def _protected(stream: TextIO | None, number: int) -> TextIO:
    buffer = io.BufferedWriter(OutputFile(number, "wb", closefd=False))
    if stream is None:  # the stream was closed when the interpreter started
        return io.TextIOWrapper(buffer, encoding="utf-8", errors="replace")
    errors = stream.errors if stream.encoding.lower().startswith("utf") else SIMILAR
    return io.TextIOWrapper(buffer, stream.encoding, errors, line_buffering=number == 2 or stream.isatty())


def lost_output() -> OSError | None:
    """Flush stdout and return its first write error, or None if everything was written."""
    sys.stdout.flush()
    return None if (raw := _raw_stdout()) is None else raw.failure
