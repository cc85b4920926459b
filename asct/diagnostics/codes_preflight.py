"""Texts of the codes E420 to E449: what a host lacks for a job, found before the job runs."""

from __future__ import annotations

from asct.diagnostics.codetext import CodeText

CODES: dict[str, CodeText] = {
    "E420": CodeText(
        "program missing on a host",
        "A benchmark runs a program (fio, mpstat) that the host does not have on its PATH. Its jobs on this host are "
        "skipped. Install the package named in the hint on that host; asct never installs anything itself.",
    ),
    "E421": CodeText(
        "program too old on a host",
        "The program is there but older than the benchmark can use: its options or its output differ. Install a newer "
        "version on that host, in front of the old one on the PATH.",
    ),
    "E422": CodeText(
        "not enough memory on a host",
        "A point needs more memory than the host has available (MemAvailable of /proc/meminfo), so it would swap or be "
        "killed. Lower the size (`data_size`, the largest size of a sweep) or free memory.",
    ),
    "E423": CodeText(
        "not enough scratch space on a host",
        "The temporary file of a job, plus a reserve, does not fit into the file system of the work folder. Lower "
        "`filesize`, or give the host another `workdir` in the plan.",
    ),
    "E424": CodeText(
        "named file missing on a host",
        "A point reads a file or device that the plan names and the host does not have. Correct `file_names`, or leave "
        "it out: asct then makes a temporary file of its own.",
    ),
    "E425": CodeText(
        "folder of a named file missing",
        "A point would make a file that the plan names, in a folder that the host does not have. asct makes no folders "
        "outside its work folder: make it, or correct `file_names`.",
    ),
    "E426": CodeText(
        "facts of a host cannot be read",
        "The host answered but did not give what asct must know of it (CPUs, memory). Nothing is measured on it. "
        "The raw answers are in `facts/<host>/` of the run.",
    ),
    "E427": CodeText(
        "too few CPUs on a host",
        "The measurement needs several CPUs at once (one thread loads the memory while another measures, two threads "
        "pass a line) and fewer are online and within the affinity mask or cpuset of the account. Widen the mask, or "
        "leave the benchmark out on this host.",
    ),
    "E430": CodeText(
        "existing file would be overwritten",
        "A point writes to a file that exists and was not made by this run. asct writes to it only if `overwrite: true`"
        " stands beside it in the benchmark's `config`. Without a named file, asct makes and removes its own.",
    ),
    "E431": CodeText(
        "target is not a regular file",
        "A point would write to something that is not a regular file: a block device, a folder, a pipe. Writing to a "
        "device needs consent with its serial under `safety.destroys` and checks on the host; until both hold the job "
        "is refused. Reading a device is allowed.",
    ),
    "E432": CodeText(
        "host is busy",
        "Other work competed for the CPUs when the run began, by the kernel's pressure figures or, without them, by "
        "the load average. Nothing is refused: batches that were disturbed are dropped and counted, and intervals "
        "widen. But bandwidth, I/O rates and tail latencies may be worse than the machine can do. Measure again when "
        "it is idle before comparing.",
    ),
}
