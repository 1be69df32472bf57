/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of a communicator: the structs of the modules that change them, joined.
 *
 * Ownership: `owner` is FREE, USER while a thread is inside a call, PROGRESS while the progress
 * thread advances asynchronous operations, or a thread that waits in another communicator makes a
 * link (wanted_links.h), or WAITER while a thread that waits for a request does.
 * The last two give the communicator back for a USER. Only the owner touches what stands under
 * "owned" below. Checked builds keep the owning thread, and weft_assert_owner() compares it.
 *
 * A thread whose call meets the end of the communicator may look at `owner` when the state has been
 * freed, or is that of another communicator. So the memory of a state is never anything else, and
 * the handle stands in the word: who comes too late does not become the owner. */
#ifndef WEFT_COMM_COMM_H
#define WEFT_COMM_COMM_H

#include "core/comm/allocation.h"
#include "core/comm/deadlock.h"
#include "core/comm/failure.h"
#include "core/comm/p2p_queues.h"
#include "core/comm/peer_status.h"
#include "core/comm/queue.h"
#include "core/comm/roll_call.h"
#include "core/comm/spares.h"
#include "core/comm/stall.h"
#include "core/comm/user_ops.h"
#include "core/comm/window_table.h"
#include "core/exec/waiter.h"

typedef enum weft_owner {
    WEFT_OWNER_FREE = 0,
    WEFT_OWNER_USER = 1,
    WEFT_OWNER_PROGRESS = 2,
    WEFT_OWNER_WAITER = 3
} weft_owner_t;

#define WEFT_OWNER_BITS 2
#define WEFT_OWNER_MASK UINT64_C(3)

typedef struct weft_comm_state {
    _Atomic uint64_t owner; /* weft_owner_t, and above it the handle, once there is one */
#ifdef WEFT_CHECKED
    _Atomic uintptr_t owner_thread; /* 0: none */
#endif
    _Atomic uint32_t wanted; /* users that wait for a WAITER to give it back */
    uint32_t fork_generation;

    /* constant after creation */
    weft_comm_identity_t self;
    weft_links_t *links;        /* NULL for one rank */
    weft_flight_comm_t *flight; /* what this rank did last, where others can read it */

    /* owned */
    weft_waiter_t waiter;
    weft_queue_t queue;
    weft_stall_t stall;
    weft_p2p_t p2p;
    struct weft_streams *streams; /* NULL until the first call in a stream: streams.h */
    weft_programs_t programs;
    weft_lanes_queue_t *device_queue; /* of this communicator on the device; NULL: not opened */
    weft_allocations_t allocations;
    weft_mem_region_t *regions;
    weft_window_table_t windows;
    weft_user_ops_t user_ops;
    weft_spares_t notes; /* of groups, for the next group */
    bool has_progress;   /* attached to the progress thread */

    /* used by any thread, each with a rule of its own */
    weft_family_member_t member; /* guarded by the family's lock */
    weft_failure_t failure;
    weft_peer_status_t *peers; /* per rank */
    weft_deadlock_t deadlock;
    weft_roll_call_t roll_call;
} weft_comm_state_t;

/* Takes the communicator if its word is still `free`: that of a communicator that nobody owns. */
static inline bool weft_comm_own_word(weft_comm_state_t *state, uint64_t free, weft_owner_t owner,
                                      uint32_t *found_p)
{
    uint64_t found = free;
    bool taken = atomic_compare_exchange_strong_explicit(
        &state->owner, &found, free | owner, memory_order_acquire, memory_order_relaxed);
    *found_p = (uint32_t)(found & WEFT_OWNER_MASK);
#ifdef WEFT_CHECKED
    if (taken) {
        atomic_store_explicit(&state->owner_thread, weft_os_thread_self(), memory_order_relaxed);
    }
#endif
    return taken;
}

/* Takes a free communicator for the calling thread. False: it is not free, *found_p is its
 * owner. */
static inline bool weft_comm_own(weft_comm_state_t *state, weft_owner_t owner, uint32_t *found_p)
{
    const uint64_t word = atomic_load_explicit(&state->owner, memory_order_relaxed);
    return weft_comm_own_word(state, word & ~WEFT_OWNER_MASK, owner, found_p);
}

/* As weft_comm_own() for a USER, of the communicator that has or had this state, and if it still
 * has that handle. */
static inline bool weft_comm_own_by_handle(weft_comm_state_t *state, const weft_comm_t *handle,
                                           uint32_t *found_p)
{
    return weft_comm_own_word(state, (uint64_t)(uintptr_t)handle << WEFT_OWNER_BITS,
                              WEFT_OWNER_USER, found_p);
}

/* Checked builds: the calling thread owns the communicator. */
static inline void weft_assert_owner(const weft_comm_state_t *state)
{
#ifdef WEFT_CHECKED
    weft_assert(atomic_load_explicit(&state->owner_thread, memory_order_relaxed) ==
                weft_os_thread_self());
#else
    (void)state;
#endif
}

static inline void weft_comm_disown(weft_comm_state_t *state)
{
    weft_assert_owner(state);
#ifdef WEFT_CHECKED
    atomic_store_explicit(&state->owner_thread, 0, memory_order_relaxed);
#endif
    const uint64_t word = atomic_load_explicit(&state->owner, memory_order_relaxed);
    atomic_store_explicit(&state->owner, word & ~WEFT_OWNER_MASK, memory_order_release);
}

