# SPDX-License-Identifier: BSD-3-Clause
# Ranks that no launcher started: an id with a fixed address, WEFT_RANK and WEFT_NRANKS.
. "$(dirname "$0")/common.sh"
port=$((20000 + $$ % 10000))
expect 0 "$weft" id --at "localhost:$port"
says out '^[0-9a-f]{256}$'
WEFT_UNIQUE_ID=$(cat "$work/out")
export WEFT_UNIQUE_ID WEFT_NRANKS=3
# by_hand RANK COMMAND…: a rank in the background.
by_hand() {
    WEFT_RANK=$1 timeout -k 5 60 "${@:2}" >"$work/out.$1" 2>"$work/err.$1" &
}
all_end() {
    local r
    for job in $(jobs -p); do wait "$job" || die "a rank failed: $(cat "$work"/err.*)"; done
    for r in 0 1 2; do cat "$work/out.$r"; done >"$work/out"
}
# Twice with one id, rank 0 last and then first.
for order in "2 1 0" "0 1 2"; do
    for r in $order; do
        by_hand "$r" "$weft" "${perf[@]}"
    done
    all_end
    all_right 3
    says out '^# Launcher: environment, unique id by id \(WEFT_UNIQUE_ID is set\)$'
done

# Who waits knows for whom.
by_hand 0 "$weft" "${perf[@]}"
by_hand 2 "$weft" "${perf[@]}"
for _ in $(seq 400); do grep -q 'waiting for' "$work/err.0" && break; sleep 0.05; done
grep -qE 'weft\[[0-9]+\] warn boot: waiting for rank 1 \(2 of 3 joined\)$' "$work/err.0" ||
    die "rank 0 does not say whom it waits for: $(cat "$work/err.0")"
by_hand 1 "$weft" "${perf[@]}"
all_end
all_right 3

# What is missing is said.
expect 3 env -u WEFT_NRANKS WEFT_RANK=0 "$weft" info --launcher
says err 'WEFT_RANK is set, but WEFT_NRANKS is not'
expect 3 env WEFT_RANK=3 "$weft" info --launcher
says err 'WEFT_RANK = 3 contradicts WEFT_NRANKS = 3'
expect 3 env -u WEFT_UNIQUE_ID WEFT_RANK=1 "$weft" "${perf[@]}"
says err 'weft id --at HOST:PORT'
expect 3 env WEFT_UNIQUE_ID=12 WEFT_RANK=1 "$weft" "${perf[@]}"
says err 'WEFT_UNIQUE_ID is not 256 hexadecimal digits'
expect 3 env WEFT_UNIQUE_ID=12 WEFT_RANK=0 WEFT_NRANKS=3 "$weft" info --launcher
says out '^exchange  none: environment: WEFT_UNIQUE_ID is not 256 hexadecimal digits: it has 2 characters$'
expect 3 env WEFT_UNIQUE_ID=12 WEFT_RANK=0 WEFT_NRANKS=1 "$weft" info --launcher
expect 4 env WEFT_RANK=1 WEFT_BOOT_INIT_TIMEOUT=300ms "$weft" "${perf[@]}"
says err "rank 0 was not reached at localhost:$port"
expect 6 "$weft" id
expect 6 "$weft" id --at localhost
says err 'HOST:PORT'
unset WEFT_UNIQUE_ID WEFT_NRANKS
run_documented hand

# Ranks that are counted differently meet, and are told.
export MASTER_PORT=$port WEFT_BOOT_RENDEZVOUS=$work WEFT_BOOT_INIT_TIMEOUT=60
RANK=1 WORLD_SIZE=3 "$weft" "${perf[@]}" >"$work/out.1" 2>&1 &
expect 3 env RANK=0 WORLD_SIZE=2 timeout 30 "$weft" "${perf[@]}"
says err 'the ranks disagree about their number: .* says [23], rank [01] of .* says [23]$'
wait $! && die "rank 1 of 3 is right: $(cat "$work/out.1")"
grep -q 'the ranks disagree' "$work/out.1" || die "rank 1 is not told: $(cat "$work/out.1")"
unset MASTER_PORT WEFT_BOOT_RENDEZVOUS WEFT_BOOT_INIT_TIMEOUT

# torchrun's agent serves a store; on several hosts it carries the id. A server of the same protocol
# takes its place.
command -v python3 >/dev/null || skip "no python3 for the store of torchrun; the rest is right"
python3 "$(dirname "$0")/torch_store.py" >"$work/port" &
store=$!
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.05; done
export WORLD_SIZE=3 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 TORCHELASTIC_RUN_ID=x \
    TORCHELASTIC_USE_AGENT_STORE=True TORCHELASTIC_RESTART_COUNT=0 MASTER_ADDR=localhost
MASTER_PORT=$(cat "$work/port")
export MASTER_PORT
for round in 1 2; do
    pids=()
    for r in 1 2 0; do
        RANK=$r timeout -k 5 60 "$weft" "${perf[@]}" >"$work/out.$r" 2>"$work/err.$r" &
        pids+=($!)
    done
    for job in "${pids[@]}"; do wait "$job" || die "round $round: $(cat "$work"/err.*)"; done
    cat "$work"/out.[012] >"$work/out"
    all_right 3
    says out "^# Launcher: torchrun, unique id by tcp \(torchrun's store at localhost:$MASTER_PORT\)$"
done
kill $store
wait $store 2>/dev/null
export WEFT_BOOT_INIT_TIMEOUT=500ms
expect 4 env RANK=1 "$weft" "${perf[@]}"
says err "nobody listened at localhost:$MASTER_PORT"
