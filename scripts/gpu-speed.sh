# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Sourced by scripts/gpu-check: the phases that measure.

# perf NAME RANKS ARGUMENT…: an all-reduce, or what `collective` says; logs/PHASE-NAME.rows has size,
# microseconds, wrong elements.
perf() {
    local name=$1 n=$2
    shift 2
    limited 60 "$name" "$tree/bin/weft" perf "${collective:-all_reduce}" -t "$n" -T "$deadline" "$@" "${set_kernel[@]}"
    awk '!/^#/ && NF == 13 { print $1, $6, $9 }' "$logs/$phase-$name.out" >"$logs/$phase-$name.rows"
    [ "$verdict" = ok ] || put 1 "weft perf of $n ranks, $name" "$verdict" - - - -
}

# perf_range WHICH NAME RANKS ARGUMENT…: the same of a range of `sizes`.
perf_range() {
    local range
    read -ra range <<<"${sizes[$1]}"
    shift
    perf "$1" "$2" -b "${range[0]}" -e "${range[1]}" -f "${range[2]}" "${@:3}"
}

# rows NAME RANKS [WORDS]: lines of the rows of perf beside the limits; the words say what was different.
rows() {
    awk -F'\t' -v n="$2" -v words="${3:-}" '
        FNR == NR && /^launch and wait/ { launch = $3 }
        FNR == NR && /^copy of/ { split($1, word, " "); copy[word[3]] = $3 }
        FNR == NR { next }
        {
            split($0, row, " ")
            size = row[1]; us = row[2]; verdict = row[3] ~ /^(0|N\/A)$/ ? "ok" : row[3] " WRONG"
            ratio = of = "-"
            if (size == 8 && launch > 0) {
                of = "a launch, goal 2"; ratio = us / launch
                if (verdict == "ok" && n > 1 && ratio > 2) verdict = "slow"
            } else if (n * size in copy && us > 0) {
                of = "copy limit"; ratio = copy[n * size] / us
                if (size >= 67108864) {
                    of = of ", goal 0.8"
                    if (verdict == "ok" && n > 1 && ratio < 0.8) verdict = "slow"
                }
            }
            print (size == 8 || size >= 67108864) "\tall-reduce, " n " ranks, " size " bytes" words "\t" verdict "\t" us "\tus\t" \
                (ratio == "-" ? ratio : sprintf("%.3f", ratio)) "\t" of
        }' "$logs/$phase-limits.out" "$logs/$phase-$1.rows" >>"$out/lines/$phase"
}

