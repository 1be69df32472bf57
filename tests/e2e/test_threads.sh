# SPDX-License-Identifier: BSD-3-Clause
# Ranks as threads of one process, and processes with threads.
. "$(dirname "$0")/common.sh"

expect 0 "$weft" perf all_reduce -t 4 -b 8 -e 256K -f 32 -n 3
all_right 4
expect 0 "$weft" perf all_reduce -g 3 -b 64 -e 64 -n 3
all_right 1
if [[ ${E2E_SANITIZE:-} != *thread* ]]; then
    # A process maps the heads of a FIFO once for each end: TSan does not see that they order what lies in
    # windows, which is there once.
    expect 0 "$weft" perf all -t 3 -b 8 -e 256K -f 64 -n 2 -R 2 --set core.log=debug
    says err '[1-9][0-9]* messages by reference, [1-9][0-9]* in landings$'
    # Between processes inputs are read in place and results written into place, from the first size on.
    expect 0 "$weft" perf all_reduce -P 2 -b 1M -e 1M -n 3 -R 2 --set core.log=debug --set core.net=net-shm
    says err '[1-9][0-9]* messages by reference, [1-9][0-9]* in landings$'
    expect 0 "$weft" perf all_reduce -P 2 -t 2 -b 8 -e 4K -f 512 -n 3
    all_right 2
fi
