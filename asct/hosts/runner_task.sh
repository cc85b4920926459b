# Executes job files and the lines of tasks. This is a part of runner.sh.

# ---- job files: `= KEY HUNDREDTHS` (time limit) and a line `: CALLS` for each task; `+ CALLS` runs at once

work() {
    trap : INT TERM HUP PIPE
    own_pid
    note "$root/.work" "$me"
    restore=-
    wakes=0 begun=0 heard=0
    printf '0\n' >"$root/.heard"
    while read -r word rest <&8; do
        while [ -f "$root/.queue/$next" ]; do
            [ -e "$root/.stop" ] || work_off
            next=$((next + 1))
        done
        if [ -e "$root/.stop" ]; then stopped; fi
        printf 'idle\n' >&3
    done
}

work_off() {
    while read -r mark one limit <&7; do
        [ ! -e "$root/.stop" ] || break
        case $mark in
        +) eval "$one $limit" 7<&- ;;
        =) key=$one; run_task; keep_up ;;
        esac
    done 7<"$root/.queue/$next"
}

# A connection that nobody reads from blocks the writer after a few hundred lines. Therefore, asct acknowledges events. If it
# is far behind, the runner writes only to the journal.
keep_up() {
    begun=$((begun + 1))
    if [ -z "$live" ] || [ "$((begun % 8))" != 0 ]; then return; fi
    say "count $begun"
    if read -r one <"$root/.heard"; then heard=$one; fi # otherwise, the file is being written
    if [ "$((begun - heard))" -gt "$LEAD" ]; then
        say muted
        live=
    fi
}

# One alarm serves many tasks: another one is set only for a task whose limit comes earlier.
run_task() {
    IFS= read -r line <&7 || return
    case $restore$line in # determined only if it is needed, because this starts two programs
    -*"; companion "*) defaults; restore=$via via= ;;
    esac
    now
    [ "$((now - rested))" -le "$PAUSE" ] || recent=
    due=$((now + limit))
    printf '%s\n' "$due $key" >"$root/.due"
    now # an alarm before this moment may have found the limit of the last task
    if [ "$now" -ge "$wakes" ] || [ "$wakes" -gt "$due" ]; then
        set_alarm "$limit" 7<&-
        wakes=$due
    fi
    ( mode=task; trap : PIPE; exec </dev/null >/dev/null 3<&- 7<&- 8<&-; eval "${line#: }" )
    settle_task
    now
    rested=$now
}

# A task reports its end itself, unless its shell was killed.
settle_task() {
    finished= recent=
    { read -r finished recent <"$root/.done"; } 2>/dev/null
    [ "$finished" != "$key" ] || return 0
    if alive "$root/.task"; then kill -s KILL -- "-$pid"; fi
    printf '%s\n' "$key" >"$root/.done"
    end_strays
    say "died $key"
}

# Kill the process groups of the task. A program that ended on its own has stopped its other processes.
over() {
    printf '%s %s\n' "$key" "$read_at" >"$root/.done"
    for one in $led $companions; do kill -s KILL -- "-$one" 2>/dev/null; done
    [ "${status:-0}" -le 128 ] || end_strays
    exit 0
}

# ---- the calls of a line

# enter EMPTY FOLDER: make the folder and enter it; EMPTY 1 removes it first (each program costs a millisecond)
enter() {
    if [ "$1" = 1 ]; then rm -rf -- "$2" || fail "cannot empty $2"; fi
    [ -d "$2" ] || mkdir -p -- "$2" 2>/dev/null || fail "cannot create the folder $2"
    cd -- "$2" || fail "cannot enter the folder $2"
}

