# File transfer through a shell, which reads these functions and then the calls from standard input. Each call gets a reply:
# `asct:ok SIZE` followed by SIZE bytes and a line feed (srun forwards whole lines only), or one word: done, there, missing,
# odd (not a regular file), large, `no REASON`. Values arrive quoted, with $nl for a line feed. POSIX only.

nl='
'
LC_ALL=C
export LC_ALL
umask 077

reply() { printf 'asct:%s\n' "$*"; }
size() { { wc -c <"$1"; } 2>/dev/null || echo 0; }

# try PROGRAM [ARGUMENT]...: reply with the message of a program that fails
try() {
    if message=$("$@" 2>&1); then return 0; fi
    reply "no ${message##*: }"
    return 1
}

# bytes SIZE PROGRAM [ARGUMENT]...: reply with SIZE bytes of the program's output, padded with zeros if the file has become
# shorter. dd joins the pieces of a small reply, which would otherwise be sent separately.
bytes() {
    size=$1
    shift
    {
        reply "ok $size"
        if [ "$size" -gt 0 ]; then { "$@"; cat /dev/zero; } 2>/dev/null | head -c "$size"; fi
        echo
    } | dd ibs=65536 obs=131072 2>/dev/null
}

# fetch PATH LIMIT: reply with a regular file of at most LIMIT bytes
fetch() {
    if [ -h "$1" ] || { [ -e "$1" ] && [ ! -f "$1" ]; }; then reply odd; return; fi
    [ -f "$1" ] || { reply no No such file or directory; return; }
    [ -r "$1" ] || { reply no Permission denied; return; }
    found=$(($(size "$1")))
    if [ "$found" -gt "$2" ]; then reply large; else bytes "$found" cat -- "$1"; fi
}

# part PATH OFFSET LIMIT: reply with at most LIMIT bytes of a growing file, starting at OFFSET
part() {
    found=0
    if [ -f "$1" ]; then found=$(($(size "$1") - $2)); fi
    if [ "$found" -lt 0 ]; then found=0; fi
    if [ "$found" -gt "$3" ]; then found=$3; fi
    bytes "$found" tail -c +"$(($2 + 1))" "$1"
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
    [ "$(($(size "$2")))" = "$4" ] || { rm -f -- "$2"; reply "no the file is incomplete: the disk is full or a quota is exceeded"; return; }
    if try chmod "$3" -- "$2" && try mv -f -- "$2" "$1"; then reply done; fi
}

# sums PATH: reply with the recorded SHA-256 of an executable file (the first line of PATH.sha256) and, if the host has
# sha256sum, with the actual one
sums() {
    sum=
    if [ -x "$1" ]; then { IFS= read -r sum <"$1.sha256"; } 2>/dev/null; fi
    if [ -z "$sum" ]; then reply missing; return; fi
    sum="$sum $(sha256sum -- "$1" 2>/dev/null)"
    bytes "${#sum}" printf %s "$sum"
}

# The braces make the shell read everything before it replies, so that it cannot take the first call for a part of this text.
{
    reply ready
    while IFS= read -r line; do eval "$line"; done
}
