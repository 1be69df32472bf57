/* SPDX-License-Identifier: BSD-3-Clause
 *
 * weft: collective communication between the ranks of a job. The user API.
 *
 * A job is `nranks` ranks, each a process or a thread. One rank makes a unique id, the application
 * carries it to the others, and all call weft_comm_init_rank(). Then every rank calls the same
 * collectives in the same order. When a call fails, weft_comm_error() names who and why.
 *
 * Threads. A communicator is used by one thread at a time; a second one gets ERR_STATE.
 * weft_comm_abort(), weft_comm_error() and the query functions may be called from any thread at any
 * time. Different communicators may be used by different threads at the same time.
 *
 * Deadlines. Every call that waits has one (options `init_timeout`, `op_timeout`; weft_call_t.timeout)
 * and its error says whom it waited for.
 *
 * After a failure the communicator is failed: querying, aborting and destroying it stay legal,
 * everything else returns the first error again. Send buffers of out-of-place calls are intact,
 * receive buffers of the failed call are undefined. Other communicators are untouched.
 *
 * After fork() the child may not use communicators of the parent: every call returns ERR_STATE.
 *
 * Handles are checked: use after destroy returns ERR_STATE, NULL returns ERR_ARG. */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

typedef struct weft_comm weft_comm_t;             /* one rank's end of a communicator */
typedef struct weft_request weft_request_t;       /* one asynchronous operation */
typedef struct weft_mem_region weft_mem_region_t; /* registered memory */
typedef struct weft_window weft_window_t;         /* memory that other ranks read directly */

/* Many communicators. Each has its own queues of slots, so operations of different communicators never
 * wait in each other's way on the wire. What can still hang is the order: a thread that blocks in one
 * communicator does not serve another. If rank 0 calls A then B and rank 1 calls B then A, both
 * blocking, they wait for each other; put the two calls in a group, make them asynchronous, or keep one
 * order on all ranks. A deadline ends such a wait, and the error names the peer and, as far as it is
 * known, the operation and the communicator that the peer is in. */

/* Names and texts --------------------------------------------------------------------------------- */

/* What: version of the library as "0.1.0". Ownership: constant. Thread: any, as for all of these. */
WEFT_EXPORT const char *weft_version(void);
/* What: "ERR_TIMEOUT" and the like; "unknown status" for other numbers. */
WEFT_EXPORT const char *weft_status_name(weft_status_t status);
/* What: the status in words. */
WEFT_EXPORT const char *weft_status_text(weft_status_t status);
/* What: "float", "sum", "all_reduce" …; NULL for other numbers. */
WEFT_EXPORT const char *weft_dtype_name(weft_dtype_t dtype);
WEFT_EXPORT const char *weft_op_name(weft_op_t op);
WEFT_EXPORT const char *weft_coll_name(weft_coll_t coll);
/* What: bytes of one element; 0 for other numbers. */
WEFT_EXPORT size_t weft_dtype_size(weft_dtype_t dtype);

/* Errors ------------------------------------------------------------------------------------------- */

/* What is known of a failure. Strings are empty and numbers −1 where they do not apply. */
typedef struct weft_error {
    size_t size;          /* set by the caller to sizeof(weft_error_t) */
    weft_status_t status; /* WEFT_OK: there was no failure */
    int32_t rank;         /* rank that reports */
    int32_t peer;         /* rank that is the cause */
    int32_t peer_pid;     /* its process */
    int32_t os_errno;     /* of the failed system call */
    uint64_t comm_id;     /* number of the communicator, equal on all ranks */
    uint64_t sequence;  /* number of the operation in the communicator, from 1; 0 outside of one */
    char peer_host[64]; /* host name of the culprit */
    char transport[32]; /* plugin concerned */
    char text[512];     /* what, where, and the remedy: one line for people */
} weft_error_t;

/* What: copies the record of the last failure of the calling thread, for calls without a
 * communicator (or whose communicator was never made). Errors: ERR_ARG. Thread: any. */
WEFT_EXPORT weft_status_t weft_last_error(weft_error_t *error);

/* What: copies the record of the failure that failed `comm`; status is WEFT_OK if it has not failed.
 * Errors: ERR_ARG, ERR_STATE (handle destroyed, or forked child). Blocks: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_comm_error(weft_comm_t *comm, weft_error_t *error);

/* Communicators ------------------------------------------------------------------------------------ */

