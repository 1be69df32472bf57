# SPDX-License-Identifier: BSD-3-Clause
# An installed tree, moved elsewhere, builds and runs the example.
. "$(dirname "$0")/common.sh"
[ -z "${E2E_SANITIZE:-}" ] || skip "a sanitized library needs a sanitized example"

expect 0 cmake --install "$build" --prefix "$work/first"
mv "$work/first" "$work/moved"
expect 0 cmake -S "$source_dir/examples/all-reduce" -B "$work/example" \
    -DCMAKE_PREFIX_PATH="$work/moved"
expect 0 cmake --build "$work/example"
expect 0 "$work/example/all_reduce"
says out '^rank 0 of 1: 0 wrong$'
expect 0 "$work/moved/bin/all_reduce_perf" -P 2 -b 8 -e 8 -n 2
all_right 1
expect 0 "$work/moved/bin/weft" info
says out "$work/moved/lib.*/weft/"
# Programs know where the build puts the libraries.
expect 0 cmake -S "$source_dir" -B "$work/lib64" -DCMAKE_INSTALL_LIBDIR=lib64 -DWEFT_TESTS=OFF -DWEFT_CUDA=OFF
grep -q 'BIN_TO_LIB "\.\./lib64"' "$work/lib64/generated/core/config/defaults.h" || die "lib64 is forgotten"
lines=$(wc -l <"$source_dir/examples/all-reduce/all_reduce.c")
[ "$lines" -lt 80 ] || die "the example has $lines lines"

pc=$(dirname "$(find "$work/moved" -name weft.pc)")
flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs weft) || die "pkg-config weft"
# shellcheck disable=SC2086
expect 0 cc -std=c11 "$source_dir/examples/all-reduce/all_reduce.c" -o "$work/by-pc" $flags
expect 0 "$work/by-pc" # pkg-config tells where the library is at run time, too
says out '^rank 0 of 1: 0 wrong$'

doc=$work/moved/share/doc/weft
[ -f "$doc/writing-a-net-plugin.md" ] && [ -f "$doc/examples/net-tcp/net_tcp.c" ] ||
    die "no guides or examples in $doc"

man=$work/moved/share/man/man1
if command -v help2man >/dev/null; then
    for page in weft weft-perf weft-run weft-conformance-net all_reduce_perf; do
        [ -f "$man/$page.1" ] || die "no page $page in $man"
    done
    grep -q '^.SH SYNOPSIS' "$man/weft-perf.1" || die "weft-perf.1 has no synopsis"
    ! LC_ALL=C grep -l "[^ -~$(printf '\t')]" "$man"/*.1 || die "pages with other characters than ASCII"
else
    echo "NOT CHECKED: manual pages, help2man is not installed"
fi

# A plugin outside the tree, with the code of the SDK inside and hidden.
only_entry() {
    local symbols
    symbols=$(nm -D --defined-only "$1" | awk '{ print $NF }')
    [ "$symbols" = weft_plugin_entry ] || die "$1 exports $symbols"
}
outside=$source_dir/tests/e2e/sdk-plugin
expect 0 cmake -S "$outside" -B "$work/outside" -DCMAKE_PREFIX_PATH="$work/moved"
expect 0 cmake --build "$work/outside"
only_entry "$work/outside/net-outside.so"
flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs weft-sdk) || die "pkg-config weft-sdk"
# shellcheck disable=SC2086
expect 0 cc -std=c11 -shared -fPIC -fvisibility=hidden -Wl,-z,defs "$outside/net_outside.c" \
    -o "$work/by-pc.so" $flags
only_entry "$work/by-pc.so"

# Components are refused: there are none.
mkdir "$work/parts"
printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(parts LANGUAGES C)' \
    'find_package(weft CONFIG REQUIRED COMPONENTS nonsense)' >"$work/parts/CMakeLists.txt"
expect 1 cmake -S "$work/parts" -B "$work/parts/build" -DCMAKE_PREFIX_PATH="$work/moved"
says err 'weft has no components, asked for: nonsense'

# configured ARGUMENT…: another tree that is not built; what its packages will say is in $work/other.
configured() {
    expect 0 cmake -S "$source_dir" -B "$work/other" -DWEFT_CUDA=OFF -DWEFT_TESTS=OFF "$@"
}
pc_says() {
    local got
    got=$(PKG_CONFIG_PATH=$work/other pkg-config "${@:2}") && [ "${got% }" = "$1" ] ||
        die "pkg-config ${*:2}: $got, expected $1"
}
configured -DCMAKE_INSTALL_PREFIX="$work/p" -DCMAKE_INSTALL_INCLUDEDIR=include/weft-0
grep -rq '_IMPORT_PREFIX}/include/weft-0"' "$work/other/CMakeFiles/Export" || die "the folder of headers"
configured -DCMAKE_INSTALL_LIBDIR="$work/l"
grep -q "^set(weft_PLUGIN_DIR \"$work/l/weft\")" "$work/other/weft-config.cmake" || die "the folder of plugins"
pc_says "-I$work/p/include/weft-0" --cflags weft
pc_says "$work/l/weft" --variable=plugindir weft-sdk
pc_says "-L$work/l -lweft -Wl,-rpath,$work/l" --libs weft
# The loader looks there, but not in another folder in which the same tree is installed.
configured -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR=lib
expect 0 env DESTDIR="$work/staged" cmake --install "$work/other" --component pkgconfig
expect 0 cmake --install "$work/other" --component pkgconfig --prefix "$work/elsewhere"
pc_says '' --libs-only-other "$(find "$work/staged" -name weft.pc)"
pc=$(find "$work/elsewhere" -name weft.pc)
got=$(pkg-config --libs-only-other "$pc" | tr -d ' ')
[ "$(realpath -m "${got#-Wl,-rpath,}")" = "$(dirname "$(dirname "$pc")")" ] || die "a folder for the loader: '$got'"

# A folder for each configuration would part the library from its plugins.
if command -v ninja >/dev/null; then
    expect 1 cmake -G 'Ninja Multi-Config' -S "$source_dir" -B "$work/multi"
    says err 'one configuration for each folder'
    # Who has not asked for it gets no error for the new warning of a new compiler.
    expect 0 env -C "$source_dir" cmake --preset release -B "$work/preset" -DWEFT_CUDA=OFF -DWEFT_TESTS=OFF
    grep -q '^WEFT_WERROR:BOOL=OFF$' "$work/preset/CMakeCache.txt" || die "the preset release: warnings are errors"
fi
