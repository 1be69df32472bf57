# SPDX-License-Identifier: BSD-3-Clause
# A job starts while a thousand strangers a second connect to its root.
. "$(dirname "$0")/common.sh"
rate=1000
[ -z "${E2E_SANITIZE:-}" ] || rate=200
start=$(date +%s%N)
expect 0 "$build/bin/scale_job" -n 8 -s $rate -l 50
took=$((($(date +%s%N) - start) / 1000000))
says out '"ranks":8,.*"strangers":[1-9][0-9]{2,},"wrong":0'
[ $took -le 15000 ] || die "the job took $took ms"
