#!/bin/busybox sh
# The first process of a guest. /guest/setup, put there for each guest, makes it what the tests want it to be, and /guest/mask
# names the CPUs that logins may use. The host key is made here and told on the console.
export PATH=/bin:/sbin:/usr/bin:/usr/sbin
/bin/busybox --install -s
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
# shellcheck disable=SC2086 # a file and its parameters
while read -r module; do insmod /modules/$module; done </modules/order
ip link set lo up
ip link set eth0 up
ip addr add 10.0.2.15/24 dev eth0
ip route add default via 10.0.2.2
chmod 1777 /tmp /var/tmp
printf 'root:x:0:0:root:/root:/bin/sh\nbench:x:1000:1000::/home/bench:/bin/sh\nsshd:x:101:65534::/run/sshd:/bin/false\n' >/etc/passwd
printf 'root:x:0:\nbench:x:1000:\n' >/etc/group
printf '%s:*:19000:0:99999:7:::\n' root bench sshd >/etc/shadow
echo /bin/sh >/etc/shells
for home in /root /home/bench; do
    mkdir -p "$home/.ssh"
    cp /guest/authorized_keys "$home/.ssh/"
    chmod -R go= "$home"
done
chown -R 0:0 /root
chown -R 1000:1000 /home/bench
hostname "$(cat /guest/name)"
by_id=/dev/disk/by-id # what udev would make there for NVMe namespaces
mkdir -p $by_id
for disk in /sys/block/nvme*n*; do
    [ -e "$disk" ] || continue
    suffix=
    [ "$(cat "$disk/nsid")" = 1 ] || suffix=_$(cat "$disk/nsid")
    serial=$(cat "$disk/device/serial")
    ln -s "../../${disk##*/}" "$by_id/nvme-QEMU_NVMe_Ctrl_${serial%% *}$suffix"
done
. /guest/setup
ssh-keygen -q -t ed25519 -N '' -C '' -f /etc/ssh/host
sed 's/^/host key: /' /etc/ssh/host.pub
printf '%s\n' 'HostKey /etc/ssh/host' 'UsePAM no' 'PasswordAuthentication no' 'KbdInteractiveAuthentication no' \
    'UseDNS no' 'PrintMotd no' >/etc/ssh/sshd_config
taskset "$(cat /guest/mask)" /usr/sbin/sshd || echo "sshd did not start"
echo "guest ready"
while :; do sleep 3600; done
