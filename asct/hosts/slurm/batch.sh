# The batch script of a job: holds the node and runs the commands that asct sends through a folder on it. A command arrives
# with a step of the job but is a child of this shell, so that it continues if the step, the connection or asct ends. POSIX
# only. Two variables are set beforehand: token, which is part of the folder's name, and patience, in seconds.

LC_ALL=C
export LC_ALL
umask 077
door=/tmp/asct-job-$token
mkdir -m 700 -- "$door" && : >"$door/alive" && mkfifo "$door/orders" || exit 1

# ours [WORD]: print the processes started from here, or only those with WORD in their command line. Slurm may lose track of
# a program that has left its session.
ours() {
    for one in $(grep -lsz "^ASCT_JOB=$token\$" /proc/[0-9]*/environ); do
        one=${one%/environ}
        if [ -z "$1" ] || grep -qs -- "$1" "$one/cmdline"; then printf '%s ' "${one#/proc/}"; fi
    done
}

# Kill the shells of the session first: otherwise, they would report that the killed programs ended on their own.
finish() {
    trap '' INT TERM HUP
    kill -s KILL $(ours mode=) 2>/dev/null
    for signal in $signals; do
        kill -s "$signal" $(ours) 2>/dev/null || break
        for nap in 1 2 3 4 5; do
            if [ -z "$(ours)" ]; then break; fi
            sleep 0.3
        done
    done
    rm -rf -- "$door"
    kill "$ticker"
}
signals="INT TERM KILL"
trap finish EXIT
trap 'exit 1' INT TERM HUP
cd /
exec 3<>"$door/orders"
( while [ -p "$door/orders" ]; do sleep 5; printf 'tick\n' >&3; done ) &
ticker=$!

# run NUMBER: run the command in the folder that the step has created; the step waits for it. The command is started with
# setsid rather than in the background with `&`, because a shell makes background programs ignore SIGINT. The runner of a
# session keeps descriptor 7 open and therefore keeps the lock.
run() {
    ASCT_JOB=$token setsid --fork sh -c '
        { flock -s 7; setsid sh "$2/command"; echo "$?" >"$2/status"; } \
            <"$2/in" >"$2/out" 2>"$2/err" 7<"$1/alive"' sh "$door" "$door/$1" 3<&-
}

# If no command is running and none arrives, asct is gone and will not use the following jobs either: cancel them.
tick() {
    flock -x -n "$door/alive" true || { idle=0; return; }
    idle=$((idle + 5))
    [ "$idle" -ge "$patience" ] || return 0
    case $SLURM_JOB_NAME in # a cluster may change the name
    asct-*) scancel --quiet --state=PENDING --user="$(id -un)" --name="$SLURM_JOB_NAME" 2>/dev/null ;;
    esac
    exit 1
}

idle=0
while :; do
    read -r word rest <&3 || continue
    case $word in
    run) idle=0; run "$rest" ;;
    tick) tick ;;
    end) signals=KILL; exit "$rest" ;; # none of asct's processes is left here
    esac
done
