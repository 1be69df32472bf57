/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The members of a family, and references to it. */
#include "core/comm/family.h"

void weft_family_retain(weft_family_t *family)
{
    atomic_fetch_add_explicit(&family->references, 1, memory_order_relaxed);
}

void weft_family_add(weft_family_t *family, weft_family_member_t *member)
{
    weft_os_lock(&family->lock);
    member->next = family->members;
    family->members = member;
    weft_os_unlock(&family->lock);
    weft_health_open(family->boot, member->comm_id);
}

void weft_family_remove(weft_family_t *family, weft_family_member_t *member)
{
    weft_os_lock(&family->lock);
    weft_family_member_t **position = &family->members;
    while (*position != NULL && *position != member) {
        position = &(*position)->next;
    }
    if (*position != NULL) {
        *position = member->next;
    }
    weft_os_unlock(&family->lock);
}

struct weft_comm_state *weft_family_find(const weft_family_t *family, uint64_t comm_id)
{
    weft_os_mutex_assert_held(&family->lock);
    const weft_family_member_t *member = family->members;
    while (member != NULL && member->comm_id != comm_id) {
        member = member->next;
    }
    return member != NULL ? member->state : NULL;
}
