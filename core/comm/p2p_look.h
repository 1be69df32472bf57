/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Judging messages that do not move, whoever moves them: deadlines, peers that left or died, links
 * that broke. The caller owns the communicator. */
#ifndef WEFT_COMM_P2P_LOOK_H
#define WEFT_COMM_P2P_LOOK_H

#include "core/comm/comm.h"
#include "core/comm/put_signature.h"

/* A message that waits for its peer. */
typedef struct weft_p2p_wait {
    const weft_request_t *request; /* started, with its deadline */
    weft_port_t *port;             /* NULL: it is to be connected */
    uint64_t idle_since;           /* when its queue last moved */
    weft_p2p_watch_t *watch;       /* of its queue */
    bool behind;                   /* it waits for a message that is in a stream */
} weft_p2p_wait_t;

/* Fails the communicator if it waits in vain. */
void weft_p2p_look(weft_comm_state_t *state, const weft_p2p_wait_t *wait, uint64_t now);

/* Returns the signature of a message. */
static inline weft_signature_t weft_p2p_signature(const weft_request_t *request)
{
    if (request->args.one_sided != WEFT_ONE_SIDED_NONE) {
        return weft_put_signature(&request->args, request->sequence);
    }
    return (weft_signature_t){.coll = WEFT_SEND_RECV,
                              .dtype = (uint8_t)request->args.dtype,
                              .count = request->args.count,
                              .sequence = (uint32_t)request->sequence};
}

/* Asks `peer`, which may be outside of all calls, to receive puts of this rank from now on. */
void weft_p2p_ask_to_listen(const weft_comm_state_t *state, uint32_t peer);

/* Returns ERR_MISMATCH, and says in what the message of `peer` differs from what is called here. */
weft_status_t weft_p2p_mismatch(const weft_comm_state_t *state, uint32_t peer,
                                const weft_signature_t *here, const weft_signature_t *there);

#endif
