# The first process of a host: READY NAME FOLDER HOME COMPILER... Makes it what the tests want, and then waits for what is
# left of others.
set -e
ready=$1 name=$2 folder=$3 home=$4
shift 4
hostname "$name"
mount --bind "$folder/tmp" /var/tmp
mount --bind "$folder/home" "$home"
cat /proc/sys/kernel/random/uuid >"$folder/boot_id"
mount --bind "$folder/boot_id" /proc/sys/kernel/random/boot_id
for compiler in "$@"; do mount --bind /dev/null "$compiler"; done
: >"$folder/fio"
mount --bind /usr/bin/fio "$folder/fio"
printf '#!/bin/sh\necho "$*" >>/var/tmp/fio.log\nexec %s "$@"\n' "$folder/fio" >"$folder/counted"
chmod 755 "$folder/counted"
: >>"$folder/tmp/fio.log"
chmod 666 "$folder/tmp/fio.log"
mount --bind "$folder/counted" /usr/bin/fio
: >"$ready"
sleep infinity
