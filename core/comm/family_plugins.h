/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The instances of the plugins that a family uses. */
#ifndef WEFT_COMM_FAMILY_PLUGINS_H
#define WEFT_COMM_FAMILY_PLUGINS_H

#include "core/comm/family.h"

/* Creates the kernel, the tuner and the algorithms. On failure weft_family_destroy_plugins() frees
 * what was made. */
weft_status_t weft_family_create_plugins(weft_family_t *family);
void weft_family_destroy_plugins(weft_family_t *family);

#endif
