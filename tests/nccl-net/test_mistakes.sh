# SPDX-License-Identifier: BSD-3-Clause
# Network plugins of NCCL with one mistake each: `weft perf` ends with an error, and a line names the
# library, the function and what was found. A call that hangs is named while it hangs.
. "$(dirname "$0")/../e2e/common.sh"
library=$build/lib/weft-test/libnccl-net-foreign11.so

# run MISTAKE SECONDS [LIBRARY]: output in $work/out, the exit code in $code.
run() {
    code=0
    rm -rf "$work/once"
    FOREIGN_ONCE=$work/once FOREIGN_WRONG=$1 timeout -k 5 "$2" "$weft" perf all_reduce -P 2 -b 64K -e 64K -n 5 -w 1 \
        --set core.net=net-nccl --set net-nccl.library="${3-$library}" --set exec.op_timeout=10 \
        --set boot.connect_timeout=10 --set boot.init_timeout=20 --set boot.late=1 \
        >"$work/out" 2>&1 || code=$?
}

run none 60
[ $code -eq 0 ] || die "the plugin without a mistake ends with code $code"
failed=0 number=0
while read -r mistake text; do
    case $mistake in '#'* | '') continue ;; *_crash) [ -z "${E2E_SANITIZE:-}" ] || continue ;; esac
    number=$((number + 1))
    # A rank that hangs in foreign code cannot end by itself. The other one asks for it, and so wakes it.
    case $mistake in *_hang) run "$mistake" 25 ;; *) run "$mistake" 60 ;; esac
    died=''
    case $mistake in *_crash | *_hang) ;; *) ! grep -q 'killed by signal' "$work/out" || died=yes ;; esac
    if [ $code -eq 0 ] || [ -n "$died" ] || ! grep -E "$text" "$work/out" | grep -q "libnccl-net-foreign11.so"; then
        printf '%s: exit code %d, expected a line with the library and /%s/\n' "$mistake" "$code" "$text"
        sed 's/^/    /' "$work/out" | tail -n 12
        failed=$((failed + 1))
    fi
done <"$source_dir/tests/nccl-net/mistakes.txt"
[ $number -ge 20 ] || die "only $number mistakes were run"
[ $failed -eq 0 ] || die "$failed of $number mistakes are not named"

# No library, none of that name, and one that is something else.
run none 60 ""
says out 'library is not set; it names a network plugin of NCCL'
run none 60 nowhere
says out 'cannot open library = nowhere: libnccl-net-nowhere.so: cannot open shared object file'
run none 60 "$build/lib/weft/net-socket.so"
says out 'net-socket.so: found none of the symbols ncclNetPlugin_v6 to ncclNetPlugin_v12'
[ $code -ne 0 ] || die "exit code 0 for a library that is no network plugin"
