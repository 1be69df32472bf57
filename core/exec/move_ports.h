/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ports of one slice of a MOVE: looking whether they are ready, comparing signatures, and
 * giving slots on. `at` has the places of all operands. */
#ifndef WEFT_EXEC_MOVE_PORTS_H
#define WEFT_EXEC_MOVE_PORTS_H

#include "core/exec/interpreter_state.h"

/* What the messages of a slice say. */
typedef struct weft_move_message {
    const weft_signature_t *signature;
    uint64_t bytes;
    const weft_zero_copy_t *where; /* by destination, where payloads are; NULL: in slots */
} weft_move_message_t;

/* Returns the first operand of a mask that is not empty. */
static inline uint32_t weft_move_first(uint32_t mask)
{
    return (uint32_t)__builtin_ctz(mask);
}

/* Returns the first port that is not ready, or NULL. `bytes`: of each message to send. */
static inline weft_port_t *weft_move_blocker(const weft_shape_t *shape, const weft_place_t *at,
                                             uint64_t bytes)
{
    for (uint32_t left = shape->receives; left != 0; left &= left - 1) {
        weft_port_t *port = at[weft_move_first(left)].port;
        if (!weft_port_can_receive(port)) {
            return port;
        }
    }
    for (uint32_t left = shape->sends; left != 0; left &= left - 1) {
        weft_port_t *port = at[weft_move_first(left)].port;
        if (!weft_port_can_send(port, bytes)) {
            return port;
        }
    }
    return NULL;
}

/* Compares the signatures of the messages that have come with `mine`. False: the run notes which
 * differs. */
static inline bool weft_move_signatures_match(weft_interpreter_t *run, const weft_shape_t *shape,
                                              const weft_place_t *at, const weft_signature_t *mine)
{
    for (uint32_t left = shape->receives; left != 0; left &= left - 1) {
        weft_port_t *port = at[weft_move_first(left)].port;
        /* A copy first: the peer can write shared memory at any time. */
        weft_signature_t theirs = *weft_port_signature(port);
        if (!weft_signature_equal(&theirs, mine)) {
            run->mismatched = port;
            run->signature = *mine;
            run->theirs = theirs;
            return false;
        }
    }
    return true;
}

/* Sends and releases the slots, after the data is in place. It goes on if one link breaks at this
 * moment: the slice is done, and the other ports must stay in step. */
static inline weft_status_t weft_move_publish(weft_interpreter_t *run, const weft_shape_t *shape,
                                              const weft_place_t *at,
                                              const weft_move_message_t *message)
{
    weft_status_t status = WEFT_OK;
    for (uint32_t left = shape->sends; left != 0; left &= left - 1) {
        uint32_t i = weft_move_first(left);
        const weft_zero_copy_t *where = message->where != NULL ? &message->where[i] : NULL;
        weft_status_t one = weft_port_send(at[i].port, message->signature, message->bytes, where);
        if (status == WEFT_OK && one != WEFT_OK) {
            status = one;
            run->blocked = at[i].port;
        }
    }
    for (uint32_t left = shape->receives; left != 0; left &= left - 1) {
        /* A peer that has sent its last message may be gone. The next receive tells if the slot
         * cannot be offered again. */
        weft_status_t offered = weft_port_release(at[weft_move_first(left)].port);
        (void)offered;
    }
    return status;
}

#endif
