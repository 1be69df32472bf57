/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The communicators that a group uses, each once, held by the thread that ends the group. */
#ifndef WEFT_COMM_GROUP_MEMBERS_H
#define WEFT_COMM_GROUP_MEMBERS_H

#include "core/comm/group.h"

typedef struct weft_group_member {
    weft_comm_t *comm;
    weft_comm_state_t *state;
} weft_group_member_t;

/* Takes every communicator of the group for the calling thread, and tells the notes: as
 * weft_comm_enter(), whose error leaves none taken. There is room for one member per note. */
weft_status_t weft_group_enter(const weft_group_t *group, weft_group_member_t *members,
                               uint32_t *count_p);
void weft_group_leave(const weft_group_member_t *members, uint32_t count);

#endif
