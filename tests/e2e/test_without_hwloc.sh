# SPDX-License-Identifier: BSD-3-Clause
# A machine without hwloc: CMake says that topo-hwloc is left out, and configures everything else.
. "$(dirname "$0")/common.sh"
command -v cmake >/dev/null || skip "no cmake"
[ -z "${E2E_SANITIZE:-}" ] || skip "the same in every preset"

# What pkg-config finds, without hwloc.
mkdir "$work/pc"
IFS=: read -ra folders <<<"${PKG_CONFIG_PATH:-}:$(pkg-config --variable pc_path pkg-config)"
for folder in "${folders[@]}"; do
    [ -d "${folder:-/nowhere}" ] || continue
    for file in "$folder"/*.pc; do
        [ "${file##*/}" = hwloc.pc ] || [ -e "$work/pc/${file##*/}" ] || ln -s "$file" "$work/pc/"
    done
done
[ ! -e "$work/pc/hwloc.pc" ] && [ -e "$work/pc/libsodium.pc" ] || die "the folder of .pc files"

expect 0 env -u PKG_CONFIG_PATH PKG_CONFIG_LIBDIR="$work/pc" cmake -S "$source_dir" -B "$work/absent" \
    -DWEFT_CUDA=OFF
says out '^-- topo-hwloc: not built, .*hwloc 2 was not found \(Debian: libhwloc-dev\)$'
says out '^-- tests: LEFT OUT: topo-hwloc was not built'
(cd "$work/absent" && expect 0 ctest -R '^tools/topo') || exit 1
says out 'tools/topo .*\*\*\*Skipped'
expect 0 cmake --build "$work/absent" --target help
says out '^(\.\.\. )?weft_tool(:|$)'
! grep -q 'topo-hwloc' "$work/out" || die "a target of topo-hwloc"
