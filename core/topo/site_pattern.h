/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Patterns of host names: "node[01-16,20]", "gpu*". */
#ifndef WEFT_TOPO_SITE_PATTERN_H
#define WEFT_TOPO_SITE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* Returns NULL if the pattern is well formed, else what is wrong with it. */
const char *weft_site_pattern_check(const char *pattern);

/* True if a checked pattern fits the name of a host. */
bool weft_site_pattern_fits(const char *pattern, const char *host);

/* Returns how many characters the two have in common at the beginning. */
size_t weft_site_pattern_nearness(const char *pattern, const char *host);

#endif
