/* SPDX-License-Identifier: BSD-3-Clause
 *
 * weft: collective communication between the ranks of a job. This is the user API.
 *
 * A job has `nranks` ranks. A rank is a process or a thread. One rank makes a unique id, the
 * application carries it to the other ranks, and all of them call weft_comm_init_rank(). From then
 * on every rank calls the same collectives in the same order. When a call fails, weft_comm_error()
 * says which rank caused it and why.
 *
 * Threads. The comment of each function has a thread rule:
 *   Thread: any   any thread may call it at any time, also during other calls
 *   Thread: one   one thread at a time per communicator; a second one gets ERR_STATE
 * Different communicators may be used by different threads at the same time.
 * A thread that calls weft needs 64 KiB of stack, plus what third-party plugins use.
 * Handlers of signals do not call weft. A call is left by its return: after an exception, longjmp()
 * or pthread_cancel() the communicator stays inside it, and can only be aborted.
 *
 * Deadlines. Every call that waits has a deadline (options `init_timeout` and `op_timeout`,
 * weft_call_t.timeout). Its error names the ranks it waited for.
 *
 * Failures. After a failure the communicator is in the failed state. Calls that need the other
 * ranks return the first error again, and so do weft_comm_explain() and weft_comm_predict(). What
 * concerns this rank alone stays legal: questions about the communicator, its memory, requests and
 * operators, its name, aborting and destroying it. So do the calls of weft/recovery.h, by which the
 * ranks that live go on. The send buffers of out-of-place calls are intact, the receive buffers of
 * the failed call are undefined. Other communicators are not affected.
 *
 * fork(). A child may make communicators of its own. Calls on those of its parent, and on its
 * queues, return ERR_STATE there. A request that was complete before the fork returns its status.
 *
 * Handles are checked: a destroyed communicator or completion queue returns ERR_STATE, NULL returns
 * ERR_ARG. Requests are not: one that was freed may not be used again (completion.h).
 *
 * Error names in these comments omit the prefix: ERR_ARG is WEFT_ERR_ARG. */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <weft/completion.h>
#include <weft/memory.h>
#include <weft/limits.h>
#include <weft/name.h>
#include <weft/one_sided.h>
#include <weft/recovery.h>
#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

/* Using several communicators. Each communicator has its own queues of slots, so operations of
 * different communicators never block each other on the wire. The order of calls can still
 * deadlock, because a thread that blocks in one communicator does not make progress on another. If
 * rank 0 calls A then B, rank 1 calls B then A, and both calls block, the ranks wait for each
 * other. To avoid that, put the two calls in a group, make them asynchronous, or use one order on
 * all ranks. A deadline ends such a wait. The error names the peer and, if known, the operation
 * and the communicator that the peer is in. */

/* Names and texts ------------------------------------------------------------------------------ */

/* Returns the version of the library, such as "0.1.0". The strings returned by the functions of
 * this section are constants.
 * Blocking: no. Thread: any. */
WEFT_EXPORT const char *weft_version(void);

/* Returns the name of a status, such as "ERR_TIMEOUT", or "unknown status" for other numbers.
 * Blocking: no. Thread: any. */
WEFT_EXPORT const char *weft_status_name(weft_status_t status);

/* Returns a description of a status in words.
 * Blocking: no. Thread: any. */
WEFT_EXPORT const char *weft_status_text(weft_status_t status);

/* Return the name of a data type ("float"), of an operator ("sum") and of a collective
 * ("all_reduce"), or NULL for other numbers.
 * Blocking: no. Thread: any. */
WEFT_EXPORT const char *weft_dtype_name(weft_dtype_t dtype);
WEFT_EXPORT const char *weft_op_name(weft_op_t op);
WEFT_EXPORT const char *weft_coll_name(weft_coll_t coll);

/* Returns 1 if operator `op`, one of types.h, combines elements of `dtype`, otherwise 0: BAND, BOR
 * and BXOR are for integers.
 * Blocking: no. Thread: any. */
WEFT_EXPORT int weft_op_has_dtype(weft_op_t op, weft_dtype_t dtype);

/* Returns the size of one element in bytes, or 0 for other numbers.
 * Blocking: no. Thread: any. */
WEFT_EXPORT size_t weft_dtype_size(weft_dtype_t dtype);

/* Errors --------------------------------------------------------------------------------------- */