/* The ticket to a communicator: addresses of the rank that made it, a 32-byte secret and a nonce.
 * Whoever has it can join: carry it over a private channel only. Valid for one communicator, until
 * init_timeout has passed. */
#define WEFT_UNIQUE_ID_BYTES 128
typedef struct weft_unique_id {
    uint8_t bytes[WEFT_UNIQUE_ID_BYTES];
} weft_unique_id_t;

/* How a communicator is made; zero means default in every field, and so does a NULL pointer. All
 * ranks must give the same settings; the agreement check compares them. */
typedef struct weft_comm_options {
    size_t size;        /* sizeof(weft_comm_options_t) */
    const char *config; /* INI file in place of WEFT_CONF, the user's and the system's file */
    const char *const *settings; /* "section.key=value" strings that override everything else */
    uint32_t settings_count;
} weft_comm_options_t;

/* What: makes a unique id and starts to listen for the ranks, in this process, on a thread that ends
 * when all have come or the deadline passes. `options` may be NULL.
 * Errors: ERR_ARG, ERR_CONFIG, ERR_RESOURCE, ERR_SYSTEM. Ownership: the caller's bytes.
 * Blocks: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_unique_id_create(weft_unique_id_t *id,
                                                const weft_comm_options_t *options) WEFT_MUST_CHECK;

/* What: joins as `rank` of `nranks`. Returns when all ranks have joined and agree on plugins,
 * versions and configuration. `id` and `options` may be freed afterwards.
 * Errors: ERR_ARG (NULL, rank out of range, rank taken twice, ranks that disagree about nranks),
 * ERR_STATE (stale id), ERR_CONFIG and ERR_MISMATCH (the first differing key and both values),
 * ERR_PLUGIN, ERR_AUTH, ERR_TIMEOUT (names the ranks that did not come), ERR_PEER_DEAD,
 * ERR_RESOURCE, ERR_SYSTEM. On failure *comm_p is untouched.
 * Ownership: the caller's, until weft_comm_destroy(). Blocks: yes, up to init_timeout. Thread: any;
 * several ranks may be threads of one process. */
WEFT_EXPORT weft_status_t weft_comm_init_rank(weft_comm_t **comm_p, uint32_t nranks,
                                              const weft_unique_id_t *id, uint32_t rank,
                                              const weft_comm_options_t *options) WEFT_MUST_CHECK;

/* What a launcher told this process. */
typedef struct weft_launcher {
    size_t size;   /* set by the caller */
    char name[16]; /* "openmpi", "hydra", "torchrun", "slurm", "none" */
    uint32_t rank, nranks;
    uint32_t local_rank, local_ranks; /* on this host; local_ranks 0 = not told */
} weft_launcher_t;

/* What: recognises the launcher of this process from its environment. "none" gives rank 0 of 1.
 * Errors: ERR_ARG, ERR_CONFIG (variables that contradict each other). Blocks: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_launcher_detect(weft_launcher_t *launcher);

/* What: carries a unique id from rank 0 to all ranks of a recognised launcher's job (see
 * docs/launchers.md for how, and for jobs on several hosts). Rank 0 passes an id that it made, the
 * others receive it in *id. Errors: ERR_ARG, ERR_UNSUPPORTED, ERR_TIMEOUT, ERR_SYSTEM.
 * Blocks: yes, up to init_timeout. Thread: any. */
WEFT_EXPORT weft_status_t
weft_launcher_exchange_id(const weft_launcher_t *launcher, weft_unique_id_t *id,
                          const weft_comm_options_t *options) WEFT_MUST_CHECK;

/* What: detect, create, exchange and init_rank in one call. Errors, blocking: as those. */
WEFT_EXPORT weft_status_t
weft_comm_init_launcher(weft_comm_t **comm_p, const weft_comm_options_t *options) WEFT_MUST_CHECK;

/* Colour of ranks that become members of no new communicator. */
#define WEFT_COLOR_NONE (-1)

