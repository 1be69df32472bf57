# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Sourced by scripts/gpu-check: the phases that a machine with a GPU for twenty minutes is for, besides bits
# and nccl: what the driver does, two ranks, what binds, and what the tools of NVIDIA say.

# What only a device can tell of the driver and the memory, and what the plugin says of the device.
phase_probe() {
    limited 240 questions "$tree/bin/gpu-probe-$how"
    take_lines questions '^(there and back|to issue|a launch)'
    put 1 "questions to the driver" "$verdict" "$(grep -c . "$logs/probe-questions.out")" answers - -
    limited 30 info "$tree/bin/weft" info "${set_kernel[@]}"
    put 1 "weft info" "$verdict" - - - -
    write_figures
}

# What was measured so far as lines of [figures], for the path from a device to itself; gpu-report prints them.
#
# Of probe: a slice costs half a word there and back and a fence behind its stores; of those behind it only
# the fence. Rates of slices count bytes read and written, of which a block moves two for each of a message,
# and the memory four.
#
# Of scan, which is stronger: a message of one slice takes launch + latency + bytes * (1/bandwidth + 2/copy), one of 16
# slices 15 times the overhead more, and one copy for all but the first slice. So the line through the times of each
# protocol gives latency and bandwidth; half of what a byte takes by slots counts as the two copies. A
# whole run is an all-reduce by algo-flat, of which only reading counts, at the rate of a sum.
write_figures() {
    local rows=()
    [ ! -s "$logs/probe-questions.out" ] || rows+=("$logs/probe-questions.out")
    for name in ll ll128 simple whole; do
        [ ! -s "$logs/scan-edge-$name.rows" ] || rows+=("$logs/scan-edge-$name.rows")
        [ ! -s "$logs/scan-many-$name.rows" ] || rows+=("$logs/scan-many-$name.rows")
    done
    [ ! -s "$logs/scan-wire-simple.rows" ] || rows+=("$logs/scan-wire-simple.rows")
    awk '
        function of_file(kind) { name = FILENAME; return sub(".*/scan-" kind "-", "", name) && sub(/\.rows$/, "", name) }
        function at_least(value, least) { return value > least ? value : least }
        function edge(protocol, latency, overhead, byte, wire) {
            printf "edge = kernel-cuda same%s latency=%.0fns overhead=%.0fns bandwidth=%.3gGB/s", protocol,
                at_least(latency, 1), at_least(overhead, 1), 1 / byte
            if (wire > 0) printf " wire=%.3gGB/s", wire
            print ""
        }
        /^[^0-9]/ {
            split($0, answer, "\t")
            value = answer[3]
            if (answer[1] == "a launch behind another") launch = value * 1e3
            if (answer[1] == "there and back between blocks, words in the device\047s memory") there = value / 2
            if (answer[1] == "the same behind a store to the device") fence = value
            if (answer[1] ~ /^slices of 1 sources, 1 blocks of .* apart$/ && value > one) one = value
            if (answer[1] ~ /^slices of 1 sources, .* apart$/ && value > all) all = value
            next
        }
        { ns = $2 * 1e3 }
        of_file("edge") { n[name]++; x[name] += $1; y[name] += ns; xx[name] += $1 * $1; xy[name] += $1 * ns }
        of_file("many") { many[name] = ns; message[name] = $1 }
        of_file("wire") { wire = $1 / ns }
        END {
            print "# what scripts/gpu-check measured, to be used by WEFT_CONF or in a file of your own"
            print "[figures]"
            for (name in n) {
                below = n[name] * xx[name] - x[name] ^ 2
                slope[name] = at_least(below > 0 ? (n[name] * xy[name] - x[name] * y[name]) / below : 0, 1e-4)
                start[name] = at_least((y[name] - slope[name] * x[name]) / n[name], launch + 1)
            }
            copy = slope["simple"] / 4
            for (i = split("simple ll ll128 whole", names, " "); i > 0; i--) {
                name = names[i]
                if (!(name in n)) continue
                byte = at_least(name == "whole" ? slope[name] - 1.5 / 30 : slope[name] - 2 * copy, slope[name] / 10)
                slice = message[name] / 16
                further = name in many ? (many[name] - start[name] - 16 * slice * (slope[name] - copy) - slice * copy) / 15 : 0
                latency = start[name] - launch
                if (further <= 0 || further > latency) further = latency / 2
                edge(name == "simple" ? "" : " " name, latency, further, byte, name == "simple" ? wire : 0)
            }
            if (!("simple" in n) && there > 0 && fence > 0 && one > 0 && all > 0)
                edge("", there + fence, fence, 2 / one, all / 4)
            if (launch > 0 || copy > 0) printf "kernel = kernel-cuda"
            if (launch > 0) printf " launch=%.0fns", launch
            if (copy > 0) printf " copy=%.3gGB/s", 1 / copy
            print ""
        }' "${rows[@]}" </dev/null >"$logs/figures.ini"
}

