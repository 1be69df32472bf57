/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Part of the user API, included by weft/weft.h: memory that weft allocates, registers and reads in
 * place. */
#ifndef WEFT_MEMORY_H
#define WEFT_MEMORY_H

#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_mem_region weft_mem_region_t; /* registered memory */
typedef struct weft_window weft_window_t;         /* memory that other ranks read directly */

/* Memory --------------------------------------------------------------------------------------- */

/* Allocates zeroed, page-aligned host memory that suits every loaded transport. A size of 0 gives
 * one page. The caller owns the memory until weft_mem_free(). Destroying `comm` frees it at the
 * latest.
 *
 * If the kernel computes on the CPU, ranks of the same host read this memory in place, in calls of
 * any communicator, as if it were a window. Nobody has to register it. It is shared with child
 * processes of fork(), and with processes of the same user that open it through /proc. Pages are
 * taken at once where they can be huge ones, else at the first touch.
 *
 * If `comm` is NULL the memory belongs to the process, may be used with every communicator, also
 * with those made later, and lives until weft_mem_free(NULL, memory). A child of fork() that frees
 * memory of its parent takes it from itself only.
 * Errors: ERR_ARG, ERR_STATE, ERR_RESOURCE (also for 2 MiB and more, if that is not available on
 * the host or within the limit of the control group).
 * Blocking: no. Thread: one; any if `comm` is NULL. */
WEFT_EXPORT weft_status_t weft_mem_alloc(weft_comm_t *comm, uint64_t bytes, void **memory_p);

/* Allocates zeroed memory of the device that the loaded kernel computes on, such as GPU memory.
 * The host cannot load from it or store to it; use weft_mem_copy() or the calls of the device.
 * Ownership is as with weft_mem_alloc().
 * Errors: as weft_mem_alloc(), and ERR_UNSUPPORTED if the kernel computes on host memory.
 * Blocking: no. Thread: one. */
WEFT_EXPORT weft_status_t weft_mem_alloc_device(weft_comm_t *comm, uint64_t bytes, void **memory_p);

/* Copies `bytes` bytes between two areas of host or device memory that calls of `comm` may use.
 * The areas must not overlap. Whatever uses them in streams of the application must be complete
 * before the call, as before any call without a stream (weft.h), also a cudaMemcpy() from pageable
 * memory, which may return before the bytes are on the device.
 * Errors: ERR_ARG (NULL, overlap, memory that wraps around the address space, and, if the kernel
 * computes on a device, memory of neither kind), ERR_STATE, ERR_SYSTEM.
 * Blocking: until the copy is complete. Thread: one. */
WEFT_EXPORT weft_status_t weft_mem_copy(weft_comm_t *comm, void *dst, const void *src,
                                        uint64_t bytes);

/* Frees memory of weft_mem_alloc() or weft_mem_alloc_device(), with the `comm` that was given
 * there. NULL is allowed as memory.
 * Errors: ERR_ARG (not allocated by `comm`, or already freed), ERR_STATE (also if an operation of
 * `comm` that is not complete uses it, or one that is recorded in this thread's open group).
 * Blocking: device memory may wait for the device. Thread: one; any if `comm` is NULL. */
WEFT_EXPORT weft_status_t weft_mem_free(weft_comm_t *comm, void *memory);

/* Registers [memory, memory+bytes) with the transports, which pin it once instead of at each call.
 * Registration is never needed for correctness. The memory must stay mapped until
 * weft_mem_deregister(); the caller owns *region_p until then. Destroying `comm` ends the
 * registration at the latest.
 * Errors: ERR_ARG (NULL, 0 bytes, memory that wraps around the address space), ERR_STATE,
 * ERR_RESOURCE (the text names the limit and the remedy).
 * Blocking: while the memory is pinned. Thread: one. */
WEFT_EXPORT weft_status_t weft_mem_register(weft_comm_t *comm, void *memory, uint64_t bytes,
                                            weft_mem_region_t **region_p);

/* Ends a registration and frees its handle. NULL is allowed.
 * Errors: ERR_ARG (not a region of `comm`, or already ended), ERR_STATE.
 * Blocking: no. Thread: one. */
WEFT_EXPORT weft_status_t weft_mem_deregister(weft_comm_t *comm, weft_mem_region_t *region);

/* Windows. By default a payload between two ranks of one host is copied into a slot, which is
 * memory of weft, and from there to its destination. If the sender's bytes lie in a window that
 * the receiver has imported, the receiver reads them in place and the copy into the slot is
 * skipped. The results are the same. A payload is read in place if
 *   - both ranks compute on CPUs and are threads of one process, or both compute on devices with
 *     peer access to each other and the window is device memory; and
 *   - the payload is the caller's own data, or a result that the plan writes only once.
 *
 * All other payloads go through slots. Each pair of ranks decides on its own. A call then
 * completes only when no rank reads the caller's buffers any longer, so it may wait for peers that
 * are still reading. Sends from 16 KiB on use windows between threads of a process; puts do not.
 *
 * Memory of weft_mem_alloc() is read in place without any window, also by other processes of the
 * host, and also by receives, from 16 KiB on. */

/* Exports [memory, memory+bytes) to all ranks of `comm`, which import it if they can. Every rank
 * of `comm` calls it, in the same order as its other calls, with its own memory and a size of at
 * least 1. Windows are never needed for correctness; a rank that cannot import another rank's
 * window is not an error.
 *
 * The caller owns *window_p until weft_window_deregister() or the end of the communicator. The
 * memory must stay mapped until then, even after a failure; device memory must also stay until the
 * calls of all ranks of the host have failed. On failure *window_p is unchanged.
 * Errors: ERR_ARG (NULL, 0 bytes, memory that wraps around the address space), ERR_STATE (also
 * inside a group), ERR_RESOURCE (more than 16 windows at once, or 2^32 - 1 in all; a rank that
 * lacks memory or threads fails the communicator with it), ERR_UNSUPPORTED (no algorithm serves an
 * all-gather), ERR_MISMATCH (a rank calls another function), and as weft_all_reduce():
 * ERR_PEER_DEAD, ERR_PEER_UNRESPONSIVE, ERR_PEER_LEFT, ERR_LINK, ERR_TIMEOUT, ERR_ABORTED,
 * ERR_REVOKED, or what a failed communicator failed with.
 * Blocking: until earlier calls have completed, then up to init_timeout. Thread: one. */
WEFT_EXPORT weft_status_t weft_window_register(weft_comm_t *comm, void *memory, uint64_t bytes,
                                               weft_window_t **window_p) WEFT_MUST_CHECK;

/* Ends a window. Every rank calls it for the same window: the n-th window registered on one rank
 * belongs to the n-th on the others. After it returns no rank reads the memory. Graphs with
 * captured calls on this memory must not be launched during the call; they may be launched
 * afterwards and then use slots. On a failed communicator the call ends this rank's window without
 * the others. NULL is allowed.
 * Errors: ERR_ARG (not a window of `comm`), ERR_STATE (also inside a group), and those of
 * weft_window_register() that other ranks or the system cause. After these the window is gone, too.
 * Blocking: as weft_window_register(). Thread: one. */
WEFT_EXPORT weft_status_t weft_window_deregister(weft_comm_t *comm, weft_window_t *window);

#ifdef __cplusplus
}
#endif
#endif