/* What: makes one new communicator for each colour among the ranks of `comm`; ranks are ordered by key,
 * then by their rank in `comm`. Every rank of `comm` calls it, in the same order as its other calls. The
 * child shares what the parent has: control tree, health channel, listeners, plugins, configuration,
 * proofs; it connects to a peer when a plan first needs it. Parent and child may be destroyed in
 * any order. A rank with WEFT_COLOR_NONE gets *child_p = NULL.
 * Errors: ERR_ARG (NULL, color below −1), ERR_STATE, ERR_PEER_DEAD, ERR_PEER_LEFT, ERR_TIMEOUT (names
 * whom it waited for), ERR_MISMATCH (a rank calls something else), ERR_RESOURCE. On failure *child_p is
 * untouched. Ownership: the caller's, until weft_comm_destroy(). Blocks: yes, up to init_timeout.
 * Thread: one per communicator. Not inside a group. */
WEFT_EXPORT weft_status_t weft_comm_split(weft_comm_t *comm, int32_t color, int32_t key,
                                          weft_comm_t **child_p) WEFT_MUST_CHECK;

/* What: a communicator of the same ranks in the same order: split with one colour. */
WEFT_EXPORT weft_status_t weft_comm_dup(weft_comm_t *comm, weft_comm_t **copy_p) WEFT_MUST_CHECK;

/* What: leaves the communicator and frees it. Waits for operations under way up to their deadline,
 * then aborts them. Peers that still use it get ERR_PEER_LEFT. NULL is allowed.
 * Errors: ERR_STATE (destroyed before, forked child, or another thread is inside a call).
 * Blocks: only for operations under way. Thread: one. */
WEFT_EXPORT weft_status_t weft_comm_destroy(weft_comm_t *comm);

/* What: fails the communicator on this rank at once: calls under way in other threads return
 * ERR_ABORTED within 1 s. Peers see ERR_ABORTED with this rank as culprit. Never waits for a peer.
 * The communicator must still be destroyed. Errors: ERR_ARG, ERR_STATE. Thread: any. */
WEFT_EXPORT weft_status_t weft_comm_abort(weft_comm_t *comm);

/* What: rank of the caller, number of ranks. Errors: ERR_ARG, ERR_STATE. Thread: any. */
WEFT_EXPORT weft_status_t weft_comm_rank(weft_comm_t *comm, uint32_t *rank);
WEFT_EXPORT weft_status_t weft_comm_size(weft_comm_t *comm, uint32_t *nranks);

/* What: says in one line how a call would run: algorithm, slices, kernel and the tuner's reason.
 * Writes at most `bytes` bytes with the final NUL. Errors: as the collective. Blocks: no.
 * Thread: one. */
WEFT_EXPORT weft_status_t weft_comm_explain(weft_comm_t *comm, weft_coll_t coll, uint64_t count,
                                            weft_dtype_t dtype, weft_op_t op, uint32_t root,
                                            char *text, size_t bytes);

/* Memory ------------------------------------------------------------------------------------------- */

/* What: allocates zeroed memory, page aligned, well suited to every loaded transport. 0 bytes gives
 * one page. Errors: ERR_ARG, ERR_STATE, ERR_RESOURCE. Ownership: the caller's, until weft_mem_free();
 * it may outlive no communicator but `comm`. Blocks: no. Thread: one. */
WEFT_EXPORT weft_status_t weft_mem_alloc(weft_comm_t *comm, uint64_t bytes, void **memory_p);
/* What: allocates zeroed memory of the device that the loaded kernel computes on, e.g. GPU memory. The
 * host can neither load nor store it: weft_mem_copy() or the device's own calls do. Errors: as
 * weft_mem_alloc(), and ERR_UNSUPPORTED when the kernel computes on host memory. Ownership, blocking,
 * thread: as weft_mem_alloc(). */
WEFT_EXPORT weft_status_t weft_mem_alloc_device(weft_comm_t *comm, uint64_t bytes, void **memory_p);
/* What: copies `bytes` bytes between memory that calls of `comm` may use, of the host or the device.
 * The two must not overlap. Errors: ERR_ARG (NULL, overlap, memory of neither), ERR_STATE, ERR_SYSTEM.
 * Blocks: until the bytes are there. Thread: one. */
WEFT_EXPORT weft_status_t weft_mem_copy(weft_comm_t *comm, void *dst, const void *src,
                                        uint64_t bytes);
/* What: frees what one of the two allocated. NULL is allowed. Errors: ERR_ARG (not allocated by
 * `comm`), ERR_STATE. */
WEFT_EXPORT weft_status_t weft_mem_free(weft_comm_t *comm, void *memory);

