/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shrinking: a consensus says who is gone. Everybody makes its end of the new communicator, and a
 * second consensus says whether all did and nobody else has died. If somebody has, the ends are
 * freed and made anew, so that the call has one outcome on all that return from it. */
#include "core/comm/shrink.h"

#include <errno.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/comm/comm_create.h"
#include "core/comm/consensus_run.h"
#include "core/comm/handle.h"
#include "core/comm/split.h"

#define AGREE "weft_comm_agree"
#define SHRINK "weft_comm_shrink"

weft_status_t weft_agree(weft_comm_t *comm, uint64_t *bits)
{
    weft_voters_t p;
    weft_consensus_value_t value;
    const weft_voters_wish_t wish = {.call = AGREE, .root = WEFT_ROOT_AGREE};
    weft_status_t status = weft_voters_take(comm, &wish, &p);
    if (status != WEFT_OK) {
        return status;
    }
    status = weft_consensus_run(&p, AGREE, 0, *bits, &value);
    if (status == WEFT_OK) {
        *bits = value.bits;
    }
    weft_voters_fini(&p);
    return status;
}

/* Takes in who is gone by a decision. Returns how many there are that were not known before. */
static uint32_t shrink_settle(weft_voters_t *p, const weft_missing_t *gone)
{
    uint32_t settled = 0;
    for (uint32_t at = 0; gone->count > 0 && at < WEFT_MISSING_SPAN; at++) {
        uint32_t i = gone->first + at;
        if ((gone->bits[at / 8] >> at % 8 & 1) != 0 && i < p->count) {
            settled += !p->settled[i];
            p->settled[i] = true;
        }
    }
    return settled;
}

/* Lists the members of the new communicator in `family_rank`, and names it: the id differs for each
 * call and each set of members. */
static void shrink_list(const weft_voters_t *p, uint32_t *family_rank, weft_comm_setup_t *setup)
{
    uint64_t id = weft_split_mix(weft_child_base(p->base, WEFT_CHILD_SHRINK), p->call);
    *setup = (weft_comm_setup_t){.family = p->family, .family_rank = family_rank};
    for (uint32_t i = 0; i < p->count; i++) {
        if (!p->settled[i]) {
            id = weft_split_mix(id, p->ranks[i]);
            setup->rank = i == p->me ? setup->nranks : setup->rank;
            family_rank[setup->nranks++] = p->family_rank[i];
        }
    }
    setup->id = id != 0 ? id : 1;
}

static weft_status_t shrink_make(const weft_voters_t *p, weft_comm_setup_t *setup,
                                 weft_comm_state_t **child_p, weft_comm_t **handle_p)
{
    *child_p = NULL;
    uint32_t *family_rank = weft_os_alloc(p->count * sizeof *family_rank, 0);
    if (family_rank == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, SHRINK ": no memory for %u ranks", p->count);
    }
    shrink_list(p, family_rank, setup);
    weft_status_t status = weft_comm_create_child(setup, child_p);
    if (status == WEFT_OK) {
        status = weft_handle_add(*child_p, handle_p);
        if (status != WEFT_OK) {
            weft_comm_free(*child_p);
            *child_p = NULL;
        }
    }
    weft_os_free(family_rank);
    return status;
}

static void shrink_unmake(weft_comm_state_t *child, weft_comm_t *handle)
{
    weft_error_t kept = *weft_error_record();
    if (child != NULL) {
        weft_handle_remove(handle);
        weft_comm_free(child);
    }
    *weft_error_record() = kept;
}

/* Where a quorum is asked for, those that are left must be the majority of the communicator. */
static weft_status_t shrink_check_quorum(const weft_voters_t *p)
{
    uint32_t left = 0;
    bool has_first = false;
    for (uint32_t i = 0; i < p->count; i++) {
        left += !p->settled[i];
        has_first = has_first || (!p->settled[i] && p->ranks[i] == 0);
    }
    if (p->family->settings.boot.quorum == WEFT_QUORUM_NONE ||
        weft_voters_are_majority(left, p->of, has_first)) {
        return WEFT_OK;
    }
    return weft_fail(WEFT_ERR_PEER_DEAD, 0,
                     SHRINK
                     ": no quorum: %u of %u ranks are left here%s, and the others may live and go "
                     "on without them (boot.quorum=majority)",
                     left, p->of, 2 * left == p->of ? ", without rank 0" : "");
}

/* What was heard of the communicator that is not made: whose end is missing, and why. */
static weft_error_t shrink_hear(weft_comm_state_t *child)
{
    weft_error_t heard = {.status = WEFT_OK, .peer = -1};
    if (child != NULL && weft_failure_is_set(&child->failure)) {
        weft_failure_get(&child->failure, &heard);
    }
    return heard;
}

