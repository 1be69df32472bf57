/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making and freeing the state of one communicator. The first makes its family; a child takes a reference
 * and costs memory only, until a plan needs a link. */
#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/comm/streams.h"

static weft_status_t allocate(const weft_comm_plan_t *plan, weft_comm_state_t **state_p)
{
    uint32_t n = plan->nranks;
    weft_comm_state_t *state = weft_os_alloc(sizeof *state, 0);
    if (state == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a communicator");
    }
    state->nranks = n;
    state->rank = plan->rank;
    state->id = plan->id;
    state->fork_generation = weft_os_fork_generation();
    weft_error_clear(&state->failure);
    state->family_rank = weft_os_alloc(n * sizeof *state->family_rank, 0);
    state->host_of = weft_os_alloc(n * sizeof *state->host_of, 0);
    state->one_host = weft_os_alloc(n * sizeof *state->one_host, 0);
    state->left_at = weft_os_alloc(n * sizeof *state->left_at, 0);
    state->left_when = weft_os_alloc(n * sizeof *state->left_when, 0);
    state->met_at = weft_os_alloc(n * sizeof *state->met_at, 0);
    if (state->family_rank == NULL || state->host_of == NULL || state->one_host == NULL ||
        state->left_at == NULL || state->left_when == NULL || state->met_at == NULL) {
        weft_comm_free(state);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a communicator of %u ranks",
                         n);
    }
    memcpy(state->family_rank, plan->family_rank, n * sizeof *state->family_rank);
    for (uint32_t r = 0; r < n; r++) {
        atomic_init(&state->left_at[r], UINT64_MAX);
    }
    *state_p = state;
    return WEFT_OK;
}

/* Hosts are numbered 0 … nhosts−1 in order of first appearance by rank. */
static weft_status_t number_hosts(weft_comm_state_t *state)
{
    const weft_boot_peer_t *peers = weft_boot_peers(state->family->boot);
    uint32_t hosts = weft_boot_hosts(state->family->boot);
    uint32_t *number = weft_os_alloc(hosts * sizeof *number, 0); /* 0: not seen yet */
    if (number == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot number %u hosts", hosts);
    }
    for (uint32_t r = 0; r < state->nranks; r++) {
        uint32_t host = peers[state->family_rank[r]].host;
        if (number[host] == 0) {
            number[host] = ++state->nhosts;
        }
        state->host_of[r] = number[host] - 1;
    }
    weft_os_free(number);
    return WEFT_OK;
}

static weft_status_t create(const weft_comm_plan_t *plan, bool first, weft_comm_state_t **state_p)
{
    weft_family_t *family = plan->family;
    weft_comm_state_t *state = NULL;
    weft_status_t status = allocate(plan, &state);
    if (status != WEFT_OK) {
        return status;
    }
    weft_family_take(family);
    state->family = family;
    /* All ranks of the family may be busy at once, whichever communicators they are in. */
    weft_waiter_init(&state->waiter, &family->settings.exec, family->ranks_here);
    weft_links_setup_t links = {
        .nets = family->nets,
        .nranks = plan->nranks,
        .rank = plan->rank,
        .family = state->family_rank,
        .comm_id = plan->id,
        .sharing = {family->kernel.share, family->kernel.instance},
        .direct = {.ops = family->kernel.direct,
                   .memory = family->kernel.memory,
                   .kernel = family->kernel.instance,
                   .mode = (weft_direct_mode_t)family->settings.exec.direct},
        .windows = &state->windows,
        .first = first,
        .slots = family->slots,
        .slot_bytes = family->slot_bytes};
    status = number_hosts(state);
    if (status == WEFT_OK && plan->nranks > 1) {
        status = weft_links_create(&links, &state->links);
    }
    if (status != WEFT_OK) {
        weft_comm_free(state);
        return status;
    }
    weft_family_add(family, state);
    *state_p = state;
    return WEFT_OK;
}

weft_status_t weft_comm_create_child(const weft_comm_plan_t *plan, weft_comm_state_t **state_p)
{
    return create(plan, false, state_p);
}

static weft_status_t create_first(weft_family_t *family, weft_comm_state_t **state_p)
{
    weft_comm_plan_t plan = {.family = family,
                             .id = weft_boot_comm_id(family->boot),
                             .nranks = family->nranks,
                             .rank = family->rank};
    uint32_t *same = weft_os_alloc(family->nranks * sizeof *same, 0);
    if (same == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a communicator of %u ranks",
                         family->nranks);
    }
    for (uint32_t r = 0; r < family->nranks; r++) {
        same[r] = r;
    }
    plan.family_rank = same;
    weft_status_t status = create(&plan, true, state_p);
    weft_os_free(same);
    if (status == WEFT_OK && family->nranks > 1) {
        status = weft_health_start(family->boot, &weft_family_events, family);
        if (status != WEFT_OK) {
            weft_comm_free(*state_p);
        }
    }
    return status;
}

weft_status_t weft_comm_create(uint32_t nranks, const weft_unique_id_t *id, uint32_t rank,
                               const weft_comm_options_t *options, weft_comm_state_t **state_p)
{
    weft_family_t *family = NULL;
    weft_comm_state_t *state = NULL;
    weft_status_t status = weft_family_create(nranks, id, rank, options, &family);
    if (status != WEFT_OK) {
        return status;
    }
    status = create_first(family, &state);
    weft_error_t kept = *weft_error_record();
    weft_family_release(family);
    if (status != WEFT_OK) {
        *weft_error_record() = kept;
        return status;
    }
    *state_p = state;
    return WEFT_OK;
}

weft_status_t weft_comm_need_queue(weft_comm_state_t *state)
{
    return state->family->kernel.lanes == NULL || state->queue != NULL
               ? WEFT_OK
               : state->family->kernel.lanes->queue_open(state->family->kernel.instance,
                                                         &state->queue);
}

void weft_comm_part(weft_comm_state_t *state)
{
    if (state->nranks > 1 && !weft_comm_has_failed(state)) {
        weft_health_left(state->family->boot, state->id, state->sequence);
    }
}

void weft_comm_free(weft_comm_state_t *state)
{
    /* The health thread gives events to members only: afterwards nobody looks at the state. */
    if (state->family != NULL) {
        weft_family_remove(state->family, state);
    }
    weft_stream_settle(state);
    weft_prepared_free_all(state);
    weft_stream_close(state);
    weft_comm_free_windows(state);
    weft_comm_free_memory(state);
    weft_links_destroy(state->links);
    if (state->queue != NULL) {
        state->family->kernel.lanes->queue_close(state->queue);
    }
    if (state->family != NULL) {
        weft_family_release(state->family);
    }
    weft_os_free(state->family_rank);
    weft_os_free(state->host_of);
    weft_os_free(state->one_host);
    weft_p2p_close(state);
    weft_os_free((void *)state->left_at);
    weft_os_free((void *)state->left_when);
    weft_os_free((void *)state->met_at);
    weft_os_free(state);
}
