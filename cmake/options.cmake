# SPDX-License-Identifier: BSD-3-Clause
# Compiler options and build switches for everything in the tree.
option(WEFT_TESTS "build the tests (needs cmocka)" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_WERROR "warnings are errors" OFF)
option(WEFT_FUZZ "libFuzzer drives the fuzz targets (clang; scripts/fuzz)" OFF)
option(WEFT_COVERAGE "count which lines run (clang; scripts/fuzz --coverage)" OFF)
set(WEFT_SANITIZE "" CACHE STRING "sanitizers, e.g. address,undefined or thread")

# The plugins lie in one folder beside the library.
get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(multi_config)
  message(FATAL_ERROR "weft is built in one configuration for each folder: use the generator Ninja or "
    "Unix Makefiles with CMAKE_BUILD_TYPE, not ${CMAKE_GENERATOR}")
endif()

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
  # A newer release of a library deprecates what an older one needs.
  add_compile_options(-Werror -Wno-error=deprecated-declarations)
endif()
# Checked invariants: core/os/assert.h.
if(WEFT_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_definitions(WEFT_CHECKED=1)
endif()
if(WEFT_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "WEFT_FUZZ needs clang, the compiler is ${CMAKE_C_COMPILER_ID}")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(WEFT_COVERAGE)
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
endif()
if(WEFT_SANITIZE)
  add_compile_options(-fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WEFT_SANITIZE})
  # gcc's -Wmaybe-uninitialized misjudges instrumented code.
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-error=maybe-uninitialized)
  endif()
  # Tells clang builds what gcc tells by itself.
  if(WEFT_SANITIZE MATCHES thread)
    add_compile_definitions(WEFT_TSAN=1)
  endif()
else()
  # A shared object that needs an undefined symbol fails at link time, not at the user's.
  add_link_options(-Wl,-z,defs -Wl,-z,relro,-z,now)
endif()
