# SPDX-License-Identifier: BSD-3-Clause
# Run by cpack before it packs: in a Debian package the configuration is below /etc, where weft looks.
if(CPACK_GENERATOR STREQUAL "DEB" AND EXISTS ${CPACK_TEMPORARY_DIRECTORY}/usr/etc)
  file(RENAME ${CPACK_TEMPORARY_DIRECTORY}/usr/etc ${CPACK_TEMPORARY_DIRECTORY}/etc)
endif()
