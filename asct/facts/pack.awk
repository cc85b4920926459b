# Packs and limits what the host prints. A line that many CPUs have in common is printed only once, after the numbers of
# these CPUs. This applies to the files of each CPU and to the blocks in /proc/cpuinfo, where lines such as the flags
# are long. The output of commands passes through, but is limited if the command requests it. Cached answers also pass
# through, and are marked with the token of this exchange.
#
# Mounts may contain logins and passwords (ftp://user:password@server, options of a FUSE file system). These never leave
# the host: without awk, no mounts are printed at all. The parser masks a copy of /proc in the same way (mounts.veiled).

function run(key) { return from[key] == to[key] ? from[key] : from[key] "-" to[key] }
function add(group, owner, line, key) {
    key = group SUBSEP line
    if (!(key in to)) {
        if ((held += length(line) + 1) > @bytes@) { left[group]++; return }
        known[group, ++lines[group]] = line
        from[key] = owner
    } else if (owner != to[key] + 1) {
        runs[key] = runs[key] run(key) ","
        from[key] = owner
    }
    to[key] = owner
}
function tell(kind, group, i, key) {
    if (!(group in lines)) return
    print token " " kind " " group
    for (i = 1; i <= lines[group]; i++) {
        key = group SUBSEP known[group, i]
        print runs[key] run(key) " " known[group, i]
    }
}
function veiled(text, done, found) {
    gsub("//[^ ]*@", "//***@", text)
    while (match(text, "@secret@")) {
        found = substr(text, RSTART, RLENGTH)
        done = done substr(text, 1, RSTART - 1) substr(found, 1, index(found, "=")) "***"
        text = substr(text, RSTART + RLENGTH)
    }
    return done text
}
BEGIN { cpu = "@cpu@/cpu"; info = "/proc/cpuinfo"; block = 0 }
kept {
    if (FNR > 2) print (index($0, kept " ") == 1 ? token substr($0, length(kept) + 1) : $0)
    next
}
index($0, token " ") == 1 {
    if ($2 == "most") { field = $3; most = $4; taken = 0; next }
    if ($2 == "end" && most) {
        if (last == "") taken--
        if (taken > most) print token " left " field " " (taken - most)
        most = 0
    }
    if ($2 != "left") section = $2
    print
    next
}
section != "files" {
    last = $0
    if (!most || ++taken <= most) print
    next
}
{
    if (index($0, "/proc/self/mount") == 1) $0 = veiled($0)
    colon = index($0, ":")
    path = substr($0, 1, colon - 1)
    if (path == info) {
        if (colon < length($0)) { add(info, block, substr($0, colon + 1)); filled = 1 }
        else { block += filled; filled = 0 }
    } else if (index(path, cpu) == 1 && substr(path, length(cpu) + 1, 1) ~ /[0-9]/) {
        rest = substr($0, length(cpu) + 1)
        add(cpu, rest + 0, substr(rest, index(rest, "/") + 1))
    } else if (++count[path] > @lines@ || (size += length($0) + 1) > @bytes@) left[path]++
    else print
}
END {
    for (path in left) print token " left " path " " left[path]
    tell("blocks", info)
    tell("numbered", cpu)
}
