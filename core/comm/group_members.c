/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See group_members.h. */
#include "core/comm/group_members.h"

#include "core/comm/handle.h"

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
    for (const weft_group_note_t *note = group->first; note != NULL; note = note->next) {
        if (weft_group_find_member(members, count, note->comm) != NULL) {
            continue;
        }
        weft_status_t status = weft_comm_enter(note->comm, "weft_group_end", &members[count].state);
        if (status != WEFT_OK) {
            weft_group_leave(members, count);
            return status;
        }
        members[count++].comm = note->comm;
    }
    *count_p = count;
    return WEFT_OK;
}