/* The record of a failure. Where a field does not apply, strings are empty and numbers are -1. */
typedef struct weft_error {
    size_t size;          /* set by the caller to sizeof(weft_error_t) */
    weft_status_t status; /* WEFT_OK: there was no failure */
    int32_t rank;         /* rank that reports the failure */
    int32_t peer;         /* rank that caused it */
    int32_t peer_pid;     /* process id of that rank */
    int32_t os_errno;     /* errno of the failed system call */
    uint64_t comm_id;     /* number of the communicator, equal on all ranks */
    uint64_t sequence;    /* sequence number of the operation in the communicator, from 1; else 0 */
    char peer_host[64];   /* host name of the rank that caused it */
    char transport[32];   /* plugin concerned */
    char text[512];       /* one line for people: what failed, where, and the remedy */
} weft_error_t;

/* Copies the record of the calling thread's last failure, which stays. Use it for calls without a
 * communicator, when it could not be made, and for requests: a call that returns the failure of an
 * operation (weft_request_test(), weft_request_wait(), weft_completion_queue_poll()) sets it.
 * Errors: ERR_ARG (NULL, or error->size is too small; it makes no record of its own).
 * Blocking: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_last_error(weft_error_t *error);

/* Copies the record of the failure that put `comm` into the failed state. If it has not failed,
 * error->status is WEFT_OK.
 * Errors: ERR_ARG, ERR_STATE (handle destroyed, or forked child).
 * Blocking: no, but 1 s at most until this rank has told the others. Thread: any. */
WEFT_EXPORT weft_status_t weft_comm_error(weft_comm_t *comm, weft_error_t *error);

/* Writes the ranks that an operation of `comm` waited for in vain. When a collective or a barrier
 * passes its deadline, this rank asks every other rank whether it has begun that operation, and
 * waits up to 300 ms for the answers. Missing are the ranks that have not begun it, and those that
 * did not answer, in ascending order. The first rank that knows them tells the others, so all ranks
 * have the same list. *count_p is the number of missing ranks, which may be larger than `max`, or 0
 * if there is no list. Missing ranks that lie 1,984 or more behind the lowest one are not listed.
 * `ranks` may be NULL if `max` is 0.
 * Errors: ERR_ARG, ERR_STATE (handle destroyed, or forked child).
 * Blocking: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_comm_missing(weft_comm_t *comm, uint32_t *ranks, uint32_t max,
                                            uint32_t *count_p);

/* Communicators -------------------------------------------------------------------------------- */

/* A unique id lets a rank join a communicator. It holds the addresses of the rank that made it, a
 * 32-byte secret and a nonce. Anyone who has it can join, so carry it over a private channel only.
 * It is valid for one communicator, until init_timeout has passed. */
#define WEFT_UNIQUE_ID_BYTES 128
typedef struct weft_unique_id {
    uint8_t bytes[WEFT_UNIQUE_ID_BYTES];
} weft_unique_id_t;

/* Options for making a communicator. Zero means default in every field, and so does a NULL pointer
 * to the struct. All ranks must give the same settings, which weft compares when the ranks join,
 * but for those of one process or host: core.log, core.plugin_dir, exec.wait and the like. */
typedef struct weft_comm_options {
    size_t size;        /* set by the caller to sizeof(weft_comm_options_t) */
    const char *config; /* path of the INI file; replaces WEFT_CONF, the user's and the system's */
    const char *const *settings; /* "section.key=value" strings that override everything else */
    uint32_t settings_count;     /* number of strings in `settings` */
    const char *name;            /* of the communicator, copied; name.h. Ranks need not agree */
    /* Ends a call that waits for other ranks to join: once this descriptor is readable, or closed
     * at its other end, the call fails with ERR_ABORTED within 1 s, and the others hear that. The
     * caller keeps it open during the call; weft does not read it. 0 or negative: none. */
    int32_t cancel_fd;
} weft_comm_options_t;

