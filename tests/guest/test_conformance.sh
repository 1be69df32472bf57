#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The conformance suite of transports on net-ib over Soft-RoCE: as it is by default, and with every
# message cut over four queue pairs on two devices.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if ! in_guest; then
    needs_plugin net-ib
    guest --timeout 280 --rxe 2 --mtu 4096
    exit 0
fi

for settings in '' 'rails=2 qps=2 split_bytes=4K'; do
    note "conformance${settings:+ with $settings}"
    # shellcheck disable=SC2086
    timeout 150 "$BUILD/bin/weft-conformance-net" -m 1000 "$BUILD/lib/weft/net-ib.so" $settings ||
        die "exit code $?"
done
