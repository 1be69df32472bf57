/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls in a communicator that some of its ranks have left, or are about to leave, without a word
 * to the others. `leavers` has a bit for each of their seats. */
#ifndef WEFT_SIMULATION_LEAVERS_H
#define WEFT_SIMULATION_LEAVERS_H

#include "tests/support/mixed_calls.h"

/* True if any of them is in the communicator, and those who stay go on among themselves. Else all
 * make call `number` of mixed_calls.h. */
bool leavers_pass_by(const mixed_t *m, uint64_t leavers, uint32_t number);
/* A number goes round a ring of those who stay, of whom this rank is one: as a message, which some
 * receive from any rank, or as a put. In most steps half of the ranks are late. */
weft_status_t leavers_ring(const mixed_t *m, uint64_t leavers);

#endif
