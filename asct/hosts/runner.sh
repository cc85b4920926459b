# The runner of asct on every host, including this machine. It needs a POSIX shell (dash, bash, busybox ash), setsid and
# flock. Values arrive quoted, with $nl for a line feed. $root, set by the caller, is the work folder; $mode is the role of
# this shell:
#
#   none    defines the functions only, to open the session
#   line    reads one line of calls from standard input and runs it: short commands, files, housekeeping
#   serve   the runner of the session, detached: reads the FIFO `.control`, starts and stops work
#   task    the part of the runner that takes one task of a job file from its folder to its report
#
# Each program that a task starts leads a separate session, so that it can be stopped together with its children. The shell
# does as much as possible itself: starting a program costs more than a millisecond, and many tasks take no longer than that.
#
# The runner executes the job files .queue/1, .queue/2, ... by itself, even while the connection is down. Each event is a
# line of `.journal` that begins with `asct:`. It is also sent over the connection that started the runner, as long as that
# connection lasts. The output of programs goes to files, which are kept until asct has copied them.
#
# runner_task.sh executes the job files. On a host, both files form one text.
#
# Descriptors: 3 control, 4 connection, 5 journal, 6 the lock of the session (.session), 7 standard error of the connection
# until the script of the session has started, 9 the lock of the host. Both locks are taken with flock(2). The Linux kernel
# holds them until the last process of the session has ended, including the measuring programs. .session is also opened for
# writing, because NFS requires this for an exclusive lock.

nl='
'
LC_ALL=C
export LC_ALL
umask 077
LOCK=/var/tmp/asct.lock
LINGER_S=30
PATIENCE_S=5
LEAD=48

say() {
    [ -z "$journal" ] || printf 'asct:%s\n' "$*" >&5
    [ -z "$live" ] || printf 'asct:%s\n' "$*" 2>/dev/null >&4 || live=
}

fail() {
    if [ "$mode" = task ]; then
        say "failed $key $*"
        over
    fi
    clear_away
    say "failed $*"
    exit 0
}

# Remove the folder of a session that failed to start, unless it contains results of an earlier part of the run.
clear_away() {
    if [ -n "$mine" ] && [ ! -e "$root/.queue/1" ]; then rm -rf -- "$root"; fi
}

