# SPDX-License-Identifier: BSD-3-Clause
# Compiler options and build switches for everything in the tree.
option(WEFT_TESTS "build the tests (needs cmocka)" ON)
option(WEFT_WERROR "warnings are errors" ON)
set(WEFT_SANITIZE "" CACHE STRING "sanitizers, e.g. address,undefined or thread")

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

add_compile_definitions(_GNU_SOURCE)
add_compile_options(-Wall -Wextra -Wshadow -Wstrict-prototypes -Wconversion)
if(WEFT_WERROR)
  add_compile_options(-Werror)
endif()
# Checked invariants: core/os/assert.h.
if(WEFT_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_definitions(WEFT_CHECKED=1)
endif()
if(WEFT_SANITIZE)
  add_compile_options(-fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WEFT_SANITIZE})
  # gcc's -Wmaybe-uninitialized misjudges instrumented code.
  add_compile_options(-Wno-error=maybe-uninitialized)
  # Tells clang builds what gcc tells by itself.
  if(WEFT_SANITIZE MATCHES thread)
    add_compile_definitions(WEFT_TSAN=1)
  endif()
else()
  # A shared object that needs an undefined symbol fails at link time, not at the user's.
  add_link_options(-Wl,-z,defs -Wl,-z,relro,-z,now)
endif()
