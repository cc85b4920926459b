# Makes the private folder of a run and prints where it is. Variables set before: base, token, runner.

LC_ALL=C
export LC_ALL
umask 077
say() { printf 'asct:%s\n' "$*"; }
fail() {
    say "failed $*"
    exit 0
}

# A folder of this account, made when missing; not a link, and nobody else may rename what lies in it.
usable() {
    [ -e "$1" ] || mkdir -p -- "$1" 2>/dev/null
    [ ! -h "$1" ] && [ -d "$1" ] && [ -O "$1" ] && [ -w "$1" ] || return 1
    case $(ls -ld -- "$1") in
    ?????w???[!tT]* | ????????w[!tT]*) return 1 ;;
    esac
}

# When a process began, in ticks since boot: field 22, counted from behind the name in parentheses. Nothing for one
# that has ended and is only not yet reaped.
began() {
    IFS= read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
    set -- ${stat##*) }
    [ "$1" != Z ] || return 1
    shift 19
    printf '%s' "$1"
}

uid=$(id -u)
boot=
[ ! -r /proc/sys/kernel/random/boot_id ] || IFS= read -r boot </proc/sys/kernel/random/boot_id
found=
for place in "$base" "$base-$uid" "$base/asct-$uid"; do
    if usable "$place"; then
        found=$place
        break
    fi
done
[ -n "$found" ] || fail "no folder of this account can be made at $base"
found=$(cd -P -- "$found" && pwd)

# What a killed asct left: its owner (process, start time, boot) is gone.
for old in "$found"/run-*; do
    [ -d "$old" ] && [ ! -h "$old" ] && [ -O "$old" ] && [ -f "$old/.owner" ] || continue
    pid= start= when=
    read -r pid start when <"$old/.owner"
    [ -n "$when" ] || continue
    if [ "$when" != "$boot" ] || [ "$(began "$pid")" != "$start" ]; then rm -rf -- "$old"; fi
done

work=$found/run-$token
mkdir -- "$work" 2>/dev/null || fail "cannot make the folder $work"
printf '%s %s %s\n' "$PPID" "$(began "$PPID")" "$boot" >"$work/.owner" || fail "cannot write in $work"
printf '%s' "$runner" 2>/dev/null >"$work/.runner" || fail "cannot write in $work"

cache=
case ${XDG_CACHE_HOME:-} in
/*) usable "$XDG_CACHE_HOME/asct" && cache=$XDG_CACHE_HOME/asct ;;
*) [ -n "${HOME:-}" ] && [ -d "$HOME" ] && usable "$HOME/.cache/asct" && cache=$HOME/.cache/asct ;;
esac
if [ -z "$cache" ]; then
    cache=$found/cache
    usable "$cache" || fail "cannot make the folder $cache"
fi
case $(ls -ld -- "$cache") in
????------*) ;;
*) chmod go= -- "$cache" || fail "cannot make the folder $cache private" ;;
esac
say "work $work"
say "cache $(cd -P -- "$cache" && pwd)"
case ${SHELL##*/} in
sh | dash | ash | bash) say "shell posix" ;;
esac
say "ready"
