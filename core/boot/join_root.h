/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The meeting point of a join: a thread in the process that made the unique id. It collects who came,
 * tells each rank the address of its parent in the tree, and watches until all tree connections
 * stand. It ends by itself then, at the deadline, or with the first error, which all ranks that came
 * are told in the same words. */
#ifndef WEFT_BOOT_ROOT_H
#define WEFT_BOOT_ROOT_H

#include "core/boot/boot.h"

/* Handshake labels and key purposes of the two kinds of control connections. */
#define WEFT_PURPOSE_ROOT "root"
#define WEFT_PURPOSE_TREE "tree"

/* As weft_boot_id_create(). */
weft_status_t weft_root_start(const weft_boot_settings_t *settings, weft_unique_id_t *id);

#endif