/* Makes a unique id and starts to listen for the ranks. A thread of this process listens until all
 * ranks have joined or the deadline has passed. `options` may be NULL. *id is plain bytes in the
 * caller's memory.
 * Errors: ERR_ARG, ERR_CONFIG, ERR_RESOURCE, ERR_SYSTEM.
 * Blocking: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_unique_id_create(weft_unique_id_t *id,
                                                const weft_comm_options_t *options) WEFT_MUST_CHECK;

/* Tells whether the bytes are a unique id that this library can join with: WEFT_OK, else ERR_ARG,
 * and the text says what is wrong (no id, damaged on its way, of another version). Whether ranks
 * still join with it is known only to weft_comm_init_rank().
 * Errors: ERR_ARG.
 * Blocking: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_unique_id_check(const weft_unique_id_t *id) WEFT_MUST_CHECK;

/* Joins a communicator as `rank` of `nranks`. Returns when all ranks have joined and agree on
 * plugins, versions and configuration. `id` and `options` may be freed afterwards. Descriptors 0, 1
 * and 2 that are closed, now or later, are opened as /dev/null. The caller owns *comm_p until
 * weft_comm_destroy(). On failure *comm_p is unchanged. A job has at most 1,048,576 ranks. A
 * process has at most 4,096 communicators at once, all its ranks' and those of others counted.
 * Errors: ERR_ARG (NULL, too many ranks, rank out of range, rank already taken, ranks disagree
 * about nranks), ERR_STATE (stale id), ERR_CONFIG and ERR_MISMATCH (the text gives the first key
 * that differs and both values), ERR_PLUGIN, ERR_UNSUPPORTED (a plugin cannot do here what an
 * option asks of it), ERR_LINK (no transport reaches a rank, or connections to it break again and
 * again), ERR_AUTH, ERR_TIMEOUT (names the ranks that did not join), ERR_PEER_DEAD, ERR_ABORTED
 * (options->cancel_fd), ERR_RESOURCE (also more than 4,096 communicators), ERR_SYSTEM.
 * Blocking: up to init_timeout. Thread: any; several ranks may be threads of one process. */
WEFT_EXPORT weft_status_t weft_comm_init_rank(weft_comm_t **comm_p, uint32_t nranks,
                                              const weft_unique_id_t *id, uint32_t rank,
                                              const weft_comm_options_t *options) WEFT_MUST_CHECK;

/* Information that a launcher gave to this process. */
typedef struct weft_launcher {
    size_t size;          /* set by the caller to sizeof(weft_launcher_t) */
    char name[16];        /* "openmpi", "hydra", "torchrun", "slurm", "environment", "none" */
    uint32_t rank;        /* rank of this process in the job */
    uint32_t nranks;      /* number of ranks of the job */
    uint32_t local_rank;  /* rank among those of this host */
    uint32_t local_ranks; /* number of ranks on this host; 0 = unknown */
} weft_launcher_t;

/* Detects the launcher of this process from its environment variables. The launcher "none" gives
 * rank 0 of 1.
 * Errors: ERR_ARG, ERR_CONFIG (variables contradict each other; an id or a rank without a number of
 * ranks; or this program has raised privileges, as by set-user-id, with which weft reads none).
 * Blocking: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_launcher_detect(weft_launcher_t *launcher);

/* Sends a unique id from rank 0 to all ranks of a detected launcher's job. Rank 0 passes an id
 * that it made, the other ranks receive it in *id. boot.exchange chooses the way; docs/launchers.md
 * describes the ways and jobs on several hosts.
 * Errors: ERR_ARG, ERR_UNSUPPORTED (nothing here carries an id), ERR_CONFIG, ERR_STATE (after
 * MPI_Finalize), ERR_LINK and ERR_PROTO (the launcher's server), ERR_PEER_DEAD, ERR_TIMEOUT,
 * ERR_SYSTEM.
 * Blocking: up to init_timeout. Thread: any. */
WEFT_EXPORT weft_status_t
weft_launcher_exchange_id(const weft_launcher_t *launcher, weft_unique_id_t *id,
                          const weft_comm_options_t *options) WEFT_MUST_CHECK;

/* Detects the launcher, creates and exchanges the unique id, and joins, in one call. The caller
 * owns *comm_p until weft_comm_destroy().
 * Errors: those of the functions above.
 * Blocking: up to init_timeout. Thread: any. */
WEFT_EXPORT weft_status_t
weft_comm_init_launcher(weft_comm_t **comm_p, const weft_comm_options_t *options) WEFT_MUST_CHECK;

/* Color of ranks that join no new communicator. */
#define WEFT_COLOR_NONE (-1)

/* Makes one new communicator for each color among the ranks of `comm`. Its ranks are ordered by
 * key, then by their rank in `comm`. Every rank of `comm` calls it, in the same order as its other
 * calls. A rank with WEFT_COLOR_NONE gets *child_p = NULL.
 *
 * The child shares the parent's control connections, failure detector, listeners, plugins,
 * configuration and verified plans. It connects to a peer when a plan first needs that peer.
 * Parent and child may be destroyed in any order. The caller owns *child_p until
 * weft_comm_destroy(). On failure *child_p is unchanged.
 * Errors: ERR_ARG (NULL, color below -1), ERR_STATE (also inside a group), ERR_PEER_DEAD,
 * ERR_PEER_LEFT, ERR_TIMEOUT (names the ranks it waited for), ERR_MISMATCH (a rank calls another
 * function), ERR_RESOURCE.
 * Blocking: up to init_timeout. Thread: one. */
