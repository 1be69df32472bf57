#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The conformance suite of transports on net-ib over Soft-RoCE, with every message cut over four queue pairs
# on two devices: all of its code is in use then. The other tests here run it as it is by default.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if ! in_guest; then
    needs_plugin net-ib
    guest --rxe 2 --mtu 4096 --cpus 2
    exit 0
fi

"$BUILD/bin/weft-conformance-net" -m 1000 "$BUILD/lib/weft/net-ib.so" \
    rails=2 qps=2 split_bytes=4K || die "exit code $?"
note done
