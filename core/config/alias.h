/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Old names of options: table entries with WEFT_OPTION_ALIAS. Private to core/config. */
#ifndef WEFT_CONFIG_ALIAS_H
#define WEFT_CONFIG_ALIAS_H

#include "core/config/nearest.h"
#include "core/config/store.h"

/* Moves values given under an old name of the table to the new name and warns about each. Call it
 * before the table's options look for their values. ERR_CONFIG if both names are given,
 * ERR_RESOURCE. */
weft_status_t weft_alias_apply(weft_config_t *config, const char *section,
                               const weft_option_t *table);

/* Offers the old names of a section to the search for a mistyped key. The hint shows the present
 * name. */
void weft_alias_offer(const weft_config_t *config, const char *section, weft_nearest_t *nearest);

#endif
