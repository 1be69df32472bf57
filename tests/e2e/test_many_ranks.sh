# SPDX-License-Identifier: BSD-3-Clause
# 64 ranks on this host make their first call: memory and descriptors of a rank, and no word of late
# ranks. The bounds are several times what was measured.
. "$(dirname "$0")/common.sh"

# held FILE KEY: the largest figure before KEY in the lines about memory.
held() {
    grep -oE "[0-9]+ $2" "$work/$1" | sort -n | tail -n 1 | cut -d' ' -f1
}
quiet_about_late() {
    ! grep -qE 'has waited|not done after' "$work/err" || die "somebody waited for a rank that was not late"
}
bounded() { [ "$2" -le "$3" ] || die "$1: $2, expected at most $3"; }

first=(perf all_reduce -b 8 -e 8 -n 1 -w 0 --set core.net=net-shm --set core.log=info)
expect 0 "$weft" "${first[@]}" -t 64 -M 1
all_right 1
quiet_about_late
says err 'memory: rank 63 after the first collective: [0-9]+ mapped links '
bounded "links of a rank" "$(held err 'mapped links')" 24
bounded "descriptors of a rank" "$(held err 'descriptors')" 24
bounded "KiB of slots of a rank" "$(held err 'KiB slots of at most')" 2048
if [[ -z ${E2E_SANITIZE:-} ]]; then
    total=$(grep -oE 'Total [0-9]+' "$work/out" | cut -d' ' -f2)
    bounded "MiB of a rank" "$total" 4
    expect 0 "$weft" "${first[@]}" -P 64 -M 1
    all_right 1
    quiet_about_late
    total=$(grep -oE 'Total [0-9]+' "$work/out" | cut -d' ' -f2)
    bounded "MiB of a rank" "$total" 6
    expect 0 "$weft" perf all -t 64 -b 64K -e 64K -n 1 -w 0 -c 1 --set core.net=net-shm --set core.log=info
    quiet_about_late
    bounded "KiB of slots of a rank" "$(held err 'KiB slots of at most')" 8192
fi
(ulimit -f 64; expect 3 "$weft" perf all_reduce -P 2 -b 8 -e 8 -n 1) || exit 1
says err 'the limit of file sizes is [0-9]+; raise it \(ulimit -f\)'
