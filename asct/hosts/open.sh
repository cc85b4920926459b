# Opens a host: creates the private folder of a session, or resumes it if it exists, and prints its path. The caller sets the
# variables base, token (which names the session), runner, owner (empty to only read the host), find and keep (see
# base.ReadingSpec, or empty), and script (see base.SessionSpec, or empty).

if [ -n "${KSH_VERSION:-}" ]; then
    echo "asct:failed sh is a Korn shell, which does not pass open files (such as locks) to programs"
    exit
fi
unset TMOUT # bash would end a `read` after this number of seconds
umask 077
journal= live=1 root= mine=
exec 4>&1

# The cache folder of the account.
case ${XDG_CACHE_HOME:-} in
/*) cache=$XDG_CACHE_HOME/asct ;;
*) cache=${HOME:+$HOME/.cache/asct}; [ -d "${HOME:-}" ] || cache= ;;
esac

# Test whether a folder, created if missing, belongs to this account, is not a link, and does not let others create files
# in it. A single ls usually lists all folders in advance.
usable() {
    [ -e "$1" ] || mkdir -p -- "$1" 2>/dev/null
    [ ! -h "$1" ] && [ -d "$1" ] && [ -O "$1" ] && [ -w "$1" ] || return 1
    case $listed in
    *" $1$nl"*) ;;
    *) listed=$(ls -ld -- "$1")$nl ;;
    esac
    mode_of=${listed%%" $1$nl"*}
    mode_of=${mode_of##*"$nl"}
    case $mode_of in
    ?????w* | ????????w*) return 1 ;;
    esac
}

while read -r name value rest; do
    case $name in
    Uid:) uid=${rest%%[!0-9]*} ;;
    SigIgn:) break ;;
    esac
done </proc/self/status
via=
case $value in # the last digit consists of HUP, INT, QUIT and ILL
*[08]) ;;
*) defaults ;;
esac
boot=
[ ! -r /proc/sys/kernel/random/boot_id ] || IFS= read -r boot </proc/sys/kernel/random/boot_id
listed=$(ls -ld -- "$base" ${cache:+"$cache"} 2>/dev/null)$nl
found=
for place in "$base" "$base-$uid" "$base/asct-$uid"; do
    if usable "$place"; then
        found=$place
        break
    fi
done
[ -n "$found" ] || fail "the account cannot create a folder at $base"
cd -P -- "$found" || fail "cannot enter the folder $found"
found=$PWD

# A folder belongs to the holder of the lock on its file .session, and is in use as long as the lock is held. A folder that
# nobody holds is abandoned in three cases: it was created before the last boot, so that a power failure may have destroyed
# part of it; it contains results that nobody has collected for a week; or it contains no results and is more than an hour
# old, which is longer than opening a host takes.
abandoned() {
    [ -d "$1" ] && [ ! -h "$1" ] && [ -O "$1" ] || return 1
    age=-mmin\ +60
    if [ -f "$1/.session" ]; then
        exec 7<>"$1/.session"
        flock -n 7 || return 1
        IFS= read -r when <&7
        [ "${when:-$boot}" = "$boot" ] || return 0
        [ ! -e "$1/.queue/1" ] || age=-mtime\ +7
    fi
    [ -n "$(find "$1" -prune $age)" ]
}
for old in "$found"/run-*; do
    if abandoned "$old"; then rm -rf -- "$old"; fi
done
exec 7<&-

root=$found/run-$token
if [ -f "$root/.session" ]; then
    say resumed
    script=
else
    mine=1
    mkdir -p -- "$root${owner:+/.queue}" 2>/dev/null || fail "cannot create the folder $root"
fi
new=$root/.runner
[ -n "$mine" ] || new=$root/.runner.new # other shells may be reading it
printf '%s' "via='$via'$nl$runner" 2>/dev/null >"$new" || fail "cannot write to $root"
[ -n "$mine" ] || mv -f -- "$new" "$root/.runner" || fail "cannot write to $root"
[ -z "$script" ] || printf '%s' "$script" 2>/dev/null >"$root/.script" || fail "cannot write to $root"

if [ -z "$cache" ] || ! usable "$cache"; then
    cache=$found/cache
    usable "$cache" || fail "cannot create the cache folder $cache"
fi
case $mode_of in
????------*) ;;
*) chmod go= -- "$cache" || fail "cannot make the cache folder $cache private" ;;
esac
cd -P -- "$cache" || fail "cannot enter the cache folder $cache"
cache=$PWD
posix=
case ${SHELL##*/} in
sh | dash | ash | bash) posix="shell posix" ;;
esac
printf 'asct:%s\n' "work $root" "cache $cache" ${posix:+"$posix"} ready # one write, which becomes one ssh packet
[ -z "$owner" ] || begin "$owner"
