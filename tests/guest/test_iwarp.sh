#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# iWARP by Soft-iWARP, whose module is built from Debian's kernel source: the conformance suite's cases of connections,
# every collective, and a killed peer.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if ! in_guest; then
    needs_plugin net-ib
    grep -q 'rdma_connect' "$build/lib/weft/net-ib.so" ||
        skip "net-ib was built without iWARP: is librdmacm-dev installed?"
    guest --iwarp -- "$@"
    exit 0
fi

start() { exec "$weft" "$@" -P 2; }
adapter=siw0
# shellcheck source=tests/guest/traffic.sh
. "$TREE/tests/guest/traffic.sh"

# Without perftest's own way nobody knows whether the driver or net-ib is at fault. The server listens
# inside the driver, where no table shows it.
verbs() {
    local server
    expect 0 ibv_devinfo -d siw0
    says 'transport:.*iWARP'
    says 'state:.*PORT_ACTIVE'
    timeout "$patience" ib_write_bw -R -d siw0 -s 65536 -n 50 >/tmp/server 2>&1 &
    server=$!
    client() { timeout 30 ib_write_bw -R -d siw0 -s 65536 -n 50 10.77.0.1 &>/tmp/said; }
    until_true client || die "ib_write_bw: $(cat /tmp/said /tmp/server)"
    says '65536 +50 '
    wait "$server"
}
collectives() {
    expect 0 "$weft" perf all -P 3 -b 8 -e 64K -f 64 -n 1 -w 0 --set core.net=net-ib
    all_right
    [ "$(grep -c '^# OK ' /tmp/said)" -ge 15 ] || die "a collective is missing"
    note "3 ranks: $(grep -c '^# OK ' /tmp/said) collectives"
    expect 0 "$weft" perf all_reduce -P 2 -b 1M -e 1M -n 1 -w 0 --set core.net=net-ib \
        --set net-ib.qps=3 --set net-ib.split_bytes=4K
    all_right
}
info() {
    expect 0 "$weft" info --set core.net=net-ib
    says '\* GID 0 iWARP ::ffff:10\.77\.0\.1'
}
# What differs from Soft-RoCE: connections are made by librdmacm, and broken ones are told by it.
conformance() {
    local cases
    for cases in connect killed; do
        "$BUILD/bin/weft-conformance-net" -m 1000 -c "$cases" "$BUILD/lib/weft/net-ib.so" || die "exit code $?"
    done
}

cases=(verbs info collectives peer_killed conformance)
[ $# -eq 0 ] || cases=("$@")
for name in "${cases[@]}"; do
    note "$name"
    "$name"
done
note done
