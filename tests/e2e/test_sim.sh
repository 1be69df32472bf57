# SPDX-License-Identifier: BSD-3-Clause
# `weft sim` prices plans of many ranks, draws, and asks SimGrid where it is there.
. "$(dirname "$0")/common.sh"

model="--alpha 5us --beta 12GB/s --gamma 10GB/s"
# The ring's formula: 2(n − 1) messages
expect 0 "$weft" sim all_reduce -A algo-ring -n 16 -b 8 -e 8 $model --csv
says out '^all_reduce,16,8,"algo-ring",0\.000150'
expect 0 "$weft" sim all_reduce -A algo-ring -n 4..65536 -b 8 -e 8 $model
says out '^# all_reduce over 65536 ranks'
says out '^# algo-ring +ok: 131071 steps'
expect 0 "$weft" sim all_reduce -A algo-ring,algo-flat:max_ranks=128 -n 4,100 -f 64 $model --json
says out '"algo": "algo-flat:max_ranks=128"'
says out '"verdict": "ok"'
expect 0 "$weft" sim all_reduce -A algo-ring,algo-flat -n 100 $model
says out '^# algo-flat +does not serve: .*max_ranks'
expect 3 "$weft" sim all_reduce -A algo-flat -n 100 $model
expect 6 "$weft" sim
says err 'which collective'
expect 6 "$weft" sim all_reduce broadcast -n 4
says err "'broadcast' is one name too many"
expect 6 "$weft" sim all_reduce -n ''
says err '^weft: --nranks wants numbers of ranks'
expect 6 "$weft" sim all_reduce -n 4,x
expect 6 "$weft" sim all_reduce -n 100000
expect 6 "$weft" sim all_reduce -A algo-rng

# The tree wins small messages on many ranks, the ring large ones
if [ -e "$build/lib/weft/algo-tree.so" ]; then
    expect 0 "$weft" sim all_reduce -A algo-ring,algo-tree -n 16 -b 8 -e 64M -f 8388608 $model \
        --csv --svg "$work/sim.svg" --set "core.algo=algo-ring algo-tree"
    says out '^all_reduce,16,8,"algo-tree",.*,1$'
    says out '^all_reduce,16,67108864,"algo-ring",.*,1$'
    grep -q '^</svg>$' "$work/sim.svg" || die "no figure"
    if command -v xmllint >/dev/null; then
        xmllint --noout "$work/sim.svg" || die "the figure is not well-formed"
    fi
fi

# Times of 0 are left out of a figure.
for free in "--alpha 0" "--alpha 0 --beta 0 --gamma 0"; do
    # shellcheck disable=SC2086
    expect 0 timeout 60 "$weft" sim all_reduce -n 2..8 $free --svg "$work/free.svg"
    grep -q '^</svg>$' "$work/free.svg" || die "no figure of what costs nothing"
    ! grep -Eq '("|[0-9],)-?(nan|inf)' "$work/free.svg" || die "a figure with places that are no numbers"
done
expect 0 "$weft" sim --scale -A algo-ring,algo-flat -n 4..64 --svg "$work/scale.svg"
says out '^\| algo-ring \| all_reduce \| 64 \| ok \|'
grep -q '^</svg>$' "$work/scale.svg" || die "no figure of the scale"
# Panels whose values are close have labels too: two each.
expect 0 "$weft" sim --scale -A algo-ring -n 4..8 --svg "$work/narrow.svg"
[ "$(grep -o 'text-anchor="end"' "$work/narrow.svg" | wc -l)" -ge 12 ] || die "a panel without labels"

if [ ! -x "$build/bin/weft-simgrid" ]; then
    expect 5 "$weft" sim all_reduce -A algo-ring -n 4 --simgrid
    says err 'libsimgrid-dev'
elif [ -z "${E2E_SANITIZE:-}" ]; then
    # Alone on its links, a ring takes what the walk says; SimGrid's own stacks upset sanitizers.
    expect 0 "$weft" sim all_reduce -A algo-ring -n 4 -b 8 -e 8 $model --simgrid --csv
    says out '^"algo-ring",4,8,3\.0[0-9]*e-05,3\.00[0-9]*e-05$'
    expect 6 "$weft" sim all_reduce -A algo-ring -n 2000 --simgrid

    # A network that is wrong is one line, with file and place.
    network() {
        local words=$1
        shift
        expect 3 "$weft" sim all_reduce -A algo-ring -n 16 -b 8 -e 8 --simgrid --platform "$@"
        says err "$words"
        [ "$(wc -l <"$work/err")" -eq 1 ] || die "more than one line: $(cat "$work/err")"
    }
    source=$(cd "$(dirname "$0")/../.." && pwd)
    torus=$source/examples/networks/torus-4x4.xml
    network "none.xml.*Does this file exist" "$work/none.xml"
    sed 's/<cluster/<clusster/' "$torus" >"$work/word.xml"
    network 'Parse error at .*word.xml:[0-9]' "$work/word.xml"
    sed 's/speed="[^"]*"/speed="fast"/' "$torus" >"$work/value.xml"
    network 'Parse error at .*value.xml:[0-9].*fast' "$work/value.xml"
    network 'the network has 16 hosts; 32 ranks, 1 on a host, need 32' "$torus" -n 32

    # What the guide shows.
    python3 "$source/tests/docs/guides.py" simgrid "$build" >"$work/guide.sh"
    [ -s "$work/guide.sh" ] || die "the guide has no commands"
    expect 0 bash -e -c "cd '$source'; . '$work/guide.sh'"
    says out '^ +16 +33554432 +algo-swing:x=4 '
fi

# What excludes each other
expect 6 "$weft" sim all_reduce -n 4 --csv --json
says err 'exclude each other'
expect 6 "$weft" sim all_reduce -n 4 --simgrid --svg "$work/not.svg"
says err 'svg does not go with --simgrid'

expect 6 "$weft" sim all_reduce -n 4 --svg -
says err '^weft: --svg wants a file: the table goes to standard output$'
