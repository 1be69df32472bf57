/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A communicator of one rank: every collective is a copy, scaled where the operator says so. */
#include "core/comm/comm.h"

weft_status_t weft_local_run(weft_comm_state_t *state, const weft_request_t *request)
{
    const weft_args_t *args = &request->args;
    size_t elem = weft_dtype_size(args->dtype);
    const weft_vectors_t *v = request->vectors != NULL ? &request->vectors->v : NULL;
    const uint8_t *send = (const uint8_t *)args->send + (v != NULL ? v->in_displs[0] * elem : 0);
    uint8_t *recv = (uint8_t *)args->recv + (v != NULL ? v->out_displs[0] * elem : 0);
    uint64_t count = v != NULL ? v->in_counts[0] : args->count;
    weft_combine_fn_t combine;
    bool scales = args->op == WEFT_PREMULSUM && weft_coll_reduces(args->coll);
    if (count == 0 || (send == recv && !scales)) {
        return WEFT_OK;
    }
    /* A user's operator has nothing to combine here. */
    weft_op_t op = (int)args->op < WEFT_OP_COUNT ? args->op : WEFT_SUM;
    weft_status_t status = state->family->kernel.ops->select(state->family->kernel.instance,
                                                             args->dtype, op, &combine);
    if (status == WEFT_OK) {
        combine(&(weft_combine_t){.src = {send},
                                  .dst = {recv},
                                  .count = count,
                                  .nsrc = 1,
                                  .ndst = 1,
                                  .pre_mask = scales,
                                  .flags = WEFT_COMBINE_FINAL,
                                  .nranks = 1,
                                  .scalar = request->scalar});
    }
    return status;
}
