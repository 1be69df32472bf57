/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who takes part in a consensus. */
#include "core/comm/voters.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/comm/consensus_records.h"
#include "core/comm/family_setup.h"
#include "core/comm/handle.h"
#include "core/comm/split.h"

typedef struct voters_look {
    const weft_voters_wish_t *wish;
    weft_voters_t *p;
    weft_status_t status;
} voters_look_t;

/* Marks the excluded ranks in `out`, one byte for each rank. */
static weft_status_t voters_mark(const weft_comm_identity_t *self, const weft_voters_wish_t *wish,
                                 uint8_t *out)
{
    for (uint32_t i = 0; i < wish->count; i++) {
        uint32_t r = wish->excluded[i];
        if (r >= self->nranks) {
            return weft_fail(WEFT_ERR_ARG, 0, "%s: excluded[%u] is %u, out of range 0 … %u",
                             wish->call, i, r, self->nranks - 1);
        }
        if (r == self->rank) {
            return weft_fail(WEFT_ERR_ARG, 0,
                             "%s: rank %u excludes itself; excluded ranks do not call it",
                             wish->call, r);
        }
        out[r] = 1;
    }
    return WEFT_OK;
}

/* Lists the others. Mixes those into `base` that are out, and how many they are: without that the
 * numbers behind could be taken for some of them. */
static void voters_list(const weft_comm_identity_t *self, const uint8_t *out, weft_voters_t *p)
{
    for (uint32_t r = 0; r < self->nranks; r++) {
        if (out[r] != 0) {
            p->base = weft_split_mix(p->base, r);
            continue;
        }
        p->me = r == self->rank ? p->count : p->me;
        p->ranks[p->count] = r;
        p->family_rank[p->count++] = self->family_rank[r];
    }
    p->base = weft_split_mix(p->base, (uint64_t)(self->nranks - p->count) << 32);
}

static weft_status_t voters_allocate(weft_voters_t *p, uint32_t nranks)
{
    p->ranks = weft_os_alloc(nranks * sizeof *p->ranks, 0);
    p->family_rank = weft_os_alloc(nranks * sizeof *p->family_rank, 0);
    p->settled = weft_os_alloc(nranks * sizeof *p->settled, 0);
    return p->ranks != NULL && p->family_rank != NULL && p->settled != NULL
               ? WEFT_OK
               : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %u ranks", nranks);
}

static weft_status_t voters_make_record(const weft_voters_t *p, weft_consensus_record_t **record_p)
{
    weft_consensus_record_t *record = weft_os_alloc(sizeof *record, 0);
    if (record == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for a consensus");
    }
    record->family_rank = weft_os_alloc(p->count * sizeof *record->family_rank, 0);
    weft_status_t status =
        weft_consensus_init(&record->machine, p->count, p->me, (weft_consensus_outlet_t){0});
    if (status == WEFT_OK && record->family_rank == NULL) {
        status = weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for a consensus");
    }
    if (status != WEFT_OK) {
        weft_consensus_free_record(record);
        return status;
    }
    memcpy(record->family_rank, p->family_rank, p->count * sizeof *record->family_rank);
    *record_p = record;
    return WEFT_OK;
}

static weft_status_t voters_reserve(weft_voters_t *p)
{
    weft_status_t status = WEFT_OK;
    for (int i = 0; status == WEFT_OK && i < WEFT_VOTERS_SPARES; i++) {
        if (p->spares[i] == NULL) {
            status = voters_make_record(p, &p->spares[i]);
        }
    }
    return status;
}

weft_consensus_record_t *weft_voters_record(weft_voters_t *p)
{
    weft_consensus_record_t *record = NULL;
    weft_status_t status = WEFT_OK;
    for (int i = 0; record == NULL && i < WEFT_VOTERS_SPARES; i++) {
        record = p->spares[i];
        p->spares[i] = NULL;
    }
    if (record == NULL) {
        status = voters_make_record(p, &record);
    }
    weft_error_t kept = *weft_error_record();
    if (status == WEFT_OK && voters_reserve(p) != WEFT_OK) {
        *weft_error_record() = kept;
    }
    return record;
}

static void voters_look(weft_comm_state_t *state, void *arg)
{
    voters_look_t *look = arg;
    weft_voters_t *p = look->p;
    const weft_comm_identity_t *self = &state->self;
    uint8_t *out = weft_os_alloc(self->nranks, 0);
    look->status =
        out != NULL ? voters_allocate(p, self->nranks)
                    : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %u ranks", self->nranks);
    if (look->status == WEFT_OK) {
        look->status = voters_mark(self, look->wish, out);
    }
    if (look->status == WEFT_OK) {
        p->root = look->wish->root;
        p->began = weft_os_clock_ns();
        (void)weft_failure_place(&state->failure, p->place);
        p->comm_id = self->id;
        p->of = self->nranks;
        p->rank = self->rank;
        for (const char *c = look->wish->call; *c != '\0'; c++) {
            p->base = weft_split_mix(p->base, (uint8_t)*c);
        }
        p->base = weft_split_mix(p->base, self->id);
        voters_list(self, out, p);
        look->status = voters_reserve(p);
    }
    if (look->status == WEFT_OK) {
        look->status = weft_side_call_begin(&p->side, self, look->wish->call, true);
    }
    if (look->status == WEFT_OK) {
        p->family = self->family;
        weft_family_retain(p->family);
        look->status = weft_family_count_attempt(self->family, &state->member, p->base, &p->call);
        p->open = look->status == WEFT_OK;
    }
    weft_os_free(out);
}

weft_status_t weft_voters_take(weft_comm_t *comm, const weft_voters_wish_t *wish, weft_voters_t *p)
{
    voters_look_t look = {.wish = wish, .p = p};
    memset(p, 0, sizeof *p);
    weft_status_t status = weft_handle_visit(comm, wish->call, voters_look, &look);
    status = status == WEFT_OK ? look.status : status;
    if (status != WEFT_OK) {
        weft_voters_fini(p);
    }
    return status;
}

void weft_voters_fini(weft_voters_t *p)
{
    weft_error_t kept = *weft_error_record();
    if (p->open) {
        weft_family_discount_attempt(p->family, p->comm_id, p->base);
    }
    weft_side_call_end(&p->side);
    for (int i = 0; i < WEFT_VOTERS_SPARES; i++) {
        if (p->spares[i] != NULL) {
            weft_consensus_free_record(p->spares[i]);
        }
    }
    weft_os_free(p->ranks);
    weft_os_free(p->family_rank);
    weft_os_free(p->settled);
    if (p->family != NULL) {
        weft_family_release(p->family);
    }
    *weft_error_record() = kept;
    memset(p, 0, sizeof *p);
}
