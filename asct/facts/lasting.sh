# The commands whose answers remain valid for an account until the host restarts. They run once, and the host caches
# their answers. See commands.sh for the format. The commands whose names begin with `fio-`, and io_uring, run only if
# fio is found.

#: kernel-options
release=$(uname -r) pattern='^(# )?CONFIG_(@kernel_options@)(=| is not set)'
if [ -r /proc/config.gz ]; then zcat /proc/config.gz | grep -E "$pattern"
else
    for file in "/boot/config-$release" "/lib/modules/$release/config" "/lib/modules/$release/build/.config"; do
        [ -r "$file" ] && grep -E "$pattern" "$file" && break
    done
fi

#: page-size
sed -n '/KernelPageSize/{p;q;}' /proc/self/smaps

#: memory-devices
# A structure consists of its type, length, handle and fields, followed by strings, each of which ends with a zero byte;
# another zero byte follows the last string (DSP0134, 6.1). Only types 16 and 17 are printed, because others may contain
# secrets that were passed to the machine (type 11, OEM Strings).
file=/sys/firmware/dmi/tables/DMI
if [ -r $file ]; then
    od -An -v -tx1 $file | awk '
    function value(text) { return 16 * index(d, substr(text, 1, 1)) + index(d, substr(text, 2, 1)) - 17 }
    BEGIN { d = "0123456789abcdef" }
    { for (i = 1; i <= NF; i++) byte[n++] = $i }
    END {
        for (at = 0; at + 4 <= n && byte[at] != "7f" && value(byte[at + 1]) >= 4; at = next_) {
            next_ = at + value(byte[at + 1])
            while (next_ + 1 < n && !(byte[next_] == "00" && byte[next_ + 1] == "00")) next_++
            next_ += 2
            if (byte[at] == "10" || byte[at] == "11") {
                for (i = at; i < next_ && i < n; i++) printf "%s", byte[i]
                print ""
            }
        }
    }'
elif [ -e $file ]; then echo unreadable; fi

#: counters
# No file reports how many counters a CPU has, but the Linux kernel logs the number at boot.
most perf.counters 20
dmesg 2>&1 |
    grep -E "not permitted|counters available|[.][.][.] generic (registers|counters|bitmap):" || true

#: perf-features
if command -v perf >/dev/null; then limited perf version --build-options 2>/dev/null; fi

#: uname
uname -m; uname -n; uname -r; uname -v

#: id
id -u

#: libc
getconf GNU_LIBC_VERSION 2>/dev/null || ldd --version 2>&1 | head -n 3

#: device-tree
# Texts in a device tree end with a zero byte. In a list, a zero byte follows each element.
for name in model compatible serial-number; do
    file=/proc/device-tree/$name
    [ -r "$file" ] && echo "$name=$(tr "\000" " " <"$file")"
done
true

#: hypervisor
systemd-detect-virt --vm

#: container
systemd-detect-virt --container

#: namespaces
for name in pid uts ipc; do readlink /proc/self/ns/$name || break; done

#: fio-engines
limited fio --enghelp

#: fio-options
# fio takes 70 ms to start, so the engines are queried in parallel.
also() { text=$(echo "engine $1"; limited fio --enghelp="$1"); cat; printf "%s\n" "$text"; }
limited fio --cmdhelp=all | also io_uring | also libaio | also mmap | also pvsync2

#: io_uring
# io_uring is tried with fio if fio has the engine. The cause of a failure may be temporary, such as a full disk. With
# this clock, fio does not measure the rate of another clock, which saves a third of its time. Because the job is a
# thread, it ends together with fio when the time is up; a process would lead its own session and therefore not end with
# fio.
tell fio --name=probe --ioengine=io_uring --filename="$spare/.probe.$$" --size=4k --rw=write --output=/dev/null \
    --clocksource=clock_gettime --thread
status=$?
limited rm -f -- "$spare/.probe.$$"
(exit $status)
