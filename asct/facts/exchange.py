"""The one script that reads all facts of a host: made of the lists in sources/, a constant for `sh -s`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from asct.facts.sources import COMMANDS, CPU, FILES, FOLDERS, LASTING, PROBES, TOOLS, TRIAL
from asct.facts.sources.model import Command, FolderSet
from asct.facts.sources.storage import SECRET_OPTION

LANES = 4
"""Number of programs whose versions are queried in parallel."""
MOST_LINES = 2000
"""Of one file."""
MOST_BYTES = 400_000
"""Of all files; as much again of what is printed once for many CPUs. A host's answer may have 1 MiB in all."""


TOOL_S = 15
"""Seconds for one program; on an emulated host the slowest takes some to say what it is. It may be a script of others,
or wait for a file system or a drive that does not answer."""
TOOL_BYTES = 8192
"""Limit of its output."""


def script() -> str:
    """The script for `sh -s TOKEN WORK CACHE`. WORK is the folder of a session and CACHE the account's; without CACHE
    one only looks: WORK need not exist, and the script finds the cache by itself.

    grep prints each line behind its path, so one process reads all files, and one of awk packs and bounds them and
    whatever else is said. Asking all programs what they are takes half a second, so their answers are kept in the
    account's cache, until the host is started again or one of the programs is another file. Each program that is
    started here costs every host more than a millisecond: what one can do is not done by two.
    """
    lasting = _lasting()
    digest = hashlib.sha256(lasting.encode()).hexdigest()[:12]
    tools = " ".join(name for name, _ in TOOLS)
    awk = _AWK % {"cpu": CPU, "lines": MOST_LINES, "bytes": MOST_BYTES, "secret": SECRET_OPTION}
    return "\n".join(
        [
            _BEGIN,
            bounds(),
            f"program={_quoted(awk)}",
            *(_giver(number, folders) for number, folders in enumerate(FOLDERS)),
            "paths() {",
            f"printf '%s\\0' {' '.join(FILES)}",
            *(
                f"each give{number} {folders.most} {' '.join(folders.patterns)}"
                for number, folders in enumerate(FOLDERS)
            ),
            "}",
            "gather() {",
            *(f"excess {folders.field} {folders.most} {' '.join(folders.patterns)}" for folders in FOLDERS),
            'printf "%s files -\\n" "$token"',
            "paths | xargs -0 grep -s '' /dev/null",
            *_runs(COMMANDS),
            "}",
            lasting,
            _KEPT % {"digest": digest, "tools": tools},
            'printf "%s over -\\n" "$token"',
            "",
        ]
    )


def bounds() -> str:
    """The functions of the shell that bound commands: `most FIELD LINES`, and before a program `limited` (its time) or
    `tell` (its time and its words). One that took too long has the status of one that was killed."""
    return f"{_MOST}\n{_LIMITED % {'seconds': TOOL_S, 'bytes': TOOL_BYTES}}"


def _giver(number: int, folders: FolderSet) -> str:
    """The shell function that prints the paths of the files of one folder."""
    paths = " ".join(f'"$1"/{name}' for name in folders.files)
    return f"give{number}() {{ printf '%s\\0' {paths}; }}"


