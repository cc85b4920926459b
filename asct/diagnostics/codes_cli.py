"""E9xx: the command line and asct itself."""

from __future__ import annotations

from asct.diagnostics.codetext import CodeText

CODES: dict[str, CodeText] = {
    "E901": CodeText(
        "interrupted",
        "The command was stopped by SIGINT (Ctrl-C) or SIGTERM. What runs on the hosts was ended, temporary files\n"
        "were removed, and what had been measured is in the results tree. The exit code is 130 or 143.",
    ),
    "E910": CodeText(
        "wrong usage",
        "An option, argument or command that asct does not know, or a value that it cannot take. The message names\n"
        "it; `asct help COMMAND` shows what a command takes. The exit code is 2.",
    ),
    "E911": CodeText(
        "the output folder exists",
        "asct writes into a new folder so that results are never mixed. Name another one with `--output-dir`, or add\n"
        "`--force` to write into the one that exists.",
    ),
    "E912": CodeText(
        "a file cannot be written",
        "The system refused to make or write a file that was asked for. The message has its reason: a missing right,\n"
        "a full disk, a folder that is a file. Choose another place or mend the cause.",
    ),
    "E913": CodeText(
        "nothing is selected",
        "The names, keywords, tags or hosts given leave nothing to run. A run of nothing cannot pass, so this is an\n"
        "error with exit code 2. `asct list` shows names and keywords.",
    ),
    "E914": CodeText(
        "not the approved plan",
        "`apply --approve HASH` runs a plan only if it is the one that was looked at. The plan, its settings or its\n"
        "hosts have changed since, so it is refused with exit code 4. `asct plan` shows the plan and its hash as it\n"
        "is now.",
    ),
    "E920": CodeText(
        "not a snapshot of a machine",
        "`--from` takes what can be read of a machine elsewhere: a folder or a tar (also packed by gzip, bzip2 or xz)\n"
        "with files of its /proc and /sys, wherever in it they stand, or the `snapshot.txt` that a run keeps in\n"
        "`facts/<host>/`. One machine at a time. `tar -czf machine.tar.gz /proc/cpuinfo /sys/devices/system` on that\n"
        "machine makes a small one. The exit code is 2.",
    ),
    "E921": CodeText(
        "a snapshot that is not whole",
        "The snapshot was read, but not all of it: the archive is cut off or damaged, a member would lie outside of\n"
        "its folder, or a file is too large. What was left out is unknown in the report. Make the snapshot again if\n"
        "it matters.",
    ),
    "E970": CodeText(
        "a bug in asct",
        "Something that asct did not foresee. The message names a file with the details; results written so far are\n"
        "kept. Please report it together with that file. The exit code is 70.",
    ),
}
