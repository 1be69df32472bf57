/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keeping the control tree connected while ranks leave or die and connections break: a rank without
 * its parent connects to the next one by the rule of membership.h, or to the same one again, and
 * waits for the ranks whose parent it is. It knocks at those whose connections broke, at those that
 * could not be reached, and at those whose parent fell silent.
 *
 * Thread: the health thread's. */
#ifndef WEFT_BOOT_TREE_REPAIR_H
#define WEFT_BOOT_TREE_REPAIR_H

#include "core/boot/boot_state.h"

/* Begins to connect to the parent, if there is no connection, and finds out who should connect to
 * us. To be called after every change of a member's state or of the neighbours. */
void weft_tree_repair(weft_health_t *health);
/* The parent `rank` was last heard at that time, and has to be connected to again. */
void weft_tree_repair_seek(weft_health_t *health, uint32_t rank, uint64_t since);

/* Whether the parent is being connected to, or a rank is looked for whose connection broke. What
 * others say, also that a rank has left, may be late until then. A rank that stands still does not
 * count once others have our word that we leave: it gets that from them. */
bool weft_tree_is_cut(const weft_health_t *health);
/* There will be a new connection: a rank that leaves waits for it as for those that it has. */
void weft_tree_expect(weft_health_t *health);

/* After weft_tree_repair() for a rank that fell silent: those below it, which still have their
 * connection to it, hear of its death by a knock. */
void weft_tree_repair_below_silent(weft_health_t *health);

#endif
