/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Part of the user API, included by weft/weft.h: calls of which only one rank makes one end. A rank
 * puts bytes into a window of another one, and raises a signal there; the other one waits for the
 * signal. NCCL has the same as ncclPutSignal(), ncclSignal() and ncclWaitSignal(), OpenSHMEM as
 * shmem_put_signal() and shmem_signal_wait_until(), MPI as MPI_Put() and its synchronization.
 *
 * A rank counts the signals of each other rank. A put raises its signal when all its bytes, and
 * those of all earlier puts of the same rank, are there. Signals are taken by waits, in the order
 * of the waits.
 *
 * The target makes no call for a put to arrive. If none of its threads is inside a call of the
 * communicator, the progress thread takes what has come, which it looks for about every millisecond
 * once a rank has put there. It does so where the target has made a window or a one-sided call in
 * the communicator: before that, a rank that signals waits until the target is in a call of it.
 * Puts need no memory of a particular kind and work over every transport. The bytes are copied into
 * the window by the target's process. That process must therefore run: a put to a stopped one
 * waits, as soon as the slots of its connection are full.
 *
 * Between ranks the calls are not ordered with sends, receives and collectives: a signal says that
 * the puts before it are there, and nothing else. They may stand in groups. In a stream the host
 * makes them, when the stream has come there. */
#ifndef WEFT_ONE_SIDED_H
#define WEFT_ONE_SIDED_H

#include <weft/completion.h>
#include <weft/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_call weft_call_t; /* options of a call: weft.h */

/* Makes a window for puts only. It is as one of weft_window_register() for the calls below, but
 * peers never read it in place, the other ranks do not take part, and there may be any number.
 * Windows of both kinds are known by the order in which a rank registers them, so all ranks
 * register theirs in the same order: the n-th window of one rank is the n-th of the others. A put
 * that arrives before the window is registered waits for it.
 *
 * The caller owns *window_p until weft_window_deregister(), which the other ranks need not call
 * then, or the end of the communicator. The memory must stay mapped until then. Ending it waits for
 * a put that has begun to arrive in it, as long as the deadline of that put is, or until its rank
 * is found not to answer (option boot.unresponsive), which fails the communicator.
 * Errors: ERR_ARG (NULL, 0 bytes, memory that wraps around the address space), ERR_STATE (also
 * inside a group), ERR_RESOURCE (also behind 2^32 - 1 windows of both kinds), or what a failed
 * communicator failed with. A call that fails is not counted among the windows.
 * Blocking: no. Thread: one. */
WEFT_EXPORT weft_status_t weft_window_register_local(weft_comm_t *comm, void *memory,
                                                     uint64_t bytes,
                                                     weft_window_t **window_p) WEFT_MUST_CHECK;

/* Puts `count` elements into the peer's window that belongs to `window`, from `offset` bytes on,
 * and raises a signal at the peer. `window` is this rank's own; its memory is not used. `peer` may
 * be this rank. A count of 0 is a signal alone, and `window` may be NULL then.
 *
 * The call completes when `send` may be changed, which says nothing about the peer.
 * Errors: as weft_send(), and ERR_ARG (not a window of `comm`, an offset beyond 2^48 - 1). A put
 * beyond the end of the peer's window, or into one that the peer has deregistered, is ERR_MISMATCH
 * at the peer, which names both ranks, and fails the communicator.
 * Blocking: until the buffer may be reused, which may need the peer's process. Thread: one. */
WEFT_EXPORT weft_status_t weft_put_signal(const void *send, uint64_t count, weft_dtype_t dtype,
                                          uint32_t peer, weft_window_t *window, uint64_t offset,
                                          weft_comm_t *comm, const weft_call_t *call);

/* Raises a signal at the peer, when all earlier puts of this rank to it are there.
 * Errors and blocking: as weft_put_signal(). Thread: one. */
WEFT_EXPORT weft_status_t weft_signal(uint32_t peer, weft_comm_t *comm, const weft_call_t *call);

/* Waits for `count` signals of `peer`, and takes them. The bytes of the puts that raised them are
 * then in the window. To wait for several ranks at once, put one call for each into a group.
 * Errors: as weft_recv(). ERR_TIMEOUT names the peer.
 * Blocking: until they have come. Thread: one. */
WEFT_EXPORT weft_status_t weft_wait_signal(uint32_t peer, uint64_t count, weft_comm_t *comm,
                                           const weft_call_t *call);

#ifdef __cplusplus
}
#endif
#endif
