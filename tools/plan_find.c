/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loaded algorithms by name, for plans that use the plans of other algorithms; an instance of
 * each is made when it is first asked for. */
#include "tools/plan_find.h"

#include <string.h>

static weft_status_t find_algo(void *arg, const char *name, const weft_algo_ops_t **ops_p,
                               weft_algo_t **algo_p)
{
    plan_finder_t *finder = arg;
    const char *names[PLAN_ALGOS_MAX];
    uint32_t i = 0;
    for (; i < PLAN_ALGOS_MAX; i++) {
        const weft_loaded_t *loaded = weft_registry_get(finder->registry, WEFT_KIND_ALGO, i);
        if (loaded == NULL) {
            break;
        }
        names[i] = loaded->plugin->name;
        if (strcmp(names[i], name) != 0) {
            continue;
        }
        weft_status_t status = WEFT_OK;
        *ops_p = loaded->plugin->ops;
        if (finder->algos[i] == NULL) {
            status = (*ops_p)->create(loaded->host, loaded->config, &finder->algos[i]);
        }
        *algo_p = finder->algos[i];
        return status;
    }
    return weft_plan_no_algo(name, names, i);
}

static const int64_t *find_params(void *arg, const char *name)
{
    const plan_finder_t *finder = arg;
    const weft_loaded_t *loaded;
    for (uint32_t i = 0; (loaded = weft_registry_get(finder->registry, WEFT_KIND_ALGO, i)) != NULL;
         i++) {
        if (strcmp(loaded->plugin->name, name) == 0) {
            return loaded->params;
        }
    }
    return NULL;
}

void plan_finder_open(plan_finder_t *finder, const weft_registry_t *registry)
{
    *finder = (plan_finder_t){.registry = registry,
                              .finder = {.find = find_algo, .params = find_params, .arg = finder}};
}

void plan_finder_close(plan_finder_t *finder)
{
    for (uint32_t i = 0; i < PLAN_ALGOS_MAX; i++) {
        if (finder->algos[i] != NULL) {
            const weft_loaded_t *loaded = weft_registry_get(finder->registry, WEFT_KIND_ALGO, i);
            const weft_algo_ops_t *ops = loaded->plugin->ops;
            ops->destroy(finder->algos[i]);
        }
    }
}
