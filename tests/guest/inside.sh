# SPDX-License-Identifier: BSD-3-Clause
# Sourced in the guest: runs ranks on several guests, makes faults. `run` has set TREE, BUILD, OUT,
# GUEST, GUESTS and PEERS; weft stands for the built command.
set -uo pipefail
weft=$BUILD/bin/weft
# What has to come in the end may take this many seconds: the emulated processor is slow, and that of a busy host
# is ten times slower. It ends hangs, and measures nothing.
patience=120

# note TEXT: what a test is at, with the seconds since the boot
note() { printf -- '-- %s s: %s\n' "$(cut -d' ' -f1 /proc/uptime)" "$*"; }
die() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}

# expect CODE COMMAND…: runs it; its output is in /tmp/said. The command may be an exported function.
expect() {
    local want=$1 code=0
    shift
    timeout -k 2 "$patience" bash -c '"$@"' - "$@" >/tmp/said 2>&1 || code=$?
    [ "$code" -eq "$want" ] && return 0
    tail -n 40 /tmp/said >&2
    die "exit code $code, expected $want: $*"
}
# says PATTERN: the last expected command said that
says() {
    grep -qE -- "$1" /tmp/said && return 0
    tail -n 40 /tmp/said >&2
    die "nothing said /$1/"
}
# until_true COMMAND…: waits until the command succeeds
until_true() {
    local last=$((SECONDS + ${limit:-$patience}))
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$last" ] || return 1
        sleep 0.1
    done
}
# all_right: the table of `weft perf` in /tmp/said has rows, and no row a wrong element. N/A stands
# where a form does not exist.
all_right() {
    says '^# Out of bounds values : 0 OK$'
    awk '!/^#/ && NF == 13 { rows++; if ($9 !~ /^(0|N\/A)$/ || $13 !~ /^(0|N\/A)$/) exit bad = 1 }
        END { exit bad || !rows }' /tmp/said || die "a wrong element, or no row: $(cat /tmp/said)"
}

# barrier NAME: waits until every guest has come here. Longer than any step before it may take, so that the
# guest that is late says why: closing can wait for packets that the kernel's device still holds.
barrier() {
    local g limit=$((2 * patience))
    : >"$OUT/barrier-$1-$GUEST"
    for ((g = 0; g < GUESTS; g++)); do
        until_true test -e "$OUT/barrier-$1-$g" || die "guest $g did not come to $1"
    done
}
# job NAME RANKS COMMAND…: runs the command as RANKS ranks in this guest, of RANKS times GUESTS in all,
# under the variables of torchrun; the unique id travels through the folder of results.
job() {
    local name=$1 ranks=$2 i pids=() code=0
    shift 2
    mkdir -p -m 700 "$OUT/rendezvous"
    for ((i = 0; i < ranks; i++)); do
        env RANK=$((GUEST * ranks + i)) WORLD_SIZE=$((GUESTS * ranks)) LOCAL_RANK="$i" \
            LOCAL_WORLD_SIZE="$ranks" TORCHELASTIC_RUN_ID="$name" MASTER_PORT=1 \
            WEFT_BOOT_RENDEZVOUS="$OUT/rendezvous" "$@" &
        pids+=($!)
    done
    for i in "${pids[@]}"; do
        wait "$i" || code=$?
    done
    return "$code"
}

# The GID index of a device's IPv4 address.
gid_index() {
    local i dir=/sys/class/infiniband/$1/ports/1/gids
    for ((i = 0; i < 16; i++)); do
        case $(cat "$dir/$i" 2>/dev/null) in
        0000:0000:0000:0000:0000:ffff:*) break ;;
        esac
    done
    printf '%d' "$i"
}
has_address() { [ "$(gid_index "$1")" -lt 16 ]; }
netdev_of() { printf 'n%s' "${1#rxe}"; }
port_down() { ip link set "$(netdev_of "$1")" down; }
port_up() { ip link set "$(netdev_of "$1")" up; }
# The cable out and in again: the port goes down, but addresses and routes stay.
cable() {
    if [ "$GUESTS" -gt 1 ]; then
        echo "link $(netdev_of "$1") $2" >/dev/guest-control
    else
        ip link set "$(netdev_of "$1")" carrier "$2"
    fi
}
cable_out() { cable "$1" off; }
cable_in() { cable "$1" on; }
# impair DEVICE netem arguments, such as: loss 2% delay 5ms. Between two rxe devices of one guest
# the packets pass through lo; from a device to itself they pass through no queue at all.
impair() {
    local dev=$1
    shift
    [ "$GUESTS" -gt 1 ] && dev=$(netdev_of "$dev") || dev=lo
    tc qdisc replace dev "$dev" root netem limit 10000 "$@"
}
heal() {
    local dev
    [ "$GUESTS" -gt 1 ] && dev=$(netdev_of "$1") || dev=lo
    tc qdisc del dev "$dev" root
}
# with_memlock KIB COMMAND…: without the right to go beyond the limit
with_memlock() {
    local kib=$1
    shift
    (
        ulimit -l "$kib"
        exec setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock "$@"
    )
}
# with_objects N COMMAND…: the kernel gives no more than N verbs objects (domains, queues, regions)
with_objects() {
    local group=/sys/fs/cgroup/guest-$1 device objects=$1
    shift
    mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
    echo +rdma >/sys/fs/cgroup/cgroup.subtree_control
    mkdir -p "$group"
    for device in /sys/class/infiniband/*; do
        echo "${device##*/} hca_object=$objects" >"$group/rdma.max"
    done
    (
        echo "$BASHPID" >"$group/cgroup.procs"
        exec "$@"
    )
}
export -f with_memlock with_objects
# What the host does for a guest: stops its processor for good, or for some seconds.
stop_this_guest() { echo stop >/dev/guest-control; }
pause_this_guest() { echo "pause $1" >/dev/guest-control; }
