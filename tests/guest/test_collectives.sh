#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every collective over net-ib alone, with 2 and with 4 ranks; and large messages.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if ! in_guest; then
    needs_plugin net-ib
    guest --mtu 4096 --memory 1024
    exit 0
fi

for ranks in 2 4; do
    note "all collectives, $ranks ranks"
    expect 0 "$weft" perf all -P "$ranks" -b 8 -e 64K -f 16 -n 1 -w 0 --set core.net=net-ib
    all_right
    [ "$(grep -c '^# OK ' /tmp/said)" -ge 15 ] || die "a collective is missing"
    grep '^# OK ' /tmp/said
done
note "all_reduce up to 16 MiB"
expect 0 "$weft" perf all_reduce -P 2 -b 8 -e 16M -f 8 -n 1 -w 0 --set core.net=net-ib
all_right
grep '^ ' /tmp/said
