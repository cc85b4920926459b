# The batch script of a job: holds the node and runs what asct sends through a folder on it. Each command comes by a step
# of the job but is a child of this shell, so that it goes on when the step, the connection or asct goes. POSIX only.
# Variables set before: token, which names the folder; patience, in seconds.

LC_ALL=C
export LC_ALL
umask 077
door=/tmp/asct-job-$token
mkdir -m 700 -- "$door" && : >"$door/alive" && mkfifo "$door/orders" || exit 1

# ours [WORD]: what was started from here, or that of it which has WORD in its command line. Slurm itself may lose sight
# of a program that left its session.
ours() {
    for one in $(grep -lsz "^ASCT_JOB=$token\$" /proc/[0-9]*/environ); do
        one=${one%/environ}
        if [ -z "$1" ] || grep -qs -- "$1" "$one/cmdline"; then printf '%s ' "${one#/proc/}"; fi
    done
}

# The shells of the session go first: what is ended now has not ended by itself, as they would say.
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

# run NUMBER: the step that waits for it made the folder. Started by setsid and not in the background by `&`: a shell
# lets such a program ignore SIGINT for good. The runner of a session keeps descriptor 7, and so the lock.
run() {
    ASCT_JOB=$token setsid --fork sh -c '
        { flock -s 7; setsid sh "$2/command"; echo "$?" >"$2/status"; } \
            <"$2/in" >"$2/out" 2>"$2/err" 7<"$1/alive"' sh "$door" "$door/$1" 3<&-
}

# Nobody talks to this job and nothing runs in it: asct is gone, and will not come for the jobs behind it either.
tick() {
    flock -x -n "$door/alive" true || { idle=0; return; }
    idle=$((idle + 5))
    [ "$idle" -ge "$patience" ] || return 0
    case $SLURM_JOB_NAME in # which a cluster may change
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
    end) signals=KILL; exit "$rest" ;; # asct has nothing running here any more
    esac
done
