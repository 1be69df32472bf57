/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators of some ranks: the members agree on the id by arithmetic, each makes its end, and
 * an exchange on the new communicator itself says that all of them did. */
#include "core/comm/create_group.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/comm/comm_create.h"
#include "core/comm/comm_exchange.h"
#include "core/comm/family_setup.h"
#include "core/comm/handle.h"
#include "core/comm/side_calls.h"
#include "core/comm/split.h"

#define CALL "weft_comm_create_group"

/* One creation, from what the parent said. */
typedef struct create_group {
    const weft_group_wish_t *wish;
    weft_side_call_t side;
    weft_comm_setup_t setup; /* with a reference of the family */
    uint32_t *family_rank;   /* of the members */
    uint64_t parent_id;
    uint32_t parent_rank;
    char parent_name[WEFT_COMM_NAME_BYTES];
    weft_status_t status;
} create_group_t;

static weft_status_t create_group_check(const weft_comm_identity_t *parent,
                                        const weft_group_wish_t *wish)
{
    bool member = false;
    bool *seen = weft_os_alloc(parent->nranks * sizeof *seen, 0);
    weft_status_t status =
        seen != NULL ? WEFT_OK : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, CALL ": no memory");
    for (uint32_t i = 0; i < wish->count && status == WEFT_OK; i++) {
        uint32_t r = wish->ranks[i];
        if (r >= parent->nranks) {
            status = weft_fail(WEFT_ERR_ARG, 0, CALL ": ranks[%u] is %u, out of range 0 … %u", i, r,
                               parent->nranks - 1);
        } else if (seen[r]) {
            status = weft_fail(WEFT_ERR_ARG, 0, CALL ": rank %u is given twice, again as ranks[%u]",
                               r, i);
        } else {
            seen[r] = true;
            member = member || r == parent->rank;
        }
    }
    if (status == WEFT_OK && !member) {
        status = weft_fail(WEFT_ERR_ARG, 0,
                           CALL ": rank %u calls it and is not one of the %u ranks given; only "
                                "members call it",
                           parent->rank, wish->count);
    }
    weft_os_free(seen);
    return status;
}

/* The id: equal on all members, and different for each group, tag and creation. */
static weft_status_t create_group_name(weft_comm_state_t *parent, create_group_t *c)
{
    const weft_group_wish_t *wish = c->wish;
    uint64_t attempt = 0;
    uint64_t id = weft_split_mix(weft_child_base(parent->self.id, WEFT_CHILD_GROUP),
                                 (uint64_t)wish->tag << 32 | wish->count);
    for (uint32_t i = 0; i < wish->count; i++) {
        id = weft_split_mix(id, wish->ranks[i]);
    }
    weft_status_t status =
        weft_family_count_attempt(parent->self.family, &parent->member, id, &attempt);
    id = weft_split_mix(id, attempt);
    c->setup.id = id != 0 ? id : 1;
    return status;
}

/* Takes from the parent what the creation needs. */
static void create_group_look(weft_comm_state_t *parent, void *arg)
{
    create_group_t *c = arg;
    const weft_comm_identity_t *self = &parent->self;
    /* A parent that has failed still knows its ranks. A member that is dead fails the child, which
     * hears of all deaths of the family. */
    c->status = create_group_check(self, c->wish);
    if (c->status == WEFT_OK) {
        c->status = create_group_name(parent, c);
    }
    if (c->status == WEFT_OK) {
        c->status = weft_side_call_begin(&c->side, self, CALL, false);
    }
    if (c->status != WEFT_OK) {
        return;
    }
    weft_failure_name(&parent->failure, c->parent_name, sizeof c->parent_name);
    c->parent_id = self->id;
    c->parent_rank = self->rank;
    for (uint32_t i = 0; i < c->wish->count; i++) {
        c->family_rank[i] = self->family_rank[c->wish->ranks[i]];
        c->setup.rank = c->wish->ranks[i] == self->rank ? i : c->setup.rank;
    }
    c->setup.nranks = c->wish->count;
    c->setup.family_rank = c->family_rank;
    c->setup.family = self->family;
    weft_family_retain(self->family);
}

/* Says the failure of the new communicator in the words of the parent: its members have other
 * numbers there. */
