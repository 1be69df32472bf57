/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A communicator of one rank: every collective is a copy, scaled where the operator says so. */
#include "core/comm/comm.h"

weft_status_t weft_local_run(weft_comm_state_t *state, const weft_request_t *request)
{
    const weft_args_t *args = &request->args;
    weft_combine_fn_t combine;
    bool scales =
        args->op == WEFT_PREMULSUM && (args->coll == WEFT_ALL_REDUCE || args->coll == WEFT_REDUCE ||
                                       args->coll == WEFT_REDUCE_SCATTER);
    if (args->count == 0 || (args->send == args->recv && !scales)) {
        return WEFT_OK;
    }
    weft_status_t status =
        state->kernel_ops->select(state->kernel, args->dtype, args->op, &combine);
    if (status == WEFT_OK) {
        combine(&(weft_combine_t){.src = {args->send},
                                  .dst = {args->recv},
                                  .count = args->count,
                                  .nsrc = 1,
                                  .ndst = 1,
                                  .pre_mask = scales,
                                  .flags = WEFT_COMBINE_FINAL,
                                  .nranks = 1,
                                  .scalar = request->scalar});
    }
    return status;
}
