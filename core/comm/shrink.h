/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Going on without some ranks: the survivors of a communicator agree on who is gone and make a new
 * one. */
#ifndef WEFT_COMM_SHRINK_H
#define WEFT_COMM_SHRINK_H

#include "core/comm/comm.h"

/* Sets *bits to the bit-and over the ranks that live. Thread: any. */
weft_status_t weft_agree(weft_comm_t *comm, uint64_t *bits);

/* Makes the communicator of those that live and are not excluded, with a handle. Thread: any. */
weft_status_t weft_shrink(weft_comm_t *comm, const uint32_t *excluded, uint32_t count,
                          weft_comm_t **child_p);

#endif
