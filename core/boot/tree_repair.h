/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keeping the control tree connected while ranks leave or die: a rank whose parent does so connects
 * to the next one by the rule of membership.h, and waits for the ranks whose parent it has become.
 *
 * Thread: the health thread's. */
#ifndef WEFT_BOOT_TREE_REPAIR_H
#define WEFT_BOOT_TREE_REPAIR_H

#include "core/boot/boot_state.h"

/* Begins to connect to the parent, if it is a new one, and finds out who should connect to us. To
 * be called after every change of a member's state or of the neighbours. */
void weft_tree_repair(weft_health_t *health);

#endif