# look PID: set $start to the start time in ticks since boot (field 22 of stat, counted after the name in parentheses), or to
# an empty string for a zombie
look() {
    start=
    IFS= read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
    set -- ${stat##*) }
    [ "$1" != Z ] || return 1
    shift 19
    start=$1
}

# alive FILE: test whether the process recorded in FILE is running; set $pid, and $rest to the text after its start time
alive() {
    pid= noted=
    { read -r pid noted rest <"$1"; } 2>/dev/null
    [ -n "$noted" ] && look "$pid" && [ "$start" = "$noted" ]
}

# note FILE PID [WORD]: record the process, its start time and WORD in FILE
note() {
    look "$2"
    printf '%s\n' "$2 $start${3:+ $3}" >"$1"
}

# defaults: set $via to the words that start a program with the default dispositions of HUP, INT and QUIT. nohup and shells
# that start a program in the background ignore some of them, and no shell can restore them.
defaults() {
    via='env --default-signal=HUP,INT,QUIT' # coreutils 8.31
    if $via true 2>/dev/null; then return; fi
    via='perl -e $SIG{HUP}=$SIG{INT}=$SIG{QUIT}=q(DEFAULT);exec{$ARGV[0]}@ARGV'
    $via true 2>/dev/null || via=
}

# State, parent and process group follow the name in parentheses.
leads_group() {
    IFS= read -r stat <"/proc/$$/stat" || return 1
    set -- ${stat##*) }
    [ "$3" = "$$" ]
}

# ---- the session
# No ancestor of a task runs in the background, because a shell makes background programs ignore SIGINT. Therefore the
# shell that listens runs in the background, and the first shell waits for the one that works.

# begin OWNER, with $boot, $via, $cache and $script: start the runner of this session unless it is running, and forward the
# messages of asct. The runner inherits the lock of the session.
begin() {
    cd /
    command -v flock >/dev/null && command -v setsid >/dev/null || fail "flock and setsid are missing (util-linux)"
    [ -p "$root/.control" ] || mkfifo "$root/.control" "$root/.go" || fail "cannot create a FIFO in $root"
    printf '' 2>/dev/null >>"$root/.session" || fail "cannot write to $root"
    exec 6<>"$root/.session" 8<>"$root/.control"
    if ! flock -n 6; then
        if alive "$root/.hear" && alive "$root/.pid"; then
            exec 6<&-
            printf 'hello %s\n' "$$" >&8
            say "joined $pid"
            hand_on
            exit 0
        fi
        end_leftovers # the processes of a runner that no longer listens
    fi
    mine=1
    printf '%s\n' "$boot" >&6 || fail "cannot write to $root"
    exec 3<&0 # this shell ends with the runner, which closes the connection
    ( exec <&3 >/dev/null 2>&1 3<&- 4>&- 6<&-; hand_on ) & # dash keeps copies of what is redirected for a function
    $via setsid sh -c 'root=$1 mode=serve attach=$2 owner=$3 find=$4 keep=$5 cache=$6 script=$7; . "$root/.runner"' \
        sh "$root" "$$" "$1" "$find" "$keep" "$cache" "${script:+$root/.script}" </dev/null 3<&- 8<&-
    exit 0
}

hand_on() {
    while IFS= read -r word; do printf '%s\n' "$word" >&8; done
    printf 'gone %s\n' "$$" >&8
}

# Another account may have planted something else under the name of the lock, which is the same for all accounts. The file is
# therefore created under a random name and then linked, which opens nothing (-T: not into a planted folder); afterward, it is
# only read.
lock() {
    if [ ! -e "$LOCK" ] && [ ! -h "$LOCK" ]; then
        made=$(mktemp "$LOCK-XXXXXXXX") && chmod 666 "$made" && ln -T -- "$made" "$LOCK"
        rm -f -- "$made"
    fi 2>/dev/null
    [ -f "$LOCK" ] && [ ! -h "$LOCK" ] && [ -r "$LOCK" ] || fail "$LOCK is not a readable file"
    exec 9<"$LOCK"
    patience=$PATIENCE_S
    until flock -n 9; do
        if [ "$patience" -lt "$PATIENCE_S" ] && held || [ "$patience" -eq 0 ]; then locked; fi
        patience=$((patience - 1))
        sleep 1
    done
    [ "/proc/$$/fd/9" -ef "$LOCK" ] || fail "$LOCK was replaced"
}

# Kill the processes left behind by a killed runner, because they hold the lock of the session.
end_leftovers() {
    attempts=10
    until flock -n 6; do
        [ "$attempts" -gt 0 ] || fail "cannot lock $root/.session"
        attempts=$((attempts - 1))
        end_all
        sleep 1
    done
}

end_all() {
    for one in .pid .hear .work .task; do
        if alive "$root/$one"; then kill -s KILL -- "-$pid" 2>/dev/null || kill -s KILL "$pid"; fi
    done
    for one in /proc/[0-9]*/fd/6; do # processes whose leader was killed
        [ "$one" -ef "$root/.session" ] || continue
        one=${one#/proc/}
        [ "${one%%/*}" = "$$" ] || kill -s KILL "${one%%/*}" 2>/dev/null
    done
}

# strays: set $strays to the processes of tasks that are still running outside the tasks' process groups (fio jobs lead
# separate sessions). Every process of a task inherits both locks, and only the shells of the runner are in its session. A
# shell that waits for the runner to end has only descriptor 6. At the end of the session, short commands are killed as well.
strays() {
    strays=
    for one in /proc/[0-9]*/fd/6; do
        [ "$one" -ef "$root/.session" ] || continue
        one=${one#/proc/}
        one=${one%%/*}
        if [ -n "$ending" ] && [ "/proc/$one/fd/9" -ef "$root/.session" ]; then
            kill -s KILL "$one" 2>/dev/null
            strays="$strays $one"
        fi
        [ "$one" != "$$" ] && [ "/proc/$one/fd/9" -ef "$LOCK" ] || continue
        { IFS= read -r stat <"/proc/$one/stat"; } 2>/dev/null || continue
        set -- ${stat##*) }
        [ "$4" = "$$" ] || [ "$1" = Z ] || strays="$strays $one"
    done
}

# guardian PID: test whether a process ignores TERM (bit 14 of the mask). guard and the kernels leave such a process behind: it
# returns huge pages, or removes a RAID set as soon as no other process uses the set.
guardian() {
    while read -r name value rest; do
        case $name$value in
        SigIgn:*[4567cdef]???) return 0 ;;
        SigIgn:*) return 1 ;;
        esac
    done 2>/dev/null <"/proc/$1/status"
    return 1
}

# Terminate strays, and kill those that remain after 10 s. Guardians get 10 s more, since they may have waited for the others.
# A killed process holds the lock until it is scheduled once more, so wait for it.
end_strays() {
    strays
    [ -z "$strays" ] || kill -s TERM $strays 2>/dev/null
    now
    began=$now age=0
    while [ -n "$strays" ] && [ "$age" -lt 2200 ]; do
        for one in $strays; do
            if [ "$age" -ge 2000 ] || { [ "$age" -ge 1000 ] && ! guardian "$one"; }; then kill -s KILL "$one" 2>/dev/null; fi
        done
        sleep 0.1 2>/dev/null || sleep 1 # POSIX requires only whole seconds
        now
        age=$((now - began))
        strays
    done
}

# The card of a session identifies it to users who find the host locked. It is a symbolic link, which is created and read
# without opening anything, because another account may have planted something else under this name. All other cards are
# obsolete.
show_card() {
    set -- "$LOCK".[0-9]*
    if [ -h "$1" ] || [ -e "$1" ]; then rm -f -- "$@" 2>/dev/null; fi
    look "$$"
    uptime
    ln -sT -- "$start ${up%.*} $owner" "$LOCK.$$" 2>/dev/null
}

# held: test whether the holder of the lock has a card; set $pid, $since (uptime in seconds) and $text from it. For a moment,
# a new session holds the lock without having a card.
held() {
    for one in "$LOCK".[0-9]*; do
        pid=${one#"$LOCK."}
        text=$(readlink "$one") && look "$pid" && [ "$start" = "${text%% *}" ] || continue
        text=${text#* }
        since=${text%% *} text=${text#* }
        text=${text%%"$nl"*}
        case $since in
        '' | 0* | *[!0-9]* | ??????????*) since= ;;
        esac
        return 0
    done
    return 1
}

locked() {
    clear_away
    if held; then
        uptime
        say "locked $pid $((${up%.*} - ${since:-${up%.*}})) ${text:-unknown}"
    else
        say "locked 0 0 unknown"
    fi
    exit 0
}

serve() {
    trap : INT TERM HUP PIPE
    exec 3<>"$root/.control" 5>>"$root/.journal"
    journal= live=1 last=0 mine=1 ending= via=
    leader=/usr/bin/setsid
    [ -x "$leader" ] || leader=$(command -v setsid)
    lock
    show_card
    journal=1
    [ ! -e "$root/.stop" ] || rm -f -- "$root/.stop"
    [ -p "$root/.go" ] || mkfifo "$root/.go" || fail "cannot create a FIFO in $root"
    exec 8<>"$root/.go"
    : >"$root/.told"
    note "$root/.pid" "$$"
    reading=
    [ -z "$keep" ] || reading=$keep$nl/dev/null$nl$(eval "$find")
    while [ -e "$root/.queue/$((last + 1))" ]; do last=$((last + 1)); done
    next=$((last + 1))
    say "serving $next"
    [ -z "$script" ] || answer &
    exec 7>&-
    ( hear & wait "$!"; kill -s KILL 0 ) & # if the listener is killed, the runner ends, and asct starts another one
    ( work )
    trap '' INT TERM HUP PIPE
    printf 'broken\n' >&3
    wait
}

# answer: run the script of the session on standard error of the connection, apart from the events. Like a short command, it
# belongs to the session, which recognizes it by the descriptors 6 and 9 and ends it.
answer() {
    exec 6<"$root/.session" 9<&6 >&7 3<&- 5>&- 7>&- 8<&-
    printf 'asct:answer\n'
    trap 'printf "asct:answered\n"; printf "asct:answered\n" >&4' EXIT
    . "$script"
}

# own_pid: set $me to the process id of this shell, even in a subshell, and change to /
own_pid() {
    cd -P /proc/self
    me=${PWD##*/}
    cd /
}

# Process the messages of asct and of the working shell. Each `go` is followed by an `idle`.
hear() {
    own_pid
    note "$root/.hear" "$me"
    going=0 leaving=
    while :; do
        read -r word rest <&3 || continue
        case $word in
        job) going=$((going + 1)); printf 'go\n' >&8 ;;
        idle) going=$((going - 1)); went_idle ;;
        stop) stop_work ;;
        ping) if [ "$going" -gt 0 ]; then say "pong $rest busy"; else say "pong $rest idle"; fi ;;
        alarm) look_at_limit ;;
        heard) printf '%s\n' "$rest" >"$root/.heard" ;;
        hello) attach=$rest live= ;;
        gone) [ "$rest" != "$attach" ] || { attach= live=; linger; } ;;
        expire) [ -n "$attach" ] || [ "$going" -gt 0 ] || expire ;;
        leave) leaving=1; stop_work; [ "$going" -gt 0 ] || over_and_out "$root" ;;
        broken) end_all ;;
        esac
    done
}

