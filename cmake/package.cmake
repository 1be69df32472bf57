# SPDX-License-Identifier: BSD-3-Clause
# Installs the library, the SDK, the CMake package `weft` (targets weft::weft, weft::sdk and
# weft::sdk-lib) and the pkg-config files. All paths in them are relative, so that an installed tree
# can be moved.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

set_target_properties(weft_api PROPERTIES EXPORT_NAME sdk)
set_target_properties(weft_sdk PROPERTIES EXPORT_NAME sdk-lib)
install(TARGETS weft_api weft_sdk weft EXPORT weft-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${package_dir})

configure_package_config_file(cmake/weft-config.cmake.in ${PROJECT_BINARY_DIR}/weft-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weft-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weft-config.cmake ${PROJECT_BINARY_DIR}/weft-config-version.cmake
  DESTINATION ${package_dir})

file(RELATIVE_PATH up_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" up_to_prefix ${up_to_prefix})
foreach(name weft weft-sdk)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
