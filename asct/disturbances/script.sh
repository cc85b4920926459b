# The parts of the script that applies and undoes fixes (script.py). `@name@` stands for a value.
#: head
#!/bin/sh
# Removes disturbances on one host, and reverts these changes.
#
#   sh @file@ apply [NAME...]    apply the fixes that are likely to matter, or only the named ones
#   sh @file@ undo [NAME...]     restore the state that asct found, for all fixes or only the named ones
#
# Requires root. Safe to run twice. Settings that a reboot has reset need not be undone.
@about@
#: begin
set -u
root=${ASCT_ROOT:-} # use this folder instead of /, for a trial run
failed=0
#: put
put() { # VALUE FILE
    if [ ! -f "$root$2" ]; then
        echo "asct: $2 does not exist" >&2
        failed=1
    elif ! printf '%s\n' "$1" 2>/dev/null >"$root$2"; then
        echo "asct: $2 cannot be set to $1" >&2
        failed=1
    fi
}
#: run
run() { # COMMAND...
    if ! "$@"; then
        echo "asct: failed: $*" >&2
        failed=1
    fi
}
#: tail
usage() {
    echo "usage: $0 apply|undo [NAME...]; names: @all@" >&2
    exit 2
}

case ${1-} in
apply)
    part=apply
    shift
    [ $# -gt 0 ] || @sure@
    ;;
undo)
    part=undo
    shift
    [ $# -gt 0 ] || set --@every@
    ;;
*) usage ;;
esac
for name; do
    case $name in
    @pattern@) ;;
    *) usage ;;
    esac
done
if [ -z "$root" ] && [ "$(id -u)" != 0 ]; then
    echo "asct: root is required; nothing was changed" >&2
    exit 1
fi
for name; do
    case $part-$name in
@cases@
    esac
done
exit $failed
#: nothing
echo "asct: no finding on this host has a fix that a script can apply" >&2
exit 0
