"""Read a host's facts in one exchange: a constant script, its output kept raw, then pure parsers."""

from __future__ import annotations

import hashlib
import secrets
from datetime import UTC, datetime
from pathlib import Path

from asct.facts import cpu, memory, nodes, snapshot, software, system
from asct.facts.gaps import Gaps
from asct.facts.snapshot import Snapshot
from asct.facts.sources import COMMANDS, CPU, FILES, FIRST_LINES, LASTING, PROBES, TOOLS, TRIAL
from asct.hosts.base import Host
from asct.sdk.facts import HostFacts

TIMEOUT_S = 60.0


def collect(host: Host, raw: Path) -> HostFacts:
    """The facts of an open host; what they were read from goes into the folder `raw`. Raises HostError."""
    token = f"asct-{secrets.token_hex(8)}"
    answer = host.answer(["sh", "-s", token, host.work, host.cache], timeout_s=TIMEOUT_S, stdin=script())
    found = snapshot.from_output(answer.stdout, token)
    raw.mkdir(parents=True, exist_ok=True)
    snapshot.write(found, raw)
    return facts_of(found, host.name, datetime.now(UTC))


def facts_of(found: Snapshot, host: str, when: datetime) -> HostFacts:
    """Facts from a snapshot: pure. What cannot be read is null, and `unknown` says why."""
    gaps = Gaps()
    free, filesystem = software.work_folder(found, gaps)
    machine = system.system(found, gaps)
    return HostFacts(
        host=host,
        collected_at=when.strftime("%Y-%m-%dT%H:%M:%SZ"),
        system=machine,
        cpu=cpu.cpu(found, gaps),
        caches=cpu.caches(found, gaps),
        nodes=nodes.nodes(found, gaps),
        memory=memory.memory(found, machine.virtualization, gaps),
        load=system.load(found, gaps),
        tools=software.tools(found),
        io_uring=software.io_uring(found, gaps),
        work_free_bytes=free,
        work_filesystem=filesystem,
        unknown=gaps.reasons,
    )


def script() -> str:
    """The script for `sh -s TOKEN WORK CACHE`. grep prints each line behind its path, so one process reads all files.

    Asking all programs what they are takes half a second, so their answers are kept in the account's cache, until the
    host is started again or one of the programs is another file.
    """
    lasting = _lasting()
    lines = [
        "LC_ALL=C; export LC_ALL; umask 077; token=$1; work=$2; cache=$3",
        "PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        f"first=0; [ ! -r {CPU}/online ] || IFS=-, read -r first rest <{CPU}/online",
        'run() { printf "%s command %s\\n" "$token" "$1"; eval "$2" </dev/null 2>&1;'
        ' printf "\\n%s end %s %s\\n" "$token" "$1" "$?"; }',
        'printf "%s files -\\n" "$token"',
        f"grep '' /dev/null {' '.join(FILES)} 2>/dev/null",
    ]
    for path in FIRST_LINES:
        lines += [f'printf "%s file {path}\\n" "$token"', f"awk -F: '!seen[$1]++' {path} 2>/dev/null"]
    lines += [f"run {name} {_quoted(text)}" for name, text in COMMANDS]
    digest = hashlib.sha256(lasting.encode()).hexdigest()[:12]
    names = " ".join(name for name, _ in TOOLS)
    return "\n".join(
        [*lines, lasting, _KEPT % {"digest": digest, "tools": names}, 'printf "%s over -\\n" "$token"', ""]
    )


def _lasting() -> str:
    """The shell functions `lasting` and `trial`: what stays as it is while a host is up."""
    lines = ["lasting() {", *(f"run {name} {_quoted(text)}" for name, text in LASTING)]
    for name, option in TOOLS:
        lines.append(f"if path=$(command -v {name}); then run tool-{name} 'echo \"$path\"; {name} {option}'; fi")
    lines.append("if command -v fio >/dev/null; then")
    lines += [f"run {name} {_quoted(text)}" for name, text in PROBES]
    lines += ["fi", "}", "trial() {", f"run {TRIAL[0]} {_quoted(TRIAL[1])}", "}"]
    return "\n".join(lines)


# The first line of the kept file says what its answers hold for, the second the token that they were marked with.
_KEPT = """\
boot= host= limit=
[ ! -r /proc/sys/kernel/random/boot_id ] || read -r boot </proc/sys/kernel/random/boot_id
[ ! -r /proc/sys/kernel/hostname ] || read -r host </proc/sys/kernel/hostname
[ ! -r /proc/sys/kernel/io_uring_disabled ] || read -r limit </proc/sys/kernel/io_uring_disabled
set -f
paths=$(for name in %(tools)s; do command -v "$name"; done)
set -- %(digest)s "$boot" "$limit" "$(ulimit -l)" $(readlink /proc/self/ns/pid /proc/self/ns/uts /proc/self/ns/ipc) \
    $([ -z "$paths" ] || ls -lniL $paths 2>/dev/null)
key="$*" kept="$cache/facts-$host" known= marked= found=
[ ! -r "$kept" ] || { IFS= read -r known; IFS= read -r marked; } <"$kept"
if [ -n "$boot" ] && [ "$known" = "$key" ]; then
    found=$(sed "1,2d; s/^$marked /$token /" "$kept")
else
    found=$(lasting)
    known=
fi
printf '%%s\\n' "$found"
case $found in
*" command io_uring"*) ;;
*" command fio-engines"*io_uring*)
    tried=$(trial)
    printf '%%s\\n' "$tried"
    case $tried in
    *" end io_uring 0") found="$found
$tried" known= ;;
    esac ;;
esac
if [ -z "$known" ] && [ -n "$boot" ]; then
    part=$kept.$$
    if { printf '%%s\\n' "$key" "$token" "$found" >"$part"; } 2>/dev/null; then mv -f -- "$part" "$kept"
    else rm -f -- "$part"; fi
fi
"""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