/* What: tells the transports that [memory, memory+bytes) will be used often, so that they can pin it
 * once. Never needed for correctness. Errors: ERR_ARG, ERR_STATE, ERR_RESOURCE (limit and remedy in
 * the text). Ownership: *region_p is the caller's, until weft_mem_deregister(); the memory must stay
 * mapped until then. Blocks: pinning takes time. Thread: one. */
WEFT_EXPORT weft_status_t weft_mem_register(weft_comm_t *comm, void *memory, uint64_t bytes,
                                            weft_mem_region_t **region_p);
/* What: ends it. NULL is allowed. Errors: ERR_ARG, ERR_STATE. Thread: one. */
WEFT_EXPORT weft_status_t weft_mem_deregister(weft_comm_t *comm, weft_mem_region_t *region);

/* Windows. Between two ranks of a host a message is copied into a slot and from there to where it goes.
 * Where the sender's bytes lie in a window that the receiver has open, the receiver reads them there, and
 * the copy into the slot falls away. Results are the same with and without. It happens where
 *   - both ranks compute on processors and are threads of one process, or both compute on devices that
 *     reach each other, with device memory in the window;
 *   - the payload is what the caller gave, or a result that the plan writes only once.
 * Everything else goes through slots as ever, for each pair of ranks by itself. A call is then over only
 * when nobody reads the caller's buffers any more, so a rank may wait in it for peers that it would have
 * left behind before. Sends and receives do not use windows. */

/* What: shows [memory, memory+bytes) to all ranks of `comm`, which open it where they can. Every rank of
 * `comm` calls it, in the same order as its other calls, with memory and a size of its own, at least 1.
 * Never needed for correctness: a rank that cannot reach another's window is no error.
 * Errors: ERR_ARG (NULL, 0 bytes, memory that wraps around the address space), ERR_STATE (inside a group),
 * ERR_RESOURCE (16 windows at once), ERR_PEER_DEAD, ERR_PEER_LEFT, ERR_TIMEOUT, ERR_MISMATCH (a rank calls
 * something else). On failure *window_p is untouched.
 * Ownership: *window_p is the caller's, until weft_window_deregister() or the end of the communicator;
 * the memory must stay mapped until then, also after a failure. Memory of a device must then stay
 * until the calls of all ranks of the host have failed.
 * Blocks: until the calls before it are over, then up to init_timeout. Thread: one per communicator. */
WEFT_EXPORT weft_status_t weft_window_register(weft_comm_t *comm, void *memory, uint64_t bytes,
                                               weft_window_t **window_p) WEFT_MUST_CHECK;
/* What: ends a window. Every rank calls it, for its window of the same number: the n-th that is
 * registered on one rank belongs to the n-th on the others. When it returns no rank reads the memory any
 * more. Recordings with calls on the memory must not be replayed meanwhile; afterwards they may, and use
 * slots. On a failed communicator it ends this rank's window without the others. NULL is allowed.
 * Errors: ERR_ARG (no window of comm), ERR_STATE (inside a group), and those of the exchange:
 * ERR_PEER_DEAD, ERR_PEER_LEFT, ERR_TIMEOUT, ERR_MISMATCH; the window is gone then, too. Blocks: as
 * weft_window_register(). Thread: one per communicator. */
WEFT_EXPORT weft_status_t weft_window_deregister(weft_comm_t *comm, weft_window_t *window);

/* User reductions ----------------------------------------------------------------------------------- */

/* What: inout[i] = inout[i] op in[i] for `count` elements. Must be associative and commutative: the
 * order of ranks is the algorithm's, the same at every call with equal arguments. May be called from
 * the thread that drives the operation (the caller's or the progress thread) and must not call weft.
 * `in` and `inout` do not overlap and are aligned to 64 bytes at least for the first slice of a message,
 * to the element always. */
typedef void (*weft_op_fn_t)(void *inout, const void *in, uint64_t count, weft_dtype_t dtype,
                             void *arg);

/* What: makes an operator of `comm` for host memory, usable wherever a weft_op_t is. Every rank makes
 * the same operators in the same order, so that they get the same numbers. Errors: ERR_ARG, ERR_STATE,
 * ERR_UNSUPPORTED (the loaded kernel computes on a device), ERR_RESOURCE (192 at once). Ownership: until
 * weft_op_destroy() or the end of the communicator. Blocks: no. Thread: one per communicator. */
