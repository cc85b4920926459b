"""Kernels on hosts, built with real compilers."""

from __future__ import annotations

import json
import os
import platform
import shutil
import stat
from pathlib import Path

import pytest

from asct import resources
from asct.errors import NotMeasured
from asct.facts.reading import collect
from asct.hosts.base import Host, SessionSpec
from asct.hosts.factory import make_host
from asct.sdk.facts import HostFacts
from asct.toolchain import compilers
from asct.toolchain.hostcache import install
from asct.toolchain.provide import BuiltKernel, provide
from tests.sshd import Sshd
from tests.toolchain.conftest import with_compiler, without_compiler

ARCH = platform.machine()


def finding(error: pytest.ExceptionInfo[NotMeasured]) -> tuple[str, str, str]:
    found = error.value.diagnostics[0]
    return found.code, found.message, found.hint


def test_built_on_the_host_then_cached(local: Host, facts: HostFacts, kernels: Path, tmp_path: Path) -> None:
    first = provide(local, "tiny", facts, tmp_path / "build", kernels)
    assert local.execute([first.path]).stdout == f"{ARCH} 42\n"
    assert (first.cached, first.where) == (False, "host")
    assert "gcc" in first.compiler or "cc" in first.compiler
    assert first.path.startswith(local.cache)
    again = provide(local, "tiny", facts, tmp_path / "build", kernels)
    assert (again.cached, again.path, again.sha256) == (True, first.path, first.sha256)
    document = json.loads((tmp_path / "build" / "tiny.json").read_text())
    assert (document["key"], document["sha256"], document["arch"]) == (first.key, first.sha256, ARCH)
    assert "cached on the host" in (tmp_path / "build" / "tiny.log").read_text()
    assert local.execute(["ls", local.work]).stdout == ""


def test_the_log_has_the_command(local: Host, facts: HostFacts, kernels: Path, tmp_path: Path) -> None:
    built = provide(local, "tiny", facts, tmp_path / "build", kernels)
    text = built.log.read_text()
    for part in ("-O2", "-std=c11", "-static", f"-Iarch/{ARCH}", "tiny/tiny.c", "[status 0]"):
        assert part in text


@pytest.mark.parametrize("changed", ["tiny/tiny.c", "kit/answer.h", f"arch/{ARCH}/arch.h"])
def test_any_change_of_a_source_builds_anew(
    local: Host, facts: HostFacts, kernels: Path, tmp_path: Path, changed: str
) -> None:
    first = provide(local, "tiny", facts, tmp_path / "build", kernels)
    with (kernels / changed).open("a") as file:
        file.write("/* changed */\n")
    second = provide(local, "tiny", facts, tmp_path / "build", kernels)
    assert not second.cached
    assert second.key != first.key


def test_sources_of_other_kernels_and_architectures_do_not_count(
    local: Host, facts: HostFacts, kernels: Path, tmp_path: Path
) -> None:
    first = provide(local, "tiny", facts, tmp_path / "build", kernels)
    other = "aarch64" if ARCH == "x86_64" else "x86_64"
    (kernels / "arch" / other / "arch.h").write_text("changed")
    (kernels / "tiny" / "README.md").write_text("changed")
    (kernels / "more").mkdir()
    (kernels / "more" / "more.c").write_text("int main(void) { return 0; }\n")
    assert provide(local, "tiny", facts, tmp_path / "build", kernels).path == first.path


@pytest.mark.parametrize("harm", ["cut", "swap", "no sum", "not executable"])
def test_a_cached_binary_is_verified(local: Host, facts: HostFacts, kernels: Path, tmp_path: Path, harm: str) -> None:
    first = provide(local, "tiny", facts, tmp_path / "build", kernels)
    binary = Path(first.path)
    if harm == "cut":
        binary.write_bytes(binary.read_bytes()[:1000])
    elif harm == "swap":
        shutil.copy("/bin/true", binary)
    elif harm == "no sum":
        Path(f"{binary}.sha256").unlink()
    else:
        binary.chmod(0o600)
    again = provide(local, "tiny", facts, tmp_path / "build", kernels)
    assert (again.cached, again.path) == (False, first.path)
    assert local.execute([again.path]).stdout == f"{ARCH} 42\n"


