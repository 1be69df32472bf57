# SPDX-License-Identifier: BSD-3-Clause
# A refused plan is one message, whoever asks for it and however many ranks there are; it names the
# instruction where the wrong value comes from; a drawing says it too.
. "$(dirname "$0")/common.sh"

# The ring of 3 ranks; rank 0 forgets to complete its chunk.
expect 0 "$weft" plan all_reduce -n 3 -A algo-ring --text --rank -1
awk '/^plan/ { rank = $6 } rank == 0 && /^ *4: / { sub(" final", "") } { print }' "$work/out" \
    >"$work/bad.plan"
cmp -s "$work/out" "$work/bad.plan" && die "nothing was changed"
files=(--set "algo-file.files=$work/bad.plan")
place='last folded at rank 0 lane 0 pc 4'

# once FILE: the refusal is the only line there.
once() {
    [ "$(wc -l <"$work/$1")" -eq 1 ] || die "not one line in $1"
    says "$1" "plan of all_reduce for 3 ranks refused, wrong result: .*$place"
}
for ranks in "-P 3" "-t 3"; do
    for algos in algo-file "algo-file algo-flat"; do
        # shellcheck disable=SC2086
        expect 3 "$weft" perf all_reduce $ranks -b 8 -e 4K -f 8 -n 2 --set core.algo="$algos" \
            "${files[@]}" -A algo-file
        once err
    done
    # shellcheck disable=SC2086
    expect 3 "$weft" perf all_reduce $ranks -b 8 -e 8 -n 2 --set core.algo=algo-file "${files[@]}"
    once err
    # Another algorithm serves: a warning, once for all sizes.
    # shellcheck disable=SC2086
    expect 0 "$weft" perf all_reduce $ranks -b 8 -e 4K -f 8 -n 2 \
        --set core.algo="algo-file algo-flat" "${files[@]}" --set tuner.prefer=all_reduce:algo-file
    all_right 4
    once err
done
expect 3 "$weft" perf all -P 3 -b 8 -e 8 -n 2 --set core.algo="algo-file algo-flat" "${files[@]}" \
    -A algo-file
once err

plan=("$weft" plan all_reduce -n 3 -A algo-file --set core.algo=algo-file "${files[@]}")
expect 3 "${plan[@]}" --check
[ "$(grep -c 'wrong result: ' "$work/out")" -eq 1 ] || die "the verdict is not told once"
says out "^verdict +wrong result: .*$place"
says out '^ +last folded at rank 0, lane 0, instruction 4$'
says out '^ +> +4: move out\[1\], port 0 <- port 1, in\[1\]$'
says out '^in place +wrong result at the same place$'
expect 3 "${plan[@]}" --check --json
says out '"origin"'
for view in ring hosts grid lanes; do
    expect 3 "${plan[@]}" --svg "$work/$view.svg" --view $view
    [ "$(wc -l <"$work/err")" -eq 1 ] || die "$view: not one line"
    says err "the plan is refused, wrong result: .*$place"
    says $view.svg '>refused, wrong result: rank '
    says $view.svg '>marked orange: last folded at rank 0 lane 0 pc 4: move out\[1\], port 0 &lt;- '
done
for view in ring hosts lanes; do
    says $view.svg 'fill="none" stroke="#d1242f"'
    says $view.svg 'fill="none" stroke="#e07b00"'
done
expect 0 "$weft" plan all_reduce -n 3 --svg "$work/good.svg"
says good.svg '>proved with [0-9]+ slots and [0-9]+ slices?, in place too<'
! grep -q 'd1242f' "$work/good.svg" || die "a mark in a plan that is right"

# A plan that stands still is drawn as far as it comes.
expect 3 "$weft" plan all_reduce -n 2 -S 4 -L 2 -A algo-file --set core.algo=algo-file \
    --set "algo-file.files=$source_dir/examples/plans/hangs-all-reduce-2.xml" \
    --svg "$work/stands.svg" --view lanes
if ! grep -q 'built without expat' "$work/err"; then
    says err 'the plan is refused, deadlock: '
    says stands.svg '>refused, deadlock: '
    says stands.svg 'stroke-dasharray="4 3"'
fi
