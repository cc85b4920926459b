"""Why fio failed, in its own words, and the way out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_WAYS_OUT: Final[tuple[tuple[str, str], ...]] = (
    ("func=unlink", "the target is smaller than filesize; lower filesize or leave it out"),
    ("str_numa_memnodes_cb", "the host has no such NUMA node, or its fio no libnuma; leave memory_node out"),
    ("only supports up to", "name CPUs that the host has in cpus, or leave it at auto"),
    ("too large (max=", "name CPUs that the host has in cpus, or leave it at auto"),
    ("cpu_set_affinity", "name CPUs that the account may use in cpus, or leave it at auto"),
    ("verify: bad", "what was read is not what was written: the drive, its cable or memory is at fault"),
    (
        "does not support direct",
        "the file system has no O_DIRECT: set direct to false, or work on another file system",
    ),
    ("destination does not support O_DIRECT", "set direct to false, or work on another file system"),
    ("not loadable", "this fio was built without that engine; set engine to auto or to one that `fio --enghelp` lists"),
    ("failed to load engine", "set engine to auto or to one that `fio --enghelp` lists"),
    ("file creation disallowed", "the target does not exist; make the file first, or leave file_names out"),
    ("blocksize is larger than", "the target is smaller than block_size; name a larger one, or lower block_size"),
    ("need to specify size", "the target does not exist or is empty; make and fill the file first"),
    ("refusing extend", "the target is smaller than filesize; lower filesize or leave it out"),
    ("No space left", "the file system is full; lower filesize or take another work folder"),
    ("Operation not permitted", "the account may not open the target; run with the rights to it"),
    ("Permission denied", "the account may not open the target; run with the rights to it"),
    ("Is a directory", "name a file or a device"),
    ("io_setup", "the host has no room for so many requests; lower iodepth or numjobs, or raise fs.aio-max-nr"),
    ("Resource temporarily unavailable", "lower iodepth or numjobs, or raise fs.aio-max-nr on the host"),
    ("Cannot allocate memory", "lower iodepth, numjobs or block_size, or raise the memlock limit for io_uring"),
    ("Text file busy", "the target is in use (swap, or a program that runs); name another"),
    ("Device or resource busy", "the target is in use; name another"),
    ("Input/output error", "the drive reports an error; look into the kernel log of the host"),
    ("Bad option", "this fio does not know the option; install fio 3.30 or newer"),
    ("Invalid argument", "block_size may not fit the sectors of the target; direct needs multiples of them"),
)
_MAX_LINE: Final = 300


def failure(status: int, texts: Sequence[str]) -> str:
    """One message from the exit status and what fio printed, `texts` in order of trust."""
    lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    how = f"fio failed with status {status}" if status > 0 else f"fio was killed by signal {-status}"
    if status == 0:
        how = "fio did not do what was asked"
    for needle, way_out in _WAYS_OUT:
        line = next((line for line in lines if needle in line), None)
        if line is not None:
            return f"{how}: {_short(line)}; {way_out}"
    line = next((line for line in lines if "error=" in line or line.startswith("fio: ")), lines[0] if lines else "")
    return f"{how}: {_short(line)}" if line else f"{how} and said nothing"


def _short(line: str) -> str:
    """One line without control characters, bounded."""
    shown = "".join(mark if mark.isprintable() else "\N{REPLACEMENT CHARACTER}" for mark in line)
    return shown if len(shown) <= _MAX_LINE else shown[:_MAX_LINE] + "..."
