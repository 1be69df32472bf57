/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Seconds from the figures of a plan. */
#include "core/plan/cost.h"

double weft_cost_overhead(uint64_t latency_ns, uint64_t overhead_ns)
{
    double latency = (double)latency_ns * 1e-9, overhead = (double)overhead_ns * 1e-9;
    return overhead_ns == 0 ? latency / 4 : overhead < latency ? overhead : latency;
}

static double cost_seconds(const weft_cost_work_t *work, const weft_cost_model_t *model,
                           double bytes)
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
    double fill = cost_seconds(&cost->fill, model, each),
           steady = cost_seconds(&cost->steady, model, each);
    return (fill > steady ? fill : steady) + (count - 1) * steady;
}
