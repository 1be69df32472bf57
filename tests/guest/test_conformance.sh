#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The conformance suite of transports on net-ib over Soft-RoCE.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if ! in_guest; then
    needs_plugin net-ib
    guest --timeout 200 --mtu 4096
    exit 0
fi

timeout 180 "$BUILD/bin/weft-conformance-net" "$BUILD/lib/weft/net-ib.so" || die "exit code $?"
