/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of a communicator. The first one makes its family; a child retains it, and costs memory
 * only until a plan needs a link. */
#ifndef WEFT_COMM_COMM_CREATE_H
#define WEFT_COMM_COMM_CREATE_H

#include "core/comm/comm.h"

/* Makes the first communicator of a family, and the family, as weft_family_create(). */
weft_status_t weft_comm_create(uint32_t nranks, const weft_unique_id_t *id, uint32_t rank,
                               const weft_comm_options_t *options, const weft_config_t *like,
                               weft_comm_state_t **state_p);

/* Makes one more communicator of a family. ERR_RESOURCE. */
weft_status_t weft_comm_create_child(const weft_comm_setup_t *setup, weft_comm_state_t **state_p);

/* Tells the other ranks that this one leaves, and drops what the family keeps to answer them. A
 * communicator that has failed is left likewise: they may shrink it, and would wait. */
void weft_comm_tell_leave(weft_comm_state_t *state);

/* Frees it, and the family with its last communicator. Nothing is under way, except in streams,
 * whose runs are stopped. */
void weft_comm_free(weft_comm_state_t *state);

#endif
