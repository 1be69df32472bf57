/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank begins a second roll call while an answer to the first one comes in: that answer does not
 * count for the second call.
 * Sources: core/comm/roll_call.c */
#include "core/comm/roll_call.c"
#include "model.h"

static weft_roll_call_t roll;
static weft_comm_identity_t self = {.nranks = 2, .rank = 0};
static weft_peer_status_t peers[2];

static void model_begin(void)
{
    roll_begin(&roll, &self, peers, 1, 0);
}

static void *model_call(void *arg)
{
    (void)arg;
    roll_begin(&roll, &self, peers, 2, 0);
    return NULL;
}

static void *model_answer(void *arg)
{
    (void)arg;
    weft_roll_call_note_begun(&roll, &peers[1], 1);
    return NULL;
}

static void model_end(void)
{
    model_assert(roll_answer(&roll, &peers[1]) == ROLL_UNKNOWN);
}

MODEL_PLAY(model_call, model_answer)
