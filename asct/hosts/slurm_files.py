"""Files of a node over one step of its job: asked for by lines of shell words, as slurm_files.sh answers them."""

from __future__ import annotations

import posixpath
import re
import secrets
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

from asct.errors import HostError, HostLost
from asct.hosts import problems, script
from asct.hosts.incoming import save
from asct.hosts.slurm_process import StepChannel

SERVER = Path(__file__).with_name("slurm_files.sh")
_TAIL_BYTES = 1 << 16
_BLOCK = 1 << 16
_PAUSE_S = 1.0
_SIZE = re.compile("[0-9]{1,15}")


class SlurmFiles:
    """FileTransfer through a channel that runs slurm_files.sh; a file that is sent has a channel of its own.

    Everything is read on the node: what lies in a folder that is shared with this machine would show here late.
    """

    def __init__(self, host: str, place: str, start: Callable[[str], StepChannel]) -> None:
        self._host = host
        self._place = place
        self._start = start
        self._channel = start(SERVER.read_text(encoding="utf-8"))
        self._rest = b""
        word, _ = self._answer()
        self._done((word, 0))

    def alive(self) -> bool:
        """Whether its step has not ended."""
        return self._channel.running()

    def fetch(self, source: str, target: Path, max_bytes: int) -> bool:
        word, size = self._ask("fetch", source, str(max_bytes), most=max_bytes)
        if word == "odd":
            raise HostError(self._host, problems.not_regular(self._host, source))
        if word == "missing":
            raise HostError(self._host, problems.file_failed(self._host, source, "No such file or directory"))
        if word == "large":
            return False
        blocks = self._content(size)
        try:
            save(target, blocks)
        finally:
            for _ in blocks:  # what could not be written here is still to be read
                pass
        return True

    fetch_regular = fetch

    def tail(self, path: str, offset: int) -> bytes:
        _, size = self._ask("more", path, str(offset), str(_TAIL_BYTES))
        return b"".join(self._content(size))

    def exists(self, path: str) -> bool:
        return self._ask("exists", path)[0] == "there"

    def make_folder(self, path: str) -> bool:
        return self._done(self._ask("folder", path)) == "ok"

    def write(self, target: str, data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        self._done(self._ask("text", target, _partial(target), text))

    def store(self, source: Path, target: str, partial: str, mode: int) -> None:
        self._done(self._ask("folder", posixpath.dirname(target)))
        size = source.stat().st_size
        channel = self._start(f"umask 077; exec cat >{shlex.quote(partial)}")
        try:
            with source.open("rb") as data:
                while block := data.read(_BLOCK):
                    channel.send(block)
            channel.finish_input()
            while self._received(channel):
                pass
        finally:
            channel.close()
        self._done(self._ask("settle", target, partial, f"{mode:o}", str(size)))

    # ---- one question, one answer

    def _ask(self, function: str, path: str, *values: str, most: int = _TAIL_BYTES) -> tuple[str, int]:
        """The word of the answer, and how many bytes follow: no more than `most`, whatever the node says."""
        line = script.call(self._host, function, path, *values) + "\n"
        self._channel.send(line.encode("utf-8", "surrogateescape"))
        word, rest = self._answer()
        if word == "no":
            raise HostError(self._host, problems.file_failed(self._host, path, rest))
        if word != "ok":
            return word, 0
        if not _SIZE.fullmatch(rest) or int(rest) > most:
            raise self._strange(rest)
        return word, int(rest)

    def _strange(self, text: str) -> HostError:
        return HostError(self._host, problems.strange_shell(self._place, "moving files", text))

    def _done(self, answer: tuple[str, int]) -> str:
        """The word of an answer whose content does not matter."""
        word, size = answer
        if word == "ok":
            for _ in self._content(size):
                pass
        return word

    def _answer(self) -> tuple[str, str]:
        while b"\n" not in self._rest:
            if len(self._rest) > script.LONGEST_LINE:
                raise self._strange(self._rest.decode("utf-8", "replace"))
            self._rest += self._received(self._channel)
        line, _, self._rest = self._rest.partition(b"\n")
        word, _, rest = line.decode("utf-8", "replace").removeprefix("asct:").partition(" ")
        return word, rest

    def _content(self, size: int) -> Iterator[bytes]:
        """`size` bytes and the line feed behind them, which is not handed on."""
        left = size
        while left >= 0:
            block, self._rest = self._rest[: left + 1], self._rest[left + 1 :]
            if not block:
                self._rest = self._received(self._channel)
                continue
            content = block[:left]
            left -= len(block)
            if content:
                yield content

    def _received(self, channel: StepChannel) -> bytes:
        """The next bytes; waits until the link's own limit ends the channel."""
        while True:
            try:
                data = channel.receive(_PAUSE_S)
            except TimeoutError:
                continue
            if not data and channel is self._channel:
                raise HostLost(self._host, problems.connection_lost(self._place, "moving files", channel.trouble()))
            return data


def _partial(target: str) -> str:
    return f"{target}.{secrets.token_hex(6)}.part"