# A runner that has neither a connection nor work exits, so that another run can use the host. The results are kept.
linger() {
    [ -n "$attach" ] || [ "$going" -gt 0 ] ||
        ( sleep "$LINGER_S"; printf 'expire\n' >&3 ) 4>&- 5>&- 6<&- 8<&- 9<&- &
}

# Keep the folder if there are results to collect.
expire() {
    if [ -e "$root/.queue/1" ]; then over_and_out "$root/.pid"; else over_and_out "$root"; fi
}

# removed PATH: remove PATH, with retries, because a working shell that has just started may still write to the folder
removed() {
    for try in 1 2 3 4 5; do
        if rm -rf -- "$1"; then return; fi
        [ "$try" = 5 ] || sleep 0.2
    done
    return 1
}

# over_and_out PATH: remove PATH, either the runner's pid file or the work folder, and exit. Removing the folder may take a
# while. The card is kept until then, so that users who find the host locked can see who holds the lock; without a card, they
# would wait for a moment. The host is unlocked before asct is notified, because another run may start immediately. If a
# process that cannot be killed still holds the lock, the host remains locked.
over_and_out() {
    ending=1
    end_strays
    if removed "$1"; then
        rm -f -- "$LOCK.$$"
        [ -n "$strays" ] || flock -u 9
        [ -z "$leaving" ] || say left
    fi
    kill -s KILL 0
}

