/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A communicator from the inside. State belongs to the module that changes it; the struct joins them.
 *
 * Ownership of the engine: `owner` is 0 (free), OWNER_USER while a thread is inside a call, or
 * OWNER_PROGRESS while the progress thread advances asynchronous operations. Who holds it may touch
 * everything below "engine". Everything under "failure" may be used by any thread. */
#ifndef WEFT_COMM_COMM_H
#define WEFT_COMM_COMM_H

#include <weft/plugin/tuner.h>

#include "core/comm/family.h"
#include "core/exec/adapt.h"
#include "core/exec/lanes.h"
#include "core/exec/wait.h"
#include "core/os/os.h"

enum { OWNER_FREE = 0, OWNER_USER = 1, OWNER_PROGRESS = 2 };

#define WEFT_PROGRAMS 64 /* prepared calls per communicator, power of two */
#define WEFT_HISTORY 256 /* runs of equal calls kept for questions of other ranks, power of two */

/* Arguments of a collective, after the checks. */
typedef struct weft_args {
    const void *send;
    void *recv;
    uint64_t count;
    weft_coll_t coll;
    weft_dtype_t dtype;
    weft_op_t op;
    uint32_t root; /* of send_recv: the peer */
    bool sends;    /* send_recv: a send */
    const weft_blocks_t *in_blocks,
        *out_blocks;                 /* the caller's vectors of a v-form, by side used */
    uint64_t send_bytes, recv_bytes; /* found by the checks: extent of each buffer, 0 = not used */
} weft_args_t;

/* The vectors of one v-form call, copied and completed. */
typedef struct weft_bound_vectors {
    weft_vectors_t v;
    uint64_t largest;  /* elements of the largest block of either side */
    uint64_t total;    /* all ranks know it: the signature's count; else 0 */
    uint32_t hash;     /* of what all ranks must know alike; else 0 */
    uint64_t values[]; /* in counts, in displacements, out counts, out displacements */
} weft_bound_vectors_t;

typedef enum weft_op_state {
    WEFT_OP_QUEUED = 0,
    WEFT_OP_BINDING, /* links are being made */
    WEFT_OP_RUNNING,
    WEFT_OP_DRAINING, /* results are there, last messages are leaving */
    WEFT_OP_DONE
} weft_op_state_t;

/* One operation; a blocking one lives on the caller's stack. */
struct weft_request {
    weft_comm_t *handle;
    struct weft_request *next;
    weft_args_t args;
    weft_op_state_t state;
    weft_status_t status; /* final, once DONE */
    uint64_t
        sequence; /* place among the calls, from 1; messages: in their line; 0: of a recording */
    uint64_t deadline;
    uint64_t started;
    double timeout;
    uint8_t scalar[8];
    const void *late_scalar;       /* read into `scalar` when the operation begins */
    weft_bound_vectors_t *vectors; /* of a v-form */
    bool appended;                 /* false: noted in a group that is still open */
    bool in_stream;                /* a gate waits for it */
    uint32_t sends;                /* send_recv: 1 = a send */
    uint64_t moved;                /* send_recv: elements that went through the port */
    _Atomic uint32_t done;
};

/* What identifies a prepared call. */
typedef struct weft_program_key {
    uint64_t count;
    uint32_t root;
    uint8_t coll, dtype, op, used;
} weft_program_key_t;

typedef struct weft_prepared {
    weft_program_key_t key;
    weft_program_t program;
    weft_lanes_t run;
    weft_adapt_t adapt;
    bool adapts;                   /* slices are large enough for a choice */
    uint32_t held;                 /* runs in streams and recordings that use it */
    struct weft_prepared *retired; /* next of those that lost their place while held */
} weft_prepared_t;

/* An operation that does not move, and whom it waits for: see lookout.c. */
typedef struct weft_pending {
    uint64_t sequence;
    weft_signature_t signature;
    uint64_t started, deadline;
    int32_t peer;      /* −1: nobody in particular */
    weft_port_t *port; /* NULL: to connect */
} weft_pending_t;

