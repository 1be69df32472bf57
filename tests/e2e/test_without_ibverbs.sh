# SPDX-License-Identifier: BSD-3-Clause
# A machine without libibverbs: CMake says that net-ib is left out, everything else is there to be
# built, and the tests of net-ib are told of as skipped, not passed. Configures only.
. "$(dirname "$0")/common.sh"
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }

# What pkg-config finds, without libibverbs.
mkdir "$work/pc"
IFS=: read -ra folders <<<"${PKG_CONFIG_PATH:-}:$(pkg-config --variable pc_path pkg-config)"
for folder in "${folders[@]}"; do
    [ -d "${folder:-/nowhere}" ] || continue
    for file in "$folder"/*.pc; do
        [ "${file##*/}" = libibverbs.pc ] || [ -e "$work/pc/${file##*/}" ] || ln -s "$file" "$work/pc/"
    done
done
[ ! -e "$work/pc/libibverbs.pc" ] && [ -e "$work/pc/libsodium.pc" ] || die "the folder of .pc files"

expect 0 env -u PKG_CONFIG_PATH PKG_CONFIG_LIBDIR="$work/pc" cmake -S "$source_dir" -B "$work/tree" \
    -G "$(cached CMAKE_GENERATOR)" -DCMAKE_C_COMPILER="$(cached CMAKE_C_COMPILER)"
says out '^-- net-ib is left out: libibverbs was not found'
says out '^-- tests: LEFT OUT: net-ib was not built'

expect 0 cmake --build "$work/tree" --target help
for target in net-socket net-shm weft weft_core; do
    says out "^(\.\.\. )?$target(:|$)"
done
! grep -qE '^(\.\.\. )?(net-ib|fakeverbs|test-[a-z-]*net-ib)' "$work/out" || die "a target of net-ib"

(cd "$work/tree" && expect 0 ctest -N) || exit 1
says out ': fake-verbs$'
says out ': conformance-net-socket$'
! grep -qE ': (conformance-net-ib|fault/net-ib|unit/plugins/net-ib)' "$work/out" || die "a test of net-ib"
(cd "$work/tree" && expect 0 ctest -R '^fake-verbs$') || exit 1
says out 'fake-verbs .*\*\*\*Skipped'
