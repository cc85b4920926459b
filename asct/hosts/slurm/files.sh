# Files of a node for asct, over the standard streams of one step: each line of calls is answered by `asct:ok SIZE`, SIZE
# bytes and a line feed, or by one of `missing`, `odd`, `large`, `there`, `no REASON`. The step passes on whole lines only,
# hence the line feed. Values arrive quoted, $nl stands for a line feed inside them. POSIX only.

nl='
'
LC_ALL=C
export LC_ALL
umask 077

spool=${0%/*}/spool
reply() { printf 'asct:%s\n' "$*"; }
done_so() { printf 'asct:ok 0\n\n'; }

# bytes SIZE PROGRAM [ARGUMENT]...: what the program prints; one that shrank meanwhile is filled up. Put together first
# when it is little: the pieces would go through the network one by one.
bytes() {
    if [ "$1" -le 65536 ]; then
        pieces "$@" >"$spool" && cat -- "$spool"
    else
        pieces "$@"
    fi
}
pieces() {
    reply "ok $1"
    left=$1
    shift
    if [ "$left" -gt 0 ]; then { "$@"; cat /dev/zero; } 2>/dev/null | head -c "$left"; fi
    echo
}

size() { { wc -c <"$1"; } 2>/dev/null || echo 0; }
try() {
    if said=$("$@" 2>&1); then return 0; fi
    reply "no ${said##*: }"
    return 1
}

# fetch PATH MOST: a regular file of at most MOST bytes
fetch() {
    if [ -h "$1" ] || { [ -e "$1" ] && [ ! -f "$1" ]; }; then reply odd; return; fi
    [ -f "$1" ] || { reply missing; return; }
    [ -r "$1" ] || { reply no Permission denied; return; }
    found=$(($(size "$1")))
    if [ "$found" -gt "$2" ]; then reply large; else bytes "$found" cat -- "$1"; fi
}

# more PATH OFFSET MOST: what stands there from OFFSET on, at most MOST bytes
more() {
    found=0
    if [ -f "$1" ]; then found=$(($(size "$1") - $2)); fi
    if [ "$found" -lt 0 ]; then found=0; fi
    if [ "$found" -gt "$3" ]; then found=$3; fi
    bytes "$found" tail -c +"$(($2 + 1))" "$1"
}

exists() { if [ -e "$1" ] || [ -h "$1" ]; then reply there; else reply missing; fi; }

folder() {
    if [ -e "$1" ] || [ -h "$1" ]; then reply there; return; fi
    if try mkdir -p -- "$1"; then done_so; fi
}

# text PATH PARTIAL TEXT: a file with this text, under the name PARTIAL first
text() {
    if { printf '%s' "$3" >"$2"; } 2>/dev/null && mv -f -- "$2" "$1" 2>/dev/null; then
        done_so
    else
        rm -f -- "$2"
        reply "no it cannot be written"
    fi
}

# settle PATH PARTIAL MODE SIZE: a file that came over a stream of its own gets its name
settle() {
    [ "$(($(size "$2")))" = "$4" ] || { rm -f -- "$2"; reply "no it did not come whole"; return; }
    if try chmod "$3" -- "$2" && try mv -f -- "$2" "$1"; then done_so; fi
}

done_so
while IFS= read -r line; do eval "$line"; done
