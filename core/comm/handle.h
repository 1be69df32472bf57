/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Handles. A weft_comm_t * is a checked number and not an address, so that the use of a destroyed
 * communicator is an error and not a crash. */
#ifndef WEFT_COMM_HANDLE_H
#define WEFT_COMM_HANDLE_H

#include "core/comm/holdings.h"

/* Makes the handle of a communicator. ERR_RESOURCE: too many. Thread: any. */
weft_status_t weft_handle_add(weft_comm_state_t *state, weft_comm_t **handle_p);
void weft_handle_remove(weft_comm_t *handle);

/* Takes the communicator for the calling thread, which calls weft_comm_leave() at the end. Waits
 * for the progress thread to finish its round. ERR_ARG: NULL. ERR_STATE: destroyed, forked, or
 * another thread is inside a call. */
weft_status_t weft_comm_enter(weft_comm_t *handle, const char *call, weft_comm_state_t **state_p);
void weft_comm_leave(weft_comm_state_t *state);

/* Takes the communicator of a request that is not done, if it is free, for a thread that waits or
 * tests; weft_comm_leave() gives it back. NULL: another thread has it, or it is gone. ERR_STATE:
 * forked. Thread: any. */
weft_status_t weft_comm_try_enter(weft_comm_t *handle, const char *call,
                                  weft_comm_state_t **state_p);

/* Runs `visit` while the handle cannot be destroyed, without taking the communicator: for calls
 * that any thread may make at any time. ERR_ARG, ERR_STATE. */
weft_status_t weft_handle_visit(weft_comm_t *handle, const char *call,
                                void (*visit)(weft_comm_state_t *state, void *arg), void *arg);

/* Returns an extension of the communicator's kernel, and the kernel in *kernel_p, for tools that
 * look inside; both live as long as the communicator. NULL: the kernel has no such extension, or
 * the handle is not valid. Thread: any. */
const void *weft_comm_kernel(weft_comm_t *comm, const char *extension, weft_kernel_t **kernel_p);

/* Takes what this rank holds for the communicator (holdings.h), for tools. ERR_ARG, ERR_STATE as
 * weft_comm_enter(). */
weft_status_t weft_comm_holdings(weft_comm_t *comm, weft_holdings_t *holdings);

#endif
