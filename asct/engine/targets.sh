# Prints the model, serial number, firmware and similar facts for each path.
#
# For a block device, the facts include those of its parent drive and of the devices below it; for a file, its size and
# file system.
tell() {
  for fact in size ro partition serial dm/uuid md/uuid loop/backing_file queue/rotational queue/scheduler \
    queue/write_cache queue/logical_block_size queue/zoned device/vendor device/model device/serial \
    device/wwid device/rev device/firmware_rev; do
    [ ! -f "$1/$fact" ] || printf '%s: %s\n' "$fact" "$(tr '\n' ' ' 2>/dev/null <"$1/$fact")"
  done
  [ ! -e "$1/partition" ] || (tell "$(readlink -f -- "$1/..")")
  for below in "$1"/slaves/*; do [ ! -e "$below" ] || (tell "$(readlink -f -- "$below")"); done
}
for path do
  echo =
  [ ! -f "$path" ] || LC_ALL=C ls -lnL -- "$path" | awk 'NR == 1 {print "bytes: " $5}'
  if [ -b "$path" ]; then drive=$path
  else drive=$(df -P -- "$path" 2>/dev/null | awk 'END {print $1}'); echo "file system on: $drive"
  fi
  drive=$(readlink -f -- "$drive")
  [ ! -b "$drive" ] || tell "/sys/class/block/${drive##*/}"
done
