/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One round of claims. */
#include "core/boot/claim_round.h"

#include "core/base/error.h"
#include "core/boot/unique_id.h"
#include "core/os/os.h"

/* The root knows who is missing, so its answer is awaited a little beyond our own deadline. */
#define GRACE_NS (WEFT_NS_PER_S / 2)

static weft_status_t claim_round_root_lost(uint32_t rank)
{
    weft_fail(WEFT_ERR_PEER_DEAD, 0,
              "rank 0, which made the unique id, ended while it was exchanged");
    weft_error_record()->rank = (int32_t)rank;
    weft_error_record()->peer = 0;
    return weft_error_record()->status;
}

weft_status_t weft_claim_round_begin(const weft_unique_id_t *id, uint32_t rank, uint32_t nranks,
                                     uint64_t until, weft_claim_t *claim)
{
    weft_id_t opened;
    weft_join_request_t self;
    *claim = (weft_claim_t){.fd = -1};
    weft_status_t status = weft_join_request_make(&self, rank, nranks, NULL, 0);
    if (status == WEFT_OK) {
        status = weft_id_decode(id, &opened);
    }
    if (status == WEFT_OK) {
        status = weft_claim_open(claim, &opened, &self, until);
        weft_id_wipe(&opened);
    }
    if (status != WEFT_OK) {
        weft_claim_close(claim);
    }
    return status;
}

weft_status_t weft_claim_round_end(weft_claim_t *claim, uint64_t until)
{
    uint64_t last = until > WEFT_NEVER - GRACE_NS ? WEFT_NEVER : until + GRACE_NS;
    weft_status_t status = weft_claim_wait(claim, last);
    if (status == WEFT_OK && claim->rank == 0) {
        status = weft_claim_release(claim, last);
    } else if (status == WEFT_IN_PROGRESS) {
        status = weft_fail(WEFT_ERR_TIMEOUT, 0,
                           "the root of the unique id did not say before init_timeout that all %u "
                           "ranks have it",
                           claim->nranks);
    } else if (status == WEFT_ERR_LINK) {
        status = claim_round_root_lost(claim->rank);
    }
    weft_claim_close(claim);
    return status;
}

weft_status_t weft_claim_round(const weft_unique_id_t *id, uint32_t rank, uint32_t nranks,
                               uint64_t until)
{
    weft_claim_t claim;
    weft_status_t status = weft_claim_round_begin(id, rank, nranks, until, &claim);
    return status == WEFT_OK ? weft_claim_round_end(&claim, until) : status;
}
