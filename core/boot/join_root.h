/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The root of a join: a thread in the process that made the unique id. It collects the join
 * requests, tells each rank the address of its parent in the tree, and watches until all
 * connections of the tree stand. It ends by itself then, at the deadline, or with the first error,
 * which all ranks that came are told in the same words. */
#ifndef WEFT_BOOT_JOIN_ROOT_H
#define WEFT_BOOT_JOIN_ROOT_H

#include "core/boot/unique_id.h"
#include "core/config/settings.h"

/* Starts the root's thread for an id whose secret and nonce are there, listening on `port`, or if
 * that is 0 on one of boot.port_range; the addresses of the id get it. AGAIN: the port is in use;
 * ERR_CONFIG: all of the range are; ERR_RESOURCE, ERR_SYSTEM. */
weft_status_t weft_boot_root_start(const weft_boot_settings_t *settings, weft_id_t *id,
                                   uint16_t port);

#endif
