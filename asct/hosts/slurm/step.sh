# A step of a job (srun), whose standard streams are connected to asct. It passes one command to the batch script, which
# runs it, and forwards its input and output. Arguments: the folder of the job, a number, the command.

LC_ALL=C
export LC_ALL
umask 077
spot=$1/$2
left=600
until [ -p "$1/orders" ]; do
    left=$((left - 1))
    if [ "$left" = 0 ]; then echo "asct: the batch script of the job did not start" >&2; exit 125; fi
    sleep 0.1
done
# Process lists show the name, so another account could have created a folder of that name.
if [ -z "$(find "$1" -prune -type d -user "$(id -u)")" ]; then echo "asct: $1 belongs to another account" >&2; exit 125; fi
mkdir -- "$spot" && mkfifo "$spot/in" "$spot/out" "$spot/err" && printf '%s' "$3" >"$spot/command" || exit 125
exec 3<&0
cat <&3 >"$spot/in" 2>/dev/null &
feeder=$!
cat "$spot/err" >&2 3<&- &
errors=$!
cat "$spot/out" 3<&- &
printf 'run %s\n' "$2" >"$1/orders"
wait "$!" "$errors"
kill "$feeder" 2>/dev/null
status=125
read -r status <"$spot/status"
rm -rf -- "$spot"
exit "$status"
