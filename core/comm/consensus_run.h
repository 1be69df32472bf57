/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Running a consensus among voters. */
#ifndef WEFT_COMM_CONSENSUS_RUN_H
#define WEFT_COMM_CONSENSUS_RUN_H

#include "core/comm/consensus.h"
#include "core/comm/voters.h"

/* Contributes `bits` to consensus `round` of a call and waits for the decision, at most [boot]
 * init_timeout; `what` is the call, for the texts. Until it is decided the call is open: made
 * again, it goes on with what was contributed first, and `bits` do not count. ERR_STATE: the
 * call is open with other bits in round 0. ERR_TIMEOUT: names those that did not come.
 * ERR_PEER_DEAD: the others take this rank for dead. ERR_ABORTED: this rank has aborted the
 * communicator meanwhile. ERR_RESOURCE. Thread: any. */
weft_status_t weft_consensus_run(weft_voters_t *p, const char *what, uint32_t round, uint64_t bits,
                                 weft_consensus_value_t *value_p);

#endif