static void create_group_explain(const create_group_t *c, const weft_comm_state_t *child)
{
    enum { NAMED = 16 };
    uint32_t ranks[NAMED];
    weft_error_t *error = weft_error_record();
    char names[256] = "";
    int used = 0;
    uint32_t missing =
        weft_roll_call_missing(&child->roll_call, &child->self, child->peers, ranks, NAMED);
    for (uint32_t i = 0; i < missing && i < NAMED && used >= 0 && (size_t)used < sizeof names;
         i++) {
        used += snprintf(names + used, sizeof names - (size_t)used, "%s%u", i > 0 ? ", " : "",
                         c->wish->ranks[ranks[i]]);
    }
    error->comm_id = c->parent_id;
    error->sequence = 0;
    error->rank = (int32_t)c->parent_rank;
    const int32_t by = weft_side_call_ended_by(&c->side, error->status);
    if (by >= 0) {
        error->peer = by; /* who may be no member */
    } else {
        error->peer = error->peer >= 0 && (uint32_t)error->peer < c->wish->count
                          ? (int32_t)c->wish->ranks[error->peer]
                          : -1;
    }
    char why[sizeof error->text];
    snprintf(why, sizeof why, "%s", error->text);
    if (error->status == WEFT_ERR_TIMEOUT && missing > 0) {
        snprintf(error->text, sizeof error->text,
                 CALL ": %u of %u members did not call it with these ranks in this order and tag "
                      "%u within %.3g s: rank%s %s%s",
                 missing, c->wish->count, c->wish->tag,
                 child->self.family->settings.boot.init_timeout, missing > 1 ? "s" : "", names,
                 missing > NAMED ? " and more" : "");
    } else {
        snprintf(error->text, sizeof error->text, CALL ", in the new communicator: %.440s", why);
    }
}

/* Returns when all members have made their end. */
static weft_status_t create_group_meet(create_group_t *c, weft_comm_state_t *child)
{
    uint8_t mine = 0;
    uint32_t owner, turns = 0;
    uint8_t *all = weft_os_alloc(c->wish->count, 0);
    if (all == NULL) {
        weft_status_t status = weft_fail(WEFT_ERR_RESOURCE, ENOMEM, CALL ": no memory");
        weft_split_report_absence(&c->setup);
        return status;
    }
    while (!weft_comm_own(child, WEFT_OWNER_USER, &owner)) {
        weft_os_give_way(&turns); /* another thread makes a link of it: wanted_links.h */
    }
    weft_side_call_wait_in(&c->side, child);
    weft_status_t status = weft_comm_exchange(child, WEFT_ROOT_GROUP, &mine, sizeof mine, all);
    weft_side_call_wait_in(&c->side, NULL);
    child->queue.made = child->queue.sequence;
    child->programs.made = child->programs.prepared;
    if (status != WEFT_OK) {
        create_group_explain(c, child);
    }
    weft_comm_disown(child);
    weft_os_free(all);
    return status;
}

/* In the flight record it has its name (api_comm.c) while the members come. */
static void create_group_note_name(const create_group_t *c, const weft_comm_state_t *child)
{
    char name[2 * WEFT_COMM_NAME_BYTES];
    snprintf(name, sizeof name, "%s/group%u", c->parent_name, c->wish->tag);
    weft_flight_name(child->flight, name);
}

static weft_status_t create_group_make(create_group_t *c, weft_comm_t **child_p)
{
    weft_comm_state_t *child = NULL;
    weft_status_t status = weft_comm_create_child(&c->setup, &child);
    if (status != WEFT_OK) {
        weft_split_report_absence(&c->setup);
        return status;
    }
    create_group_note_name(c, child);
    status = create_group_meet(c, child);
    if (status == WEFT_OK) {
        status = weft_handle_add(child, child_p);
        if (status != WEFT_OK) {
            weft_split_report_absence(&c->setup);
        }
    }
    if (status != WEFT_OK) {
        weft_error_t kept = *weft_error_record();
        weft_comm_free(child);
        *weft_error_record() = kept;
    }
    return status;
}

weft_status_t weft_create_group(weft_comm_t *parent, const weft_group_wish_t *wish,
                                weft_comm_t **child_p)
{
    create_group_t c = {.wish = wish};
    c.family_rank = weft_os_alloc(wish->count * sizeof *c.family_rank, 0);
    if (c.family_rank == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, CALL ": no memory for %u ranks", wish->count);
    }
    weft_status_t status = weft_handle_visit(parent, CALL, create_group_look, &c);
    status = status == WEFT_OK ? c.status : status;
    if (status == WEFT_OK) {
        status = create_group_make(&c, child_p);
        weft_error_t kept = *weft_error_record();
        weft_side_call_end(&c.side);
        weft_family_release(c.setup.family);
        *weft_error_record() = kept;
    }
    weft_os_free(c.family_rank);
    return status;
}
