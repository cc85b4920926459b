# Lists the files to read before and after each task.
#
# Reading the frequency of a CPU interrupts that CPU, or takes 10 ms on older Linux kernels; therefore, only the first and
# last policies are read. The Linux kernel queries an NVMe drive at most once per second. A control group limits all groups
# below it, so the ancestors of the current group are read too.

there() { for one in "$@"; do if [ -r "$one" ]; then printf '%s\n' "$one"; fi; done; }
cpus=/sys/devices/system/cpu
there /proc/uptime /proc/loadavg /proc/stat /proc/vmstat /proc/pressure/cpu /proc/pressure/memory /proc/pressure/io \
    $cpus/online /sys/devices/system/clocksource/clocksource0/current_clocksource

clock() { there "$1/scaling_cur_freq" "$1/scaling_max_freq" "$1/scaling_governor"; }
first= last=
for policy in $cpus/cpufreq/policy[0-9]*; do first=${first:-$policy} last=$policy; done
clock "$first"
[ "$first" = "$last" ] || clock "$last"

packages=" "
if [ -d $cpus/cpu0/thermal_throttle ]; then
    for cpu in $cpus/cpu[0-9]*; do
        read -r package 2>/dev/null <"$cpu/topology/physical_package_id" || continue
        case $packages in *" $package "*) continue ;; esac
        packages="$packages$package "
        there "$cpu/thermal_throttle/package_throttle_count"
    done
    there $cpus/cpu[0-9]/thermal_throttle/core_throttle_count
fi

left=16
for zone in /sys/class/thermal/thermal_zone[0-9]*; do
    read -r kind 2>/dev/null <"$zone/type" || continue
    case $kind in *cpu* | *CPU* | *soc* | *SoC* | *SOC* | x86_pkg_temp | acpitz) ;; *) continue ;; esac
    there "$zone/type" "$zone/temp"
    for trip in "$zone"/trip_point_*_type; do
        read -r kind 2>/dev/null <"$trip" || continue
        [ "$kind" != critical ] || there "${trip%type}temp"
    done
    left=$((left - 1)); [ "$left" -gt 0 ] || break
done
left=16
for sensor in /sys/class/hwmon/hwmon[0-9]*; do
    read -r kind 2>/dev/null <"$sensor/name" || continue
    case $kind in coretemp | k10temp | zenpower | cpu_thermal | nvme | drivetemp) ;; *) continue ;; esac
    sensor=$(cd -P -- "$sensor" && pwd)
    there "$sensor/name" "$sensor/temp1_input" "$sensor/temp1_crit"
    left=$((left - 1)); [ "$left" -gt 0 ] || break
done
left=16
for cooler in /sys/class/thermal/cooling_device[0-9]*; do
    read -r kind 2>/dev/null <"$cooler/type" || continue
    case $kind in cpufreq-* | thermal-cpufreq-*) ;; *) continue ;; esac
    there "$cooler/type" "$cooler/cur_state"
    left=$((left - 1)); [ "$left" -gt 0 ] || break
done

while IFS=: read -r number names path; do
    case ,$names, in
    ,,) root=/sys/fs/cgroup ;;
    *,cpu,*) root=/sys/fs/cgroup/cpu; [ -d $root ] || root=/sys/fs/cgroup/$names ;;
    *) continue ;;
    esac
    path=${path%/}
    while :; do
        there "$root$path/cpu.stat"
        [ -n "$path" ] || break
        path=${path%/*}
    done
done </proc/self/cgroup
