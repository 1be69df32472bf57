# SPDX-License-Identifier: BSD-3-Clause
# Writes a header with a digest of the sources of libweft: cmake -DROOT=TREE -DOUT=FILE.h -P stamp.cmake
# It depends on their names below ROOT and on their bytes: two machines that build one commit have the same.
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/core/*.[ch] ${ROOT}/api/*.[ch])
list(SORT files)
set(all "")
foreach(file ${files})
  file(SHA256 ${ROOT}/${file} digest)
  string(APPEND all "${digest} ${file}\n")
endforeach()
string(SHA256 stamp "${all}")
string(SUBSTRING ${stamp} 0 12 stamp)
file(WRITE ${OUT} "/* Made by cmake/stamp.cmake. */\n#define WEFT_BUILD_STAMP \"${stamp}\"\n")
