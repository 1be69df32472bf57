#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The programs of nccl-tests, unmodified, on the CUDA runtime of threads: every type and operator, several
# threads and devices, graphs, registration, and a wrong operator that must be found.
#   TRY_NCCL_TESTS=FOLDER ctest --preset release -L nccl    # or scripts/test-nccl
# FOLDER holds the programs of a build with DSO=1 CUDARTLIB=cudart (docs/nccl.md). Without it nothing is
# tested, and this says so.
programs=${TRY_NCCL_TESTS:-}
. "$(dirname "$0")/../../e2e/common.sh"
[ -n "$programs" ] || skip "LEFT OUT: all 11 programs of nccl-tests; TRY_NCCL_TESTS is not set"
[ -z "${E2E_SANITIZE:-}" ] || skip "a sanitized library cannot be loaded into programs that are not"
[ -x "$programs/all_reduce_perf" ] || die "$programs/all_reduce_perf: not there"
other=$build/lib/weft-test
export LD_LIBRARY_PATH=$other/nccl-tests:$other WEFT_KERNEL_CUDA_PATH=$other/kernel-cuda-fake.so
export FAKE_CUDA="devices=8 free=17179869184 waits=no" WEFT_EXEC_WAIT=sleep

# rows PROGRAM ROWS OPTIONS…: runs it; the table must have that many rows, all of them right.
rows() {
    local program=$1 want=$2
    shift 2
    timeout -k 5 300 "$weft" nccl-run "$programs/${program}_perf" -n 1 -w 0 "$@" >"$work/out" 2>"$work/err" ||
        die "exit code $?: $program $*"
    awk -v want="$want" '
        /^ +[0-9]/ { n++; if ($(NF - 4) != "0" || ($NF != "0" && $NF != "N/A")) bad++ }
        END { exit n != want || bad > 0 }' "$work/out" || die "wrong or missing rows: $program $*"
    says out '^# Out of bounds values : 0 OK'
    printf '%s %s: %d rows\n' "$program" "$*" "$want"
}

# 12 types, 6 operators.
for program in all_reduce reduce reduce_scatter; do
    rows $program 72 -b 4K -e 4K -g 3 -o all -d all
done
for program in all_gather broadcast alltoall alltoallv gather scatter sendrecv; do
    rows $program 12 -b 4K -e 4K -t 2 -g 2 -d all
done
# Its steps depend on each other. A thread with several devices puts them into one group, which starts them
# together, with NCCL as well (NVIDIA/nccl-tests#190, #356): so more than one step needs a thread for each.
rows hypercube 12 -b 4K -e 4K -t 4 -d all
rows hypercube 12 -b 4K -e 4K -g 2 -d all
all="all_reduce all_gather broadcast reduce_scatter reduce alltoall alltoallv gather scatter sendrecv hypercube"
for program in $all; do
    for how in "-g 2 -G 2" "-g 2 -R 1" "-g 2 -R 2" "-t 2 -R 1 -G 1" "-t 2 -a 1 -z 1" "-t 3 -m 2"; do
        case "$program $how" in
        # It needs a power of two.
        "hypercube -t 3"*) continue ;;
        # Messages of a group that depend on each other.
        hypercube*-m\ 2) continue ;;
        esac
        # shellcheck disable=SC2086
        rows $program 5 -b 8 -e 512K -f 16 $how
    done
done
rows all_reduce 8 -b 8 -e 16M -f 8 -g 2

# The commands of the guides, each once: it takes a minute of a processor.
documented nccl-tests | sed 's/ *#.*//' | awk '!seen[$0]++' >"$work/documented.sh"
cd "$programs" && PATH=$build/bin:$PATH timeout -k 5 600 bash -e "$work/documented.sh" >"$work/out" 2>"$work/err" ||
    die "exit code $?: the documented commands"
[ "$(grep -c '^# Out of bounds values : 0 OK' "$work/out")" -eq "$(grep -c nccl-run "$work/documented.sh")" ] ||
    die "not all documented commands are right"
cd - >/dev/null || exit 1

# Sums that are maxima: found, and in the exit code.
code=0
LD_PRELOAD=$other/nccl-tests/libwrong-operator.so timeout 60 "$weft" nccl-run "$programs/all_reduce_perf" \
    -b 4K -e 4K -g 3 >"$work/out" 2>"$work/err" || code=$?
[ "$code" -ne 0 ] || die "nobody noticed that sums are maxima"
says out '^# Out of bounds values : [1-9][0-9]* FAILED'
# Bits that are wrong on the device.
code=0
FAKE_CUDA="$FAKE_CUDA wrong" timeout 60 "$weft" nccl-run "$programs/all_reduce_perf" \
    -b 4K -e 4K -g 3 >"$work/out" 2>"$work/err" || code=$?
[ "$code" -ne 0 ] || die "nobody noticed wrong bits"
# What cannot be offered says so, and nccl-run repeats it.
code=0
timeout 60 "$weft" nccl-run "$programs/alltoall_perf" -b 8 -e 8 -g 2 -D 1 -R 2 >"$work/out" 2>"$work/err" || code=$?
[ "$code" -ne 0 ] || die "a kernel that communicates was accepted"
