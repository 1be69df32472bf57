#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the seeds that once found something, and compares runs with their replays.
# Usage: test_kept.sh PROGRAM SEEDS
set -eu
program=$1 seeds=$2
while read -r kind seed ranks; do
    "$program" --kind "$kind" --from "$seed" --seeds 10 ${ranks:+--ranks "$ranks"}
done < <(sed -E '/^(#|$)/d' "$seeds")
for kind in calm revoked deaths replaced network scarce resets storm regrown; do
    for seed in 11 12 13; do
        "$program" --kind "$kind" --seed "$seed" --replay
    done
done
# What is logged changes nothing.
for kind in calm deaths network scarce leaving; do
    "$program" --kind "$kind" --seed 14 --replay --verbose 2>/dev/null
done
# Without plugins no rank joins, whatever the kind of run.
none=$(mktemp -d)
trap 'rm -rf "$none"' EXIT
if why=$("$program" --kind leaving --seeds 1 --plugins "$none" 2>&1) || [[ $why != *net-shm* ]]; then
    echo "plugins that are missing are not named: $why"
    exit 1
fi
# What is wrong with a command line is said in words.
if "$program" --kind calms 2>/dev/null || "$program" --seed x 2>/dev/null; then
    echo "a wrong option was taken"
    exit 1
fi
