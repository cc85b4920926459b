# The one program that a remote host needs: reads a single line of shell words from standard input and acts on it.
# POSIX only (dash, bash, busybox ash); values arrive quoted, $nl stands for a line feed inside them.
# $root, set before, is the folder of the run.
# Answers are lines that begin with `asct:` on standard output; what programs print goes to files.
#
# It runs in a process group of its own (sshd gives each command a session; setsid where a server does not), so that
# `kill 0` reaches everything a task started and nothing else. The group ends when standard input ends or carries a
# line, when the time limit passes, and after the task: a lost connection leaves nothing running.

nl='
'
LC_ALL=C
export LC_ALL
umask 077
exec 4>&1 3<&0 </dev/null

say() { printf 'asct:%s\n' "$*" >&4; }

fail() {
    say "failed $*"
    exit 0
}

# State, parent and process group follow the name in parentheses.
leads_group() {
    IFS= read -r stat <"/proc/$$/stat" || return 1
    set -- ${stat##*) }
    [ "$3" = "$$" ]
}

# INT, then TERM, then KILL for the whole group; this shell outlives the first two to report.
stop() {
    trap '' TERM
    kill -INT 0
    sleep 2
    kill -TERM 0
    sleep 2
    kill -KILL 0
}

# enter EMPTY FOLDER: go there; first made anew when EMPTY is 1 (each program started costs a millisecond)
enter() {
    if [ "$1" = 1 ]; then rm -rf -- "$2" || fail "cannot empty $2"; fi
    [ -d "$2" ] || mkdir -p -- "$2" 2>/dev/null || fail "cannot make the folder $2"
    cd -- "$2" || fail "cannot enter the folder $2"
}

# file NAME TEXT
file() {
    case $1 in */*) mkdir -p -- "${1%/*}" || fail "cannot make the folder of $1" ;; esac
    printf '%s' "$2" 2>/dev/null >"$1" || fail "cannot write $1"
}

# launch FOLDER STDOUT STDERR [NAME=VALUE]... -- PROGRAM [ARGUMENT]...    in place of this (sub)shell
launch() {
    cd -- "$1" || exit 126
    exec >"$2" 2>"$3" 3<&- 4>&-
    shift 3
    while [ "$1" != -- ]; do
        export "$1"
        shift
    done
    shift
    exec "$@"
}

companions=
# companion FOLDER STDOUT STDERR ... as for launch
companion() {
    [ -d "$1" ] || mkdir -p -- "$1" 2>/dev/null
    ( launch "$@" ) &
    companions="$companions $!"
}

# listen: what asct says while a task runs. "watch SECONDS" sets a limit that holds even when nothing more can be heard;
# anything else, or the end of the connection, ends the group. A limit of its own would cost a short task a process.
listen() {
    while IFS= read -r word; do
        case $word in
            watch\ *) ( sleep "${word#watch }"; stop ) 3<&- & ;;
            *) break ;;
        esac
    done
    stop
}

# main FOLDER STDOUT STDERR ... as for launch.
# A shell turns a death by signal n into 128+n, like a program that exits so. It tells of the death on its own standard
# error, except for INT, PIPE and (bash) TERM: the message's presence is reported beside the status.
main() {
    note=$root/.note
    exec 2>"$note"
    trap : INT TERM
    ( listen ) <&3 >/dev/null 2>&1 3<&- 4>&- &
    say started
    ( launch "$@" )
    status=$?
    trap '' PIPE
    told=0
    if [ -s "$note" ]; then told=1; fi
    say "ended $status $told"
}

# SIGINT is ignored in what a shell starts in the background unless the program handles it; then TERM ends it.
end_companions() {
    [ -n "$companions" ] || return 0
    ( trap '' TERM; sleep 2; kill -TERM $companions; sleep 2; kill -KILL $companions ) >/dev/null 2>&1 3<&- 4>&- &
    kill -INT $companions 2>/dev/null
    statuses=
    for one in $companions; do
        wait "$one"
        statuses="$statuses $?"
    done
}

# report FILE...: for each - missing, e empty, f a file, x something else; then the statuses of the companions
report() {
    end_companions
    flags=
    for one in "$@"; do
        flag=x
        if [ -h "$one" ]; then :
        elif [ ! -e "$one" ]; then flag=-
        elif [ -f "$one" ]; then
            flag=e
            if [ -s "$one" ]; then flag=f; fi
        fi
        flags=$flags$flag
    done
    say "done $flags$statuses"
    kill -KILL 0
}

# answer PROGRAM [ARGUMENT]...: a short command on this channel, with the rest of standard input
answer() {
    say "begin $$"
    printf 'asct:begin\n' >&2
    exec "$@" <&3 3<&- 4>&-
}

# finish PID: end the process group of an answer that took too long
finish() {
    kill -s KILL -- "-$1" 2>/dev/null
    say done
}

# remove PATH ROOT...: only what lies, links resolved, below one of the roots
remove() {
    path=$1
    shift
    [ -e "$path" ] || [ -h "$path" ] || { say done; exit 0; }
    parent=$(cd -P -- "${path%/*}" 2>/dev/null && pwd) || fail "cannot enter the folder of $path"
    for one in "$@"; do
        case $parent/ in "$one"/*)
            rm -rf -- "$path" 2>/dev/null || fail "cannot remove $path"
            say done
            exit 0 ;;
        esac
    done
    fail "$path leaves the work folder through a link"
}

leave() {
    cd /
    rm -rf -- "$root"
    say done
}

if ! leads_group; then
    [ -z "$ASCT_SETSID" ] && command -v setsid >/dev/null || fail "no process group of its own, and no setsid"
    ASCT_SETSID=1 exec setsid sh -c 'root=$1; . "$root/.runner"' sh "$root" <&3 >&4
fi
unset ASCT_SETSID
IFS= read -r line <&3 || exit 0
eval "$line"