WEFT_EXPORT weft_status_t weft_comm_split(weft_comm_t *comm, int32_t color, int32_t key,
                                          weft_comm_t **child_p) WEFT_MUST_CHECK;

/* Makes a communicator of the same ranks in the same order: weft_comm_split() with one color.
 * Errors: as weft_comm_split().
 * Blocking: up to init_timeout. Thread: one. */
WEFT_EXPORT weft_status_t weft_comm_dup(weft_comm_t *comm, weft_comm_t **copy_p) WEFT_MUST_CHECK;

/* Makes a communicator of the `count` ranks ranks[0 … count-1] of `parent`, in this order. Only
 * these ranks call it, with equal arguments. `tag` tells creations apart that are under way at the
 * same time between the same ranks, such as those of two threads; otherwise any number does. A
 * rank that makes several groups makes them in an order that suits all of their members.
 *
 * The parent is not used meanwhile: calls on it may go on, and it may be destroyed. It may have
 * failed: the ranks that live go on without a dead one so. If a member aborts or revokes it
 * meanwhile, or hears of the first revoke by any rank, the call ends with that on all members.
 * The child belongs to the family as with weft_comm_split(), and the caller owns *child_p likewise.
 * Each set of ranks and tag is remembered, in 32 bytes, until the parent is destroyed.
 * On failure *child_p is unchanged, and the creation is over on all members; trying again is legal.
 * Errors: ERR_ARG (NULL, no ranks, a rank out of range or given twice, the caller is not one of
 * them), ERR_STATE (also inside a group), ERR_TIMEOUT (names the members that did not call it with
 * the same ranks and tag), ERR_PEER_DEAD, ERR_PEER_LEFT, ERR_ABORTED, ERR_REVOKED, ERR_RESOURCE.
 * Blocking: up to init_timeout. Thread: any. */
WEFT_EXPORT weft_status_t weft_comm_create_group(weft_comm_t *parent, const uint32_t *ranks,
                                                 uint32_t count, uint32_t tag,
                                                 weft_comm_t **child_p) WEFT_MUST_CHECK;

/* Leaves the communicator and frees it. Waits for operations in flight up to their deadline, then
 * aborts them. Peers that still use the communicator get ERR_PEER_LEFT, or the failure that it had;
 * where they shrink it or agree on it, this rank counts as gone. NULL is allowed.
 * Errors: ERR_STATE (already destroyed, forked child, or another thread is inside a call).
 * Blocking: operations in flight; boot.unresponsive behind a cut or stopped rank. Thread: one. */
WEFT_EXPORT weft_status_t weft_comm_destroy(weft_comm_t *comm);

/* Return the caller's rank and the number of ranks.
 * Errors: ERR_ARG, ERR_STATE.
 * Blocking: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_comm_rank(weft_comm_t *comm, uint32_t *rank);
WEFT_EXPORT weft_status_t weft_comm_size(weft_comm_t *comm, uint32_t *nranks);

/* Describes in one line how a call would run: algorithm, slices, kernel, the tuner's reason, the
 * windows of this rank, and the name of the communicator. Of SEND_RECV `root` is the peer.
 * Writes at most `bytes` bytes, including the final NUL; a longer text is cut between characters.
 * Errors: as the collective, and ERR_STATE while asynchronous calls are under way.
 * Blocking: no. Thread: one. */
WEFT_EXPORT weft_status_t weft_comm_explain(weft_comm_t *comm, weft_coll_t coll, uint64_t count,
                                            weft_dtype_t dtype, weft_op_t op, uint32_t root,
                                            char *text, size_t bytes);

/* Predicts how long a call would take on this communicator, in seconds: the price that the cost
 * model gives to the plan that the tuner chooses. The model knows what weft measured of transports
 * and kernel, or was told by options, and no other load of the machine. Of SEND_RECV it is the time
 * of one message, and `root` is the peer.
 * Errors: as weft_comm_explain(), and ERR_UNSUPPORTED for vector collectives whose lengths no rank
 * knows all (ALL_TO_ALL_V, GATHER_V, SCATTER_V).
 * Blocking: no. Thread: one. */
WEFT_EXPORT weft_status_t weft_comm_predict(weft_comm_t *comm, weft_coll_t coll, uint64_t count,
                                            weft_dtype_t dtype, weft_op_t op, uint32_t root,
                                            double *seconds_p);

/* User reductions ------------------------------------------------------------------------------ */

