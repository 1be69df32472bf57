/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registrations that a program ends while another of its threads is inside a call. weft lets one
 * thread at a time into a communicator; NCCL does not look, and frameworks count on that: their
 * watchdogs deregister memory before they abort, and their allocators wherever they free it. */
#ifndef BINDINGS_NCCL_RETIRED_H
#define BINDINGS_NCCL_RETIRED_H

#include <stdbool.h>

#include <weft/weft.h>

/* What ends later, of one communicator; NULL: nothing. */
typedef _Atomic(struct nccl_retired *) nccl_retired_t;

/* Whether that another thread is inside a call is why a call of weft returned the status. */
bool nccl_retired_must_wait(weft_comm_t *comm, weft_status_t status);
/* Ends a window and a region, either of which may be NULL, now or with nccl_retired_end(). */
weft_status_t nccl_retire(weft_comm_t *comm, nccl_retired_t *list, weft_window_t *window,
                          weft_mem_region_t *region);
/* Ends those that had to wait. */
void nccl_retired_end(weft_comm_t *comm, nccl_retired_t *list);
/* Forgets them, when the communicator has ended. */
void nccl_retired_forget(nccl_retired_t *list);

#endif
