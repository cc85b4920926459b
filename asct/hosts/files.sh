# File transfer through a shell, which reads these functions and then the calls from standard input. Each call gets a reply:
# `asct:ok SIZE` followed by SIZE bytes and a line feed (srun forwards whole lines only), or one word: done, there, missing,
# odd (not a regular file), large, `no REASON`. If a file has become shorter in the meantime, zeros follow its content. Values
# arrive quoted, with $nl for a line feed. POSIX only.

nl='
'
LC_ALL=C
export LC_ALL
umask 077

reply() { printf 'asct:%s\n' "$*"; }

# measure PATH: set $found to the size of a file. Every program costs a millisecond, perhaps beside a measurement.
measure() {
    found=$(wc -c 2>/dev/null <"$1")
    found=$((${found:-0}))
}

# try PROGRAM [ARGUMENT]...: reply with the message of a program that fails
try() {
    if message=$("$@" 2>&1); then return 0; fi
    reply "no ${message##*: }"
    return 1
}

# fetch PATH LIMIT: reply with a regular file of at most LIMIT bytes
fetch() {
    if [ -h "$1" ] || { [ -e "$1" ] && [ ! -f "$1" ]; }; then reply odd; return; fi
    [ -f "$1" ] || { reply no No such file or directory; return; }
    [ -r "$1" ] || { reply no Permission denied; return; }
    measure "$1"
    if [ "$found" -gt "$2" ]; then reply large; return; fi
    reply "ok $found"
    if [ "$found" -gt 0 ]; then cat -- "$1" /dev/zero 2>/dev/null | head -c "$found"; fi
    echo
}

# part PATH OFFSET LIMIT: reply with at most LIMIT bytes of a growing file, starting at OFFSET
part() {
    found=$2
    if [ -f "$1" ]; then measure "$1"; fi
    found=$((found - $2))
    if [ "$found" -lt 0 ]; then found=0; fi
    if [ "$found" -gt "$3" ]; then found=$3; fi
    reply "ok $found"
    if [ "$found" -gt 0 ]; then { tail -c +"$(($2 + 1))" "$1"; cat /dev/zero; } 2>/dev/null | head -c "$found"; fi
    echo
}

exists() { if [ -e "$1" ] || [ -h "$1" ]; then reply there; else reply missing; fi; }

folder() {
    if [ -e "$1" ] || [ -h "$1" ]; then reply there; return; fi
    if try mkdir -p -- "$1"; then reply done; fi
}

# store PATH PARTIAL MODE SIZE: write the SIZE bytes that follow the line, first as PARTIAL. All of them are read even if
# writing fails, because the next call follows them.
store() {
    head -c "$4" | { cat >"$2" || cat >/dev/null; } 2>/dev/null
    measure "$2"
    [ "$found" = "$4" ] || { rm -f -- "$2"; reply "no the file is incomplete: the disk is full or a quota is exceeded"; return; }
    [ "$3" = 600 ] || try chmod "$3" -- "$2" || return # the umask gives new files this mode
    if try mv -f -- "$2" "$1"; then reply done; fi
}

# sums PATH: reply with the recorded SHA-256 of an executable file (the first line of PATH.sha256) and, if the host has
# sha256sum, with the actual one
sums() {
    sum=
    if [ -x "$1" ]; then { IFS= read -r sum <"$1.sha256"; } 2>/dev/null; fi
    if [ -z "$sum" ]; then reply missing; return; fi
    sum="$sum $(sha256sum -- "$1" 2>/dev/null)"
    printf 'asct:ok %s\n%s\n' "${#sum}" "$sum" # in one write, which becomes one ssh packet
}

# The braces make the shell read everything before it replies, so that it cannot take the first call for a part of this text.
{
    reply ready
    while IFS= read -r line; do eval "$line"; done
}