/* Computes inout[i] = inout[i] op in[i] for `count` elements. The operator must be associative and
 * commutative: the algorithm chooses the order of the ranks, which is the same for every call with
 * equal arguments. Programs that need the order of the ranks (MPI's with commute = 0) gather the
 * inputs and combine them.
 *
 * `in` and `inout` do not overlap. Both are aligned to the element, and no further: they may lie in
 * the caller's buffers. `arg` is weft_op_create()'s. The function returns, and does not call weft.
 * Thread: the one that drives the operation, which is the caller's or the progress thread. */
typedef void (*weft_op_fn_t)(void *inout, const void *in, uint64_t count, weft_dtype_t dtype,
                             void *arg);

/* Makes a user-defined operator of `comm` for host memory. *op_p can be used like any weft_op_t
 * until weft_op_destroy() or the end of the communicator. Every rank must make the same operators
 * in the same order, so that they get the same numbers.
 * Errors: ERR_ARG, ERR_STATE, ERR_UNSUPPORTED (the loaded kernel computes on a device),
 * ERR_RESOURCE (more than 192 at once).
 * Blocking: no. Thread: one. */
WEFT_EXPORT weft_status_t weft_op_create(weft_comm_t *comm, weft_op_fn_t fn, void *arg,
                                         weft_op_t *op_p);

/* Ends a user-defined operator.
 * Errors: ERR_ARG (not an operator of `comm`, or in use by a request or a call of an open group),
 * ERR_STATE.
 * Blocking: no. Thread: one. */
WEFT_EXPORT weft_status_t weft_op_destroy(weft_comm_t *comm, weft_op_t op);

/* Collectives ---------------------------------------------------------------------------------- */

/* Options of one call, weft_call_t. Zero means default in every field, and so does a NULL pointer
 * to the struct. */
struct weft_call {
    size_t size; /* set by the caller to sizeof(weft_call_t) */
    /* NULL: the call returns when the operation is complete on this rank. Otherwise the call
     * returns at once and stores a request in *request_p, which is written during the call only.
     * The buffers must then stay untouched until the request is complete. */
    weft_request_t **request_p;
    /* Deadline in seconds after the call. 0: the option op_timeout; negative or infinity: none;
     * NaN: ERR_ARG. It is looked at in the operation's turn: behind an earlier collective, message
     * of the same ranks and direction, or wait for the same rank, that one's deadline counts. */
    double timeout;
    /* PREMULSUM: this rank's factor, one element of the data type. */
    const void *scalar;
    /* When `scalar` is read; a weft_scalar_read_t. */
    uint32_t scalar_read;
    /* NULL, or the address of a stream handle (CUDA: cudaStream_t *). It is read during the call.
     * See "Streams" below. */
    void *const *stream;
    /* weft_recv(): NULL, or where the sender's rank is stored before the operation completes
     * without an error. The caller keeps the memory until then. Other calls ignore it. */
    uint32_t *source_p;
    /* NULL, or where the operation is entered when it is complete. The call then returns at once,
     * also without request_p. See "Completion queues" below. */
    weft_completion_queue_t *queue;
    void *context; /* returned in the entry of the queue; weft does not look at it */
    /* With request_p: seconds for which the call waits before it returns. If the operation is
     * complete by then, the call returns its final status, stores NULL in *request_p, and enters
     * nothing in a queue. Otherwise, and always for a call within a group, it returns OK and the
     * request. The end of a group, weft_group_end_async(), may be patient itself. For
     * callers that have to look after something else from time to time, such as signals: a call
     * that does not wait long costs what a blocking one does. NaN is ERR_ARG. */
    double patience;
};

