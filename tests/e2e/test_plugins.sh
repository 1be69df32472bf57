# SPDX-License-Identifier: BSD-3-Clause
# A listed plugin that is not there: one line with its path and where it is listed. The rest works.
. "$(dirname "$0")/common.sh"

cp -r "$build/lib/weft" "$work/weft"
# All there are: algo-file is listed only by those who have files, net-ib by those who have adapters.
algos=$(cd "$work/weft" && echo algo-*.so)
nets=$(cd "$work/weft" && echo net-*.so)
kernels=$(cd "$work/weft" && echo kernel-*.so)
# The default alone may miss its topo plugin.
topos=$(cd "$work/weft" && shopt -s nullglob && echo topo-*.so)
all=(--set "core.algo=${algos//.so/}" --set "core.net=${nets//.so/}" --set "core.kernel=${kernels//.so/}"
    --set "core.topo=${topos//.so/}")
for path in "$work"/weft/*.so; do
    name=$(basename "$path" .so)
    mv "$path" "$work/away"
    expect 3 "$weft" info --set core.plugin_dir="$work/weft" "${all[@]}"
    says err "^weft: .*$name"
    [ "$(wc -l <"$work/err")" -eq 1 ] || die "more than one error line for $name"
    mv "$work/away" "$path"
done
expect 0 "$weft" info --set core.plugin_dir="$work/weft" "${all[@]}"
for path in "$work"/weft/*.so; do
    says out "$path"
done
# Several folders: the first that has the plugin counts, and an empty entry is the usual folder.
mkdir "$work/mine"
mv "$work/weft/net-socket.so" "$work/mine"
expect 0 "$weft" info --set core.plugin_dir="$work/mine:" "${all[@]}"
says out "$work/mine/net-socket.so"
expect 0 "$weft" perf all_reduce -t 2 -b 8 -e 8 -n 1 --set core.plugin_dir="$work/mine:" --set core.log=info
says err "plugin net-socket is $work/mine/net-socket.so; .*lib/weft/net-socket.so comes later"
WEFT_CORE_PLUGIN_DIR="$work/weft:$work/mine" expect 0 "$weft" info "${all[@]}"
says out "$work/mine/net-socket.so"
expect 3 "$weft" info --set core.plugin_dir="$work/weft:$work/mine" --set core.net=net-sockt
says err "in one of $work/weft, $work/mine, did you mean net-socket"
[ "$(wc -l <"$work/err")" -eq 1 ] || die "more than one error line"
expect 0 "$weft" perf all_reduce -t 2 -b 64 -e 64 -n 2 \
    --set core.plugin_dir="$work/weft" --set core.net=net-shm
all_right 1

# A folder whose file system runs no programs.
mkdir "$work/noexec"
if unshare -rm mount -t tmpfs -o noexec none "$work/noexec" 2>"$work/err"; then
    expect 3 unshare -rm bash -c 'mount -t tmpfs -o noexec none "$1" && cp -r "$2"/. "$1" && exec "$3" info --set core.plugin_dir="$1"' \
        - "$work/noexec" "$build/lib/weft" "$weft"
    says err 'failed to map segment from shared object: its file system is mounted noexec'
    [ "$(wc -l <"$work/err")" -eq 1 ] || die "more than one error line"
fi
