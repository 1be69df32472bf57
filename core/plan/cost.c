/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prices plans by one abstract run of one pass with one slice per chunk, one rank per class. */
#include "core/plan/cost.h"

#include "core/base/error.h"
#include "core/plan/network.h"

weft_status_t weft_plan_cost(weft_plan_t *const *plans, uint32_t nranks, uint32_t slots,
                             weft_cost_t *cost)
{
    weft_network_t net;
    weft_network_result_t result = {.verdict = WEFT_VERDICT_OK};
    weft_status_t status = weft_network_init(&net, nranks);
    for (uint32_t rank = 0; rank < nranks && status == WEFT_OK; rank++) {
        status = weft_network_add(&net, plans[rank], 0);
    }
    if (status == WEFT_OK) {
        status = weft_network_price(&net, slots, WEFT_NETWORK_ROUNDS, &result);
    }
    weft_network_fini(&net);
    *cost = result.cost;
    if (status == WEFT_OK && result.verdict != WEFT_VERDICT_OK &&
        result.verdict != WEFT_VERDICT_TOO_BIG) {
        return weft_fail(WEFT_ERR_PLAN, 0, "plan cannot be priced: %.255s", result.text);
    }
    return status;
}

double weft_cost_overhead(uint64_t latency_ns, uint64_t overhead_ns)
{
    double latency = (double)latency_ns * 1e-9, overhead = (double)overhead_ns * 1e-9;
    return overhead_ns == 0 ? latency / 4 : overhead < latency ? overhead : latency;
}

static double seconds(const weft_cost_work_t *work, const weft_cost_model_t *model, double bytes)
{
    return work->hops * model->alpha + (work->edges - work->hops) * model->overhead +
           work->edges * bytes * model->beta + work->touched * bytes * model->gamma;
}

double weft_cost_time(const weft_cost_t *cost, const weft_cost_model_t *model, uint64_t bytes,
                      uint32_t k, uint32_t slices, uint64_t slice_bytes)
{
    uint64_t pass_bytes = (uint64_t)k * slices * slice_bytes;
    uint64_t passes = bytes == 0 ? 1 : (bytes + pass_bytes - 1) / pass_bytes;
    double count = (double)passes * slices;
    double each = (double)bytes / (count * k);
    double fill = seconds(&cost->fill, model, each), steady = seconds(&cost->steady, model, each);
    return (fill > steady ? fill : steady) + (count - 1) * steady;
}