/* What this rank called, for questions of other ranks: see fail.c. */
typedef struct weft_history {
    weft_os_mutex_t lock;
    _Atomic uint32_t last; /* sequence of the last operation begun */
    uint32_t runs;         /* runs of equal calls so far */
    weft_signature_t run[WEFT_HISTORY];
} weft_history_t;

/* Sends to one peer, or receives from it, in order. All lines of a communicator progress at once, beside
 * its collectives. */
typedef struct weft_line {
    struct weft_request *first, *last;
    weft_port_t *port;
    uint32_t peer, sends;
    uint64_t called, over; /* messages called so far; the last one that is over */
    bool active;
    uint64_t idle_since; /* when it last moved; 0 = it just did */
    uint64_t checked;    /* when the port was last looked after */
} weft_line_t;

typedef struct weft_p2p {
    weft_line_t *lines; /* 2 per rank: receives, sends; NULL until the first message */
    uint32_t *active;   /* lines with work */
    uint32_t nactive;
    uint32_t steps; /* idle steps since the clock was read */
} weft_p2p_t;

/* Where this rank is stuck, for the questions of others, and where the one it waits for is: order.c. */
typedef struct weft_order {
    _Atomic uint32_t stuck_on; /* rank of the family that the operation waits for */
    _Atomic uint64_t stuck_at; /* when it last asked; 0: never */
    weft_os_mutex_t lock;      /* guards the answer */
    weft_answer_t answer;
    uint32_t answered_by; /* rank here */
    uint64_t answered_at; /* 0: never */
} weft_order_t;

typedef struct weft_allocation {
    struct weft_allocation *next;
    void *memory;
    size_t bytes;
    bool device; /* the kernel's memory */
} weft_allocation_t;

typedef struct weft_comm_state {
    _Atomic uint32_t owner;
    uint32_t fork_generation;
    uint32_t nranks, rank;
    uint64_t id;
    weft_comm_t *handle;
    weft_family_t *family;
    struct weft_comm_state *sibling; /* next in the family; guarded by its lock */
    uint32_t *family_rank;           /* per rank */
    weft_links_t *links;             /* NULL for one rank */

    weft_lanes_queue_t *queue; /* of this communicator on the device; NULL: not opened */

    uint32_t nhosts;
    uint32_t *host_of;  /* per rank */
    uint32_t *one_host; /* per rank 0: what algorithms see in deterministic mode */

    /* engine */
    weft_waiter_t waiter;
    uint64_t sequence; /* of the last operation called */
    uint64_t over;     /* of the last one that is over: they end in order */
    struct weft_request *first, *last;
    struct weft_stream *stream; /* NULL until the first call in a stream: stream.h */
    weft_p2p_t p2p;
    weft_prepared_t *current; /* of `first` */
    weft_prepared_t *prepared[WEFT_PROGRAMS];
    weft_prepared_t *retired; /* freed when nothing holds them */
    uint32_t steps;           /* idle steps since the clock was read */
    uint64_t idle_since;      /* when the operation last moved; 0 = it just did */
    uint64_t asked;           /* when the blocked port's peer was last asked */
    bool late_told;
    uint64_t connecting_since; /* both ends are in the call and still not connected */
    uint64_t verdict_by;       /* a link broke: wait until then for the health channel's word */
    weft_error_t broken;       /* what the link said */
    weft_allocation_t staging; /* copy of the input for plans that cannot run in place */
    weft_allocation_t *allocations;
    weft_mem_region_t *regions;
    weft_window_t *window[WEFT_LANES_WINDOWS]; /* by number; NULL: free */
    weft_windows_t windows;                    /* what messages refer to */
    weft_user_op_t user_ops[WEFT_OP_USER_END - WEFT_OP_USER];

    /* failure */
    _Atomic uint32_t failed;
    weft_os_mutex_t failure_lock;
    weft_error_t failure;
    weft_history_t history;
    _Atomic uint64_t *left_at; /* per rank: operations it took part in before it left; UINT64_MAX */
    _Atomic uint64_t *left_when; /* per rank: when that was heard; set before left_at */
    _Atomic uint64_t *met_at; /* per rank: operation in which it asked for us, being in the same */
    weft_order_t order;

    /* asynchronous operations */
    bool has_progress; /* attached to the progress thread */
} weft_comm_state_t;

