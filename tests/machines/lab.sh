# Sourced by init.sh in the lab: names the disks of scsi_debug as udev would, and puts each into its state.
export DM_DISABLE_UDEV=1 LC_ALL=C
mkdir -p /mnt /run/lock/lvm /etc/lvm

for disk in /sys/block/sd*; do
    serial=$(tail -c +5 "$disk/device/vpd_pg80")
    ln -s "../../${disk##*/}" "$by_id/scsi-SLinux_scsi_debug_$serial"
done
scsi() { echo "$by_id/scsi-SLinux_scsi_debug_$1"; }
quietly() { "$@" >/guest/log 2>&1 || { echo "lab: failed: $*"; cat /guest/log; }; }
filled() { quietly mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0 "$1"; }
mounted() { filled "$1" && mkdir -p "$2" && quietly mount -t ext4 "$1" "$2"; }

mounted $by_id/nvme-QEMU_NVMe_Ctrl_LABHOME /var/tmp
chmod 1777 /var/tmp

mounted "$(scsi 4000)" /mnt/disk
printf 'size=6M\n' | quietly sfdisk -q "$(scsi 6000)"
mounted "$(readlink -f "$(scsi 6000)")1" /mnt/partition
quietly mkswap "$(scsi 8000)"
quietly swapon "$(scsi 8000)"
quietly lvm pvcreate -qq -f "$(scsi 10000)"
quietly lvm vgcreate -qq -s 1M lab "$(scsi 10000)"
quietly lvm lvcreate -qq -Zn -Wn -L 5M -n volume lab
mounted /dev/mapper/lab-volume /mnt/volume
quietly mdadm --create /dev/md7 --level=1 --raid-devices=2 --metadata=1.2 --assume-clean --run "$(scsi 12000)" "$(scsi 14000)"
echo "0 16384 delay $(scsi 16000) 0 1" | quietly dmsetup create delayed --noudevsync
filled "$(scsi 18000)"
filled "$(scsi 28000)"
printf 'label: gpt\nsize=4M\n' | quietly sfdisk -q "$(scsi 20000)"
quietly dd if=/dev/zero of="$(scsi 20000)" bs=1M count=1 conv=notrunc
quietly blockdev --rereadpt "$(scsi 20000)"
sh -c 'exec sleep 1000000 <>"$1"' sh "$(scsi 22000)" &
quietly blockdev --setro "$(scsi 24000)"
yes "unknown content" | quietly dd of="$(scsi 26000)" bs=64k count=4 conv=notrunc iflag=fullblock

mount -t configfs configfs /sys/kernel/config
nullb=/sys/kernel/config/nullb/steady
mkdir $nullb
for setting in size=256 blocksize=512 submit_queues=2 irqmode=2 completion_nsec=1000000 power=1; do
    echo "${setting#*=}" >"$nullb/${setting%%=*}"
done
