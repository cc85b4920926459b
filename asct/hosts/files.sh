# File transfer through a shell, which reads these functions and then the calls from standard input. Each call gets a reply:
# `asct:ok SIZE` followed by SIZE bytes and a line feed (srun forwards whole lines only), or one word: done, there, missing,
# odd (not a regular file), large, `no REASON`. Values arrive quoted, with $nl for a line feed. POSIX only.
#
# The content of a file is followed by one more byte, which counts towards SIZE. If the file has become shorter in the meantime
# or cannot be read to its end, zeros replace what is missing, and this byte is also zero.

nl='
'
LC_ALL=C
export LC_ALL
umask 077

reply() { printf 'asct:%s\n' "$*"; }

# measure PATH: set $found to the size of a file. Every program costs a millisecond, perhaps beside a measurement.
measure() {
    found=$(wc -c 2>/dev/null <"$1") || return 1
    found=$((found))
}

# reason MESSAGE: set $reason to the reason in the last line of a program's messages
reason() {
    reason=${1##*"$nl"}
    reason=${reason##*: }
}

# try PROGRAM [ARGUMENT]...: reply with the message of a program that fails
try() {
    if message=$("$@" 2>&1); then return 0; fi
    reason "$message"
    reply "no $reason"
    return 1
}

# fetch PATH LIMIT: reply with a regular file of at most LIMIT bytes
fetch() {
    if [ -h "$1" ] || { [ -e "$1" ] && [ ! -f "$1" ]; }; then reply odd; return; fi
    [ -f "$1" ] || { reply no No such file or directory; return; }
    [ -r "$1" ] || { reply no Permission denied; return; }
    measure "$1" || { reply no it cannot be read; return; }
    if [ "$found" -gt "$2" ]; then reply large; return; fi
    reply "ok $((found + 1))"
    if [ "$found" -gt 0 ]; then echo | cat -- "$1" - /dev/zero 2>/dev/null | head -c "$((found + 1))"; else echo; fi
    echo
}

# part PATH OFFSET LIMIT: reply with at most LIMIT bytes of a growing file, starting at OFFSET
part() {
    { [ -f "$1" ] && measure "$1"; } || found=$2
    found=$((found - $2))
    if [ "$found" -lt 0 ]; then found=0; fi
    if [ "$found" -gt "$3" ]; then found=$3; fi
    reply "ok $((found + 1))"
    if [ "$found" -gt 0 ]; then
        { tail -c +"$(($2 + 1))" "$1" | head -c "$found"; echo; cat /dev/zero; } 2>/dev/null | head -c "$((found + 1))"
    else
        echo
    fi
    echo
}

exists() { if [ -e "$1" ] || [ -h "$1" ]; then reply there; else reply missing; fi; }

folder() {
    if [ -e "$1" ] || [ -h "$1" ]; then reply there; return; fi
    if try mkdir -p -- "$1"; then reply done; fi
}

# store PATH PARTIAL MODE TOTAL START SIZE: write the SIZE bytes that follow the line to PARTIAL, which contains the START bytes
# before them. Once it contains all TOTAL bytes, rename it. The first bytes go to a new file, because a shell of an earlier
# connection may still be writing to the old one. All SIZE bytes are read even if writing fails, because the next call follows
# them. If they cannot be read, the shell ends, so that it cannot take them for calls.
store() {
    message=$({ { head -c "$6" || echo asct:unread >&2; } |
        { { [ "$5" -gt 0 ] || [ ! -e "$2" ] || rm -f -- "$2"; } && cat >>"$2" || cat >/dev/null; }; } 2>&1)
    case $message in
    *asct:unread*)
        rm -f -- "$2"
        printf %s "${message%%asct:unread*}" >&2
        exit 1 ;;
    esac
    if ! measure "$2" || [ "$found" != $(($5 + $6)) ]; then
        rm -f -- "$2"
        reason "${message:-the disk is full or a quota is exceeded}"
        reply "no writing failed: $reason"
        return
    fi
    if [ "$found" -lt "$4" ]; then reply done; return; fi
    [ "$3" = 600 ] || try chmod "$3" -- "$2" || return # the umask gives new files this mode
    if try mv -f -- "$2" "$1"; then reply done; fi
}

# sums PATH: reply with the recorded SHA-256 of an executable file (the first line of PATH.sha256) and, if the host has
# sha256sum, with the actual one
sums() {
    sum=
    if [ -x "$1" ]; then { IFS= read -r sum <"$1.sha256"; } 2>/dev/null; fi
    if [ -z "$sum" ]; then reply missing; return; fi
    sum="$sum $(sha256sum 2>/dev/null <"$1")"
    printf 'asct:ok %s\n%s\n' "${#sum}" "$sum" # in one write, which becomes one ssh packet
}

# The braces make the shell read everything before it replies, so that it cannot take the first call for a part of this text.
{
    reply ready
    while IFS= read -r line; do eval "$line"; done
}
