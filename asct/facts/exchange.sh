# The script that reads all facts of a host: `sh -s TOKEN WORK CACHE`. exchange.script() completes it. WORK is the work
# folder of a session, and CACHE is the account's cache folder. Without CACHE, the script only reads from the host: WORK
# need not exist, and the script finds the cache on its own.
#
# grep prints each line after its path, so that one process reads all files (-a is necessary because some values end
# with a zero byte). One awk process packs and limits the lines (pack.awk). Querying all programs for their versions
# takes half a second, so the cache keeps the answers until the host restarts or the file of one of the programs
# changes. Each process that this script starts takes more than a millisecond on every host, so do not start two
# processes if one is enough.

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

# Run one command and print its output between two marked lines.
run() {
    printf '%s command %s\n' "$token" "$1"
    eval "$2" </dev/null 2>&1
    printf '\n%s end %s %s\n' "$token" "$1" "$?"
}

# Print the paths of a set of folders, up to the allowed number, starting with hardware.
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

# Report how many folders of a set `each` omits.
excess() {
    field=$1 most=$2
    shift 2
    [ $# -le "$most" ] || printf '%s left %s %s\n' "$token" "$field" $(($# - most))
}

# Run one part of the lasting commands in parallel with the other parts, and pass on the output of the preceding parts
# in the pipe.
lane() {
    found=$("$1")
    cat
    printf '%s\n' "$found"
}

if command -v awk >/dev/null; then packed=1; fi
pack() {
    if [ -n "$packed" ]; then awk -v token="$token" "$program" "$@"; else grep -av '^/proc/self/mount'; fi
}
@functions@

# The first line of the cached file is the key for which its answers are valid. The second line contains the token that
# marks the answers, and says whether io_uring must still be tried. The token becomes part of a sed command and is
# therefore checked. Answers from programs that timed out (status 137) are not kept, because the reason may be
# temporary. Several hosts may share the account's cache and replace the file in the meantime, so all reads use the file
# that was opened. Namespaces are identified by their inode numbers in /proc, because the times of these files are
# meaningless.
boot= host= limit=
[ ! -r /proc/sys/kernel/random/boot_id ] || read -r boot </proc/sys/kernel/random/boot_id
[ ! -r /proc/sys/kernel/hostname ] || read -r host </proc/sys/kernel/hostname
[ ! -r /proc/sys/kernel/io_uring_disabled ] || read -r limit </proc/sys/kernel/io_uring_disabled
[ -n "$cache" ] || boot=
case $host in
*/*) boot= ;;
esac
kept="$cache/facts-$host" key="@digest@ $boot $limit" known= marked= state=
judge() {
    set -f
    IFS=$nl
    set -- $(for name in @tools@; do command -v "$name"; done)
    for line in $(ulimit -l; ls -lniL /proc/self/ns/pid /proc/self/ns/uts /proc/self/ns/ipc "$@" 2>/dev/null); do
        case $line in
        */proc/self/ns/*) line=${line#"${line%%[! ]*}"}; line="${line%% *} ${line##*/}" ;;
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
    printf '%s\n' "$found"
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
            printf '%s\n' "$tried"
            case $tried in
            *" end io_uring 0") found=$found$nl$tried known= state=settled ;;
            esac
        fi ;;
    esac
    if [ -z "$known" ] && [ -n "$boot" ]; then
        part=$kept.$$
        if { printf '%s\n' "$key" "$token $state" "$found" >"$part"; } 2>/dev/null; then mv -f -- "$part" "$kept"
        else rm -f -- "$part"; fi
    fi
fi
printf '%s over -\n' "$token"
