/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making and freeing the state of one communicator. */
#include "core/comm/comm_create.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/join.h"
#include "core/comm/consensus_records.h"
#include "core/comm/family_setup.h"
#include "core/comm/health_events.h"
#include "core/comm/holdings.h"
#include "core/comm/registration.h"
#include "core/comm/slots.h"
#include "core/comm/streams.h"
#include "core/config/config.h"
#include "core/os/os_cancel.h"
#include "core/os/os_fork.h"

/* Memory of states, for the next one when a state was freed: comm.h. */
typedef struct create_memory {
    weft_comm_state_t state;
    struct create_memory *next;
} create_memory_t;

static create_memory_t *create_kept;
static void create_forked(bool held);
static weft_os_process_mutex_t create_lock = {.forked = create_forked}; /* guards it */
_Static_assert(offsetof(create_memory_t, state.owner) == 0, "what is behind the owner is cleared");

static void create_forked(bool held)
{
    create_kept = held ? NULL : create_kept;
}

static weft_comm_state_t *create_take_memory(void)
{
    weft_os_process_lock(&create_lock);
    create_memory_t *memory = create_kept;
    create_kept = memory != NULL ? memory->next : NULL;
    weft_os_process_unlock(&create_lock);
    if (memory == NULL) {
        return weft_os_alloc(sizeof *memory, 0);
    }
    atomic_store_explicit(&memory->state.owner, WEFT_OWNER_FREE, memory_order_relaxed);
    return &memory->state;
}

static void create_keep_memory(weft_comm_state_t *state)
{
    create_memory_t *memory = (create_memory_t *)state;
    memset((char *)state + sizeof state->owner, 0, sizeof *state - sizeof state->owner);
    weft_os_process_lock(&create_lock);
    memory->next = create_kept;
    create_kept = memory;
    weft_os_process_unlock(&create_lock);
}

static weft_peer_status_t *create_peers(uint32_t nranks)
{
    weft_peer_status_t *peers = weft_os_alloc(nranks * sizeof *peers, 0);
    for (uint32_t r = 0; peers != NULL && r < nranks; r++) {
        atomic_init(&peers[r].left_at, WEFT_NOT_LEFT);
    }
    return peers;
}

static weft_status_t create_state(const weft_comm_setup_t *setup, weft_comm_state_t **state_p)
{
    weft_comm_state_t *state = create_take_memory();
    if (state == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a communicator");
    }
    state->fork_generation = weft_os_fork_generation();
    state->member = (weft_family_member_t){.state = state, .comm_id = setup->id};
    state->flight =
        weft_flight_add(&setup->family->survival.flight, setup->id, setup->nranks, setup->rank);
    if (state->flight == NULL) {
        create_keep_memory(state);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a communicator");
    }
    state->queue.flight = state->flight;
    weft_failure_init(&state->failure, state->flight);
    weft_status_t status = weft_identity_init(&state->self, setup);
    if (status == WEFT_OK) {
        state->peers = create_peers(setup->nranks);
        status = state->peers != NULL
                     ? WEFT_OK
                     : weft_fail(WEFT_ERR_RESOURCE, ENOMEM,
                                 "cannot allocate a communicator of %u ranks", setup->nranks);
    }
    if (status != WEFT_OK) {
        weft_comm_free(state);
        return status;
    }
    *state_p = state;
    return WEFT_OK;
}

/* A connection of a rank that is none is the links' to refuse. */
static bool peer_has_left(const void *arg, uint32_t rank)
{
    const weft_comm_state_t *state = arg;
    return rank >= state->self.nranks || weft_peer_has_left(&state->peers[rank]);
}

static weft_status_t create_links(weft_comm_state_t *state, bool first)
{
    const weft_family_t *family = state->self.family;
    weft_links_setup_t links = {
        .transports = family->transports,
        .nranks = state->self.nranks,
        .rank = state->self.rank,
        .family = state->self.family_rank,
        .comm_id = state->self.id,
        .leavers = {peer_has_left, state},
        .sharing = {family->kernel.share, family->kernel.instance},
        .gpudirect = {.ops = family->kernel.direct,
                      .memory = family->kernel.memory,
                      .kernel = family->kernel.instance,
                      .mode = (weft_gpudirect_mode_t)family->settings.exec.gpudirect},
        .windows = &state->windows.shared,
        .first = first,
        .fifo =
            weft_slots_shape((weft_slots_t){.count = family->slots, .bytes = family->slot_bytes},
                             family->small_bytes, state->self.nranks),
        .pool_bytes = family->settings.exec.pool_bytes};
    return state->self.nranks > 1 ? weft_links_create(&links, &state->links) : WEFT_OK;
}