# file NAME TEXT
file() {
    case $1 in */*) mkdir -p -- "${1%/*}" || fail "cannot create the folder of $1" ;; esac
    printf '%s' "$2" 2>/dev/null >"$1" || fail "cannot write $1"
}

# launch FOLDER STDOUT STDERR [NAME=VALUE]... -- PROGRAM [ARGUMENT]...: replace this (sub)shell with the program. If the
# program is missing, the shell prints its usual message.
launch() {
    cd -- "$1" || exit 126
    exec >"$2" 2>"$3" 4>&- 5>&-
    shift 3
    while [ "$1" != -- ]; do
        export "$1"
        shift
    done
    shift
    if command -v "$1" >/dev/null; then exec $via "$leader" "$@"; fi
    exec "$@"
}

companions= led= read_at=
# companion FOLDER STDOUT STDERR ...: start a companion; the arguments are those of launch. A shell makes background programs
# ignore INT and QUIT.
companion() {
    [ -d "$1" ] || mkdir -p -- "$1" 2>/dev/null
    ( via=$restore; launch "$@" ) &
    companions="$companions $!"
}

uptime() { read -r up rest </proc/uptime; }

# now: set $now to the uptime in hundredths of a second
now() {
    uptime
    now=${up%.*}${up#*.}
}

# The main process of a task. Its pid and key are recorded before .stop is checked; stop_work does this in reverse order.
lead() {
    own_pid
    note "$root/.task" "$me" "$key"
    [ ! -e "$root/.stop" ] || exit 130
    launch "$@"
}

# The host state, in .readings: a line `= KEY WORD` and the selected lines of the files in $reading (the expression and the
# files, one per line). A reading no older than RECENT is used for this task as well, unless asct has worked during a pause
# since then. Nothing is read after a task shorter than BRIEF, because a reading takes about as long. Both limits are in
# hundredths of a second.
BRIEF=2 RECENT=5 PAUSE=1 rested=0
read_before() {
    [ -n "$reading" ] || return 0
    if [ -n "$recent" ] && [ "$((now - recent))" -le "$RECENT" ]; then
        printf '= %s again\n' "$key"
        read_at=$recent
    else
        printf '= %s before\n' "$key"
        read_at=$now
        read_files
        now
    fi
    began=$now
}

# `times` prints the CPU time of this shell, and of the children it waited for: the main process and small tools.
read_after() {
    [ -n "$reading" ] || return 0
    printf '= %s used\n' "$key"
    times
    if [ "$((now - began))" -ge "$BRIEF" ]; then
        printf '= %s after\n' "$key"
        read_at=$now
        read_files
    fi
    printf '= %s over\n' "$key"
}

read_files() { ( set -f; IFS=$nl; exec grep -soE -- $reading ); }

# main FOLDER STDOUT STDERR ...: arguments of launch.
# A shell returns 128+n both for a program killed by signal n and for one that exits with 128+n. It prints a message only
# for the former, except for INT, PIPE and (bash) TERM. Whether there was a message is reported with the status.
main() {
    told=$root/.told
    exec 2>"$told"
    now
    read_before 2>/dev/null >>"$root/.readings"
    say "started $key $up"
    ( lead "$@" )
    status=$?
    now
    read -r led rest <"$root/.task"
    message=0
    if [ -s "$told" ]; then message=1; fi
    say "ended $key $up $status $message"
    read_after 2>/dev/null >>"$root/.readings"
}

# A companion that ignores INT (possibly because $restore is empty) is stopped by TERM. The shell that sends the signal must
# not outlive the companions, because their process ids may then belong to other processes.
end_companions() {
    [ -n "$companions" ] || return 0
    ( trap '' TERM; sleep 2; kill -s TERM $companions; sleep 2; kill -s KILL $companions ) >/dev/null 2>&1 4>&- 5>&- &
    watcher=$!
    kill -s INT $companions 2>/dev/null
    statuses=
    for one in $companions; do
        wait "$one"
        statuses="$statuses $?"
    done
    kill -s KILL "$watcher"
    wait "$watcher"
}

# report FILE...: report a flag for each (- missing, e empty, f a file, x something else), then the companions' statuses
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
    say "done $key $flags$statuses"
    [ "$mode" != task ] || over
}
