/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The members of a family, and references to it. */
#include "core/comm/family.h"

#include <errno.h>

#include "core/base/error.h"

void weft_family_retain(weft_family_t *family)
{
    atomic_fetch_add_explicit(&family->references, 1, memory_order_relaxed);
}

void weft_family_add(weft_family_t *family, weft_family_member_t *member)
{
    weft_os_lock(&family->lock);
    member->next = family->members.first;
    family->members.first = member;
    weft_os_unlock(&family->lock);
    weft_health_open(family->boot, member->comm_id);
}

void weft_family_remove(weft_family_t *family, weft_family_member_t *member)
{
    weft_os_lock(&family->lock);
    weft_family_member_t **position = &family->members.first;
    while (*position != NULL && *position != member) {
        position = &(*position)->next;
    }
    if (*position != NULL) {
        *position = member->next;
    }
    while (member->attempts != NULL) {
        weft_family_attempt_t *attempt = member->attempts;
        member->attempts = attempt->next;
        weft_os_free(attempt);
    }
    weft_os_unlock(&family->lock);
}

static weft_family_attempt_t *family_find_attempt(const weft_family_member_t *member, uint64_t key)
{
    weft_family_attempt_t *found = member->attempts;
    while (found != NULL && found->key != key) {
        found = found->next;
    }
    return found;
}

weft_status_t weft_family_count_attempt(weft_family_t *family, weft_family_member_t *member,
                                        uint64_t key, uint64_t *attempt_p)
{
    weft_os_lock(&family->lock);
    weft_family_attempt_t *found = family_find_attempt(member, key);
    if (found == NULL) {
        found = weft_os_alloc(sizeof *found, 0);
        if (found != NULL) {
            found->key = key;
            found->next = member->attempts;
            member->attempts = found;
        }
    }
    weft_status_t status =
        found != NULL ? WEFT_OK : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to count a call");
    *attempt_p = found != NULL ? found->attempts++ : 0;
    weft_os_unlock(&family->lock);
    return status;
}

static const weft_family_member_t *family_find_member(const weft_family_t *family, uint64_t comm_id)
{
    weft_os_mutex_assert_held(&family->lock);
    const weft_family_member_t *member = family->members.first;
    while (member != NULL && member->comm_id != comm_id) {
        member = member->next;
    }
    return member;
}

void weft_family_discount_attempt(weft_family_t *family, uint64_t comm_id, uint64_t key)
{
    weft_os_lock(&family->lock);
    const weft_family_member_t *member = family_find_member(family, comm_id);
    weft_family_attempt_t *found = member != NULL ? family_find_attempt(member, key) : NULL;
    if (found != NULL && found->attempts > 0) {
        found->attempts--;
    }
    weft_os_unlock(&family->lock);
}

struct weft_comm_state *weft_family_find(const weft_family_t *family, uint64_t comm_id)
{
    const weft_family_member_t *member = family_find_member(family, comm_id);
    return member != NULL ? member->state : NULL;
}
