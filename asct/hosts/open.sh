# Opens a host: creates the private folder of a session, or resumes that of an earlier part of the same run, and prints its
# path. The caller sets the variables base, token, runner, earlier (a folder or empty), owner (empty to only read the host),
# find and keep (see base.ReadingSpec, or empty).

umask 077
journal= live=1
exec 4>&1

# The cache folder of the account.
case ${XDG_CACHE_HOME:-} in
/*) cache=$XDG_CACHE_HOME/asct ;;
*) cache=${HOME:+$HOME/.cache/asct}; [ -d "${HOME:-}" ] || cache= ;;
esac

# Test whether a folder, created if missing, belongs to this account, is not a link, and does not let others rename files
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
    ?????w???[!tT]* | ????????w[!tT]*) return 1 ;;
    esac
}

while read -r name real uid rest; do
    if [ "$name" = Uid: ]; then break; fi
done </proc/self/status
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
[ -n "$found" ] || fail "the account cannot make a folder at $base"
cd -P -- "$found" || fail "cannot enter the folder $found"
found=$PWD

# A folder is abandoned if it has no session and the process of the connection has ended; if it contains results that nobody
# has collected for a week; or if it is from another boot, because a power failure may have lost part of it.
stale() {
    [ -d "$1" ] && [ ! -h "$1" ] && [ -O "$1" ] && [ -f "$1/.owner" ] || return 1
    if [ -f "$1/.session" ]; then
        IFS= read -r when <"$1/.session"
        [ "$when" != "$boot" ] && return
        ! alive "$1/.pid" && [ -n "$(find "$1/.session" -mtime +7)" ]
    else
        read -r pid noted when <"$1/.owner"
        [ -n "$when" ] || return 1
        [ "$when" != "$boot" ] || ! alive "$1/.owner"
    fi
}
for old in "$found"/run-*; do
    if stale "$old"; then rm -rf -- "$old"; fi
done

# On a full disk: remove the new folder, because nobody would collect it.
unwritable() {
    [ "$work" = "$earlier" ] || rm -rf -- "$work"
    fail "cannot write in $work"
}

work=
case $earlier in
"$found"/run-*/*) ;;
"$found"/run-*)
    if [ -O "$earlier" ] && [ ! -h "$earlier" ] && [ -f "$earlier/.session" ]; then work=$earlier; fi ;;
esac
if [ -n "$work" ]; then
    say resumed
    printf '%s' "$runner" 2>/dev/null >"$work/.runner.new" && mv -f -- "$work/.runner.new" "$work/.runner" || unwritable
else
    work=$found/run-$token
    mkdir -- "$work" ${owner:+"$work/.queue"} 2>/dev/null || fail "cannot make the folder $work"
    note "$work/.owner" "$PPID" 2>/dev/null || unwritable
    printf '%s' "$runner" 2>/dev/null >"$work/.runner" || unwritable
fi

if [ -z "$cache" ] || ! usable "$cache"; then
    cache=$found/cache
    usable "$cache" || fail "cannot make the folder $cache"
fi
case $mode_of in
????------*) ;;
*) chmod go= -- "$cache" || fail "cannot make the folder $cache private" ;;
esac
cd -P -- "$cache" || fail "cannot enter the folder $cache"
posix=
case ${SHELL##*/} in
sh | dash | ash | bash) posix="shell posix" ;;
esac
printf 'asct:%s\n' "work $work" "cache $PWD" ${posix:+"$posix"} ready # one write, because each is an ssh packet
root=$work
[ -z "$owner" ] || begin "$owner"
