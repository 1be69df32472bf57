#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# out_of_tree.sh CMAKE BUILD_FOLDER SOURCE_FOLDER: installs weft to a temporary folder, builds
# examples/net-null and net-tcp against it, and runs the installed conformance program over the
# results, and collectives over the second.
set -eu
cmake=$1 build=$2 source=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/weft" >"$work/install.log" 2>&1 ||
    { cat "$work/install.log"; echo "out_of_tree: cannot install $build (is everything built?)"; exit 1; }
if [ -z "$(find "$work/weft" -name weft-config.cmake)" ]; then
    echo "out_of_tree: the installed tree has no weft-config.cmake: find_package(weft) cannot work"
    exit 1
fi
# Outside the tree, so that nothing of it can be found by accident.
for name in net-null net-tcp; do
    cp -R "$source/examples/$name" "$work/$name"
    lines=$(cat "$work/$name"/*.c | wc -l)
    if [ "$lines" -gt 150 ]; then
        echo "out_of_tree: $name has $lines lines, at most 150 are allowed"
        exit 1
    fi
    "$cmake" -S "$work/$name" -B "$work/build-$name" -DCMAKE_PREFIX_PATH="$work/weft" \
        -DCMAKE_C_FLAGS="-Wall -Wextra -Wshadow -Wstrict-prototypes -Wconversion -Werror"
    "$cmake" --build "$work/build-$name"
    "$work/weft/bin/weft-conformance-net" "$work/build-$name/$name.so"
    "$work/weft/bin/weft-conformance-net" "$work/build-$name/$name.so" slot_bytes=4K | tail -1
done
"$work/weft/bin/weft" perf all -P 3 -b 1K -e 1M -f 32 -n 2 --set core.check=yes \
    --set core.net=net-tcp --set net-tcp.path="$work/build-net-tcp/net-tcp.so" >"$work/perf.log" ||
    { cat "$work/perf.log"; echo "out_of_tree: collectives over net-tcp fail"; exit 1; }
grep '^# Out of bounds values : 0 OK' "$work/perf.log"