# Two ranks: everything right, and do streams and graphs work at all.
phase_pair() {
    sweep_as threads device 120 2
    perf_range 0 small 2
    put_first small "all-reduce, 2 ranks"
    perf replayed 2 -b 8 -e 8 -G 20
    put_first replayed "all-reduce, 2 ranks, replayed from a graph"
}

# Calls in which the host has a part, while kernels wait for it.
phase_calls() {
    limited 120 driven "$tree/bin/gpu-calls-$how" "exec.op_timeout=${deadline}s" "${kernel[@]}"
    take_lines driven '^(calls|the same)'
    put 1 "calls that the host drives, 2 ranks" "$verdict" - - - -
}

# put_first NAME WHAT: the smallest size that perf NAME measured.
put_first() {
    awk -v what="$2" 'NR == 1 { print "1\t" what ", " $1 " bytes\tok\t" $2 "\tus\t-\t-" }' "$logs/$phase-$1.rows" \
        >>"$out/lines/$phase"
}

# One setting after the other is changed, for two ranks; what is best of each is the user's to combine.
scan_settings() {
    if [ -n "$on_host" ]; then
        printf '%s\n' kernel-cuda.threads=128 kernel-cuda.protocol=ll windows windows,kernel-cuda.whole=no
        return
    fi
    printf 'kernel-cuda.threads=%s\n' 128 256
    printf 'kernel-cuda.channels=%s\n' 4 8 16 32 64
    printf 'exec.slot_bytes=%s\n' 64K 256K 1M
    printf 'exec.slots=%s\n' 2 8
    printf 'plan.algo=algo-%s\n' flat direct ring halving
    printf 'kernel-cuda.protocol=%s\n' simple ll ll128
    printf '%s\n' windows windows,kernel-cuda.whole=no
}

# scan_one SETTING ARGUMENT…: long messages, and short ones where the protocol may matter.
scan_one() {
    local setting=$1
    shift
    perf_range 2 "set-$setting" 2 -c 0 "$@"
    [[ $setting == default || $setting == *protocol* || $setting == windows* ]] || return 0
    perf_range 4 "short-$setting" 2 -c 0 "$@"
    cat "$logs/scan-short-$setting.rows" >>"$logs/scan-set-$setting.rows"
}

# edge_rows PROTOCOL SLICE FIRST LAST: what write_figures reads of a protocol: messages of one slice, and one of 16.
edge_rows() {
    local collective=sendrecv one=(-c 0 --set plan.channels=1 --set "kernel-cuda.protocol=$1") many=$((16 * $2))
    perf "edge-$1" 2 -b "$3" -e "$4" -f 2 "${one[@]}"
    [ -n "$on_host" ] || one+=(--set "exec.slot_bytes=$2")
    perf "many-$1" 2 -b "$many" -e "$many" "${one[@]}"
}

scan_edges() {
    local collective first=16K last=256K long=256M
    if [ -n "$on_host" ]; then
        first=64 last=128 long=128
        edge_rows ll 8 64 128
        edge_rows ll128 8 64 128
        edge_rows simple 8 64 128
    else
        edge_rows ll 4096 512 8K
        edge_rows ll128 32768 4K 64K
        edge_rows simple 65536 "$first" "$last"
    fi
    perf edge-whole 2 -b "$first" -e "$last" -f 2 -R 2 -c 0 --set plan.channels=1 --set plan.algo=algo-flat
    # shellcheck disable=SC2034 # perf reads it
    collective=sendrecv
    perf wire-simple 2 -b "$long" -e "$long" -c 0 --set kernel-cuda.protocol=simple
    write_figures
}