WEFT_EXPORT weft_status_t weft_op_create(weft_comm_t *comm, weft_op_fn_t fn, void *arg,
                                         weft_op_t *op_p);
/* What: ends it. Errors: ERR_ARG (not an operator of comm, or one in use by a request). */
WEFT_EXPORT weft_status_t weft_op_destroy(weft_comm_t *comm, weft_op_t op);

/* Collectives --------------------------------------------------------------------------------------- */

/* Options of one call; zero means default in every field, and so does a NULL pointer. */
typedef struct weft_call {
    size_t size;                /* sizeof(weft_call_t) */
    weft_request_t **request_p; /* NULL: the call returns when the operation is done on this rank.
                                   Else: it returns at once and *request_p stands for the operation;
                                   buffers must stay untouched until it is done. */
    double timeout;             /* seconds; 0 = option op_timeout; negative = no deadline */
    const void *scalar;         /* PREMULSUM: this rank's factor, one element of the data type */
    uint32_t scalar_read;       /* weft_scalar_read_t: when it is read */
    void *const *stream; /* NULL, or the address of a stream's handle (CUDA: cudaStream_t *): see
                                   "Streams"; read during the call */
} weft_call_t;

/* Streams. With weft_call_t.stream a collective, send or receive is put into a stream of the device that
 * the loaded kernel computes on, behind what is there, and the call returns: the host never waits. The
 * results are there when the stream has passed the operation; until then its buffers, and a factor that
 * is read AT_RUN, belong to it. Vectors and other factors are read during the call. A handle of 0 is a
 * stream too (CUDA: the legacy one); ranks may use different streams, or none.
 * Order. Operations of one communicator happen in the order of the calls, whatever their streams and
 * whether they are in one. A call without a stream begins when those before it in streams are over; when
 * that takes longer than its deadline, its error says what it waits for. Messages keep the order of their
 * calls per peer and direction.
 * Groups. Neighbouring calls of a group for one communicator and one stream are one launch. Sends and
 * receives that need each other belong into one stream.
 * Errors of the call: as without a stream, and ERR_UNSUPPORTED (the loaded kernel has no streams), ERR_ARG
 * (request_p set; a stream of another device), ERR_STATE (the stream is being captured, and the capture
 * was spoilt), ERR_RESOURCE, ERR_SYSTEM; then nothing was put into the stream. What goes wrong later fails
 * the communicator: weft_comm_error() and every later call tell it, and the stream goes on, past results
 * that are undefined. Deadlines count from the moment at which the stream comes to the operation.
 * Capture. Calls into a stream that is being captured (CUDA graphs) are captured, and happen with every
 * replay. All ranks capture the same calls and replay them in the same order. Captured calls are ordered by
 * streams alone: before a call without a stream, wait for the replays before it. A call whose like ran
 * before is captured as a launch, else as a place where the stream waits for the host. Memory of captured
 * calls is kept until the communicator is destroyed; destroy it after the last replay.
 * weft_comm_destroy() waits for what is in streams, no longer than op_timeout without progress, and then
 * stops it. */

/* When the factor of a PREMULSUM is read. AT_RUN lets a value that an earlier operation produces be
 * used: it must stay valid until the operation is done. */
typedef enum weft_scalar_read {
    WEFT_SCALAR_AT_CALL = 0, /* during the call */
    WEFT_SCALAR_AT_RUN = 1   /* when the operation begins to run */
} weft_scalar_read_t;

/* Rules for all collectives. Every rank calls the same function with the same count, dtype, op and
 * root, in the same order; if not, the ranks get ERR_MISMATCH that names two of them and the field.
 * `count` is in elements, 64 bits; 0 is legal (buffers may be NULL) and still synchronises in order.
 * Buffers are host memory or, where the loaded kernel computes on a device, memory of that device,
 * aligned to the element. In place is legal in the form given; any other
 * overlap is ERR_ARG.
 * Errors: ERR_ARG (NULL or misaligned buffer, overlap, count × size overflows, unknown dtype, op or
 * root, missing scalar), ERR_STATE (destroyed, failed before, two threads, forked), ERR_MISMATCH,
 * ERR_PEER_DEAD, ERR_PEER_UNRESPONSIVE, ERR_PEER_LEFT, ERR_LINK, ERR_TIMEOUT (names whom it waited
 * for), ERR_ABORTED, ERR_UNSUPPORTED (no loaded algorithm or kernel serves it), ERR_PLAN,
 * ERR_RESOURCE. An ERR_ARG leaves the communicator as it was: nothing was sent.
 * Blocks: until done on this rank (recv complete, send reusable), unless call->request_p is set.
 * Thread: one per communicator. */

