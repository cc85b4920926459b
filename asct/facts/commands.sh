# The commands that a host runs each time its facts are read. A line `#: NAME` begins a command and names its output.
# Variables: `work` is the work folder, `cache` is the account's cache folder, and `token` marks lines for the reader.
#
# A command limits its own output: `most FIELD 500` permits 500 lines of output after it and counts any further lines
# for the fact FIELD. A program that may have to wait, for example for a drive or a file system, runs under `limited` or
# `tell` (limits.sh).

#: cmn-cpus
read -r host </proc/sys/kernel/hostname
kept=$cache/cmn-cpus-$host.json
! { [ -n "$cache" ] && [ -f "$kept" ] && [ -r "$kept" ] && [ -O "$kept" ]; } || head -c 150000 "$kept"

#: cmn-links
for at in /sys/bus/event_source/devices/arm_cmn*; do
    [ ! -e "$at" ] || echo "${at##*/} $(readlink -f "$at")"
done

#: clocks
# This is not necessary on x86, the only architecture with a `bootloader_type`, because /proc/cpuinfo contains the
# clocks there. Moreover, some Linux kernels sleep 10 ms for each clock on x86.
[ -e /proc/sys/kernel/bootloader_type ] || {
    most cpu.policies 4096
    grep -s "" /dev/null /sys/devices/system/cpu/cpufreq/policy[0-9]*/scaling_cur_freq || true
}

#: cpu-groups
while IFS=: read -r number names path; do
    root=/sys/fs/cgroup
    case ,$names, in
    ,,) [ -e $root/cgroup.controllers ] || {
        other=$(sed -n "/ cgroup2 /{s/^[^ ]* \([^ ]*\) .*/\1/p;q;}" /proc/self/mounts 2>/dev/null)
        root=${other:-$root}
    } ;;
    *,cpu,*) root=$root/cpu ;;
    *) continue ;;
    esac
    path=${path%/}
    while :; do
        at=$root$path
        if [ -r "$at/cpu.max" ]; then
            read -r quota period <"$at/cpu.max" && echo "$quota $period"
        elif [ -r "$at/cpu.cfs_quota_us" ]; then
            read -r quota <"$at/cpu.cfs_quota_us" && read -r period <"$at/cpu.cfs_period_us" && echo "$quota $period"
        fi
        [ -n "$path" ] || break
        path=${path%/*}
    done
done </proc/self/cgroup

#: command-line
# Values that may be passwords or keys are masked here, so that they never leave the host. The parser masks a copy of
# /proc in the same way (kernel.masked). A quoted value may contain spaces, and a value may itself contain a name
# (systemd.setenv=TOKEN=...).
(set -f; open=; IFS= read -r line </proc/cmdline
for word in $line; do
    if [ -n "$open" ]; then
        case $word in *\"*) open= ;; esac
        continue
    fi
    case $word in
    *=*) case ${word%=*}= in
        *[Pp][Aa][Ss][Ss][Ww]* | *[Pp][Aa][Ss][Ss][Pp][Hh][Rr]* | *[Pp][Ww][Dd]* | *[Ss][Ee][Cc][Rr][Ee][Tt]* | \
        *[Tt][Oo][Kk][Ee][Nn]* | *[Cc][Rr][Ee][Dd][Ee][Nn][Tt][Ii][Aa][Ll]* | *[Aa][Uu][Tt][Hh]=* | \
        *[Pp][Aa][Ss][Ss]=* | *[Pp][Ss][Kk]=* | *[Pp][Ww]=* | *[Kk][Ee][Yy][=._-]* | *[Kk][Ee][Yy][Ss][=._-]*) hide=1 ;;
        *) case $word in *=*:*@*) hide=1 ;; *) hide= ;; esac ;;
        esac
        [ -z "$hide" ] || {
            case $word in *\"*\"*) ;; *\"*) open=1 ;; esac
            word="${word%%=*}=***"
            case $word in *\"*) word=$word\" ;; esac
        } ;;
    esac
    printf "%s " "$word"
done)

#: irqbalance
# Reading the names of all processes to find the daemon would take too long on hosts with thousands of them.
(for at in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
    file=$at/system.slice/irqbalance.service/cgroup.procs
    [ -r "$file" ] && read -r pid <"$file" && echo running && exit
done
for file in /run/irqbalance.pid /var/run/irqbalance.pid; do
    [ -r "$file" ] && read -r pid <"$file" && [ -d "/proc/${pid:-0}" ] && echo running && exit
done
for file in /run/irqbalance*.sock /run/irqbalance/*.sock; do
    [ -S "$file" ] && echo running && exit
done
command -v irqbalance >/dev/null || { echo absent; exit; }
if [ -d /run/systemd/system ]; then echo stopped; else echo unknown; fi)

#: present
for at in /dev/mem /proc/kcore /sys/fs/resctrl /sys/kernel/btf/vmlinux; do
    if [ -r "$at" ]; then echo "readable $at"
    elif [ -e "$at" ]; then echo "there $at"; fi
done

#: memory-groups
while IFS=: read -r number names path; do
    root=/sys/fs/cgroup limit=max used=current
    case $names in
    "") [ -e $root/cgroup.controllers ] || {
        other=$(sed -n "/ cgroup2 /{s/^[^ ]* \([^ ]*\) .*/\1/p;q;}" /proc/self/mounts 2>/dev/null)
        root=${other:-$root}
    } ;;
    memory) root=$root/memory limit=limit_in_bytes used=usage_in_bytes ;;
    *) continue ;;
    esac
    path=${path%/}
    while :; do
        at=$root$path/memory
        [ -r "$at.$limit" ] && [ -r "$at.$used" ] && read -r most <"$at.$limit" && read -r now <"$at.$used" &&
            case $most in
            *[!0-9]* | 922337203685477*) ;;
            *) echo "$most $now" $(sed -n -e "s/^inactive_file //p" "$at.stat") ;;
            esac
        [ -n "$path" ] || break
        path=${path%/*}
    done
done </proc/self/cgroup

#: addresses
# The addresses, and the lines of /etc/hosts that name them. Lines for other machines never leave the host.
ip -o addr 2>/dev/null | awk -v mark="$token left network.addresses" '
FILENAME == "/etc/hosts" {
    sub(/#.*/, ""); sub(/\r$/, "")
    if (NF > 1 && (tolower($1) in own || $1 ~ /^127\./ || $1 == "::1") && ++names <= 200) print "hosts", $0
    next
}
++count <= 1000
{ for (i = 3; i < NF; i++) if ($i ~ /^inet6?$/) { split($(i + 1), part, "/"); own[part[1]] = 1 } }
END { if (count > 1000) print mark, count - 1000 }' - /etc/hosts 2>/dev/null || true