went_idle() {
    [ "$going" -eq 0 ] || return
    if [ -e "$root/.stop" ]; then stopped; fi
    [ -z "$leaving" ] || over_and_out "$root"
    linger
}

stopped() {
    rm -f -- "$root/.stop"
    say stopped
}

# Stop the running task, and start no other task.
stop_work() {
    if [ "$going" -gt 0 ]; then
        : >"$root/.stop"
        if alive "$root/.task"; then end_task; fi
    else
        say stopped
    fi
}

end_task() { ( end_group "$pid" ) 3<&- 4>&- 5>&- 6<&- 8<&- 9<&- & }

# end_group PID: INT, then TERM, then KILL. A process that has just started may not lead a group yet.
end_group() {
    for signal in INT TERM KILL; do
        kill -s "$signal" -- "-$1" 2>/dev/null || kill -s "$signal" "$1" 2>/dev/null || return
        sleep 2
    done
}

# An alarm expired. If it was set for an earlier task, set another one for the remaining time of this task. A task on a busy
# host may exceed its limit before its process is recorded; look again until it is.
look_at_limit() {
    [ -e "$root/.due" ] || return 0
    due= finished=
    { read -r due key <"$root/.due"; read -r finished rest <"$root/.done"; } 2>/dev/null
    now
    if [ -z "$due" ]; then set_alarm 20 # the file is being written
    elif [ "$now" -lt "$due" ]; then set_alarm $((due - now))
    elif [ "$finished" = "$key" ]; then :
    elif alive "$root/.task" && [ "${rest#* }" = "$key" ]; then
        say "late $key"
        end_task
    else set_alarm 20
    fi
}

