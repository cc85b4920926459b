"""A separate /var/tmp for each process that runs tests. asct allows one run at a time on a machine, and its lock is in
/var/tmp, so concurrent tests would otherwise wait for one another or be refused.

This requires root (a mount namespace). Tests under other accounts are run one after another (`pytest -n 0`).
"""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import tempfile
from pathlib import Path

_CLONE_NEWNS = 0x00020000
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18


def separate() -> None:
    """Give this process and its children an empty /var/tmp on the disk of the temporary folder."""
    if os.geteuid() != 0:
        return
    folder = Path(tempfile.mkdtemp(prefix="asct-vartmp-"))
    folder.chmod(0o1777)
    libc = ctypes.CDLL(None, use_errno=True)
    owner = os.getpid()

    def forget() -> None:
        if os.getpid() == owner:
            libc.umount2(b"/var/tmp", 2)
            shutil.rmtree(folder, ignore_errors=True)

    for failed in (
        libc.unshare(_CLONE_NEWNS),
        libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None),
        libc.mount(str(folder).encode(), b"/var/tmp", None, _MS_BIND, None),
    ):
        if failed:
            raise OSError(ctypes.get_errno(), "no mount namespace for the tests")
    atexit.register(forget)
