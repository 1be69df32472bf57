# SPDX-License-Identifier: BSD-3-Clause
# Files that cannot be written: an error that names them and the cause, and no halves are left. A limit of the
# size of files stands for the full disk where a device that is always full cannot.
. "$(dirname "$0")/common.sh"
cd "$work" || exit 1

# No file of what follows grows beyond so many KiB: the first argument.
limited=(bash -c 'ulimit -f "$1"; shift; exec "$@"' -)

# `weft new` takes back what it has made, and nothing else.
expect 1 "${limited[@]}" 1 "$weft" new net own-made
says err '^weft: cannot write net-own-made/net_own_made.c: File too large$'
says err '^weft: the folder net-own-made is taken back$'
[ ! -e net-own-made ] || die "half a folder is left"
if [ "$(id -u)" -eq 0 ] && unshare -m mount -t tmpfs -o size=8k none /mnt 2>"$work/err"; then
    expect 1 unshare -m bash -c 'mount -t tmpfs -o size=8k none /mnt; cd /mnt && "$@"; code=$?; ls; exit $code' \
        - "$weft" new net own-made
    says err '^weft: cannot write net-own-made/net_own_made.c: No space left on device$'
    [ ! -s "$work/out" ] || die "something is left on the full disk"
fi

# A program that weft starts has the system's answer to the limit.
expect 0 "$weft" run -n 1 -- grep -q '^SigIgn:.*0[0-9a-f]$' /proc/self/status
expect 153 "${limited[@]}" 1 "$weft" run -n 1 -- bash -c 'head -c 4096 /dev/zero >large'

# Pictures and results.
[ -w /dev/full ] || exit 0
# refused FILE COMMAND…: the command fails to write the file, a link to a device that is always full.
refused() {
    local file=$1 code=0
    shift
    ln -s /dev/full "$file"
    timeout -k 5 60 "$weft" "$@" "$file" >"$work/out" 2>"$work/err" || code=$?
    [ $code -ne 0 ] || die "exit code 0 on a full disk: $*"
    says err "^weft: cannot write $file: No space left on device$"
    [ "$(grep -c '^weft: cannot write' "$work/err")" -eq 1 ] || die "not one line: $*"
    [ -L "$file" ] || die "the full device is removed: $*"
    rm "$file"
}
refused full.svg plan all_reduce -n 4 --svg
refused full.svg sim all_reduce -n 4 --svg
refused full.svg sim --scale all_reduce -n 4 --svg
refused full.svg topo --svg
[ ! -e "$build/lib/weft/topo-hwloc.so" ] || refused full.xml topo --xml
refused full.json perf all_reduce -t 2 -b 8 -e 8 -n 1 -J
refused full.ini tune all_reduce -P 2 -b 8 -e 8 -n 1 -O
# What a run that is interrupted goes on from.
ln -sf /dev/full full.ini.state
expect 3 "$weft" tune all_reduce -P 2 -b 8 -e 8 -n 1 -O full.ini
says err '^weft: cannot write full.ini.state: No space left on device$'
rm full.ini.state

# What takes the place of another file is whole, or that file stays.
mkdir tiny
expect 6 "$weft" tune all_reduce -P 2 -O tiny
says err '^weft: --output tiny: a folder, expected the name of a file$'
for name in '' "$(printf '%0500d' 0)"; do
    expect 6 "$weft" tune all_reduce -P 2 -O "$name"
    says err '^weft: --output wants the name of a file, at most 480 bytes long, got '
done
if unshare -rm mount -t tmpfs -o size=8k none tiny 2>"$work/err"; then
    expect 3 unshare -rm bash -c 'mount -t tmpfs -o size=8k none tiny && cd tiny && echo "# Measured by weft before" >old.ini || exit
        "$@" tune all_reduce -P 2 -b 8 -e 8 -n 1 -O old.ini; code=$?; cat old.ini; ls; exit $code' - "$weft"
    says err '^weft: cannot write old.ini: No space left on device$'
    says out '^# Measured by weft before$'
    says out '^old.ini.state$'
    ! grep -q 'new$' "$work/out" || die "half a file is left"
fi

# Pictures, too: the old one stays, and no half is left beside it.
mkdir kept
machine=$source_dir/tests/unit/core/topo/machines/hgx-h100.machine
for command in 'plan all_reduce -n 4 --svg' 'sim all_reduce -n 4 --svg' 'sim --scale all_reduce -n 4 --svg' \
    "topo --svg" "topo --graph --machine $machine --graph-out" "topo --graph --machine $machine --svg"; do
    echo old >kept/file
    code=0
    # shellcheck disable=SC2086
    "${limited[@]}" 0 "$weft" $command kept/file 2>&1 >/dev/null | cat >"$work/err" || code=$?
    [ $code -eq 3 ] || die "exit code $code without room: $command"
    says err '^weft: cannot write kept/file: File too large$'
    [ "$(ls kept) $(cat kept/file)" = "file old" ] || die "the old file is lost, or half a one is left: $command"
done
if [ -e "$build/lib/weft/topo-hwloc.so" ]; then
    expect 0 "$weft" topo --xml kept/file
    cp kept/file whole.xml
    code=0
    "${limited[@]}" 1 "$weft" topo --xml kept/file 2>&1 >/dev/null | cat >"$work/err" || code=$?
    [ $code -eq 3 ] || die "exit code $code without room: topo --xml"
    says err '^weft: cannot write .*kept/file: File too large$'
    [ "$(ls kept)" = file ] || die "half a file is left: topo --xml"
    cmp -s kept/file whole.xml || die "the old file is lost: topo --xml"
fi
