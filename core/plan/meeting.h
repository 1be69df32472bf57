/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Meetings. Before a run the devices of all ranks tell each other, in their first messages, whether
 * everything that they send lies in windows which the others have open. If all say so, a message is
 * a chunk of any length that is read where it is (weft/plugin/draft/lanes.h). Plans allow that if
 * each rank hears from each other one before it needs anything. */
#ifndef WEFT_PLAN_MEETING_H
#define WEFT_PLAN_MEETING_H

#include "core/plan/plan_ir.h"

/* Windows are read inside a host; nobody asks for plans of more ranks than this. */
#define WEFT_MEETING_RANKS 64u

/* Stores whether the ranks of these plans can meet: each has one lane, and one queue to and from
 * every other rank; its first message to each is a chunk of IN, sent before it waits for any; all
 * that it sends stays unchanged to the end of the run if IN and OUT are two buffers; and a queue of
 * `slots` slots holds all chunks of a pass. ERR_RESOURCE. */
weft_status_t weft_plan_meets(weft_plan_t *const *plans, uint32_t nranks, uint32_t slots,
                              bool *meets_p);

#endif