# set_alarm HUNDREDTHS: send an alarm after this time, which is rounded up to whole seconds (as POSIX requires for sleep(1))
# unless it is short
set_alarm() {
    nap=$((($1 + 99) / 100))
    [ "$1" -ge 300 ] || nap=$(($1 / 100)).$(($1 % 100 / 10))$(($1 % 10))
    ( sleep "$nap"; printf 'alarm\n' >&3 ) 4>&- 5>&- 8<&- 9<&- &
}

# execute PROGRAM [ARGUMENT]...: run a short command on this connection with the rest of standard input. It belongs to the
# session, which recognizes it by the descriptors 6 and 9 and ends it.
execute() {
    if [ -e "$root/.session" ]; then exec 6<"$root/.session" 9<&6; fi
    say "begin $$"
    printf 'asct:begin\n' >&2
    exec $via "$@" <&3 3<&- 4>&-
}

# finish PID: kill the process group of a command that took too long
finish() {
    kill -s KILL -- "-$1" 2>/dev/null
    say done
}

# remove PATH ROOT...: remove PATH if it is below one of the roots after links are resolved
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
    fail "$path is outside the work folder (through a link)"
}

# leave: end the session and remove its folder after its last process has ended. A runner that still has the connection over
# which it was started does this itself.
leave() {
    cd /
    if [ -f "$root/.session" ]; then
        exec 6<"$root/.session"
        ( sleep 27; end_all ) 6<&- & # a task ends within 4 s, and what it left behind within 22 s more (end_strays)
        if alive "$root/.pid"; then
            printf 'leave\n' 1<>"$root/.control"
            flock 6
        else
            text=$(readlink "$LOCK.$pid") && [ "$noted" = "${text%% *}" ] && rm -f -- "$LOCK.$pid" # its old card
            end_leftovers
        fi
    fi
    rm -rf -- "$root"
    say done
    kill -s KILL 0
}

case $mode in
serve)
    exec 4>&1 7>&2 </dev/null >/dev/null 2>&1
    serve ;;
line)
    exec 4>&1 3<&0 </dev/null
    journal= live=1 key=- mine=
    if ! leads_group; then
        [ -z "$ASCT_SETSID" ] && command -v setsid >/dev/null || fail "the shell is not the leader of a process group, and setsid is missing"
        ASCT_SETSID=1 exec setsid sh -c 'root=$1 mode=line; . "$root/.runner"' sh "$root" <&3 >&4
    fi
    unset ASCT_SETSID
    IFS= read -r line <&3 || exit 0
    eval "$line" ;;
esac
