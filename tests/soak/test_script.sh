# SPDX-License-Identifier: BSD-3-Clause
# scripts/soak compares quarters of a run that is long enough for that. The program is made up, and so are
# its seconds.
. "$(dirname "$0")/../e2e/common.sh"
tree=$work/tree
results=$tree/bench/results
mkdir -p "$tree/scripts" "$results" "$work/build/bin"
cp "$source_dir/scripts/soak" "$tree/scripts/"
cat >"$work/build/bin/soak" <<'EOF'
#!/bin/sh
# SECONDS: a sample each. GROWS: a descriptor more each second. DIES: the second of the only death.
awk -v seconds="$1" -v grows="${GROWS:-0}" -v dies="${DIES:-0}" 'BEGIN {
    for (s = 1; s <= seconds; s++) {
        printf "{\"seconds\":%d,\"steps\":%d,\"deaths\":%d,\"kib\":5000,\"maps\":100,\"fds\":%d,\"threads\":5,", \
            s, 9 * s, (dies && s >= dies), 20 + grows * s
        printf "\"p50_us\":10,\"p99_us\":20,\"recovery_ms\":%d}\n", (s == dies ? 900 : 0)
    }
}'
EOF
chmod +x "$work/build/bin/soak"
soak() { # soak CODE SECONDS
    expect "$1" python3 -B "$tree/scripts/soak" "$2" --build "$work/build" --out try
}

soak 0 3
says out 'too short to compare quarters'
[ -z "$(ls "$results")" ] || die "a run of 3 seconds was written"

soak 0 200
[ -s "$results/try.md" ] && [ -s "$results/try.json" ] && [ -s "$results/try.svg" ] || die "nothing was written"
# Nobody died in the second quarter: how long that takes cannot be compared.
DIES=190 soak 0 200
GROWS=1 soak 1 200
says out '^descriptors: [0-9.]+  in the last quarter, [0-9.]+ in the second$'
exit 0
