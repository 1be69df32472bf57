#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# out_of_tree.sh CMAKE BUILD_FOLDER SOURCE_FOLDER: installs weft to a temporary folder, builds
# examples/net-null against it, and runs the installed conformance program over the result.
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
cp -R "$source/examples/net-null" "$work/net-null"
lines=$(wc -l <"$work/net-null/net_null.c")
if [ "$lines" -gt 150 ]; then
    echo "out_of_tree: net_null.c has $lines lines, at most 150 are allowed"
    exit 1
fi
"$cmake" -S "$work/net-null" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/weft" \
    -DCMAKE_C_FLAGS="-Wall -Wextra -Wshadow -Wstrict-prototypes -Wconversion -Werror"
"$cmake" --build "$work/build"
"$work/weft/bin/weft-conformance-net" "$work/build/net-null.so"
"$work/weft/bin/weft-conformance-net" "$work/build/net-null.so" slot_bytes=4K | tail -1