# binding RANKS: what the plan of the largest size moves in memory, and what its time is made of.
binding() {
    local n=$1 name=count-$1 algo chunks
    perf "$name" "$n" -b "$largest" -e "$largest" -n 1 -w 0 -c 0 --set core.log=debug
    algo=$(sed -n 's/.* select: .* all_reduce by \([a-z-]*\).*/\1/p' "$logs/$phase-$name.err" | tail -n 1)
    chunks=$("$tree/bin/weft" plan all_reduce -n "$n" -A "${algo:-none}" --check 2>/dev/null | awk '
        $1 == "links" { k = $(NF - 3); sub("1/", "", k) }
        $1 == "memory" { print $2 / k }')
    if [ "$verdict" != ok ] || [ -z "$chunks" ]; then
        put 1 "bytes of $n ranks" "left out" - - - -
        return
    fi
    awk -F'\t' -v n="$n" -v chunks="$chunks" -v algo="$algo" '
        FNR == NR { if (/^copy of/) { split($1, word, " "); copy[word[3]] = $3 }; next }
        { split($0, row, " "); size = row[1]; us = row[2] }
        END {
            bytes = chunks * size
            used = us > 0 && n * size in copy ? bytes / us / (2 * n * size / copy[n * size]) : 0
            print "1\t" algo ", " n " ranks: " (used >= 0.7 ? "memory binds" : "waits bind") \
                "\tok\t" sprintf("%.4g", bytes / 1e9) "\tGB read and written\t" sprintf("%.3f", used) "\tcopy bandwidth"
        }' "$logs/$phase-limits.out" "$logs/$phase-large-$n.rows" >>"$out/lines/$phase"
    awk -v n="$n" '
        / launches of plans, / { for (i = 2; i < NF; i++) if ($i == "launches") { launches += $(i - 1); runs += $(i + 3) } }
        END { print "1\tlaunches of a call, " n " ranks\t" (runs > 0 ? "ok" : "none") "\t" \
            (runs > 0 ? launches / runs : 0) "\ta rank\t-\t-" }' "$logs/$phase-$name.err" >>"$out/lines/$phase"
}

phase_speed() {
    local n bytes
    bytes=$(numfmt --from=iec "$largest")
    limited 120 limits "$tree/bin/gpu-limits-$how" $((bytes * ranks[-1]))
    take_lines limits '^launch'
    for n in "${ranks[@]}"; do
        perf_range 0 "small-$n" "$n"
        rows "small-$n" "$n"
        perf_range 1 "large-$n" "$n" -c 0
        rows "large-$n" "$n"
        [ "$n" -eq 1 ] || binding "$n"
    done
    for n in "${ranks[@]:1}"; do
        perf_range 1 "windows-$n" "$n" -R 2 -c 0
        rows "windows-$n" "$n" ", windows"
    done
    perf replayed 2 -b 8 -e 8 -G 20
    rows replayed 2 ", replayed from a graph"
    put 0 "clock of the multiprocessors after it" ok "$(gpu_asks clocks.sm)" MHz - -
}

find_nccl() {
    local python
    python=$(python3 -c 'import nvidia.nccl as n; print(list(n.__path__)[0])' 2>/dev/null)
    { printf '%s\n' "${GPU_CHECK_NCCL:-}" "$python/lib/libnccl.so.2" "$carry/lib/libnccl.so.2"
      ldconfig -p 2>/dev/null | awk '/libnccl\.so/ { print $NF }'; } |
        while read -r file; do
            [ ! -f "$file" ] || printf '%s\n' "$file"
        done | head -n 1
}

nccl_seconds=8 # of a size

# beside RANKS: weft and NCCL in turn, twice; the better time of each. What NCCL does not do, or not end, is a line of
# its own, and sizes that ended count.
beside() {
    local n=$1 round first last factor
    read -r first last factor <<<"${sizes[3]}"
    first=$(numfmt --from=iec "$first") last=$(numfmt --from=iec "$last")
    rm -f "$logs/nccl-nccl-$n"-?.out "$logs/nccl-weft-$n"-?.rows
    for round in 1 2; do
        perf_range 3 "weft-$n-$round" "$n" -c 0
        limited 45 "nccl-$n-$round" env NCCL_MULTI_RANK_GPU_ENABLE=1 "$tree/bin/gpu-nccl-$how" "$nccl" \
            "$n" "$first" "$last" "$factor" "$nccl_seconds"
        [ "$verdict" = ok ] || break
    done
    [[ $verdict = ok || $verdict = 'left out' ]] || put 1 "NCCL, $n ranks" "$verdict" - - - -
    awk -F'\t' -v n="$n" '
        $2 == "left out" { print "1\t" $0; next }
        /^NCCL/ && $2 != "ok" { next }
        /^NCCL/ { split($1, word, " "); size = word[4]; if (!(size in nccl) || $3 < nccl[size]) nccl[size] = $3; next }
        { split($0, row, " "); if (!(row[1] in weft) || row[2] < weft[row[1]]) weft[row[1]] = row[2] }
        END {
            for (size in nccl) if (weft[size] > 0) {
                ratio = nccl[size] / weft[size]
                print (size <= 16 || size >= 67108864) "\tall-reduce, " n " ranks, " size " bytes\t" \
                    (n == 2 && ratio < 1 ? "slow" : "ok") "\t" weft[size] "\tus\t" sprintf("%.3f", ratio) "\tNCCL" \
                    (n == 2 ? ", goal 1" : "")
            }
        }' "$logs/nccl-nccl-$n"-?.out "$logs/nccl-weft-$n"-?.rows | sort -t "$(printf '\t')" -k 2.24n >>"$out/lines/$phase"
}

phase_nccl() {
    local n nccl
    nccl=$(find_nccl)
    if [ -z "$nccl" ]; then
        put 1 "no libnccl.so.2, set GPU_CHECK_NCCL" "left out" - - - -
        return
    fi
    for n in "${ranks[@]:1}"; do
        beside "$n"
    done
}