/* handle.c: handles are checked numbers, so that a stale one is an error and no crash. */
weft_status_t weft_handle_add(weft_comm_state_t *state, weft_comm_t **handle_p);
/* Takes the communicator for the calling thread. ERR_ARG, ERR_STATE (destroyed, forked, or another
 * thread is inside a call). */
weft_status_t weft_comm_enter(weft_comm_t *handle, const char *call, weft_comm_state_t **state_p);
void weft_comm_leave(weft_comm_state_t *state);
/* Runs `visit` while the handle cannot be destroyed; for calls that are allowed from any thread. */
weft_status_t weft_handle_visit(weft_comm_t *handle, const char *call,
                                void (*visit)(weft_comm_state_t *state, void *arg), void *arg);
void weft_handle_remove(weft_comm_t *handle);

/* fail.c: the first failure wins; it is logged, kept, and told to the other ranks if `tell`. */
void weft_comm_fail(weft_comm_state_t *state, const weft_error_t *error, bool tell);
static inline bool weft_comm_has_failed(weft_comm_state_t *state)
{
    return atomic_load_explicit(&state->failed, memory_order_acquire) != 0;
}
/* How long nothing has come from a rank that is known to have left: since the last movement, or since we
 * heard of it, whichever was later. */
static inline uint64_t weft_comm_gone_for(weft_comm_state_t *state, uint32_t peer,
                                          uint64_t idle_since, uint64_t now)
{
    uint64_t heard = atomic_load_explicit(&state->left_when[peer], memory_order_relaxed);
    uint64_t since = heard > idle_since ? heard : idle_since;
    return now > since ? now - since : 0;
}
/* Makes the kept failure the calling thread's error, and returns its status. */
weft_status_t weft_comm_failure(weft_comm_state_t *state);
void weft_history_put(weft_comm_state_t *state, const weft_signature_t *signature);
/* The signature of operation `sequence`; false if it has not begun or is forgotten. */
bool weft_history_get(weft_comm_state_t *state, uint32_t sequence, weft_signature_t *signature);
/* Events of the health channel; ranks are those of the communicator. */
void weft_comm_on_died(weft_comm_state_t *state, uint32_t rank, const weft_error_t *error);
/* False: this rank has not come there yet. */
bool weft_comm_on_asked(weft_comm_state_t *state, uint32_t from, const weft_signature_t *theirs);
void weft_comm_on_left(weft_comm_state_t *state, uint32_t rank, uint64_t sequence);

/* order.c: two ranks that wait for each other in different communicators. */
/* Asks rank `peer`, which the current operation waits for, what it does. */
void weft_order_ask(weft_comm_state_t *state, uint32_t peer, const weft_signature_t *mine);
/* What the peer said of late, as the end of a sentence that named it; "" if nothing. */
const char *weft_order_text(weft_comm_state_t *state, int32_t peer, char *text, size_t bytes);
/* Where this rank waits, if it does, but not in `asked`. The family's lock is held. */
void weft_order_here(const weft_comm_state_t *asked, weft_answer_t *answer);
void weft_order_on_answered(weft_comm_state_t *state, uint32_t from, const weft_answer_t *answer);

/* state.c */
/* What a communicator is made from. */
typedef struct weft_comm_plan {
    weft_family_t *family;
    uint64_t id;
    uint32_t nranks, rank;
    const uint32_t *family_rank; /* per rank; copied */
} weft_comm_plan_t;

/* The family's first communicator, and the family with it. */
weft_status_t weft_comm_create(uint32_t nranks, const weft_unique_id_t *id, uint32_t rank,
                               const weft_comm_options_t *options, weft_comm_state_t **state_p);
/* One more; takes a reference to the family. */
weft_status_t weft_comm_create_child(const weft_comm_plan_t *plan, weft_comm_state_t **state_p);
/* The queue of the device, where the kernel has one. The kernel's failure. */
weft_status_t weft_comm_need_queue(weft_comm_state_t *state);
/* Says goodbye to the other ranks, if the communicator has not failed. */
void weft_comm_part(weft_comm_state_t *state);
/* Frees it, and the family with its last communicator. */
void weft_comm_free(weft_comm_state_t *state);

