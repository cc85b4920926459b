"""The one script that reads all facts of a host: made of the lists in sources/, a constant for `sh -s`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from asct.facts.sources import COMMANDS, CPU, FILES, FOLDERS, LASTING, PROBES, TOOLS, TRIAL
from asct.facts.sources.model import Command, Folders
from asct.facts.sources.storage import SECRET_OPTION

LANES = 4
"""So many programs are asked for their versions at a time."""
MOST_LINES = 2000
"""Of one file."""
MOST_BYTES = 400_000
"""Of all files; as much again of what is printed once for many CPUs. A host's answer may have 1 MiB in all."""


def script() -> str:
    """The script for `sh -s TOKEN WORK CACHE`. WORK is the folder of a session and CACHE the account's; without CACHE
    one only looks: WORK need not exist, and the script finds the cache by itself.

    grep prints each line behind its path, so one process reads all files, and one of awk packs and bounds them. Asking
    all programs what they are takes half a second, so their answers are kept in the account's cache, until the host is
    started again or one of the programs is another file.
    """
    lasting = _lasting()
    digest = hashlib.sha256(lasting.encode()).hexdigest()[:12]
    tools = " ".join(name for name, _ in TOOLS)
    awk = _AWK % {"cpu": CPU, "lines": MOST_LINES, "bytes": MOST_BYTES}
    return "\n".join(
        [
            _BEGIN,
            MOST,
            *(_giver(number, folders) for number, folders in enumerate(FOLDERS)),
            "paths() {",
            f"printf '%s\\0' {' '.join(FILES)}",
            *(
                f"each give{number} {folders.most} {' '.join(folders.patterns)}"
                for number, folders in enumerate(FOLDERS)
            ),
            "}",
            *(f"excess {folders.field} {folders.most} {' '.join(folders.patterns)}" for folders in FOLDERS),
            'printf "%s files -\\n" "$token"',
            f"paths | xargs -0 grep '' /dev/null 2>/dev/null | {_VEIL} | pack {_quoted(awk)}",
            *_runs(COMMANDS),
            lasting,
            _KEPT % {"digest": digest, "tools": tools},
            'printf "%s over -\\n" "$token"',
            "",
        ]
    )


def _giver(number: int, folders: Folders) -> str:
    """The shell function that prints the paths of the files of one folder."""
    paths = " ".join(f'"$1"/{name}' for name in folders.files)
    return f"give{number}() {{ printf '%s\\0' {paths}; }}"


def _lasting() -> str:
    """The shell functions `lasting` and `trial`: what stays as it is while a host is up. Each of several processes asks
    for a part and hands on what those before it found, so nothing has to be written to a file meanwhile."""
    parts = list(_runs(LASTING))
    parts += [
        f"if path=$(command -v {name}); then run tool-{name} 'echo \"$path\"; {name} {option}'; fi"
        for name, option in TOOLS
    ]
    parts += [f"if command -v fio >/dev/null; then {run}; fi" for run in _runs(PROBES)]
    lines = [_function(f"lane{number}", parts[number::LANES]) for number in range(LANES)]
    lanes = " | ".join(["trial </dev/null", *(f"lane lane{number}" for number in range(LANES))])
    trial = ["command -v fio >/dev/null || return 0", *_runs([TRIAL])]
    return "\n".join([*lines, _function("trial", trial), f"lasting() {{ {lanes}; }}"])


def _function(name: str, lines: Iterable[str]) -> str:
    return "\n".join([f"{name}() {{", *lines, "}"])


def _runs(commands: Sequence[Command]) -> Iterable[str]:
    return (f"run {name} {_quoted(text)}" for name, text in commands)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


MOST = """\
most() {
    if command -v awk >/dev/null; then
        awk -v mark="$token left $1" -v most="$2" 'NR <= most; END { if (NR > most) print mark, NR - most }'
    else cat; fi
}"""
"""The function of the shell that a command bounds its lines with."""

_BEGIN = """\
LC_ALL=C; export LC_ALL; umask 077; token=$1 work=$2 cache=$3 spare=$2
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
if [ -z "$cache" ]; then
    case ${XDG_CACHE_HOME:-} in
    /*) cache=$XDG_CACHE_HOME/asct ;;
    *) [ ! -d "${HOME:-}" ] || cache=$HOME/.cache/asct ;;
    esac
    [ -z "$cache" ] || [ -e "$cache" ] || mkdir -p -- "$cache" 2>/dev/null
    { [ -n "$cache" ] && [ -d "$cache" ] && [ ! -h "$cache" ] && [ -O "$cache" ] && [ -w "$cache" ]; } || cache=
    case $(ls -ld -- "$cache" 2>/dev/null) in
    ?????w* | ????????w*) cache= ;;
    esac
    spare=$cache
    until [ -d "$work" ]; do
        case $work in
        /*/*) work=${work%/*} ;;
        *) work=/ ;;
        esac
    done
fi
run() {
    printf '%s command %s\\n' "$token" "$1"
    eval "$2" </dev/null 2>&1
    printf '\\n%s end %s %s\\n' "$token" "$1" "$?"
}
each() {
    give=$1 most=$2
    shift 2
    if [ $# -le "$most" ]; then
        for at; do "$give" "$at"; done
        return
    fi
    count=0
    for pass in hardware other; do
        for at; do
            kind=other
            [ ! -e "$at/device" ] || kind=hardware
            [ "$kind" = "$pass" ] || continue
            [ "$count" -lt "$most" ] || return 0
            count=$((count + 1))
            "$give" "$at"
        done
    done
}
excess() {
    field=$1 most=$2
    shift 2
    [ $# -le "$most" ] || printf '%s left %s %s\\n' "$token" "$field" $(($# - most))
}
lane() {
    found=$("$1")
    cat
    printf '%s\\n' "$found"
}
pack() { if command -v awk >/dev/null; then awk -v token="$token" "$1"; else cat; fi; }"""

