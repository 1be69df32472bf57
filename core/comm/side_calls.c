/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls that a thread of this rank waits in without having the communicator. */
#include "core/comm/side_calls.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/comm/child_id.h"
#include "core/comm/consensus_records.h"

/* The caller holds the lock. */
static const weft_side_call_t *side_calls_find_voter(const weft_family_t *family, uint64_t comm_id)
{
    const weft_side_call_t *call = family->survival.side_calls;
    weft_os_mutex_assert_held(&family->lock);
    while (call != NULL && (!call->votes || call->comm_id != comm_id)) {
        call = call->next;
    }
    return call;
}

weft_status_t weft_side_call_begin(weft_side_call_t *call, const weft_comm_identity_t *self,
                                   const char *name, bool votes)
{
    weft_family_t *family = self->family;
    weft_status_t status = WEFT_OK;
    weft_os_lock(&family->lock);
    const weft_comm_state_t *state = weft_family_find(family, self->id);
    const weft_side_call_t *other = votes ? side_calls_find_voter(family, self->id) : NULL;
    if (other != NULL) {
        status = weft_fail(WEFT_ERR_STATE, 0,
                           "%s: another thread is inside %s of this communicator; use one thread "
                           "at a time",
                           name, other->name);
    } else {
        *call = (weft_side_call_t){.next = family->survival.side_calls,
                                   .family = family,
                                   .name = name,
                                   .votes = votes,
                                   .by = -1,
                                   .revoked = state != NULL && state->member.revoked,
                                   .comm_id = self->id,
                                   .rank = self->rank};
        family->survival.side_calls = call;
    }
    weft_os_unlock(&family->lock);
    return status;
}

void weft_side_call_end(weft_side_call_t *call)
{
    if (call->family == NULL) {
        return;
    }
    weft_os_lock(&call->family->lock);
    weft_side_call_t **at = &call->family->survival.side_calls;
    while (*at != call) {
        at = &(*at)->next;
    }
    *at = call->next;
    weft_os_unlock(&call->family->lock);
    call->family = NULL;
}

/* Fails the communicator that the call waits in, and so its members' ends. The caller holds the
 * lock. */
static void side_call_fail_child(const weft_side_call_t *call)
{
    const weft_comm_identity_t *self = &call->child->self;
    weft_error_t error;
    weft_error_clear(&error);
    error.status = call->ended;
    error.peer = (int32_t)self->rank;
    snprintf(error.text, sizeof error.text, "%s on the parent", call->why);
    weft_failure_set(&call->child->failure, self, &error, NULL, true);
}

void weft_side_call_wait_in(weft_side_call_t *call, weft_comm_state_t *child)
{
    weft_os_lock(&call->family->lock);
    call->child = child;
    if (child != NULL && weft_side_call_has_ended(call)) {
        side_call_fail_child(call);
    }
    weft_os_unlock(&call->family->lock);
}

weft_status_t weft_side_call_raise(const weft_side_call_t *call)
{
    weft_fail(call->ended, 0, "%s: %s", call->name, call->why);
    (void)weft_boot_set_culprit(call->family->boot, call->family->rank);
    weft_error_t *error = weft_error_record();
    error->comm_id = call->comm_id;
    error->rank = error->peer = (int32_t)call->rank;
    return call->ended;
}

/* The caller holds the lock. */
static void side_call_stop(weft_side_call_t *call, weft_status_t status, int32_t by,
                           const char *name)
{
    bool ends = !call->votes || status == WEFT_ERR_ABORTED;
    if (!ends || weft_side_call_has_ended(call)) {
        return;
    }
    call->ended = status;
    call->by = by;
    if (by >= 0) {
        snprintf(call->why, sizeof call->why, "rank %" PRId32 " called %s", by, name);
    } else {
        snprintf(call->why, sizeof call->why, "a rank called %s", name);
    }
    if (call->child != NULL) {
        side_call_fail_child(call);
    } else if (call->votes) {
        weft_consensus_stop_waiting(call->family, call->comm_id);
    }
}

void weft_side_calls_stop(weft_family_t *family, uint64_t comm_id, weft_status_t status, int32_t by,
                          const char *name)
{
    weft_os_mutex_assert_held(&family->lock);
    for (weft_side_call_t *call = family->survival.side_calls; call != NULL; call = call->next) {
        if (call->comm_id == comm_id) {
            side_call_stop(call, status, by, name);
        }
    }
}

void weft_side_calls_tell_revoke(weft_family_t *family, uint64_t comm_id, const weft_error_t *error)
{
    weft_os_mutex_assert_held(&family->lock);
    weft_comm_state_t *state = weft_family_find(family, comm_id);
    if (state != NULL && !state->member.revoked) {
        state->member.revoked = true;
        weft_health_report(family->boot, weft_child_base(comm_id, WEFT_CHILD_REVOKE), error, NULL);
    }
}

/* A call that began behind a revoke is made on purpose, and words of others come late. */
void weft_side_calls_hear_revoke(weft_family_t *family, uint64_t id, int32_t by)
{
    weft_os_mutex_assert_held(&family->lock);
    for (weft_side_call_t *call = family->survival.side_calls; call != NULL; call = call->next) {
        if (!call->revoked && weft_child_base(call->comm_id, WEFT_CHILD_REVOKE) == id) {
            side_call_stop(call, WEFT_ERR_REVOKED, by, "weft_comm_revoke");
        }
    }
    for (weft_family_member_t *m = family->members.first; m != NULL; m = m->next) {
        m->revoked = m->revoked || weft_child_base(m->comm_id, WEFT_CHILD_REVOKE) == id;
    }
}

int32_t weft_side_call_ended_by(const weft_side_call_t *call, weft_status_t status)
{
    weft_os_lock(&call->family->lock);
    int32_t by = call->ended == status ? call->by : -1;
    weft_os_unlock(&call->family->lock);
    return by;
}

const char *weft_side_calls_voting(const weft_comm_identity_t *self)
{
    weft_os_lock(&self->family->lock);
    const weft_side_call_t *call = side_calls_find_voter(self->family, self->id);
    const char *name = call != NULL ? call->name : NULL;
    weft_os_unlock(&self->family->lock);
    return name;
}
