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
    probe_figures >"$logs/figures.ini"
}

# The answers as lines of [figures], for the path from a device to itself. A slice costs half a word there
# and back and a fence behind its stores; of those behind it only the fence. Rates of slices count bytes read
# and written, of which a block moves two for each of a message, and the memory four.
probe_figures() {
    awk -F'\t' '
        $1 == "a launch behind another" { launch = $3 }
        $1 == "there and back between blocks, words in the device\047s memory" { there = $3 / 2 }
        $1 == "the same behind a store to the device" { fence = $3 }
        $1 ~ /^slices of 1 sources, 1 blocks of .* apart$/ && $3 > one { one = $3 }
        $1 ~ /^slices of 1 sources, .* apart$/ && $3 > all { all = $3 }
        END {
            print "# what scripts/gpu-check probe measured, to be used by WEFT_CONF or in a file of your own"
            print "[figures]"
            if (there > 0 && fence > 0 && one > 0 && all > 0)
                printf "edge = kernel-cuda same latency=%.0fns overhead=%.0fns bandwidth=%.3gGB/s wire=%.3gGB/s\n",
                    there + fence, fence, one / 2, all / 4
            if (launch > 0) printf "kernel = kernel-cuda launch=%.0fns\n", launch * 1e3
        }' "$logs/probe-questions.out"
}

# Two ranks: everything right, and do streams and graphs work at all.
phase_pair() {
    sweep_as threads device 120 2
    perf_range 0 small 2
    put_first small "all-reduce, 2 ranks"
    perf replayed 2 -b 8 -e 8 -G 20
    put_first replayed "all-reduce, 2 ranks, replayed from a graph"
}

# put_first NAME WHAT: the smallest size that perf NAME measured.
put_first() {
    awk -v what="$2" 'NR == 1 { print "1\t" what ", " $1 " bytes\tok\t" $2 "\tus\t-\t-" }' "$logs/$phase-$1.rows" \
        >>"$out/lines/$phase"
}

# One setting after the other is changed, for two ranks; what is best of each is the user's to combine.
scan_settings() {
    if [ -n "$on_host" ]; then
        printf '%s\n' kernel-cuda.threads=128 windows
        return
    fi
    printf 'kernel-cuda.threads=%s\n' 128 256
    printf 'kernel-cuda.channels=%s\n' 4 8 16 32 64
    printf 'exec.slot_bytes=%s\n' 64K 256K 1M
    printf 'exec.slots=%s\n' 2 8
    printf 'plan.algo=algo-%s\n' flat direct ring halving
    echo windows
}

phase_scan() {
    local setting set
    perf_range 2 default 2 -c 0
    while read -r setting; do
        set=(--set "$setting")
        [ "$setting" != windows ] || set=(-R 2)
        perf_range 2 "$setting" 2 -c 0 "${set[@]}"
    done < <(scan_settings)
    # A line for each, and the best of each size at the end.
    awk '
        function setting(s) { sub(/.*\/scan-/, "", s); sub(/\.rows$/, "", s); return s }
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
        }' "$logs"/scan-*.rows >>"$out/lines/$phase"
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
    export CUDA_MPS_PIPE_DIRECTORY=$folder CUDA_MPS_LOG_DIRECTORY=$logs
    limited 20 start nvidia-cuda-mps-control -d
    put 1 "MPS" "$verdict" - - - -
    if [ "$verdict" = ok ]; then
        limited 30 processes "$tree/bin/gpu-probe-$how" processes
        take_lines processes .
        if [ -n "$on_host" ]; then sweep_as processes few 60 2; else sweep_as processes few 60 2 3 4 8; fi
        limited 20 stop bash -c 'echo quit | nvidia-cuda-mps-control'
    fi
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    rm -rf "$folder"
}
