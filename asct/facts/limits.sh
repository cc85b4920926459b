# Functions that limit commands: `most FIELD LINES` limits the lines of a command, `limited PROGRAM...` limits the time
# of a program, and `tell PROGRAM...` limits both its time and its output. A program that timed out has the status of a
# killed program, even if it had already printed part of its output. Without `timeout`, which some BusyBox builds lack,
# the shell waits until the program ends.

most() { [ -z "$packed" ] || printf '%s most %s %s\n' "$token" "$1" "$2"; }
if command -v timeout >/dev/null; then limited() { timeout -s KILL @seconds@ "$@"; }
else limited() { "$@"; }; fi
tell() {
    { code=$({ { limited "$@" 2>&1 3>&- 4>&-; printf %s "$?" >&3; } | head -c @bytes@ >&4; } 3>&1); } 4>&1
    return "${code:-1}"
}