# Mounts may name who they are for, with a password (ftp://user:password@server, a file system of FUSE): it never leaves
# the host. The parser does the same with what comes from a copy of /proc (mounts.veiled).
_VEIL = f"""\
sed -E -e '/^\\/proc\\/self\\/mount/!b' -e 's/\\/\\/[^ ]*@/\\/\\/***@/g' \\
    -e 's/{SECRET_OPTION}/\\1=***/g'"""

# What many CPUs have in common is printed once, behind their numbers: of the files of each CPU, and of the blocks of
# /proc/cpuinfo, where lines such as the flags are long.
_AWK = """
function run(key) { return from[key] == to[key] ? from[key] : from[key] "-" to[key] }
function add(group, owner, line, key) {
    key = group SUBSEP line
    if (!(key in to)) {
        if ((held += length(line) + 1) > %(bytes)d) { left[group]++; return }
        known[group, ++lines[group]] = line
        from[key] = owner
    } else if (owner != to[key] + 1) {
        runs[key] = runs[key] run(key) ","
        from[key] = owner
    }
    to[key] = owner
}
function tell(kind, group, i, key) {
    print token " " kind " " group
    for (i = 1; i <= lines[group]; i++) {
        key = group SUBSEP known[group, i]
        print runs[key] run(key) " " known[group, i]
    }
}
BEGIN { cpu = "%(cpu)s/cpu"; info = "/proc/cpuinfo"; block = 0 }
{
    colon = index($0, ":")
    path = substr($0, 1, colon - 1)
    if (path == info) {
        if (colon < length($0)) { add(info, block, substr($0, colon + 1)); filled = 1 }
        else { block += filled; filled = 0 }
    } else if (index(path, cpu) == 1 && substr(path, length(cpu) + 1, 1) ~ /[0-9]/) {
        rest = substr($0, length(cpu) + 1)
        add(cpu, rest + 0, substr(rest, index(rest, "/") + 1))
    } else if (++count[path] > %(lines)d || (size += length($0) + 1) > %(bytes)d) left[path]++
    else print
}
END {
    for (path in left) print token " left " path " " left[path]
    tell("blocks", info)
    tell("numbered", cpu)
}"""

# The first line of the kept file says what its answers hold for, the second the token that they were marked with: it
# goes into a command of sed, so that nothing else may stand there.
_KEPT = """\
boot= host= limit=
[ ! -r /proc/sys/kernel/random/boot_id ] || read -r boot </proc/sys/kernel/random/boot_id
[ ! -r /proc/sys/kernel/hostname ] || read -r host </proc/sys/kernel/hostname
[ ! -r /proc/sys/kernel/io_uring_disabled ] || read -r limit </proc/sys/kernel/io_uring_disabled
[ -n "$cache" ] || boot=
case $host in
*/*) boot= ;;
esac
set -f
paths=$(for name in %(tools)s; do command -v "$name"; done)
set -- %(digest)s "$boot" "$limit" "$(ulimit -l)" \\
    $(readlink /proc/self/ns/pid /proc/self/ns/uts /proc/self/ns/ipc 2>/dev/null) \\
    $([ -z "$paths" ] || ls -lniL $paths 2>/dev/null)
key="$*" kept="$cache/facts-$host" known= marked= found=
{ [ -f "$kept" ] && [ -r "$kept" ] && [ -O "$kept" ]; } && { IFS= read -r known; IFS= read -r marked; } <"$kept"
case $marked in
*[!A-Za-z0-9-]*) known= ;;
esac
if [ -n "$boot" ] && [ "$known" = "$key" ]; then
    found=$(sed "1,2d; s/^$marked /$token /" "$kept")
else
    found=$(lasting)
    known=
fi
printf '%%s\\n' "$found"
case $found in
*" end io_uring 0"*) ;;
*" command fio-engines"*io_uring*)
    if [ -n "$spare" ]; then
        tried=$(trial)
        printf '%%s\\n' "$tried"
        case $tried in
        *" end io_uring 0") found="$found
$tried" known= ;;
        esac
    fi ;;
esac
if [ -z "$known" ] && [ -n "$boot" ]; then
    part=$kept.$$
    if { printf '%%s\\n' "$key" "$token" "$found" >"$part"; } 2>/dev/null; then mv -f -- "$part" "$kept"
    else rm -f -- "$part"; fi
fi"""
