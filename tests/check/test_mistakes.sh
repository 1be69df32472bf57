# SPDX-License-Identifier: BSD-3-Clause
# test_mistakes.sh KIND PART PARTS: runs every mistake of KIND whose line number is PART modulo PARTS.
. "$(dirname "$0")/../e2e/common.sh"
kind=$1 part=$2 parts=$3
folder=$source_dir/tests/check
plugin=$kind-wrong
others=(--set core.net=net-socket)
case $kind in
net) others=() ;;
*) others+=(--set "$plugin.right=$build/lib/weft/${CHECK_RIGHT:?}.so") ;;
esac

# run MISTAKE CHECK SECONDS: `weft perf` with the plugin; output in $work/all, the exit code in $code. A
# call that hangs costs SECONDS.
run() {
    code=0
    timeout -k 5 60 "$weft" perf all_reduce -P 2 -b 64K -e 64K -n 20 -w 1 \
        "${others[@]}" --set core.check="$2" --set "core.$kind=$plugin" --set $plugin.path="$build/lib/weft-test/$plugin.so" \
        --set $plugin.wrong="$1" --set exec.op_timeout="$3" --set boot.connect_timeout="$3" \
        --set boot.init_timeout="$3" >"$work/all" 2>&1 || code=$?
}
# refuse TEXT: says what went wrong with a mistake, and goes on with the next.
failed=0
refuse() {
    printf '%s: %s\n' "$mistake" "$1"
    sed 's/^/    /' "$work/all" | tail -n 12
    failed=$((failed + 1))
}

for check in yes no; do
    run "" $check 50
    [ $code -eq 0 ] || { cat "$work/all"; die "the plugin without a mistake ends with code $code"; }
done
# judge METHOD: the last run.
judge() {
    local method=$1
    if [ $code -eq 0 ]; then
        refuse "exit code 0"
    elif [ $code -ge 124 ] && [ $code -ne 134 ] && [ $code -ne 139 ]; then
        refuse "exit code $code: a hang"
    elif ! grep "$plugin" "$work/all" | grep -q "$method"; then
        refuse "no line with $plugin and $method"
    elif grep -q 'rank -[0-9]' "$work/all"; then
        refuse "a rank that does not exist"
    fi
}
number=0
while read -r mistake method; do
    case $mistake in '#'* | '') continue ;; esac
    number=$((number + 1))
    [ $((number % parts)) -eq $((part % parts)) ] || continue
    run "$mistake" yes 10
    judge "$method"
    case $mistake in
    reachable-*) ;; # whatever it is but OK, the core tries the next transport
    *-number | *-silent | *-mismatch | status-* | choose-again | select-again) # no status is believed unchecked
        run "$mistake" no 10
        judge "$method"
        ;;
    esac
done <"$folder/mistakes_$kind.txt"
# Where nothing checks, an operation that never ends names whom it waits for, or says that it is nobody.
if [ "$kind" = net ] && [ "$part" -eq 1 ]; then
    mistake=complete-lost
    run $mistake no 3
    if [ $code -eq 0 ] || [ $code -ge 124 ] || grep -q 'rank -[0-9]' "$work/all" ||
        ! grep -qE 'waits for (rank [0-9]+|no rank)' "$work/all"; then
        refuse "unchecked: exit code $code, or nobody is named"
    fi
fi
[ $failed -eq 0 ] || die "$failed mistakes of $number are not named"
