#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# iWARP by Soft-iWARP, whose module is built from Debian's kernel source: verbs work over it, and
# net-ib serves the device or refuses it with a typed error.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if ! in_guest; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    guest --iwarp --timeout 150 --out "$work"
    [ ! -s "$work/left-out" ] || skip "$(cat "$work/left-out")"
    exit 0
fi

expect 0 ibv_devinfo -d siw0
says 'transport:.*iWARP'
says 'state:.*PORT_ACTIVE'
# The server listens inside the driver, where no table shows it.
timeout 30 ib_write_bw -R -d siw0 -s 65536 -n 50 >/tmp/server 2>&1 &
client() { timeout 10 ib_write_bw -R -d siw0 -s 65536 -n 50 10.77.0.1 &>/tmp/said; }
until_true 20 client || die "ib_write_bw: $(cat /tmp/said /tmp/server)"
says '65536 +50 '
plugin=$BUILD/lib/weft/net-ib.so
if [ ! -e "$plugin" ]; then
    echo "net-ib was not built: is libibverbs-dev installed?" >"$OUT/left-out"
    exit 0
fi
small=("$weft" perf all_reduce -P 2 -b 8 -e 64K -f 8 -n 1 -w 0 --set core.net=net-ib)
if ! timeout 30 "${small[@]}" >/dev/null 2>&1; then
    expect 3 "${small[@]}"
    says 'net-ib'
    echo "verbs over iWARP work, but net-ib does not serve siw0: its suite was left out" >"$OUT/left-out"
    exit 0
fi
expect 0 "${small[@]}"
all_right
timeout 100 "$BUILD/bin/weft-conformance-net" "$plugin" || die "exit code $?"
