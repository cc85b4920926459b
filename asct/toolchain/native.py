"""Build a kernel on the host itself, as one task: the sources go along, the binary stays there."""

from __future__ import annotations

import shlex
from pathlib import Path

from asct.hosts.base import Host, Process, Task
from asct.toolchain import hostcache
from asct.toolchain.compilers import Compiler
from asct.toolchain.failure import BuildFailed, compile_error
from asct.toolchain.sources import Sources

TIMEOUT_S = 120.0


def build(host: Host, tree: Sources, compiler: Compiler, target: str, log: Path) -> str:
    """Compile into the host's cache at `target`; returns the SHA-256 of the binary. Raises BuildFailed, HostError."""
    folder = f"{host.work}/build-{tree.kernel}"
    command = tree.command(compiler.path, "kernel.out")
    process = Process(tuple(command), folder, stdout_file="build.out", stderr_file="build.err")
    into = log.parent / f".{tree.kernel}"
    done = host.run(Task(process, into, files=tree.files, timeout_s=TIMEOUT_S))
    text = "".join(_taken(into / name) for name in ("build.out", "build.err"))
    into.rmdir()
    with log.open("a", encoding="utf-8") as file:
        file.write(f"on {host.name}, {compiler.identity}\n$ {shlex.join(command)}\n{text}[status {done.status}]\n")
    if done.status != 0:
        raise compile_error(tree.kernel, compiler.path, host.name, text or _ending(done.status), log)
    installed = hostcache.install(host, f"{folder}/kernel.out", target)
    host.remove(folder)
    sha256 = hostcache.verified(host, target) if installed else None
    if sha256 is None:
        raise BuildFailed(hostcache.unusable(host.name, tree.kernel, target))
    return sha256


def _taken(path: Path) -> str:
    try:
        text = path.read_text("utf-8", "replace")
        path.unlink()
    except FileNotFoundError:
        return ""
    return text


def _ending(status: int | None) -> str:
    return "it took too long" if status is None else f"it ended with status {status} and said nothing"
