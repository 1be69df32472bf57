#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# slurm_cluster.sh COMMAND…: runs COMMAND beside a Slurm of its own: munge, slurmctld, and the nodes
# n1 and n2 with two processors each, which have a network, a host name and an empty read-only /tmp
# of their own. All of it lives in namespaces that end with COMMAND: the machine is not changed.
# Exit code: that of COMMAND; 70 if Slurm did not start, with its logs.
set -uo pipefail

if [ "${1:-}" != --inside ]; then
    exec unshare --mount --net --uts --ipc --pid --fork --kill-child --mount-proc \
        bash "$0" --inside "$@"
fi
shift

fail() {
    printf 'Slurm did not start: %s\n' "$*" >&2
    tail -n 15 /run/slurm/*.log >&2
    exit 70
}

write_conf() {
    cat >/etc/slurm/slurm.conf <<'CONF'
ClusterName=weft
SlurmctldHost=ctl
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmctldPidFile=/run/slurm/ctld.pid
SlurmdPidFile=/run/slurm/%n.pid
StateSaveLocation=/run/slurm/state
SlurmdSpoolDir=/run/slurm/spool.%n
TmpFS=/run/slurm/tmp.%n
SlurmctldLogFile=/run/slurm/ctld.log
SlurmdLogFile=/run/slurm/%n.log
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmctldParameters=enable_configless
SchedulerParameters=sched_min_interval=100000
NodeName=n[1-2] CPUs=2
PartitionName=all Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
CONF
}

write_hosts() {
    local i
    printf '127.0.0.1 localhost\n10.77.0.254 ctl\n' >/run/slurm/hosts
    for i in 1 2; do printf '10.77.0.%d n%d\n' "$i" "$i" >>/run/slurm/hosts; done
    mount --bind /run/slurm/hosts /etc/hosts
}

private_folders() {
    local folder
    for folder in /run /etc/slurm /etc/munge /var/log /var/spool; do
        mount -t tmpfs -o mode=755 none "$folder" || fail "mount $folder"
    done
    mkdir -p /run/slurm/state /run/munge /run/slurm/{spool,tmp}.n{1,2}
    chmod 1777 /run/slurm/tmp.n*
}

start_munge() {
    dd if=/dev/urandom of=/etc/munge/key bs=1024 count=1 2>/dev/null
    chmod 400 /etc/munge/key
    chown munge: /run/munge /etc/munge /etc/munge/key
    mkdir /run/munge/log
    chown munge: /run/munge/log
    setpriv --reuid munge --regid munge --clear-groups munged --key-file=/etc/munge/key \
        --log-file=/run/munge/log/munged --seed-file=/run/munge/log/seed || fail "munged"
}

# A node waits for its network, which the controller gives it.
node() {
    local name=$1
    hostname "$name"
    until ip link show "v$name" >/dev/null 2>&1; do sleep 0.01; done
    ip link set lo up
    ip addr add "10.77.0.${name#n}/24" dev "v$name"
    ip link set "v$name" up
    mount -t tmpfs -o ro,mode=1777 none /tmp
    exec slurmd -D -N "$name" >"/run/slurm/$name.out" 2>&1
}
export -f node

start_node() {
    local name=$1
    unshare --mount --net --uts bash -c "node $name" &
    ip link add "c$name" type veth peer name "v$name" || fail "no virtual network"
    # The child has its network namespace only after a moment.
    until [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
    ip link set "v$name" netns $!
    ip link set "c$name" master cluster up
}

private_folders
write_conf
write_hosts
hostname ctl
ip link set lo up
ip link add cluster type bridge && ip addr add 10.77.0.254/24 dev cluster &&
    ip link set cluster up || fail "no bridge"
start_munge
slurmctld || fail "slurmctld"
start_node n1
start_node n2
for _ in $(seq 200); do
    [ "$(sinfo -h -N -t idle 2>/dev/null | wc -l)" -eq 2 ] && break
    sleep 0.05
done
[ "$(sinfo -h -N -t idle | wc -l)" -eq 2 ] || fail "the nodes are not idle: $(sinfo -h -N)"
"$@"
