# SPDX-License-Identifier: BSD-3-Clause
# 256 processes of one host: they join, reduce, and name one that is killed; all collectives on fewer.
. "$(dirname "$0")/../e2e/common.sh"
ranks=256 some=64
[ -z "${E2E_SANITIZE:-}" ] || ranks=16 some=8

expect 0 "$build/bin/scale_job" -n $ranks -k $((ranks / 3)) core.net=net-shm
says out "\"ranks\":$ranks,.*\"wrong\":0"
# Half a second on a quiet machine.
says out '"named":[0-4]\.'
# A rank that dies before its first message: only whoever started it can know, long before init_timeout.
expect 0 "$build/bin/scale_job" -n $some -k $((some / 3)) -b core.net=net-shm boot.init_timeout=60
says out '"wrong":0'
says out '"named":[0-9]\.'
expect 0 "$build/bin/scale_job" -n $some -- "$weft" perf all -b 1K -e 1K -n 1 -w 0 \
    --set core.net=net-shm
says out '^# Out of bounds values : 0 OK$'
! grep -q SKIPPED "$work/out" || die "a collective was left out"