/* What: recv[i] = op over all ranks of send[i], on every rank. In place: send = recv. */
WEFT_EXPORT weft_status_t weft_all_reduce(const void *send, void *recv, uint64_t count,
                                          weft_dtype_t dtype, weft_op_t op, weft_comm_t *comm,
                                          const weft_call_t *call);

/* What: send has nranks × count elements, recv count; rank r gets the reduction of everybody's block
 * r. In place: recv = send + rank × count. */
WEFT_EXPORT weft_status_t weft_reduce_scatter(const void *send, void *recv, uint64_t count,
                                              weft_dtype_t dtype, weft_op_t op, weft_comm_t *comm,
                                              const weft_call_t *call);

/* What: send has count elements, recv nranks × count: block r comes from rank r. In place:
 * send = recv + rank × count. */
WEFT_EXPORT weft_status_t weft_all_gather(const void *send, void *recv, uint64_t count,
                                          weft_dtype_t dtype, weft_comm_t *comm,
                                          const weft_call_t *call);

/* What: recv on every rank = send of the root. send is read on the root only; in place there:
 * send = recv. */
WEFT_EXPORT weft_status_t weft_broadcast(const void *send, void *recv, uint64_t count,
                                         weft_dtype_t dtype, uint32_t root, weft_comm_t *comm,
                                         const weft_call_t *call);

/* What: recv on the root = op over all ranks of send. recv is written on the root only; in place
 * there: send = recv. */
WEFT_EXPORT weft_status_t weft_reduce(const void *send, void *recv, uint64_t count,
                                      weft_dtype_t dtype, weft_op_t op, uint32_t root,
                                      weft_comm_t *comm, const weft_call_t *call);

/* What: send and recv have nranks × count elements; block b of send goes to rank b, block b of recv
 * comes from rank b. In place: send = recv. */
WEFT_EXPORT weft_status_t weft_all_to_all(const void *send, void *recv, uint64_t count,
                                          weft_dtype_t dtype, weft_comm_t *comm,
                                          const weft_call_t *call);

/* What: send has count elements; recv has nranks × count on the root, where block r comes from rank r,
 * and is not used elsewhere. In place on the root: send = recv + root × count. */
WEFT_EXPORT weft_status_t weft_gather(const void *send, void *recv, uint64_t count,
                                      weft_dtype_t dtype, uint32_t root, weft_comm_t *comm,
                                      const weft_call_t *call);

/* What: send has nranks × count elements on the root and is not read elsewhere; rank r receives block
 * r. In place on the root: recv = send + root × count. */
WEFT_EXPORT weft_status_t weft_scatter(const void *send, void *recv, uint64_t count,
                                       weft_dtype_t dtype, uint32_t root, weft_comm_t *comm,
                                       const weft_call_t *call);

/* V-forms: blocks of different lengths. Vectors have nranks entries, in elements; they are read during
 * the call. `displs` say where each block starts in its buffer; NULL means one after the other. Blocks of
 * a receive buffer must not overlap. In place is legal where the fixed form allows it, with the block at
 * its displacement. A count that two ranks see differently is ERR_MISMATCH and names both. */

/* What: all_gather with recv_counts[r] elements from rank r; send has recv_counts[rank] of them.
 * Every rank passes the same counts. */
WEFT_EXPORT weft_status_t weft_all_gather_v(const void *send, void *recv,
                                            const uint64_t *recv_counts,
                                            const uint64_t *recv_displs, weft_dtype_t dtype,
                                            weft_comm_t *comm, const weft_call_t *call);

/* What: reduce_scatter with counts[r] elements for rank r; send has the sum of counts, recv
 * counts[rank]. Every rank passes the same counts. */
WEFT_EXPORT weft_status_t weft_reduce_scatter_v(const void *send, void *recv,
                                                const uint64_t *counts, const uint64_t *send_displs,
                                                weft_dtype_t dtype, weft_op_t op, weft_comm_t *comm,
                                                const weft_call_t *call);

