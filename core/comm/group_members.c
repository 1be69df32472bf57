/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See group_members.h. */
#include "core/comm/group_members.h"

#include "core/comm/handle.h"

/* Returns NULL if it is none of them. */
static weft_group_member_t *group_find_member(weft_group_member_t *members, uint32_t count,
                                              const weft_comm_t *comm)
{
    for (uint32_t i = 0; i < count; i++) {
        if (members[i].comm == comm) {
            return &members[i];
        }
    }
    return NULL;
}

void weft_group_leave(const weft_group_member_t *members, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        weft_comm_leave(members[i].state);
    }
}

weft_status_t weft_group_enter(const weft_group_t *group, weft_group_member_t *members,
                               uint32_t *count_p)
{
    uint32_t count = 0;
    for (weft_group_note_t *note = group->first; note != NULL; note = note->next) {
        weft_group_member_t *member = group_find_member(members, count, note->comm);
        if (member == NULL) {
            member = &members[count];
            weft_status_t status = weft_comm_enter(note->comm, "weft_group_end", &member->state);
            if (status != WEFT_OK) {
                weft_group_leave(members, count);
                return status;
            }
            member->comm = note->comm;
            count++;
        }
        note->state = member->state;
    }
    *count_p = count;
    return WEFT_OK;
}
