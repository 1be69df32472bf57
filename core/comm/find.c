/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loaded algorithms by name, for plans that use the plans of other algorithms. */
#include <string.h>

#include "core/comm/comm.h"

static weft_status_t find_algo(void *arg, const char *name, const weft_algo_ops_t **ops_p,
                               weft_algo_t **algo_p)
{
    const weft_comm_state_t *state = arg;
    const char *names[WEFT_ALGOS_MAX];
    for (uint32_t i = 0; i < state->nalgos; i++) {
        const weft_algo_loaded_t *algo = &state->algos[i];
        names[i] = algo->loaded->plugin->name;
        if (strcmp(names[i], name) == 0) {
            *ops_p = algo->ops;
            *algo_p = algo->algo;
            return WEFT_OK;
        }
    }
    return weft_plan_no_algo(name, names, state->nalgos);
}

void weft_comm_offer_algos(weft_comm_state_t *state)
{
    state->finder = (weft_plan_finder_t){.find = find_algo, .arg = state};
}
