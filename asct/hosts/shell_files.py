"""File transfer through a shell on the host, which executes files.sh."""

from __future__ import annotations

import contextlib
import posixpath
import re
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

from asct.errors import HostError, HostLost, StoreError
from asct.hosts import errors, script
from asct.hosts.downloads import save
from asct.hosts.link import Channel
from asct.resources import shell

COMMAND = "exec sh -s"
"""The command whose channel `ShellFiles` needs."""
_BYTES = 1 << 16
_BLOCK = 48 << 10
"""Maximum number of bytes that are sent before the host must confirm them. A pipe to a program holds more, so that
sending does not have to wait."""
_PAUSE_S = 1.0
_SIZE = re.compile("[0-9]{1,15}")
_MARK = b"asct:"
_MOST_LINES = 1000
"""Maximum number of lines that a login script may print before the shell is ready, or before a reply."""
_REPLIES = {
    "fetch": ("ok", "odd", "large"),
    "part": ("ok",),
    "sums": ("ok", "missing"),
    "exists": ("there", "missing"),
    "folder": ("done", "there"),
    "store": ("done",),
}
"""The first words of the replies to each function, except `no`."""


class ShellFiles:
    """A FileTransfer over one channel to a shell that executes files.sh. The first request waits until the shell is
    ready.

    `progress` is called with the number of bytes of a file that have arrived, here or at the host, also with 0 after
    each pause.
    """

    def __init__(self, host: str, label: str, channel: Channel, progress: Callable[[int], None]) -> None:
        self._host = host
        self._label = label
        self._channel = channel
        self._progress = progress
        self._stderr = ""
        self._rest = b""
        self._ready = False
        self._busy = False
        """Whether a reply has not been read to its end. If reading it failed, no other request can be sent."""
        channel.send(shell(__file__, "files.sh").encode())

    def wait_until_ready(self) -> None:
        """Wait until the shell has read its functions. Before that, it would take a request for another function."""
        for _ in range(_MOST_LINES):
            if self._ready:
                return
            self._ready = self._line() == b"asct:ready"
        raise self._unexpected("too many lines before the first reply")

    def fetch(self, source: str, target: Path, max_bytes: int) -> bool:
        word, content = self._request("fetch", source, str(max_bytes), limit=max_bytes + 1)
        if word == "odd":
            raise HostError(self._host, errors.problem("not_regular", self._host, path=source))
        if word == "large":
            return False
        try:
            save(target, self._whole(source, content))
        except StoreError:
            for _ in content:  # the next reply follows the rest
                pass
            raise
        except HostError:
            with contextlib.suppress(OSError):
                target.unlink()
            raise
        return True

    fetch_regular = fetch

    def _whole(self, path: str, content: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the content of a file without its last byte. Raises HostError if this byte is zero or missing."""
        last = b""
        for block in filter(None, content):
            yield last + block[:-1]
            last = block[-1:]
        if last in (b"", b"\0"):
            detail = "it became shorter while it was copied, or a part of it cannot be read"
            raise HostError(self._host, errors.problem("file_failed", self._host, path=path, detail=detail))

    def tail(self, path: str, offset: int) -> bytes:
        content = b"".join(self._request("part", path, str(offset), str(_BYTES), limit=_BYTES + 1)[1])
        return b"" if content.endswith(b"\0") else content[:-1]

    def sums(self, path: str) -> list[str]:
        return b"".join(self._request("sums", path, limit=_BYTES)[1]).decode("utf-8", "replace").split()[:2]

    def exists(self, path: str) -> bool:
        return self._request("exists", path)[0] == "there"

    def make_folder(self, path: str) -> bool:
        return self._request("folder", path)[0] == "done"

    def store(self, source: Path, target: str, partial: str, mode: int) -> None:
        self.make_folder(posixpath.dirname(target))
        self._store(target, partial, mode, source.read_bytes())

    def write(self, target: str, data: bytes) -> None:
        self._store(target, f"{target}.{secrets.token_hex(6)}.part", 0o600, data)

    def _store(self, target: str, partial: str, mode: int, data: bytes) -> None:
        for start in range(0, len(data) or 1, _BLOCK):
            if start:
                self._progress(_BLOCK)
            block = data[start : start + _BLOCK]
            sizes = map(str, (len(data), start, len(block)))
            self._request("store", target, partial, f"{mode:o}", *sizes, data=block)

    def _request(
        self, function: str, path: str, *values: str, data: bytes = b"", limit: int = 0
    ) -> tuple[str, Iterator[bytes]]:
        """Send a request. Return the first word of the reply, and the content, which must be read before the next
        request. Raises HostLost if the rest of an earlier reply would be taken for the reply to this request."""
        line = script.call(self._host, function, path, *values) + "\n"
        if self._busy:
            detail = errors.connection_lost(self._label, "moving files", "an earlier transfer was not completed")
            raise HostLost(self._host, detail)
        self.wait_until_ready()
        self._busy = True
        self._channel.send(line.encode("utf-8", "surrogateescape") + data)
        word, rest = self._reply()
        if word not in ("no", *_REPLIES[function]):
            raise self._unexpected(f"{word} {rest}")
        if word == "ok":
            if not _SIZE.fullmatch(rest) or int(rest) > limit:
                raise self._unexpected(rest)
            return word, self._content(int(rest))
        self._busy = False
        if word == "no":
            raise HostError(self._host, errors.problem("file_failed", self._host, path=path, detail=rest))
        return word, iter(())

    def _reply(self) -> tuple[str, str]:
        """Return the first word and the rest of the next reply. Programs that a login script left running may print
        other lines."""
        for _ in range(_MOST_LINES):
            line = self._line()
            if line.startswith(_MARK):
                word, _, rest = line.removeprefix(_MARK).decode("utf-8", "replace").partition(" ")
                return word, rest
        raise self._unexpected("too many lines before a reply")

    def _line(self) -> bytes:
        while b"\n" not in self._rest:
            if len(self._rest) > script.LONGEST_LINE:
                raise self._unexpected(self._rest.decode("utf-8", "replace"))
            self._rest += self._received()
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _content(self, size: int) -> Iterator[bytes]:
        """Yield `size` bytes of content, which a line feed must follow."""
        remaining = size + 1
        while remaining:
            self._rest = self._rest or self._received()
            block, self._rest = self._rest[:remaining], self._rest[remaining:]
            remaining -= len(block)
            if remaining:
                self._progress(len(block))
            elif block.endswith(b"\n"):
                self._busy, block = False, block[:-1]
            else:
                raise self._unexpected("other output within the content of a file")
            yield block

    def _received(self) -> bytes:
        """Return the next bytes, or none after a pause. The link ends the channel when its time limit is reached."""
        try:
            data = self._channel.receive(_PAUSE_S)
        except TimeoutError:
            self._progress(0)
            self._message()  # standard error that is not read would fill the channel and stop it
            return b""
        if not data:
            raise HostLost(self._host, errors.connection_lost(self._label, "moving files", self._message()))
        return data

    def _message(self) -> str:
        """Read standard error, and return the beginning of everything that arrived there."""
        self._stderr = "; ".join(filter(None, (self._stderr, self._channel.message())))[: errors.QUOTED]
        return self._stderr

    def _unexpected(self, text: str) -> HostError:
        return HostError(self._host, errors.strange_shell(self._label, "moving files", text))