/* Streams. With weft_call_t.stream a collective, send or receive is enqueued in a stream of the
 * device that the loaded kernel computes on, and the call returns without waiting. The results are
 * complete when the stream has passed the operation. Until then its buffers, and a factor that is
 * read AT_RUN, belong to the operation. Count vectors and other factors are read during the call.
 * A handle of 0 is a valid stream (CUDA: the legacy default stream). Ranks may use different
 * streams, or none.
 *
 * Order. Operations of one communicator run in the order of the calls, whichever streams they are
 * in; messages do so per peer and direction. A call without a stream starts when all earlier calls
 * in streams have completed; at its deadline the error says what it waits for. It waits for no
 * other work in streams: what uses its buffers there, or in the default one, must be complete.
 *
 * Groups. Consecutive calls of a group for one communicator and one stream become one launch, or
 * one host wait (below) if sends and receives stand beside collectives there. Sends and receives
 * that depend on each other belong in one stream.
 *
 * Errors. A call can return the errors of a call without a stream, and ERR_UNSUPPORTED (the loaded
 * kernel has no streams), ERR_ARG (request_p or queue is set, or the stream is another device's),
 * ERR_STATE (the stream is being captured and the capture was invalidated), ERR_RESOURCE,
 * ERR_SYSTEM. In these cases nothing was enqueued. A later failure puts the communicator into the
 * failed state: weft_comm_error() and every later call report it. The stream continues, with
 * undefined results. Deadlines count from the moment the stream reaches the operation.
 *
 * Capture. Calls into a stream that is being captured (CUDA graphs) are captured, and run with
 * every launch of the graph. All ranks must capture the same calls and launch the graphs in the
 * same order. Captured calls are ordered by streams alone: wait for earlier graph launches before
 * a call without a stream. A call that the device runs itself is captured as a kernel launch,
 * otherwise as a host wait, at which the stream waits while the host runs it. Memory of captured
 * calls is kept until the communicator is destroyed. Destroy it after the last graph launch has
 * completed.
 *
 * Waiting. The first call of each kind makes connections: it waits up to ten seconds for its peers
 * to make the same call. If they have not by then, it is enqueued as a host wait. A thread that
 * drives several ranks makes their calls in one group.
 *
 * weft_comm_destroy() waits for enqueued operations, at most op_timeout without progress, and then
 * stops them. */

/* When the factor of a PREMULSUM is read. With AT_RUN the factor may be the result of an earlier
 * operation; it must stay valid until this operation is complete. */
typedef enum weft_scalar_read {
    WEFT_SCALAR_AT_CALL = 0, /* during the call */
    WEFT_SCALAR_AT_RUN = 1   /* when the operation starts to run */
} weft_scalar_read_t;

/* Rules for all collectives. Every rank calls the same function with the same count, dtype, op and
 * root, in the same order. If the ranks differ they get ERR_MISMATCH, which names two of the ranks
 * and the argument. `count` is in elements, 64 bits wide; 0 is legal (buffers may be NULL) and
 * still synchronises in order. Buffers are host memory or, if the loaded kernel computes on a
 * device, memory of that device, aligned to the element. In-place operation is legal in the form
 * given below; any other overlap is ERR_ARG. `call` may be NULL.
 * Errors: ERR_ARG (NULL or misaligned buffer, NULL vector of counts, overlap, count times size
 * overflows, unknown dtype, op or root, missing scalar, wrong size, scalar_read, timeout or
 * patience of weft_call_t), ERR_STATE (destroyed, two threads, forked child), the first error of a
 * communicator that has failed, ERR_MISMATCH, ERR_PEER_DEAD, ERR_PEER_UNRESPONSIVE, ERR_PEER_LEFT,
 * ERR_LINK, ERR_TIMEOUT (names the ranks it waited for), ERR_ABORTED, ERR_REVOKED, ERR_UNSUPPORTED
 * (no loaded algorithm or kernel can run it), ERR_PLAN, ERR_RESOURCE, ERR_SYSTEM (such as memory
 * that is not mapped, over TCP). After ERR_ARG nothing was sent and the communicator is unchanged.
 * Blocking: until complete on this rank (recv is filled, send may be reused), unless
 * call->request_p, call->queue or call->stream is set. Thread: one. */

/* Computes recv[i] = op over all ranks of send[i], on every rank.
 * In place: send = recv. */
WEFT_EXPORT weft_status_t weft_all_reduce(const void *send, void *recv, uint64_t count,
                                          weft_dtype_t dtype, weft_op_t op, weft_comm_t *comm,
                                          const weft_call_t *call);

/* Reduces block by block: rank r gets the reduction of every rank's block r. send has nranks *
 * count elements, recv has count.
 * In place: recv = send + rank * count. */
WEFT_EXPORT weft_status_t weft_reduce_scatter(const void *send, void *recv, uint64_t count,
                                              weft_dtype_t dtype, weft_op_t op, weft_comm_t *comm,
                                              const weft_call_t *call);

/* Gathers the blocks of all ranks on every rank: block r of recv comes from rank r. send has count
 * elements, recv has nranks * count.
 * In place: send = recv + rank * count. */
WEFT_EXPORT weft_status_t weft_all_gather(const void *send, void *recv, uint64_t count,
                                          weft_dtype_t dtype, weft_comm_t *comm,
                                          const weft_call_t *call);

/* Copies the root's send to recv on every rank. send is read on the root only.
 * In place: send = recv, on the root. */
WEFT_EXPORT weft_status_t weft_broadcast(const void *send, void *recv, uint64_t count,
                                         weft_dtype_t dtype, uint32_t root, weft_comm_t *comm,
                                         const weft_call_t *call);

