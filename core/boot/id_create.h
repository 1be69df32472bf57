/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unique ids that are made on the spot: the process that makes one becomes the root of the join. */
#ifndef WEFT_BOOT_ID_CREATE_H
#define WEFT_BOOT_ID_CREATE_H

#include "core/boot/unique_id.h"
#include "core/config/settings.h"

/* As weft_unique_id_create(). Starts the root's thread. */
weft_status_t weft_boot_id_create(const weft_boot_settings_t *settings, weft_unique_id_t *out);

#endif
