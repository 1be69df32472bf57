# SPDX-License-Identifier: BSD-3-Clause
# Writes a C file with texts: cmake -DOUT=FILE.c "-DTEXTS=name=path;…" -P embed.cmake
set(content "/* Made by cmake/embed.cmake. */\n")
foreach(text ${TEXTS})
  string(REGEX MATCH "^([^=]+)=(.*)$" _ ${text})
  set(name ${CMAKE_MATCH_1})
  file(READ ${CMAKE_MATCH_2} bytes HEX)
  string(REGEX REPLACE "(..)" "(char)0x\\1," bytes "${bytes}")
  string(APPEND content "extern const char ${name}[];\nconst char ${name}[] = {${bytes}0};\n")
endforeach()
file(WRITE ${OUT} "${content}")
