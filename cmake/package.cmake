# SPDX-License-Identifier: BSD-3-Clause
# Installs the library, the SDK, the CMake package `weft` (targets weft::weft, weft::sdk and
# weft::sdk-lib) and the pkg-config files. Paths in them are relative, so that an installed tree
# can be moved, unless CMAKE_INSTALL_LIBDIR or CMAKE_INSTALL_INCLUDEDIR is absolute.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

set_target_properties(weft_api PROPERTIES EXPORT_NAME sdk)
set_target_properties(weft_sdk PROPERTIES EXPORT_NAME sdk-lib)
install(TARGETS weft_api weft_sdk weft EXPORT weft-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${package_dir})

set(plugin_dir ${CMAKE_INSTALL_LIBDIR}/weft)
configure_package_config_file(cmake/weft-config.cmake.in ${PROJECT_BINARY_DIR}/weft-config.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS plugin_dir NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weft-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weft-config.cmake ${PROJECT_BINARY_DIR}/weft-config-version.cmake
  DESTINATION ${package_dir})

# The licence goes with every copy, under the name by which Debian looks for it.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
# conf/ is an example: every key in it is commented out, and weft reads none below a prefix.
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY conf DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN __pycache__ EXCLUDE)

if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH up_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${up_to_prefix}")
endif()
foreach(folder LIBDIR INCLUDEDIR)
  set(pc_${folder} "\${prefix}")
  cmake_path(APPEND pc_${folder} ${CMAKE_INSTALL_${folder}}) # an absolute one takes its place
endforeach()
# Programs find the library in another folder than the system's, too.
set(pc_rpath " -Wl,-rpath,\${libdir}")
foreach(name weft weft-sdk)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT pkgconfig)
endforeach()
# A tree for a folder where the loader looks anyway may be installed elsewhere all the same.
if(CMAKE_INSTALL_FULL_LIBDIR IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
  install(CODE "
    if(CMAKE_INSTALL_PREFIX STREQUAL \"${CMAKE_INSTALL_PREFIX}\")
      set(pc \"\$ENV{DESTDIR}${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig/weft.pc\")
      file(READ \"\${pc}\" text)
      string(REPLACE [[${pc_rpath}]] \"\" text \"\${text}\")
      file(WRITE \"\${pc}\" \"\${text}\")
    endif()" COMPONENT pkgconfig)
endif()

# cpack -G TGZ: a tree that can be put anywhere; cpack -G DEB: a Debian package. Both hold what
# `cmake --install` does. The package depends on the libraries that its programs and plugins are linked to,
# hwloc and ibverbs among them where they were found; CUDA is looked for at run time.
# CPack writes what has an absolute folder into the machine itself, so it is refused.
# They are settings of the top project.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
set(CPACK_ERROR_ON_ABSOLUTE_INSTALL_DESTINATION ON)
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_NAME weft)
set(CPACK_PACKAGE_VENDOR "the authors of weft")
set(CPACK_PACKAGE_CONTACT "the authors of weft")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "collective communication made of plugins")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The package's own libraries are not installed while it is made.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