static weft_status_t create_comm(const weft_comm_setup_t *setup, bool first,
                                 weft_comm_state_t **state_p)
{
    weft_family_t *family = setup->family;
    weft_comm_state_t *state = NULL;
    weft_status_t status = create_state(setup, &state);
    if (status != WEFT_OK) {
        return status;
    }
    /* All ranks of the family may be busy at once, whichever communicators they are in. */
    weft_programs_init(&state->programs, family->settings.exec.program_memory);
    weft_waiter_init(&state->waiter, &family->settings.exec, family->here.sharers,
                     family->here.cpus);
    status = create_links(state, first);
    if (status != WEFT_OK) {
        weft_comm_free(state);
        return status;
    }
    weft_family_add(family, &state->member);
    *state_p = state;
    return WEFT_OK;
}

weft_status_t weft_comm_create_child(const weft_comm_setup_t *setup, weft_comm_state_t **state_p)
{
    return create_comm(setup, false, state_p);
}

static weft_status_t create_first(weft_family_t *family, weft_comm_state_t **state_p)
{
    weft_comm_setup_t setup = {.family = family,
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
    setup.family_rank = same;
    weft_status_t status = create_comm(&setup, true, state_p);
    weft_os_free(same);
    if (status == WEFT_OK && family->nranks > 1) {
        status = weft_health_start(family->boot);
        if (status != WEFT_OK) {
            weft_comm_free(*state_p);
        }
    }
    return status;
}

weft_status_t weft_comm_create(uint32_t nranks, const weft_unique_id_t *id, uint32_t rank,
                               const weft_comm_options_t *options, const weft_config_t *like,
                               weft_comm_state_t **state_p)
{
    weft_family_t *family = NULL;
    weft_comm_state_t *state = NULL;
    weft_os_open_standard();
    weft_os_cancel_by(weft_config_cancel_fd(options));
    weft_status_t status =
        weft_family_create(nranks, id, rank, options, like, &weft_comm_health_events, &family);
    weft_os_cancel_by(0);
    if (status != WEFT_OK) {
        return status;
    }
    status = create_first(family, &state);
    weft_error_t kept = *weft_error_record();
    if (status != WEFT_OK) {
        weft_boot_give_up(family->boot); /* the others, who may be in their first call, hear why */
    }
    weft_family_release(family);
    if (status != WEFT_OK) {
        *weft_error_record() = kept;
        return status;
    }
    *state_p = state;
    return WEFT_OK;
}

void weft_comm_tell_leave(weft_comm_state_t *state)
{
    weft_assert_owner(state);
    /* A failure keeps its reason: the word of it is before this one on every way through the
     * tree. */
    if (state->self.nranks > 1) {
        weft_leave_t leave = {.sequence = state->queue.sequence};
        weft_history_get_run(&state->flight->history, &leave.run);
        if (leave.run.last.sequence != (uint32_t)leave.sequence) {
            leave.run.length = 0; /* the last operation was refused before it began */
        }
        weft_health_leave_comm(state->self.family->boot, state->self.id, &leave);
    }
    weft_consensus_leave(state->self.family, state->self.id);
}

static void create_free_peers(weft_comm_state_t *state)
{
    for (uint32_t r = 0; state->peers != NULL && r < state->self.nranks; r++) {
        weft_os_free(state->peers[r].left_run);
    }
    weft_os_free(state->peers);
}

/* A thread that waits in another communicator may be making a link of this one. */
static void create_await_visitor(weft_comm_state_t *state)
{
    uint32_t turns = 0;
    while ((atomic_load_explicit(&state->owner, memory_order_acquire) & WEFT_OWNER_MASK) ==
           WEFT_OWNER_PROGRESS) {
        weft_os_give_way(&turns);
    }
}

void weft_comm_free(weft_comm_state_t *state)
{
    const weft_family_t *family = state->self.family;
    weft_holdings_log(state, "at its end");
    /* The health thread gives events to members only: afterwards no other thread sees the state. */
    weft_family_remove(state->self.family, &state->member);
    create_await_visitor(state);
    weft_family_leave(state->self.family);
    weft_streams_settle(state);
    weft_programs_fini(&state->programs);
    weft_streams_close(state);
    weft_window_table_fini(&state->self, &state->windows);
    weft_registration_remove_all(&state->regions, state->links);
    weft_allocations_fini(&state->allocations, family);
    weft_links_destroy(state->links);
    if (state->device_queue != NULL) {
        family->kernel.lanes->queue_close(state->device_queue);
    }
    weft_flight_remove(&state->self.family->survival.flight, state->flight);
    create_free_peers(state);
    weft_identity_fini(&state->self);
    weft_p2p_close(&state->p2p);
    weft_spares_fini(&state->notes);
    weft_failure_fini(&state->failure);
    create_keep_memory(state);
}
