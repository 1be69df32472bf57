/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NCCL's handle of a window. */
#ifndef BINDINGS_NCCL_WINDOW_H
#define BINDINGS_NCCL_WINDOW_H

#include <weft/weft.h>

#include "bindings/nccl/types.h"

/* Holds a window of the communicator, which the caller holds. ncclInvalidArgument: NULL, no window,
 * one that was deregistered, or one of another communicator. */
ncclResult_t nccl_window_hold(const char *call, ncclComm_t comm, ncclWindow_t window);
void nccl_window_release(ncclWindow_t window);
/* weft's window, which ends when the program deregisters it, whoever holds it. NULL: it has. */
weft_window_t *nccl_window_of_weft(ncclWindow_t window);

#endif
