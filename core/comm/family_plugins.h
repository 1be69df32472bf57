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

/* Tells the kernel how many ranks of the job use its device: those of this host with the same GPU.
 * When the job is agreed. Errors: those of the plugin, with which the join ends for all. */
weft_status_t weft_family_share_device(weft_family_t *family);

#endif
