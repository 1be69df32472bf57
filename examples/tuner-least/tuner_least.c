/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tuner-least: a tuner plugin that takes what the core's model says is fastest. It is a pure
 * function of its arguments, so all ranks come to the same answer. */
#include <math.h>
#include <stdio.h>
#include <weft/plugin/tuner.h>

#define LEAST_ALIGN 64u /* slices are multiples of this */

struct weft_tuner {
    const weft_host_t *host;
};

static weft_status_t least_create(const weft_host_t *host, const void *config,
                                  weft_tuner_t **tuner_p)
{
    (void)config;
    weft_tuner_t *tuner = host->alloc(host, sizeof *tuner, 0);
    if (tuner == NULL) {
        return host->set_error(host, WEFT_ERR_RESOURCE, 0, "out of memory for an instance");
    }
    tuner->host = host;
    *tuner_p = tuner;
    return WEFT_OK;
}

static void least_destroy(weft_tuner_t *tuner)
{
    if (tuner != NULL) {
        tuner->host->free(tuner->host, tuner);
    }
}

/* Tries one to slots − 1 slices of the largest size. The first of equals stays, NaN never wins. */
static weft_status_t least_choose(weft_tuner_t *tuner, const weft_tuner_call_t *call,
                                  const weft_tuner_candidate_t *candidates, uint32_t count,
                                  weft_tuner_cost_fn_t cost, weft_tuner_choice_t *choice_p)
{
    double least = INFINITY;
    uint64_t bytes = call->slot_bytes / LEAST_ALIGN * LEAST_ALIGN;
    (void)tuner;
    choice_p->index = 0;
    choice_p->slices = 1;
    choice_p->slice_bytes = bytes;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t slices = 1; slices < call->slots; slices++) {
            double seconds = cost(call, &candidates[i], slices, bytes);
            if (seconds >= 0 && seconds < least) {
                least = seconds;
                choice_p->index = i;
                choice_p->slices = slices;
            }
        }
    }
    snprintf(choice_p->reason, sizeof choice_p->reason, "least of %u candidates: %.3g us", count,
             least * 1e6);
    return WEFT_OK;
}

static const weft_tuner_ops_t least_ops = {
    .size = sizeof least_ops,
    .create = least_create,
    .destroy = least_destroy,
    .choose = least_choose,
};

const weft_plugin_t *weft_plugin_entry(void)
{
    static const weft_plugin_t plugin = {
        .magic = WEFT_PLUGIN_MAGIC,
        .abi_major = WEFT_ABI_TUNER_MAJOR,
        .abi_minor = WEFT_ABI_TUNER_MINOR,
        .size = sizeof plugin,
        .kind = WEFT_KIND_TUNER,
        .name = "tuner-least",
        .version = "1",
        .help = "takes what the model says is fastest",
        .ops = &least_ops,
    };
    return &plugin;
}
