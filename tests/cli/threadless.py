"""Run a program that cannot start threads: `python threadless.py PROGRAM ARGUMENT...`

The Linux kernel refuses new threads, but not new processes, with the same error as at a limit on their number. Unlike
such a limit, a seccomp filter also applies to root, and the threads of concurrent tests do not count. See seccomp(2).
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

CLONE = {"x86_64": 56, "aarch64": 220}
CLONE3 = 435
CLONE_THREAD = 0x00010000
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38
SECCOMP_MODE_FILTER = 2
ALLOW, FAIL = 0x7FFF0000, 0x00050000
LOAD, IF_EQUAL, IF_SET, RETURN = 0x20, 0x15, 0x45, 0x06
NUMBER, FIRST_ARGUMENT = 0, 16
"""Offsets in struct seccomp_data."""


def program() -> bytes:
    """Return the filter. The number after each comparison is the number of instructions to skip if it is false."""
    return b"".join(
        struct.pack("=HBBI", *instruction)
        for instruction in (
            (LOAD, 0, 0, NUMBER),
            (IF_EQUAL, 0, 1, CLONE3),
            (RETURN, 0, 0, FAIL | errno.ENOSYS),  # its flags are in memory; glibc then uses clone
            (IF_EQUAL, 0, 3, CLONE[platform.machine()]),
            (LOAD, 0, 0, FIRST_ARGUMENT),
            (IF_SET, 0, 1, CLONE_THREAD),
            (RETURN, 0, 0, FAIL | errno.EAGAIN),
            (RETURN, 0, 0, ALLOW),
        )
    )


def forbid_threads() -> None:
    """Apply the filter to this process and the programs that it starts."""
    code = program()
    buffer = ctypes.create_string_buffer(code)
    header = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0)):
        if prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    forbid_threads()
    os.execvp(sys.argv[1], sys.argv[1:])