phase_scan() {
    local setting set
    scan_edges # first: the cost model is what the rest is judged by
    scan_one default
    while read -r setting; do
        set=()
        [[ $setting != windows* ]] || set=(-R 2)
        [[ $setting != *=* ]] || set+=(--set "${setting#windows,}")
        scan_one "$setting" "${set[@]}"
    done < <(scan_settings)
    # A line for each, and the best of each size at the end.
    awk '
        function setting(s) { sub(/.*\/scan-set-/, "", s); sub(/\.rows$/, "", s); return s }
        { us[setting(FILENAME), $1] = $2; sizes[$1]; settings[setting(FILENAME)] }
        END {
            for (size in sizes) {
                least = "default"
                for (s in settings) if ((s, size) in us) {
                    print "0\tall-reduce, 2 ranks, " size " bytes, " s "\tok\t" us[s, size] "\tus\t" \
                        sprintf("%.3f", us["default", size] / us[s, size]) "\tdefault"
                    if (us[s, size] < us[least, size]) least = s
                }
                print "1\tbest of the scan, " size " bytes, " least "\tok\t" us[least, size] "\tus\t" \
                    sprintf("%.3f", us["default", size] / us[least, size]) "\tdefault"
            }
        }' "$logs"/scan-set-*.rows >>"$out/lines/$phase"
}

# One rank: ncu runs kernels one after another, and those of two ranks wait for each other.
phase_ncu() {
    local program
    program=$(command -v ncu) || {
        put 1 "ncu, not installed" "left out" - - - -
        return
    }
    limited 180 kernel "$program" --set full --clock-control none --kernel-name regex:cuda_grid --launch-count 2 \
        "$tree/bin/weft" perf all_reduce -t 1 -b "$largest" -e "$largest" -n 1 -w 0 -c 0 "${set_kernel[@]}"
    if grep -qs ERR_NVGPUCTRPERM "$logs/ncu-kernel".{out,err}; then
        put 1 "ncu, no permission for the counters of the device" "left out" - - - -
        return
    fi
    if grep -qs 'Failed to initialize the profiler' "$logs/ncu-kernel".{out,err}; then
        put 1 "ncu, not possible on this system" "left out" - - - -
        return
    fi
    put 1 "cuda_grid under ncu" "$verdict" - - - -
    # Lines of its report: a name, a unit or none, a number; apart by many spaces.
    awk -F'  +' '
        / (Duration|DRAM Throughput|Memory Throughput|L1\/TEX Hit Rate|L2 Hit Rate|No Eligible|Registers Per Thread) / {
            print "1\tcuda_grid: " $2 "\tok\t" $NF "\t" (NF > 3 ? $3 : "-") "\t-\t-"
        }' "$logs/ncu-kernel.out" >>"$out/lines/$phase"
}

# Ranks that are processes, with a daemon of this phase's own.
phase_mps() {
    local folder
    command -v nvidia-cuda-mps-control >/dev/null || {
        put 1 "nvidia-cuda-mps-control, not installed" "left out" - - - -
        return
    }
    folder=$(mktemp -d) # the path of a socket is short
    # A rank that is a process needs few hardware queues, and the daemon has not enough for many of them: with 32
    # each, four processes are refused a context.
    export CUDA_MPS_PIPE_DIRECTORY=$folder CUDA_MPS_LOG_DIRECTORY=$logs CUDA_DEVICE_MAX_CONNECTIONS=8
    limited 20 start nvidia-cuda-mps-control -d
    put 1 "MPS" "$verdict" - - - -
    if [ "$verdict" = ok ]; then
        limited 30 processes "$tree/bin/gpu-probe-$how" processes
        take_lines processes .
        if [ -n "$on_host" ]; then sweep_as processes few 60 2; else sweep_as processes few 60 2 3 4 8; fi
        limited 20 stop bash -c 'echo quit | nvidia-cuda-mps-control'
    fi
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    export CUDA_DEVICE_MAX_CONNECTIONS=32
    rm -rf "$folder"
}
