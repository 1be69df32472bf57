/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft plan --list`: the loaded algorithms, the collectives and numbers of ranks that they serve,
 * and their options. What an algorithm serves is asked, not declared. */
#include "tools/plan_list.h"

#include <string.h>

#include "core/base/error.h"
#include "tools/json.h"
#include "tools/plan_request.h"
#include "tools/tool.h"

/* Numbers of ranks that are asked for; the last is the most that the tools take. */
static const uint32_t probes[] = {2,   3,   4,   5,   6,   7,    8,    9,    12,    15,   16,
                                  17,  24,  31,  32,  33,  48,   63,   64,   65,    100,  127,
                                  128, 129, 255, 256, 257, 1000, 1024, 4096, 10000, 65536};
#define PROBES (sizeof probes / sizeof probes[0])

typedef struct list_item {
    const weft_loaded_t *loaded;
    weft_algo_t *algo;
} list_item_t;

static bool plan_list_serves(const list_item_t *item, weft_coll_t coll, uint32_t nranks,
                             uint32_t root)
{
    const weft_algo_ops_t *ops = item->loaded->plugin->ops;
    weft_algo_call_t call = {.size = sizeof call, .coll = coll, .nranks = nranks, .root = root};
    memcpy(call.params, item->loaded->params, sizeof call.params);
    return ops->supports(item->algo, &call) == WEFT_OK;
}

/* Largest number served, given that `low` is and `high` is not and all below are alike. */
static uint32_t plan_list_last_served(const list_item_t *item, weft_coll_t coll, uint32_t low,
                                      uint32_t high)
{
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (plan_list_serves(item, coll, middle, 0)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* "any", "up to 64", "powers of 2", or the numbers that were tried; "" if none. */
static void plan_list_describe_ranks(const list_item_t *item, weft_coll_t coll, char *text,
                                     size_t bytes)
{
    bool good[PROBES];
    size_t served = 0, leading = 0, powers = 0, others = 0, at = 0;
    for (size_t i = 0; i < PROBES; i++) {
        good[i] = plan_list_serves(item, coll, probes[i], 0);
        served += good[i];
        leading += good[i] && leading == i;
        powers += good[i] && (probes[i] & (probes[i] - 1)) == 0;
        others += good[i] && (probes[i] & (probes[i] - 1)) != 0;
    }
    text[0] = '\0';
    if (served == PROBES) {
        snprintf(text, bytes, "any");
    } else if (leading > 0 && leading == served) {
        snprintf(text, bytes, "up to %u",
                 plan_list_last_served(item, coll, probes[leading - 1], probes[leading]));
    } else if (powers > 4 && others == 0) {
        snprintf(text, bytes, "powers of 2");
    } else {
        for (size_t i = 0; i < PROBES && at < bytes; i++) {
            at += !good[i] ? 0
                           : (size_t)snprintf(text + at, bytes - at, "%s%u", at > 0 ? ", " : "",
                                              probes[i]);
        }
    }
}

static void plan_list_put_collectives(json_t *json, const list_item_t *item)
{
    char ranks[160];
    if (json != NULL) {
        json_open(json, "collectives", '{');
    }
    for (weft_coll_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        if (!weft_coll_has_plan(coll)) {
            continue;
        }
        plan_list_describe_ranks(item, coll, ranks, sizeof ranks);
        if (ranks[0] == '\0') {
            continue;
        }
        if (json != NULL) {
            json_string(json, weft_coll_name(coll), ranks);
        } else {
            printf("    %-16s %s ranks\n", weft_coll_name(coll), ranks);
        }
    }
    if (json != NULL) {
        json_close(json, '}');
    }
}

static void plan_list_put_options(json_t *json, const weft_loaded_t *loaded)
{
    const weft_option_t *o = loaded->plugin->options;
    const weft_algo_ops_t *ops = loaded->plugin->ops;
    const weft_algo_param_t *p = WEFT_HAS(ops, weft_algo_ops_t, params) ? ops->params : NULL;
    if (json != NULL) {
        json_open(json, "options", '{');
    }
    for (; o != NULL && o->name != NULL; o++) {
        if (json != NULL) {
            json_string(json, o->name, o->help);
        } else {
            printf("    option %-9s %s [%s]\n", o->name, o->help, o->value);
        }
    }
    for (; p != NULL && p->name != NULL; p++) {
        if (json != NULL) {
            json_string(json, p->name, p->help);
        } else {
            printf("    option %-9s %s [%lld]\n", p->name, p->help, (long long)p->value);
        }
    }
    if (json != NULL) {
        json_close(json, '}');
    }
}

static void plan_list_put_algo(const plan_request_t *request, json_t *json, const list_item_t *item)
{
    const weft_plugin_t *plugin = item->loaded->plugin;
    bool one = request->coll != WEFT_COLL_COUNT;
    bool good = one && plan_list_serves(item, request->coll, (uint32_t)request->nranks,
                                        (uint32_t)request->root);
    const char *why = one && !good ? weft_error_record()->text : "";
    if (json == NULL) {
        printf("%-16s %s%s%s\n", plugin->name, !one || good ? plugin->help : "no",
               !one || good ? "" : ": ", why);
        if (!one) {
            plan_list_put_collectives(NULL, item);
            plan_list_put_options(NULL, item->loaded);
        }
        return;
    }
    json_open(json, NULL, '{');
    json_string(json, "name", plugin->name);
    json_string(json, "help", plugin->help);
    if (one) {
        json_bool(json, "serves", good);
        json_string(json, "reason", why);
    }
    plan_list_put_collectives(json, item);
    plan_list_put_options(json, item->loaded);
    json_close(json, '}');
}

int plan_list(const plan_request_t *request, const tool_session_t *session)
{
    json_t out = {.out = stdout};
    json_t *json = request->json ? &out : NULL;
    if (json != NULL) {
        json_open(json, NULL, '[');
    }
    for (uint32_t i = 0;; i++) {
        list_item_t item = {.loaded = weft_registry_get(session->registry, WEFT_KIND_ALGO, i)};
        if (item.loaded == NULL) {
            break;
        }
        const weft_algo_ops_t *ops = item.loaded->plugin->ops;
        weft_status_t status = ops->create(item.loaded->host, item.loaded->config, &item.algo);
        if (status != WEFT_OK) {
            /* One that cannot start hides none of the others. */
            tool_report(status);
            continue;
        }
        plan_list_put_algo(request, json, &item);
        ops->destroy(item.algo);
    }
    if (json != NULL) {
        json_close(json, ']');
    }
    return TOOL_OK;
}
