# SPDX-License-Identifier: BSD-3-Clause
# Every program that is built or documented says on --help what it takes, and refuses an option that it does
# not know with a line about it.
. "$(dirname "$0")/common.sh"

# helps COMMAND…: usage on standard output, and nothing else
helps() {
    expect 0 "$@" --help
    [ -s "$work/out" ] || die "$* --help says nothing"
    [ ! -s "$work/err" ] || die "$* --help has something on standard error"
}
# refuses CODE COMMAND…
refuses() {
    expect "$@" --no-such-option
    [ -s "$work/err" ] || die "nothing is said: ${*:2}"
}

helps "$weft"
refuses 6 "$weft"
for command in $("$weft" --help | awk '$1 == "weft" && NR > 2 { print $2 }'); do
    case $command in version | help | COMMAND) continue ;; esac
    helps "$weft" "$command"
    refuses 6 "$weft" "$command"
done
helps "$build/bin/all_reduce_perf"
for program in weft-conformance-net weft-conformance-algo weft-conformance-kernel weft-conformance-tuner \
    weft-simtest fault-matrix; do
    [ -x "$build/bin/$program" ] || continue
    helps "$build/bin/$program"
    refuses 2 "$build/bin/$program"
done
if [ -x "$build/bin/weft-simgrid" ]; then
    helps "$build/bin/weft-simgrid"
    refuses 6 "$build/bin/weft-simgrid"
fi
for script in "$source_dir"/scripts/* "$source_dir"/bench/*; do
    case $(head -c 2 "$script" 2>/dev/null) in '#!') ;; *) continue ;; esac
    [ -x "$script" ] || continue
    ! head -n 1 "$script" | grep -q python || command -v python3 >/dev/null || continue
    helps env PYTHONDONTWRITEBYTECODE=1 "$script"
done
for script in demo lint gpu-carry; do
    refuses 1 "$source_dir/scripts/$script"
done