/* Computes recv[i] = op over all ranks of send[i], on the root. recv is written on the root only.
 * In place: send = recv, on the root. */
WEFT_EXPORT weft_status_t weft_reduce(const void *send, void *recv, uint64_t count,
                                      weft_dtype_t dtype, weft_op_t op, uint32_t root,
                                      weft_comm_t *comm, const weft_call_t *call);

/* Exchanges blocks between all ranks: block b of send goes to rank b, block b of recv comes from
 * rank b. send and recv have nranks * count elements.
 * In place: send = recv. */
WEFT_EXPORT weft_status_t weft_all_to_all(const void *send, void *recv, uint64_t count,
                                          weft_dtype_t dtype, weft_comm_t *comm,
                                          const weft_call_t *call);

/* Gathers the blocks of all ranks on the root: block r of recv comes from rank r. send has count
 * elements. recv has nranks * count on the root and is unused elsewhere.
 * In place: send = recv + root * count, on the root. */
WEFT_EXPORT weft_status_t weft_gather(const void *send, void *recv, uint64_t count,
                                      weft_dtype_t dtype, uint32_t root, weft_comm_t *comm,
                                      const weft_call_t *call);

/* Scatters the root's blocks: rank r receives block r. send has nranks * count elements on the
 * root and is not read elsewhere. recv has count.
 * In place: recv = send + root * count, on the root. */
WEFT_EXPORT weft_status_t weft_scatter(const void *send, void *recv, uint64_t count,
                                       weft_dtype_t dtype, uint32_t root, weft_comm_t *comm,
                                       const weft_call_t *call);

/* Vector collectives have blocks of different lengths. Count and displacement vectors have nranks
 * entries, in elements, and are read during the call. A displacement says where a block starts in
 * its buffer; a NULL vector of displacements means that the blocks follow each other. Blocks of a
 * receive buffer must not overlap, nor, in place, a rank's own block and another. In-place calls
 * are legal where the collective with equal blocks allows it, with the block at its displacement.
 * If two ranks give different counts for one block the result is ERR_MISMATCH, which names the
 * ranks. A rank gives two lengths of its block for itself, too: if they differ it is ERR_ARG. */

/* weft_all_gather() with recv_counts[r] elements from rank r. send has recv_counts[rank] elements.
 * Every rank passes the same counts. */
WEFT_EXPORT weft_status_t weft_all_gather_v(const void *send, void *recv,
                                            const uint64_t *recv_counts,
                                            const uint64_t *recv_displs, weft_dtype_t dtype,
                                            weft_comm_t *comm, const weft_call_t *call);

/* weft_reduce_scatter() with counts[r] elements for rank r. send has the sum of all counts, recv
 * has counts[rank]. Every rank passes the same counts. */
WEFT_EXPORT weft_status_t weft_reduce_scatter_v(const void *send, void *recv,
                                                const uint64_t *counts, const uint64_t *send_displs,
                                                weft_dtype_t dtype, weft_op_t op, weft_comm_t *comm,
                                                const weft_call_t *call);

/* The blocks of one buffer of a vector collective. */
typedef struct weft_blocks {
    const uint64_t *counts; /* elements of each block */
    const uint64_t *displs; /* first element of each block; NULL: the blocks follow each other */
} weft_blocks_t;

/* weft_all_to_all() with send_blocks->counts[b] elements to rank b and recv_blocks->counts[b]
 * elements from rank b. Each rank knows only its own vectors. In place (send = recv) needs equal
 * vectors. */
WEFT_EXPORT weft_status_t weft_all_to_all_v(const void *send, const weft_blocks_t *send_blocks,
                                            void *recv, const weft_blocks_t *recv_blocks,
                                            weft_dtype_t dtype, weft_comm_t *comm,
                                            const weft_call_t *call);

/* weft_gather() with recv_blocks->counts[r] elements from rank r. recv and recv_blocks are used on
 * the root only. */
WEFT_EXPORT weft_status_t weft_gather_v(const void *send, uint64_t send_count, void *recv,
                                        const weft_blocks_t *recv_blocks, weft_dtype_t dtype,
                                        uint32_t root, weft_comm_t *comm, const weft_call_t *call);

/* weft_scatter() with send_blocks->counts[r] elements to rank r. send and send_blocks are used on
 * the root only. */
WEFT_EXPORT weft_status_t weft_scatter_v(const void *send, const weft_blocks_t *send_blocks,
                                         void *recv, uint64_t recv_count, weft_dtype_t dtype,
                                         uint32_t root, weft_comm_t *comm, const weft_call_t *call);