def test_private_in_the_cache(local: Host, facts: HostFacts, kernels: Path, tmp_path: Path) -> None:
    built = provide(local, "tiny", facts, tmp_path / "build", kernels)
    assert stat.S_IMODE(Path(built.path).stat().st_mode) == 0o700
    assert sorted(path.name for path in Path(built.path).parent.iterdir()) == ["tiny", "tiny.sha256"]


def test_without_a_compiler_there_it_is_built_here(
    local: Host, facts: HostFacts, kernels: Path, tmp_path: Path, caches: Path
) -> None:
    bare = without_compiler(facts)
    first = provide(local, "tiny", bare, tmp_path / "build", kernels)
    assert (first.where, first.cached) == ("here", False)
    assert local.execute([first.path]).stdout == f"{ARCH} 42\n"
    assert provide(local, "tiny", bare, tmp_path / "build", kernels).cached
    local.remove(str(Path(first.path).parent))
    third = provide(local, "tiny", bare, tmp_path / "build", kernels)
    assert (third.cached, third.sha256) == (False, first.sha256)
    assert "cached on this machine" in third.log.read_text()
    kept = next(path for path in (caches / "asct" / "cross").iterdir() if path.suffix != ".sha256")
    kept.write_bytes(b"harmed")
    local.remove(str(Path(first.path).parent))
    fourth = provide(local, "tiny", bare, tmp_path / "build", kernels)
    assert fourth.sha256 == first.sha256
    assert local.execute([fourth.path]).stdout == f"{ARCH} 42\n"


@pytest.mark.arm
@pytest.mark.skipif(ARCH != "x86_64", reason="cross-compiles from x86_64")
def test_cross_compiled_for_aarch64(local: Host, facts: HostFacts, kernels: Path, tmp_path: Path) -> None:
    built = provide(local, "tiny", without_compiler(facts, "aarch64"), tmp_path / "build", kernels)
    assert built.compiler.startswith("aarch64-linux-gnu-gcc")
    assert local.execute(["qemu-aarch64", built.path]).stdout == "aarch64 42\n"


@pytest.fixture
def no_library(tmp_path: Path) -> Path:
    """Return the compiler of a host without the static C library."""
    fake = tmp_path / "gcc"
    fake.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && { echo "gcc (Fake) 1.0"; exit 0; }\n'
        'echo "/usr/bin/ld: cannot find -lc: No such file or directory" >&2\nexit 1\n'
    )
    fake.chmod(0o755)
    return fake


def test_a_compiler_that_fails_there_is_replaced_by_one_here(
    local: Host, facts: HostFacts, no_library: Path, kernels: Path, tmp_path: Path
) -> None:
    built = provide(local, "tiny", with_compiler(facts, str(no_library)), tmp_path / "build", kernels)
    assert built.where == "here"
    assert "cannot find -lc" in built.log.read_text()


def test_no_static_library_and_no_compiler_here(
    local: Host, facts: HostFacts, no_library: Path, kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilers, "here", lambda arch: None)
    with pytest.raises(NotMeasured) as error:
        provide(local, "tiny", with_compiler(facts, str(no_library)), tmp_path / "build", kernels)
    code, message, hint = finding(error)
    assert code == "E406"
    assert "tiny" in message
    assert "libc6-dev" in hint


def test_no_compiler_anywhere(
    local: Host, facts: HostFacts, kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilers.shutil, "which", lambda name: None)
    with pytest.raises(NotMeasured) as error:
        provide(local, "tiny", without_compiler(facts, "aarch64"), tmp_path / "build", kernels)
    code, message, hint = finding(error)
    assert (code, "aarch64" in message, "gcc-aarch64-linux-gnu" in hint) == ("E403", True, True)
    assert "libc6-dev" in hint