/* Roots of the core's own exchanges (call.h), so that no all_gather of the user is taken for one, nor one
 * for another. Those of windows have the window's number added. */
#define WEFT_ROOT_CORE 0xffffff00u
#define WEFT_ROOT_WINDOW_SHOW WEFT_ROOT_CORE
#define WEFT_ROOT_WINDOW_OPEN (WEFT_ROOT_CORE + 1 * WEFT_LANES_WINDOWS)
#define WEFT_ROOT_WINDOW_END (WEFT_ROOT_CORE + 2 * WEFT_LANES_WINDOWS)
#define WEFT_ROOT_SPLIT UINT32_MAX

/* memory.c: memory of the host or, with `device`, of the kernel; `what` it is for begins the error.
 * ERR_RESOURCE, or the kernel's failure. */
weft_status_t weft_comm_obtain(const weft_comm_state_t *state, const char *what, uint64_t bytes,
                               bool device, weft_allocation_t *allocation);
void weft_comm_release(const weft_comm_state_t *state, const weft_allocation_t *allocation);
/* What the user did not free. */
void weft_comm_free_memory(weft_comm_state_t *state);
/* Copies an input to state->staging. ERR_RESOURCE, or the kernel's failure. */
weft_status_t weft_comm_stage(weft_comm_state_t *state, const void *in, uint64_t bytes);
/* window.c: what the user did not deregister. */
void weft_comm_free_windows(weft_comm_state_t *state);
/* Copies between memory of any kind. The kernel's failure. */
weft_status_t weft_comm_copy(const weft_comm_state_t *state, void *dst, const void *src,
                             uint64_t bytes);

/* kernel.c: what the communicator's kernel answers to that name, and the kernel itself; both live as long
 * as the communicator. NULL: it has no such extension, or the handle is not valid. Thread: any. */
const void *weft_comm_kernel(weft_comm_t *comm, const char *extension, weft_kernel_t **kernel_p);

/* check.c: everything about the arguments that this rank can judge alone; completes them. ERR_ARG. */
weft_status_t weft_args_check(const weft_comm_state_t *state, weft_args_t *args,
                              const weft_call_t *call);
bool weft_coll_reduces(weft_coll_t coll);
bool weft_coll_has_vectors(weft_coll_t coll);

/* operator.c: the user's operator of that number, or NULL. */
const weft_user_op_t *weft_user_op_find(const weft_comm_state_t *state, weft_op_t op);

/* vectors.c: copies the vectors of a v-form; ERR_ARG for those that cannot be. */
weft_status_t weft_vectors_bind(const weft_comm_state_t *state, const weft_args_t *args,
                                weft_bound_vectors_t **vectors_p);
/* The class of sizes that a call is prepared for: the next power of two where all ranks know the
 * vectors, 0 where only pairs do. */
uint64_t weft_vectors_class(weft_coll_t coll, uint64_t largest);
/* Which property of a plan the v-form needs. */
weft_vector_t weft_vectors_need(weft_coll_t coll);
/* Elements from the start of the buffer to the end of its last block; ERR_ARG if that overflows. */
weft_status_t weft_vectors_extent(const char *call, const weft_blocks_t *blocks, uint32_t n,
                                  uint64_t *extent_p);
/* Where block `b` starts. */
uint64_t weft_vectors_start(const weft_blocks_t *blocks, uint32_t b);

/* select.c: the prepared program of a call, from the cache or made now. args->count of a v-form is a
 * size that stands for its class, equal on all ranks: see weft_vectors_class(). */
weft_status_t weft_comm_select(weft_comm_state_t *state, const weft_args_t *args,
                               weft_prepared_t **prepared_p);
/* The same only from the cache, or NULL. */
weft_prepared_t *weft_comm_selected(const weft_comm_state_t *state, const weft_args_t *args);
/* Keeps it, whatever takes its place in the cache; lets it go. */
void weft_prepared_hold(weft_prepared_t *prepared);
void weft_prepared_drop(weft_comm_state_t *state, weft_prepared_t *prepared);
void weft_prepared_free_all(weft_comm_state_t *state);

