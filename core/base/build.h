/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which sources this library was built from. A version is raised with a release; between two of
 * them ranks of different sources would take each other for alike. */
#ifndef WEFT_BASE_BUILD_H
#define WEFT_BASE_BUILD_H

/* Returns the version and a digest of the sources of core/ and api/, "0.1.0+0123456789ab". */
const char *weft_build(void);

#endif