def test_a_compile_error_shows_its_first_lines(local: Host, facts: HostFacts, kernels: Path, tmp_path: Path) -> None:
    (kernels / "tiny" / "tiny.c").write_text('#include "arch.h"\nint main(void) { return nonsense; }\n')
    with pytest.raises(NotMeasured) as error:
        provide(local, "tiny", facts, tmp_path / "build", kernels)
    code, _, hint = finding(error)
    assert code == "E404"
    assert any("nonsense" in note for note, _ in error.value.diagnostics[0].notes)
    log = tmp_path / "build" / "tiny.log"
    assert str(log) in hint
    assert "tiny.c:2" in log.read_text()


@pytest.mark.parametrize(
    ("kernel", "arch", "code"), [("absent", ARCH, "E402"), ("tiny", "riscv64", "E401"), ("tiny", None, "E401")]
)
def test_no_such_kernel(
    local: Host, facts: HostFacts, kernels: Path, tmp_path: Path, kernel: str, arch: str | None, code: str
) -> None:
    system = facts.system.model_copy(update={"arch": arch})
    with pytest.raises(NotMeasured) as error:
        provide(local, kernel, facts.model_copy(update={"system": system}), tmp_path / "build", kernels)
    assert finding(error)[0] == code


@pytest.mark.ssh
def test_over_ssh(sshd: Sshd, kernels: Path, tmp_path: Path) -> None:
    host = make_host(sshd.spec())
    host.open(SessionSpec("run", "a test"))
    try:
        facts = collect(host, tmp_path / "raw")
        for tools, where in ((facts, "host"), (without_compiler(facts), "here")):
            (kernels / "kit" / "answer.h").write_text(f"#define ANSWER 42 /* {tmp_path.name} {sshd.port} {where} */\n")
            built = provide(host, "tiny", tools, tmp_path / "build", kernels)
            assert (built.where, built.cached) == (where, False)
            assert host.execute([built.path]).stdout == f"{ARCH} 42\n"
            assert provide(host, "tiny", tools, tmp_path / "build", kernels).cached
            host.remove(str(Path(built.path).parent))
    finally:
        host.close()


@pytest.mark.kernels
def test_the_kernels_of_asct(local: Host, facts: HostFacts, tmp_path: Path) -> None:
    folder = resources.folder("kernels")
    names = sorted(path.stem for path in folder.glob("*/*.c") if path.stem == path.parent.name)
    assert "noop" in names
    built: list[BuiltKernel] = [provide(local, name, facts, tmp_path / "build") for name in names]
    assert all(local.execute([one.path, "--describe"]).status == 0 for one in built)


@pytest.mark.arm
@pytest.mark.kernels
@pytest.mark.skipif(ARCH != "x86_64", reason="cross-compiles from x86_64")
@pytest.mark.parametrize(
    ("kernel", "options"),
    [("noop", []), ("chase", ["--sizes", "4096,65536", "--time-cap-ms", "20"])],
)
def test_the_kernels_of_asct_on_aarch64(
    local: Host, facts: HostFacts, tmp_path: Path, kernel: str, options: list[str]
) -> None:
    built = provide(local, kernel, without_compiler(facts, "aarch64"), tmp_path / "build")
    assert built.compiler.startswith("aarch64-linux-gnu-gcc")
    done = local.execute(["qemu-aarch64", built.path, *options], timeout_s=120)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.status == 0, done.stderr
    assert (lines[0]["t"], lines[0]["arch"]) == ("meta", "aarch64")
    assert (lines[-1]["t"], lines[-1]["ok"]) == ("end", True)


def test_a_copy_that_does_not_fit_leaves_no_part(local: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is simulated by a cp that stores only the first byte."""
    cp, target = tmp_path / "bin" / "cp", tmp_path / "cache" / "k" / "kernel"
    cp.parent.mkdir()
    cp.write_text('#!/bin/sh\nhead -c 1 "$2" >"$3"; exit 1\n')
    cp.chmod(0o755)
    (tmp_path / "built").write_text("kernel")
    monkeypatch.setenv("PATH", f"{cp.parent}:{os.environ['PATH']}")
    assert not install(local, str(tmp_path / "built"), str(target))
    assert list(target.parent.iterdir()) == []