#: routes
# Routers have hundreds of thousands of routes, so only the default routes leave the host. The numbers in
# /proc/net/route are in the byte order of the machine.
awk -v mark="$token left network.gateways" '
(FILENAME ~ /ipv6/ ? $1 ~ /^0+$/ && $2 == "00" : $2 == "00000000" && $8 == "00000000") {
    if (++count <= 40) print FILENAME ":" $0
}
END { if (count > 40) print mark, count - 40 }' /proc/net/route /proc/net/ipv6_route 2>/dev/null

#: network-namespace
if [ ! -e /proc/1/ns/net ]; then echo unreadable
elif [ /proc/1/ns/net -ef /proc/self/ns/net ]; then echo first
else echo own; fi

#: network-namespaces
# These are the namespaces that `ip netns` and Docker name. Finding namespaces without a name would require reading the
# links of all processes.
most network.namespaces 400
(set --
for at in /run/netns/* /run/docker/netns/*; do
    [ ! -e "$at" ] || set -- "$@" "$at"
done
[ $# = 0 ] || ls -di -- "$@" 2>/dev/null
for at; do
    if [ "$at" -ef /proc/self/ns/net ]; then echo "own $at"; fi
done)

#: df
limited df -P -k -- "$work"

#: devices
# Print one line for each device with hardware: its path in /sys, its real path and its queues (blk-mq, or receive and
# transmit), followed by properties of its PCI function: the node, the speed and width of the link (current and
# highest), and the driver (the first line of uevent). The PCI function is the nearest folder above the device that
# contains a configuration space. This uses only shell builtins.
(first() { value=; [ ! -r "$1" ] || read -r value 2>/dev/null <"$1"; printf "|%s" "$value"; }
taken=0
for at in /sys/class/nvme/nvme* /sys/class/hwmon/hwmon* /sys/block/* /sys/class/net/*; do
    [ -e "$at/device" ] && cd -P "$at" 2>/dev/null || continue
    taken=$((taken + 1))
    [ "$taken" -le 2048 ] || continue
    printf "%s|%s" "$at" "$PWD"
    case $at in
    /sys/block/*) set -- mq/*; [ -e "$1" ] || shift; printf "|%s|" $# ;;
    /sys/class/net/*)
        set -- queues/rx-*; [ -e "$1" ] || shift; printf "|%s" $#
        set -- queues/tx-*; [ -e "$1" ] || shift; printf "|%s" $# ;;
    *) printf "||" ;;
    esac
    case $PWD in
    */pci*)
        until [ -e config ] || [ "$PWD" = /sys/devices ] || [ "$PWD" = / ]; do cd ..; done
        for file in numa_node current_link_speed current_link_width max_link_speed max_link_width uevent; do
            first "$file"
        done ;;
    esac
    echo