/* Returns when every rank has called it. */
WEFT_EXPORT weft_status_t weft_barrier(weft_comm_t *comm, const weft_call_t *call);

/* Point to point and groups -------------------------------------------------------------------- */

/* weft_recv(): the peer is whoever sends. */
#define WEFT_ANY_RANK UINT32_MAX

/* Sends `count` elements to `peer`, which calls weft_recv() with the same count and dtype.
 * Messages from one rank to another arrive in order. Sends and receives do not wait for
 * collectives, nor collectives for them. A rank can send to itself: in a group, or the first of the
 * two calls is asynchronous. A blocking call to itself without the other before it is ERR_ARG.
 * Errors: as for collectives, and ERR_ARG for a peer out of range, or oneself as said above. A
 * different count or dtype is ERR_MISMATCH on the receiver, which names both ranks and values.
 * Blocking: until the buffer may be reused. A small message is copied, and comes even if this rank
 * then destroys the communicator; larger ones may need the receiver. The first to a rank takes some
 * milliseconds if that rank waits in a call of the family, else waits for that. Thread: one. */
WEFT_EXPORT weft_status_t weft_send(const void *send, uint64_t count, weft_dtype_t dtype,
                                    uint32_t peer, weft_comm_t *comm, const weft_call_t *call);

/* Receives `count` elements from `peer`, or from any rank: WEFT_ANY_RANK. weft_call_t.source_p
 * tells from which.
 *
 * A receive from any rank takes the next message of a rank from which a message is here and that
 * no earlier receive waits for. If there are several such ranks, they are served in turns. Receives
 * called after it, from one rank or from any, wait until it has its message, so that messages and
 * receives meet in the order of the calls. Count and dtype must be those of the message that comes.
 * The call connects to all ranks: any may send. No call asks for messages without receiving them.
 *
 * Errors: as weft_send(), and ERR_ARG for a receive from any rank in a stream. ERR_TIMEOUT names
 * nobody if any rank could have sent.
 * Blocking: until recv is complete. Thread: one. */
WEFT_EXPORT weft_status_t weft_recv(void *recv, uint64_t count, weft_dtype_t dtype, uint32_t peer,
                                    weft_comm_t *comm, const weft_call_t *call);

/* Opens a group in the calling thread. Until the matching weft_group_end(), collectives, sends and
 * receives on any communicator are checked and recorded, and nothing is sent. Groups nest; only
 * the outermost end starts the operations. A thread that ends with an open group drops its calls,
 * with a warning; their requests, and their entries in queues, tell ERR_STATE.
 * Errors: none.
 * Blocking: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_group_start(void);

/* Starts all recorded operations and lets them progress together, so that no order of sends,
 * receives and communicators can deadlock. The sends and receives of a communicator all run at
 * once; its collectives run one after the other beside them. Short ones of one kind in a row run as
 * one, on host memory (exec.fuse_bytes): so the groups of all ranks are alike. The call returns
 * when all operations without request_p, queue and stream are complete, with the first failure in
 * the order of the calls; operations that can complete do so. If a call fails inside the group,
 * nothing of it is started and the failure is returned here again. Factors and vectors are read
 * during the calls; buffers must stay valid until the operations complete. If the group fails,
 * requests and entries in queues of what was not started end with its failure.
 * Errors: ERR_ARG (no open group), ERR_STATE (a communicator of the group was destroyed inside it,
 * or another thread is inside a call of one), ERR_RESOURCE, and those of the operations.
 * Blocking: until the operations are complete. Thread: the one that opened the group. */
WEFT_EXPORT weft_status_t weft_group_end(void);

/* Ends a group like weft_group_end(), but returns at once. The operations without request_p, queue
 * and stream of their own become one operation: one request in *call->request_p, or one entry in
 * call->queue, or both. It is complete when all of them are, and its status is the first failure in
 * the order of the calls. Of `call` only request_p, queue, context and patience may be set; each
 * operation has the deadline of its own call. A group without such operations is complete at once.
 * The communicators of the group may be used by other calls meanwhile, and destroyed.
 * Errors: as weft_group_end(), and ERR_ARG (neither request_p nor queue is set, or another field
 * is), ERR_STATE (not the outermost group). After these two the group stays open. If an error is
 * returned, there is no request and no entry of the group.
 * Blocking: as long as call->patience says. Thread: the one that opened the group. */
WEFT_EXPORT weft_status_t weft_group_end_async(const weft_call_t *call);

#ifdef __cplusplus
}
#endif
#endif
