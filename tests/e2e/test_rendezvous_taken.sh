# SPDX-License-Identifier: BSD-3-Clause
# The folder in which the ranks of a launcher exchange the unique id belongs to another user, or is full.
. "$(dirname "$0")/common.sh"

[ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null || skip "may not make mount namespaces"

# job_after FOLDER…: two ranks by variables of torchrun, where those folders are mounted with $options and full.
options=uid=65534,mode=700
job_after() {
    mkdir -p -m 700 "$@"
    unshare --mount bash -c '
        weft=$1 work=$2 options=$3
        shift 3
        for folder; do
            mount -t tmpfs -o "$options,size=4k" other "$folder" || exit 9
            head -c 4k /dev/zero >"$folder/full"
        done
        for rank in 1 0; do
            RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 TORCHELASTIC_RUN_ID=$work \
                timeout -k 5 60 "$weft" perf barrier -n 3 --set boot.exchange=folder \
                --set boot.init_timeout=20 >"$work/out$rank" 2>&1 &
            pids+=($!)
        done
        for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
        cat "$work"/out[01]
        exit ${failed:-0}' - "$weft" "$work" "$options" "$@" >"$work/out" 2>&1
    local code=$?
    # That in /tmp may be in use by another job.
    rmdir /dev/shm/weft-0 2>/dev/null
    return $code
}
unset XDG_RUNTIME_DIR
job_after /tmp/weft-0 || die "somebody else has /tmp/weft-0"
says out '^# Out of bounds values : 0 OK$'
job_after /tmp/weft-0 /dev/shm/weft-0 && die "a folder of somebody else was taken"
says out 'neither in /tmp nor in /dev/shm: /dev/shm/weft-0 is not a private folder'
says out 'set boot.rendezvous to a folder of your own'

options=uid=0,mode=700
job_after /tmp/weft-0 || die "/tmp is full"
says out '^# Out of bounds values : 0 OK$'
job_after /tmp/weft-0 /dev/shm/weft-0 && die "an id was carried by full disks"
says out 'neither in /tmp nor in /dev/shm: cannot (make|write) /dev/shm/weft-0/.*: No space left on device'
says out 'set boot.rendezvous to a folder of your own'