def _lasting() -> str:
    """The shell functions `lasting` and `trial`: what stays as it is while a host is up. Each of several processes asks
    for a part and hands on what those before it found, so nothing has to be written to a file meanwhile."""
    parts = list(_runs(LASTING))
    parts += [
        f"if path=$(command -v {name}); then run tool-{name} 'echo \"$path\"; tell {name} {option}'; fi"
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


_MOST = """\
most() { [ -z "$packed" ] || printf '%s most %s %s\\n' "$token" "$1" "$2"; }"""

_BEGIN = """\
LC_ALL=C; export LC_ALL; umask 077; token=$1 work=$2 cache=$3 spare=$2 packed=
nl='
'
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
if command -v awk >/dev/null; then packed=1; fi
pack() {
    if [ -n "$packed" ]; then awk -v token="$token" "$program" "$@"; else grep -v '^/proc/self/mount'; fi
}"""

# A program that was ended in the middle gives its status all the same, not that of head. Without timeout (a BusyBox may
# lack it) it is waited for.
_LIMITED = """\
if command -v timeout >/dev/null; then limited() { timeout -s KILL %(seconds)d "$@"; }
else limited() { "$@"; }; fi
tell() {
    { said=$({ { limited "$@" 2>&1 3>&- 4>&-; printf %%s "$?" >&3; } | head -c %(bytes)d >&4; } 3>&1); } 4>&1
    return "${said:-1}"
}"""

# What many CPUs have in common is printed once, behind their numbers: of the files of each CPU, and of the blocks of
# /proc/cpuinfo, where lines such as the flags are long. What commands say passes through, bounded where they ask for
# it; so do the answers that were kept, which get the token of this exchange.
# Mounts may name who they are for, with a password (ftp://user:password@server, a file system of FUSE): it never leaves
# the host, and without awk mounts do not. The parser does the same with what comes from a copy of /proc
# (mounts.veiled).
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
    if (!(group in lines)) return
    print token " " kind " " group
    for (i = 1; i <= lines[group]; i++) {
        key = group SUBSEP known[group, i]
        print runs[key] run(key) " " known[group, i]
    }
}
function veiled(text, done, found) {
    gsub("//[^ ]*@", "//***@", text)
    while (match(text, "%(secret)s")) {
        found = substr(text, RSTART, RLENGTH)
        done = done substr(text, 1, RSTART - 1) substr(found, 1, index(found, "=")) "***"
        text = substr(text, RSTART + RLENGTH)
    }
    return done text
}
BEGIN { cpu = "%(cpu)s/cpu"; info = "/proc/cpuinfo"; block = 0 }
kept {
    if (FNR > 2) print (index($0, kept " ") == 1 ? token substr($0, length(kept) + 1) : $0)
    next
}
index($0, token " ") == 1 {
    if ($2 == "most") { field = $3; most = $4; taken = 0; next }
    if ($2 == "end" && most) {
        if (last == "") taken--
        if (taken > most) print token " left " field " " (taken - most)
        most = 0
    }
    if ($2 != "left") section = $2
    print
    next
}
section != "files" {
    last = $0
    if (!most || ++taken <= most) print
    next
}
{
    if (index($0, "/proc/self/mount") == 1) $0 = veiled($0)
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

# The first line of the kept file says what its answers hold for, the second the token that they were marked with, which
# goes into a command of sed, so that nothing else may stand there, and whether a trial of io_uring is still to be made.
# Answers of programs that took too long (their status is 137) are not kept: they may have waited for what passes.
# Many hosts may share the account's cache and put another file there meanwhile: all is read of the one that was opened.
# The numbers of name spaces are those of the files in /proc, whose times say nothing.
_KEPT = """\
boot= host= limit=
[ ! -r /proc/sys/kernel/random/boot_id ] || read -r boot </proc/sys/kernel/random/boot_id
[ ! -r /proc/sys/kernel/hostname ] || read -r host </proc/sys/kernel/hostname
[ ! -r /proc/sys/kernel/io_uring_disabled ] || read -r limit </proc/sys/kernel/io_uring_disabled
[ -n "$cache" ] || boot=
case $host in
*/*) boot= ;;
esac
kept="$cache/facts-$host" key="%(digest)s $boot $limit" known= marked= state=
judge() {
    set -f
    IFS=$nl
    set -- $(for name in %(tools)s; do command -v "$name"; done)
    for line in $(ulimit -l; ls -lniL /proc/self/ns/pid /proc/self/ns/uts /proc/self/ns/ipc "$@" 2>/dev/null); do
        case $line in
        */proc/self/ns/*) line=${line#"${line%%%%[! ]*}"}; line="${line%%%% *} ${line##*/}" ;;
        esac
        key="$key $line"
    done
    unset IFS
    set +f
}
judge
if [ -f "$kept" ] && [ -r "$kept" ] && [ -O "$kept" ] && command exec 7<"$kept"; then
    { IFS= read -r known; read -r marked state; } <&7
fi 2>/dev/null
case $state/$marked in
settled/*[!A-Za-z0-9-]* | open/*[!A-Za-z0-9-]* | */) known= ;;
settled/* | open/*) [ -n "$boot" ] && [ "$known" = "$key" ] || known= ;;
*) known= ;;
esac
if [ -n "$known" ] && [ -n "$packed" ] && [ "$state" = settled ]; then
    gather | pack - kept="$marked" /proc/self/fd/7
else
    gather | pack
    if [ -n "$known" ]; then found=$(sed "1,2d; s/^$marked /$token /" /proc/self/fd/7); else found=$(lasting | pack); fi
    printf '%%s\\n' "$found"
    case $found$nl in
    *" 137$nl"*) boot= ;;
    esac
    state=settled
    case $found in
    *" end io_uring 0"*) ;;
    *" command fio-engines"*io_uring*)
        state=open
        if [ -n "$spare" ]; then
            tried=$(trial)
            printf '%%s\\n' "$tried"
            case $tried in
            *" end io_uring 0") found=$found$nl$tried known= state=settled ;;
            esac
        fi ;;
    esac
    if [ -z "$known" ] && [ -n "$boot" ]; then
        part=$kept.$$
        if { printf '%%s\\n' "$key" "$token $state" "$found" >"$part"; } 2>/dev/null; then mv -f -- "$part" "$kept"
        else rm -f -- "$part"; fi
    fi
fi"""
