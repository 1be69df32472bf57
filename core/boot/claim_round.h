/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All ranks claim an id that they have: the end of an exchange that knows nothing of its ranks. */
#ifndef WEFT_BOOT_CLAIM_ROUND_H
#define WEFT_BOOT_CLAIM_ROUND_H

#include "core/boot/claim.h"

/* Connects to the root and returns when all ranks have claimed the id. From the connection until
 * then the death of a rank is named to all. Blocks until `until` at most. ERR_LINK: nobody
 * listens, or ERR_AUTH: somebody else does; both only before the root has answered. Else the
 * failure that the root tells, ERR_PEER_DEAD if rank 0 has ended, ERR_TIMEOUT. */
weft_status_t weft_claim_round(const weft_unique_id_t *id, uint32_t rank, uint32_t nranks,
                               uint64_t until);

/* Its two halves, for who tries again. The first one connects, and fails as weft_claim_open() does,
 * with ERR_TIMEOUT also at `until`; the claim is open only if it returns OK. The second one waits,
 * and closes the claim. */
weft_status_t weft_claim_round_begin(const weft_unique_id_t *id, uint32_t rank, uint32_t nranks,
                                     uint64_t until, weft_claim_t *claim);
weft_status_t weft_claim_round_end(weft_claim_t *claim, uint64_t until);

#endif
