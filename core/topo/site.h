/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a site knows of its hosts: the levels above them, from the file that [core] topology names.
 * A line gives a path and the hosts that lie there:
 *
 *     # rack/switch   hosts
 *     rack1/switch1   node[01-16]
 *     rack1/switch2   node[17-32] login
 *     others/any      *
 *
 * Numbers in brackets are lists of numbers and ranges; with a leading zero they have as many
 * digits as the first one. A star stands for any text. A pattern without a dot is compared with the
 * host's name up to its first dot. The first line with a pattern that fits decides. All paths have
 * the same number of levels, 1 to WEFT_SITE_LEVELS_MAX. */
#ifndef WEFT_TOPO_SITE_H
#define WEFT_TOPO_SITE_H

#include <weft/types.h>

#define WEFT_SITE_LEVELS_MAX 4u
#define WEFT_SITE_BYTES_MAX (UINT32_C(4) << 20) /* of a file */

typedef struct weft_site weft_site_t;

/* Reads a file, or its text (`path` is for messages). ERR_CONFIG with file:line, ERR_RESOURCE. */
weft_status_t weft_site_read(const char *path, weft_site_t **site_p);
weft_status_t weft_site_parse(const char *path, const char *text, weft_site_t **site_p);
void weft_site_free(weft_site_t *site); /* NULL is allowed */

uint32_t weft_site_levels(const weft_site_t *site);
/* The groups of a level, 0 is the outermost, and their paths: "rack1/switch2". */
uint32_t weft_site_groups(const weft_site_t *site, uint32_t level);
const char *weft_site_name(const weft_site_t *site, uint32_t level, uint32_t group);
/* Equal for files that say the same in the same order; comments and blanks do not count. */
uint64_t weft_site_hash(const weft_site_t *site);

/* Fills groups[0 … levels−1] with those of a host. ERR_CONFIG names the host and the line that is
 * most like it. */
weft_status_t weft_site_find(const weft_site_t *site, const char *host,
                             uint32_t groups[WEFT_SITE_LEVELS_MAX]);

#endif
