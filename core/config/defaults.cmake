# SPDX-License-Identifier: BSD-3-Clause
# Makes defaults.h: the plugins that conf/weft.ini names in [core], and the folders of this build. So
# the core's sources name no plugin.
set(conf_file ${PROJECT_SOURCE_DIR}/conf/weft.ini)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${conf_file})
file(READ ${conf_file} conf_text)
string(REGEX MATCH "\n\\[core\\]\n.*\n\\[boot\\]\n" core_section "${conf_text}")
set(WEFT_DEFAULTS "")
foreach(kind net algo kernel tuner topo)
  if(NOT core_section MATCHES "\n;${kind} = ([a-z0-9 -]+)\n")
    message(FATAL_ERROR "${conf_file}: no line ';${kind} = ...' in [core]")
  endif()
  string(TOUPPER ${kind} macro)
  string(APPEND WEFT_DEFAULTS "#define WEFT_DEFAULT_${macro} \"${CMAKE_MATCH_1}\"\n")
endforeach()
file(RELATIVE_PATH WEFT_INSTALL_BIN_TO_LIB ${CMAKE_INSTALL_FULL_BINDIR}
  ${CMAKE_INSTALL_FULL_LIBDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/defaults.h.in
  ${PROJECT_BINARY_DIR}/generated/core/config/defaults.h @ONLY)
