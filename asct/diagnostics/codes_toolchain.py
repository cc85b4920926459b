"""E400-E419: building kernels."""

from __future__ import annotations

from asct.diagnostics.codetext import CodeText

CODES: dict[str, CodeText] = {
    "E401": CodeText(
        "no kernels for this architecture",
        "asct's kernels are written for x86_64 and aarch64. The host says another architecture (`uname -m`), or its\n"
        "facts could not be read. Benchmarks that use fio only still run there.",
    ),
    "E402": CodeText(
        "no such kernel",
        "A benchmark asks for a kernel that is not in kernels/. The installation is incomplete, or a benchmark of\n"
        "your own names a kernel that does not exist. `asct list kernels` lists them.",
    ),
    "E403": CodeText(
        "no compiler",
        "A kernel is compiled on the host; without a compiler there it is compiled here for the host's architecture\n"
        "and pushed. Neither place has one. The hint names the packages; one of the two places is enough.",
    ),
    "E404": CodeText(
        "a kernel does not compile",
        "The compiler reported errors. The first lines stand in the message, everything in build/<host>/<kernel>.log\n"
        "of the run.",
    ),
    "E405": CodeText(
        "a kernel cannot be kept on the host",
        "The binary was built, but it is not whole in the host's cache folder ($XDG_CACHE_HOME/asct, ~/.cache/asct,\n"
        "or `cache` in the work folder). A full disk, missing rights, or a file system mounted noexec.",
    ),
    "E406": CodeText(
        "no static C library",
        "Kernels are linked statically so that they run anywhere. The linker does not find libc.a: install the\n"
        "package in the hint.",
    ),
}
