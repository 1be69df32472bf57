# SPDX-License-Identifier: BSD-3-Clause
add_custom_target(plugins) # all of them

# weft_plugin(NAME sources…): one plugin, built as NAME.so, exporting weft_plugin_entry only.
function(weft_plugin name)
  add_library(${name} MODULE ${ARGN})
  set_target_properties(${name} PROPERTIES
    PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/weft)
  target_link_libraries(${name} PRIVATE weft_sdk)
  add_dependencies(plugins ${name})
  install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/weft)
endfunction()
