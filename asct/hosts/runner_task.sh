# How the runner works off its job files, and what the line of a task is made of. A part of runner.sh.

# ---- job files: `= KEY HUNDREDTHS` (its limit) and a line `: CALLS` for each task; `+ CALLS` is done at once

work() {
    trap : INT TERM HUP PIPE
    own_pid
    note "$root/.work" "$me"
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

# A connection that nobody reads takes some hundred words and then holds whoever speaks. So asct says how far it has
# heard; when it is far behind, the journal goes on alone.
keep_up() {
    begun=$((begun + 1))
    if [ -z "$live" ] || [ "$((begun % 8))" != 0 ]; then return; fi
    say "count $begun"
    if read -r one <"$root/.heard"; then heard=$one; fi # else it is just being written
    if [ "$((begun - heard))" -gt "$LEAD" ]; then
        say muted
        live=
    fi
}

# One alarm serves many tasks: it is set anew only for one that would be over its limit before.
run_task() {
    IFS= read -r line <&7 || return
    now
    due=$((now + limit))
    printf '%s\n' "$due $key" >"$root/.due"
    if [ "$now" -ge "$wakes" ] || [ "$wakes" -gt "$due" ]; then
        set_alarm "$limit" 7<&-
        wakes=$due
    fi
    ( mode=task; trap : PIPE; exec </dev/null >/dev/null 3<&- 7<&- 8<&-; eval "${line#: }" )
    settle_task
}

# A task says itself how it ended; one whose shell was killed cannot.
settle_task() {
    finished= recent=
    { read -r finished recent <"$root/.done"; } 2>/dev/null
    [ "$finished" != "$key" ] || return 0
    if alive "$root/.task"; then kill -s KILL -- "-$pid"; fi
    end_strays 3
    say "died $key"
}

# What the programs of the task left goes with it. One that ended by itself has ended its own.
over() {
    printf '%s %s\n' "$key" "$read_at" >"$root/.done"
    for one in $led $companions; do kill -s KILL -- "-$one" 2>/dev/null; done
    [ "${status:-0}" -le 128 ] || end_strays 3
    exit 0
}

# ---- what the lines of calls are made of

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

# launch FOLDER STDOUT STDERR [NAME=VALUE]... -- PROGRAM [ARGUMENT]...    in place of this (sub)shell. One that is not
# there is left to the shell, which says so as people know it.
launch() {
    cd -- "$1" || exit 126
    exec >"$2" 2>"$3" 4>&- 5>&-
    shift 3
    while [ "$1" != -- ]; do
        export "$1"
        shift
    done
    shift
    if command -v "$1" >/dev/null; then exec "$leader" "$@"; fi
    exec "$@"
}

companions= led= read_at=
# companion FOLDER STDOUT STDERR ... as for launch
companion() {
    [ -d "$1" ] || mkdir -p -- "$1" 2>/dev/null
    ( launch "$@" ) &
    companions="$companions $!"
}

uptime() { read -r up rest </proc/uptime; }

# now: the same in hundredths of a second
now() {
    uptime
    now=${up%.*}${up#*.}
}

# The main process of a task, with its key for who ends it. Whoever wants it stopped looks for it behind saying so.
lead() {
    own_pid
    note "$root/.task" "$me" "$key"
    [ ! -e "$root/.stop" ] || exit 130
    launch "$@"
}

# What the host does besides, in .readings: a line `= KEY WORD` and the files of $reading (the expression, then the files, a
# line each). What was read BRIEF ago counts for this task as well, and one so brief is not read after: the clocks of a host
# that count CPU time are no finer, and reading costs as much as such a task.
BRIEF=5 # hundredths of a second
read_before() {
    [ -n "$reading" ] || return 0
    if [ -n "$recent" ] && [ "$((now - recent))" -le "$BRIEF" ]; then
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

# With the CPU time of what this shell waited for: the main process.
read_after() {
    [ -n "$reading" ] || return 0
    if [ "$((now - began))" -ge "$BRIEF" ]; then
        printf '= %s after\n' "$key"
        read_at=$now
        times
        read_files
    fi
    printf '= %s over\n' "$key"
}

read_files() { ( set -f; IFS=$nl; exec grep -soE -- $reading ); }

# main FOLDER STDOUT STDERR ... as for launch.
# A shell turns a death by signal n into 128+n, like a program that exits so. It tells of the death on its own standard
# error, except for INT, PIPE and (bash) TERM: the message's presence is reported beside the status.
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

# SIGINT is ignored in what a shell starts in the background unless the program handles it; then TERM ends it.
end_companions() {
    [ -n "$companions" ] || return 0
    ( trap '' TERM; sleep 2; kill -s TERM $companions; sleep 2; kill -s KILL $companions ) >/dev/null 2>&1 4>&- 5>&- &
    kill -s INT $companions 2>/dev/null
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
    say "done $key $flags$statuses"
    [ "$mode" != task ] || over
}