/* binding.c: what a program is to run on for this request. `geometry` and the request live as long as
 * the run. */
void weft_request_bind(const weft_prepared_t *prepared, const weft_request_t *request,
                       weft_geometry_t *geometry, weft_binding_t *binding);
weft_signature_t weft_request_signature(const weft_prepared_t *prepared,
                                        const weft_request_t *request);
/* Arguments that all calls of its class of sizes share: see weft_comm_select(). */
weft_args_t weft_request_class(const weft_request_t *request);
/* Do input and output overlap? */
bool weft_request_overlaps(const weft_request_t *request);

/* local.c: a communicator of one rank. */
weft_status_t weft_local_run(weft_comm_state_t *state, const weft_request_t *request);

/* p2p.c: sends and receives. */
weft_status_t weft_p2p_check(const weft_comm_state_t *state, const weft_args_t *args,
                             bool may_send_to_self);
/* ERR_RESOURCE, or OK: what is called once before append. */
weft_status_t weft_p2p_open(weft_comm_state_t *state);
/* The next number of the request's line. */
uint64_t weft_p2p_number(weft_comm_state_t *state, const weft_request_t *request);
void weft_p2p_append(weft_comm_state_t *state, weft_request_t *request);
/* One round over all lines; true if something moved. A failure has failed the communicator. */
bool weft_p2p_step(weft_comm_state_t *state);
/* Ends all messages with the communicator's failure. */
void weft_p2p_fail(weft_comm_state_t *state);
/* The only port that anything waits for, or NULL. */
weft_port_t *weft_p2p_blocked(const weft_comm_state_t *state);
void weft_p2p_close(weft_comm_state_t *state);

/* lookout.c */
/* Completes the record in the thread's error and fails the communicator with it. */
void weft_engine_fail(weft_comm_state_t *state, int32_t peer);
void weft_engine_mismatch(weft_comm_state_t *state, uint32_t peer, const weft_signature_t *mine,
                          const weft_signature_t *theirs);
/* A link to `peer` that is waited for broke, with `status`: fails the communicator unless the health
 * channel names the cause in time. */
void weft_engine_broken(weft_comm_state_t *state, weft_status_t status, int32_t peer);
/* Judges an operation that does not move; may fail the communicator. */
void weft_lookout(weft_comm_state_t *state, const weft_pending_t *pending, uint64_t now);

/* engine.c: advances the queue. The caller owns the communicator. */
/* Takes completions of message transports, posts what had to wait, and passes on what devices send and
 * receive (*moved_p: something). To be called again and again while a device may be using the ports. */
weft_status_t weft_engine_transport(weft_comm_state_t *state, bool *moved_p);
/* The next step looks at the clock. */
void weft_engine_look_soon(weft_comm_state_t *state);
/* Gives the operation its number; lets it progress, in the order of the numbers; both. */
void weft_engine_number(weft_comm_state_t *state, weft_request_t *request);
void weft_engine_insert(weft_comm_state_t *state, weft_request_t *request);
void weft_engine_append(weft_comm_state_t *state, weft_request_t *request);
/* Where the request goes in a list in the order of numbers. One of a recording has none: it goes before
 * all that have not begun. */
weft_request_t **weft_request_place(weft_request_t **first, weft_request_t *last,
                                    const weft_request_t *request);
/* The operation of that number is over; 0: one of a recording. */
void weft_engine_over(weft_comm_state_t *state, uint64_t sequence);
/* One round; true if something moved. */
bool weft_engine_step(weft_comm_state_t *state);
bool weft_comm_is_busy(const weft_comm_state_t *state);
/* Until `request` is done; until everything is. */
void weft_engine_drive(weft_comm_state_t *state, const weft_request_t *request);
void weft_engine_drive_all(weft_comm_state_t *state);

/* progress.c: one thread per process for asynchronous operations. */
weft_status_t weft_progress_attach(weft_comm_state_t *state);
void weft_progress_detach(weft_comm_state_t *state);
void weft_progress_kick(void);

#endif
