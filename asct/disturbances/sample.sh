# Prints two readings of a host's activity, taken one second apart. Needs one round trip, starts few processes and
# changes nothing.
#
# /proc/interrupts has a column for each CPU and a row for each interrupt, possibly thousands of both on a large host.
# awk therefore sums the columns over the numbered rows, which belong to devices (proc_interrupts(5)). For each process
# that has used CPU time, awk prints its number, its start time and the CPU time used (fields 22, 14 and 15 of
# /proc/PID/stat, proc_pid_stat(5)), and its name, which may contain blanks and parentheses.
LC_ALL=C; export LC_ALL
look() {
  echo "look $1"
  read -r up rest </proc/uptime && echo "uptime:$up"
  grep -vE '^(intr|softirq)' /dev/null /proc/stat /proc/pressure/cpu /proc/pressure/memory /proc/pressure/io \
    /sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/*_throttle_count 2>/dev/null
  awk 'NR == 1 { split($0, cpu); n = NF; next }
    $1 ~ /^[0-9]+:$/ { for (i = 1; i <= n; i++) sum[i] += $(i + 1) }
    END { for (i = 1; i <= n; i++) printf "interrupts:%s %.0f\n", cpu[i], sum[i] }' /proc/interrupts 2>/dev/null
  cat /proc/[0-9]*/stat 2>/dev/null | awk 'match($0, /\(.*\)/) {
    n = split(substr($0, RSTART + RLENGTH + 1), f, " ")
    if (n >= 20 && f[12] + f[13] > 0)
      printf "process:%d %.0f %.0f %s\n", $1, f[20], f[12] + f[13], substr($0, RSTART + 1, RLENGTH - 2)
  }'
}
look 1
sleep 1
look 2
