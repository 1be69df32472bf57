/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The choice of the program of a call. */
#ifndef WEFT_COMM_SELECT_H
#define WEFT_COMM_SELECT_H

#include "core/comm/comm.h"

/* Returns the prepared program of a call, from the cache or made now. args->count of a vector
 * collective is the size of its class, equal on all ranks: see weft_vectors_class().
 * ERR_UNSUPPORTED: no algorithm serves the call, on all ranks alike. Other failures are those of
 * proof, memory and kernel. Thread: the owner. */
weft_status_t weft_select(weft_comm_state_t *state, const weft_args_t *args,
                          weft_prepared_t **prepared_p);

#endif
