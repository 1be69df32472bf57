/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots and slices. */
#include "tools/plan_depth.h"

#include "tools/plan_price.h"
#include "tools/tool.h"

/* Half of the slots are on their way while the others are filled; a deep plan has slots for so many
 * slices only. */
static int64_t plan_depth_slices(int64_t slots, uint32_t depth)
{
    int64_t slices = depth > 1 ? slots / depth : slots / 2;
    return slices < 1 ? 1 : slices < slots ? slices : slots - 1;
}

int plan_depth_take(plan_request_t *request, const plan_source_t *source)
{
    price_model_t model;
    const plan_hosts_t *hosts = &request->hosts;
    if (request->slots == 0) {
        weft_status_t status =
            price_model_make(&request->price, &source->session,
                             hosts->listed > 0 ? hosts->listed : hosts->count, &model);
        if (status != WEFT_OK) {
            return tool_report(status);
        }
        request->slots = model.slots;
    }
    if (request->slices == 0) {
        request->slices = plan_depth_slices(request->slots, price_depth(source->loaded));
    }
    if (request->slices >= request->slots) {
        return tool_usage(
            "--slices %lld must be fewer than --slots %lld: a chunk must fit in a queue",
            (long long)request->slices, (long long)request->slots);
    }
    return TOOL_OK;
}