/* True if the owner, a WAITER, should give the communicator back. */
static inline bool weft_comm_is_wanted(const weft_comm_state_t *state)
{
    return atomic_load_explicit(&state->wanted, memory_order_relaxed) != 0;
}

/* The failure of the communicator: failure.h. Thread: any. */
static inline bool weft_comm_has_failed(const weft_comm_state_t *state)
{
    return weft_failure_is_set(&state->failure);
}

/* Most channels that share a message. Thread: the owner. */
static inline uint32_t weft_comm_channels(const weft_comm_state_t *state)
{
    const uint32_t all = state->self.family->channels;
    return state->programs.most > 0 && state->programs.most < all ? state->programs.most : all;
}

/* How a message of that many bytes is cut. Thread: the owner. */
static inline weft_stripes_t weft_comm_stripes(const weft_comm_state_t *state, uint64_t bytes)
{
    const weft_family_t *family = state->self.family;
    const uint32_t all = family->kernel.stripes, limit = state->programs.most;
    const uint64_t wanted = family->settings.plan.channel_bytes;
    return weft_stripes_cut(bytes, limit > 0 && limit < all ? limit : all,
                            wanted > 0 ? wanted : WEFT_CHANNEL_BYTES, family->slot_bytes);
}

static inline weft_status_t weft_comm_failure(weft_comm_state_t *state)
{
    return weft_failure_raise(&state->failure);
}

/* Completes the calling thread's error record with the culprit `peer` (−1: none) and the
 * operation, and fails the communicator with it. Thread: the owner. */
void weft_comm_fail(weft_comm_state_t *state, int32_t peer);
/* The same because ranks did not come. `missing` may be empty. */
void weft_comm_fail_missing(weft_comm_state_t *state, int32_t peer, const weft_missing_t *missing);

/* Fails the communicator because `peer` called something else. Thread: the owner. */
void weft_comm_mismatch(weft_comm_state_t *state, uint32_t peer, const weft_signature_t *mine,
                        const weft_signature_t *theirs);

/* Opens the device's queue of the communicator, where the kernel has streams, unless it is open.
 * The kernel's failure. */
weft_status_t weft_comm_open_device_queue(weft_comm_state_t *state);

/* Goes on with connections under way, takes completions of message transports, posts what had to
 * wait, and passes on what devices send and receive (*moved_p: something). Must be called again and
 * again while a device may use the ports. */
static inline weft_status_t weft_comm_poll_transports(weft_comm_state_t *state, bool *moved_p)
{
    weft_assert_owner(state);
    if (!weft_links_have_messages(state->links)) {
        return WEFT_OK;
    }
    weft_links_attend(state->links);
    weft_status_t status = weft_links_poll(state->links);
    return status == WEFT_OK ? weft_links_flush(state->links, moved_p) : status;
}

/* True if the operation is so large that looks at the clock do not count: it has an entry in the
 * flight record whether it waits or not. The bound is a power of two. */
#define WEFT_RECORD_BYTES (UINT64_C(256) << 10)
static inline bool weft_comm_records(const weft_request_t *request)
{
    return (request->args.send_bytes | request->args.recv_bytes) >= WEFT_RECORD_BYTES;
}

/* Gives the operation an entry in the flight record, unless the ring has none for it: an operation
 * that is still open keeps its own. `called`: when it was called, in nanoseconds. */
void weft_comm_record(weft_comm_state_t *state, weft_request_t *request, uint64_t called);

/* Notes a look at an operation that waits for `peer` (−1: not known). One that has just begun to
 * wait is no news yet. */
static inline void weft_comm_record_wait(weft_comm_state_t *state, weft_request_t *request,
                                         int32_t peer, uint64_t now)
{
    if (request->flight == NULL && now - request->started >= WEFT_RECORD_WAIT) {
        weft_comm_record(state, request, request->started);
    }
    if (request->flight != NULL) {
        request->flight->peer = peer;
    }
}

/* Submission. Thread: the owner. ------------------------------------------------------------- */

/* Idle steps between two looks at the clock: a look costs about as much as a step. */
#define WEFT_STEPS_PER_LOOK 64u

/* Makes the queues of messages of that kind, unless they are there. ERR_RESOURCE. */
weft_status_t weft_submit_open_queues(weft_comm_state_t *state, weft_one_sided_t kind);
/* Makes what an operation of these arguments needs, unless it is there. ERR_RESOURCE. */
static inline weft_status_t weft_submit_open(weft_comm_state_t *state, const weft_args_t *args)
{
    bool open = args->coll != WEFT_SEND_RECV ||
                (args->one_sided == WEFT_ONE_SIDED_NONE && state->p2p.queues != NULL);
    return open ? WEFT_OK : weft_submit_open_queues(state, args->one_sided);
}
/* Gives the operation its sequence number. weft_submit_open() has been called. */
void weft_submit_number(weft_comm_state_t *state, weft_request_t *request);
/* Lets a numbered operation progress, in the order of the numbers. */
void weft_submit_insert(weft_comm_state_t *state, weft_request_t *request);
/* Does both. */
void weft_submit(weft_comm_state_t *state, weft_request_t *request);

/* Makes the next idle step look at the clock. */
static inline void weft_submit_look_soon(weft_comm_state_t *state)
{
    state->queue.steps |= WEFT_STEPS_PER_LOOK - 1;
    state->p2p.steps |= WEFT_STEPS_PER_LOOK - 1;
    if (state->windows.puts != NULL) {
        state->windows.puts->p2p.steps |= WEFT_STEPS_PER_LOOK - 1;
    }
}

#endif