done
[ "$taken" -le 2048 ] || echo "$token left block_devices.node $((taken - 2048))")

#: pci
# Print one line for each drive controller, network interface, GPU, accelerator and CXL memory (pci.CLASSES): its real
# path, which contains the bridges above it, its numbers, node, link and driver, the names of its GPUs and InfiniBand
# devices, and the address of its physical function if it is a virtual one.
(first() { value=; [ ! -r "$1" ] || read -r value 2>/dev/null <"$1"; printf "|%s" "$value"; }
taken=0
for at in /sys/bus/pci/devices/*; do
    code=; [ ! -r "$at/class" ] || read -r code <"$at/class"
    case $code in
    0x01* | 0x02* | 0x03* | 0x0502* | 0x0b40* | 0x12*) ;;
    *) continue ;;
    esac
    cd -P "$at" 2>/dev/null || continue
    taken=$((taken + 1))
    [ "$taken" -le 2048 ] || continue
    printf "%s|%s" "$PWD" "$code"
    for file in vendor device numa_node current_link_speed current_link_width max_link_speed max_link_width uevent; do
        first "$file"
    done
    printf "|"
    for name in drm/card[0-9]* infiniband/*; do [ ! -e "$name" ] || printf "%s " "${name##*/}"; done
    printf "|"
    [ ! -e physfn ] || (cd -P physfn 2>/dev/null && printf "%s" "${PWD##*/}")
    echo
done
[ "$taken" -le 2048 ] || echo "$token left pci $((taken - 2048))")

#: udev
# For disks other than NVMe drives, only the udev database contains serial numbers, full names and buses.
if [ -d /run/udev/data ]; then
    most block_devices.udev 4000
    grep -E "^E:ID_(BUS|MODEL_ENC|REVISION|SERIAL_SHORT)=" /run/udev/data/b[0-9]* /dev/null || true
fi

#: space
# Only local file systems are queried, because a network file system whose server is down blocks until the time limit. A
# FUSE file system whose process hangs blocks as well. If one file system fails, df fails but lists the others.
most mounts.size_bytes 1000
limited df -P -k -l 2>/dev/null

#: nvme-health
# Only root may query a drive, and nvme-cli must be installed, whereas the sensors in hwmon require neither. All drives
# share one time limit. No signal ends a query to a dead drive while the Linux kernel waits for the drive (for a minute,
# nvme_core.admin_timeout), and BusyBox's timeout ends only the shell. Therefore, sed ends at the line after the queries
# instead of waiting until the pipe closes.
drives=
for at in /dev/nvme[0-9] /dev/nvme[0-9][0-9] /dev/nvme[0-9][0-9][0-9]; do
    [ -c "$at" ] || continue
    if ! command -v nvme >/dev/null; then echo "$at needs nvme-cli"
    elif [ ! -r "$at" ]; then echo "$at needs root"
    else drives="$drives $at"; fi
done
[ -z "$drives" ] || {
    limited sh -c 'for at do
        echo "$at"
        nvme smart-log -o json "$at" | head -c 8192
        echo
    done' sh $drives 2>/dev/null
    echo "over $?"
} | sed '/^over /q'