/* Blocks of one side of an all_to_all_v. */
typedef struct weft_blocks {
    const uint64_t *counts;
    const uint64_t *displs; /* NULL: packed */
} weft_blocks_t;

/* What: all_to_all with send_blocks.counts[b] elements to rank b and recv_blocks.counts[b] from rank b.
 * Each rank knows its own vectors only; in place (send = recv) needs equal vectors. */
WEFT_EXPORT weft_status_t weft_all_to_all_v(const void *send, const weft_blocks_t *send_blocks,
                                            void *recv, const weft_blocks_t *recv_blocks,
                                            weft_dtype_t dtype, weft_comm_t *comm,
                                            const weft_call_t *call);

/* What: gather with recv_blocks.counts[r] elements from rank r; recv and recv_blocks are used on the
 * root only. */
WEFT_EXPORT weft_status_t weft_gather_v(const void *send, uint64_t send_count, void *recv,
                                        const weft_blocks_t *recv_blocks, weft_dtype_t dtype,
                                        uint32_t root, weft_comm_t *comm, const weft_call_t *call);

/* What: scatter with send_blocks.counts[r] elements to rank r; send and send_blocks are used on the
 * root only. */
WEFT_EXPORT weft_status_t weft_scatter_v(const void *send, const weft_blocks_t *send_blocks,
                                         void *recv, uint64_t recv_count, weft_dtype_t dtype,
                                         uint32_t root, weft_comm_t *comm, const weft_call_t *call);

/* What: returns when every rank has called it. */
WEFT_EXPORT weft_status_t weft_barrier(weft_comm_t *comm, const weft_call_t *call);

/* Point to point and groups --------------------------------------------------------------------------- */

/* What: sends count elements to `peer`, which calls weft_recv with the same count and dtype. Messages
 * from one rank to another arrive in order; they do not wait for collectives, nor these for them. To
 * itself a rank sends in a group, or asynchronously.
 * Errors: as for collectives; a different count or dtype is ERR_MISMATCH on the receiver and names
 * both ranks and values. Blocks: until the buffer may be reused, which may need the receiver. */
WEFT_EXPORT weft_status_t weft_send(const void *send, uint64_t count, weft_dtype_t dtype,
                                    uint32_t peer, weft_comm_t *comm, const weft_call_t *call);
/* What: receives them. Blocks: until recv is complete. */
WEFT_EXPORT weft_status_t weft_recv(void *recv, uint64_t count, weft_dtype_t dtype, uint32_t peer,
                                    weft_comm_t *comm, const weft_call_t *call);

/* What: opens a group in the calling thread. Until the matching weft_group_end() collectives, sends
 * and receives on any communicators are checked and noted, and nothing is sent. Groups nest; the
 * outermost end counts. Errors: none. Thread: any. */
WEFT_EXPORT weft_status_t weft_group_start(void);

/* What: starts everything that was noted and lets it progress together, so that no order of sends and
 * receives, and no order of communicators, can make it hang: the sends and receives of a communicator all
 * run at once, its collectives one after the other beside them. Returns when all operations without
 * request_p are done; the others are then under way. Returns the first failure (in order of the calls);
 * all that can finish does.
 * Errors: ERR_ARG (no open group), and those of the operations. Blocks: yes. Thread: the one that opened
 * it. A call that fails inside the group keeps the whole of it from starting, and its failure is
 * returned here again. Scalars and vectors are read during the calls; buffers must stay until the end. */
WEFT_EXPORT weft_status_t weft_group_end(void);

/* Requests ------------------------------------------------------------------------------------------ */

/* What: looks whether the operation is done, making progress. Returns: IN_PROGRESS, or its final
 * status, and then the request is gone (*request_p = NULL). Errors: ERR_ARG, ERR_STATE (noted in a
 * group that is still open) and those of the operation. Blocks: no. Thread: one per communicator. */
WEFT_EXPORT weft_status_t weft_request_test(weft_request_t **request_p);

/* What: waits for the end, at most up to the operation's deadline; the request is gone afterwards.
 * Errors: ERR_ARG and those of the operation. Blocks: yes. Thread: one per communicator. */
WEFT_EXPORT weft_status_t weft_request_wait(weft_request_t **request_p);

#ifdef __cplusplus
}
#endif
#endif