/* Another rank could not make its end; it is rank heard->peer of the new communicator. */
static weft_status_t shrink_refuse(const weft_voters_t *p, const weft_error_t *heard)
{
    int32_t left = heard->status != WEFT_OK ? heard->peer : -1;
    uint32_t i = 0;
    for (; left >= 0 && i < p->count; i++) {
        left -= !p->settled[i];
        if (left < 0) {
            break;
        }
    }
    if (heard->status == WEFT_OK || heard->peer < 0 || i == p->count) {
        return weft_fail(WEFT_ERR_RESOURCE, 0,
                         SHRINK ": another rank could not make its end of the new communicator; "
                                "its own error says why");
    }
    weft_fail(WEFT_ERR_RESOURCE, 0,
              SHRINK ": rank %u of host %s, pid %d, could not make its end of the new "
                     "communicator: %.300s",
              p->ranks[i], heard->peer_host, (int)heard->peer_pid, heard->text);
    (void)weft_boot_set_culprit(p->family->boot, p->family_rank[i]);
    weft_error_t *error = weft_error_record();
    error->comm_id = p->comm_id;
    error->rank = (int32_t)p->rank;
    error->peer = (int32_t)p->ranks[i];
    return WEFT_ERR_RESOURCE;
}

/* This rank had given the call up, and the others have heard that their end of the new communicator
 * will never be complete. Its own is no better. */
static void shrink_fail_child(weft_comm_state_t *child)
{
    weft_error_t error;
    weft_error_clear(&error);
    error.status = WEFT_ERR_ABORTED;
    error.peer = (int32_t)child->self.rank;
    snprintf(error.text, sizeof error.text,
             "rank %u had given up " SHRINK " when this communicator was made", child->self.rank);
    weft_failure_set(&child->failure, &child->self, &error, NULL, true);
}

/* One attempt. AGAIN: somebody else is gone. */
static weft_status_t shrink_try(weft_voters_t *p, uint32_t round, weft_comm_t **child_p)
{
    weft_comm_setup_t setup = {.nranks = 0};
    weft_comm_state_t *child;
    weft_comm_t *handle;
    weft_consensus_value_t value;
    if (p->settled[p->me]) {
        return weft_fail(WEFT_ERR_PEER_DEAD, 0, SHRINK ": the others take this rank, %u, for dead",
                         p->rank);
    }
    weft_status_t made = shrink_check_quorum(p);
    if (made != WEFT_OK) {
        return made; /* all that live come to the same verdict */
    }
    made = shrink_make(p, &setup, &child, &handle);
    weft_error_t why = *weft_error_record();
    if (made != WEFT_OK && setup.nranks > 0) {
        weft_split_report_absence(&setup);
    }
    weft_status_t status = weft_consensus_run(p, SHRINK, round, made == WEFT_OK, &value);
    if (made == WEFT_OK && status != WEFT_OK && p->voted) {
        weft_split_report_absence(&setup); /* the others may go on with this rank */
    }
    uint32_t settled = status == WEFT_OK ? shrink_settle(p, &value.gone) : 0;
    bool all_have = status == WEFT_OK && settled == 0 && (value.bits & 1) != 0;
    if (all_have && made == WEFT_OK) {
        if (p->resumed) {
            shrink_fail_child(child);
        }
        *child_p = handle;
        return WEFT_OK;
    }
    weft_error_t heard = shrink_hear(child);
    shrink_unmake(child, handle);
    if (status != WEFT_OK || settled > 0) {
        return status != WEFT_OK ? status : WEFT_AGAIN;
    }
    if (made != WEFT_OK) {
        *weft_error_record() = why;
        return made;
    }
    return shrink_refuse(p, &heard);
}

weft_status_t weft_shrink(weft_comm_t *comm, const uint32_t *excluded, uint32_t count,
                          weft_comm_t **child_p)
{
    weft_voters_t p;
    weft_consensus_value_t value;
    const weft_voters_wish_t wish = {
        .call = SHRINK, .root = WEFT_ROOT_SHRINK, .excluded = excluded, .count = count};
    weft_status_t status = weft_voters_take(comm, &wish, &p);
    if (status != WEFT_OK) {
        return status;
    }
    status = weft_consensus_run(&p, SHRINK, 0, 0, &value);
    if (status == WEFT_OK) {
        (void)shrink_settle(&p, &value.gone);
        uint32_t round = 1;
        do {
            status = shrink_try(&p, round++, child_p);
        } while (status == WEFT_AGAIN);
    }
    weft_voters_fini(&p);
    return status;
}
