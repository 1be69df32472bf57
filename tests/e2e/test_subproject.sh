# SPDX-License-Identifier: BSD-3-Clause
# weft as a part of another build: it has the targets of the installed package, and leaves the other's
# tests and packages alone. Configures only.
. "$(dirname "$0")/common.sh"
[ -z "${E2E_SANITIZE:-}" ] || skip "the same in every preset"

mkdir "$work/product"
cat >"$work/product/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(product VERSION 7.3 LANGUAGES C)
set(CPACK_PACKAGE_NAME product)
include(CPack)
set(WEFT_CUDA OFF)
add_subdirectory("$source_dir" weft)
file(WRITE "$work/product/sum.c" "int main(void) { return 0; }\n")
add_executable(sum sum.c)
target_link_libraries(sum PRIVATE weft::weft)
add_library(extension MODULE sum.c)
target_link_libraries(extension PRIVATE weft::sdk weft::sdk-lib)
END
expect 0 cmake -S "$work/product" -B "$work/product/build"
says product/build/CPackConfig.cmake '^set\(CPACK_PACKAGE_NAME "product"'
expect 0 cmake --build "$work/product/build" --target help
says out '^(\.\.\. )?plugins(:|$)'
! grep -qE '^(\.\.\. )?test-' "$work/out" || die "a test of weft"
