/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which collectives the loaded algorithms serve. Most is known before a rank is started, so that
 * what cannot run is said once and names who would serve it; some algorithms look at the hosts
 * too. */
#include "tools/perf_support.h"

#include <string.h>

#include "core/base/error.h"
#include "core/plan/plan_ir.h"
#include "core/plan/sub.h"
#include "core/plugin/plugin_status.h"
#include "tools/perf_job.h"
#include "tools/session.h"
#include "tools/tool.h"

/* Who serves one collective. */
typedef struct servants {
    uint32_t allowed;   /* algorithms that may be used and serve it */
    char others[128];   /* that serve it, but [plan] algo does not allow them */
    char refusals[160]; /* reasons of those that may be used */
} servants_t;

static void perf_support_append(char *list, size_t bytes, const char *separator, const char *text)
{
    size_t at = strlen(list);
    snprintf(list + at, bytes - at, "%s%.100s", at > 0 ? separator : "", text);
}

/* Whether an algorithm is forced. */
static bool perf_support_is_forced(const tool_session_t *session)
{
    return session->settings.plan.algo != NULL && session->settings.plan.algo[0] != '\0';
}

static bool perf_support_is_allowed(const tool_session_t *session, const char *name)
{
    const char *forced = session->settings.plan.algo;
    size_t bytes = perf_support_is_forced(session) ? strcspn(forced, ":") : 0;
    return bytes == 0 || (strlen(name) == bytes && strncmp(forced, name, bytes) == 0);
}

static weft_status_t perf_support_ask(const weft_loaded_t *loaded, weft_coll_t coll,
                                      uint32_t nranks)
{
    const weft_algo_ops_t *ops = loaded->plugin->ops;
    weft_algo_t *algo = NULL;
    weft_algo_call_t call = {.size = sizeof call, .coll = weft_coll_base(coll), .nranks = nranks};
    memcpy(call.params, loaded->params, sizeof call.params);
    weft_status_t status = weft_plugin_status(loaded, "create", WEFT_RETURNS_FINAL,
                                              ops->create(loaded->host, loaded->config, &algo));
    if (status == WEFT_OK) {
        status =
            weft_plugin_status(loaded, "supports", WEFT_RETURNS_FINAL, ops->supports(algo, &call));
        ops->destroy(algo);
    }
    return status;
}

static void perf_support_ask_all(const tool_session_t *session, weft_coll_t coll, uint32_t nranks,
                                 servants_t *servants)
{
    *servants = (servants_t){0};
    for (uint32_t i = 0;; i++) {
        const weft_loaded_t *loaded = weft_registry_get(session->registry, WEFT_KIND_ALGO, i);
        if (loaded == NULL) {
            return;
        }
        weft_status_t status = perf_support_ask(loaded, coll, nranks);
        if (!perf_support_is_allowed(session, loaded->plugin->name)) {
            if (status == WEFT_OK) {
                perf_support_append(servants->others, sizeof servants->others, ", ",
                                    loaded->plugin->name);
            }
        } else if (status == WEFT_OK) {
            servants->allowed++;
        } else {
            perf_support_append(servants->refusals, sizeof servants->refusals, "; ",
                                weft_error_record()->text);
        }
    }
}

/* No loaded algorithm has the name that is forced. */
static void perf_support_check_name(const tool_session_t *session, char *why, size_t bytes)
{
    char name[64];
    const char *names[64], *forced = session->settings.plan.algo;
    uint32_t count = 0;
    const weft_loaded_t *loaded;
    while (count < 64 &&
           (loaded = weft_registry_get(session->registry, WEFT_KIND_ALGO, count)) != NULL) {
        names[count++] = loaded->plugin->name;
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(forced, ":"), forced);
    if (weft_registry_has_spare(session->registry, WEFT_KIND_ALGO, name)) {
        snprintf(why, bytes, "%s is not loaded: add it to [core] algo", name);
        return;
    }
    (void)weft_plan_no_algo(name, names, count);
    snprintf(why, bytes, "%.300s", weft_error_record()->text);
}

/* A rank alone needs no plan, and sends and receives have none. */
static void perf_support_check_coll(const tool_session_t *session, weft_coll_t coll,
                                    uint32_t nranks, char *why, size_t bytes)
{
    servants_t servants;
    why[0] = '\0';
    if (nranks == 1 || coll == WEFT_SEND_RECV) {
        return;
    }
    perf_support_ask_all(session, coll, nranks, &servants);
    if (servants.allowed == 0 && perf_support_is_forced(session) && servants.refusals[0] == '\0') {
        perf_support_check_name(session, why, bytes);
    } else if (servants.allowed == 0) {
        snprintf(why, bytes, "%s on %u ranks is served by no algorithm in use (%s); %s%s",
                 weft_coll_name(coll), nranks,
                 servants.refusals[0] != '\0' ? servants.refusals : "none is loaded",
                 servants.others[0] != '\0' ? "these would serve it: "
                                            : "add one that serves it to [core] algo",
                 servants.others);
    }
}

/* The key that chooses the kernel's device; none where the user chose one or the kernel has
 * none. */
static void perf_support_find_device_key(const tool_session_t *session, char *key, size_t bytes)
{
    const weft_loaded_t *kernel = weft_registry_get(session->registry, WEFT_KIND_KERNEL, 0);
    const weft_option_t *option = kernel != NULL ? kernel->plugin->options : NULL;
    while (option != NULL && option->name != NULL && strcmp(option->name, "device") != 0) {
        option++;
    }
    if (option == NULL || option->name == NULL) {
        return;
    }
    const char *section = kernel->plugin->name;
    if (strcmp(weft_config_origin(session->config, section, option->name), "default") == 0) {
        snprintf(key, bytes, "%s.%s", section, option->name);
    }
}

int perf_support_check(perf_options_t *options, uint32_t nranks, bool speaks)
{
    tool_session_t session;
    char why[sizeof options->support.unserved[0]] = "";
    weft_status_t status = tool_session_open(&session, &options->settings);
    if (status != WEFT_OK) {
        return speaks ? tool_report(status) : tool_exit_code(status);
    }
    for (int c = 0; c < WEFT_COLL_COUNT && options->every; c++) {
        perf_support_check_coll(&session, (weft_coll_t)c, nranks, options->support.unserved[c],
                                sizeof why);
    }
    if (!options->every) {
        perf_support_check_coll(&session, options->coll, nranks, why, sizeof why);
    }
    options->support.forced = perf_support_is_forced(&session) && nranks > 1;
    if (options->support.forced) {
        servants_t servants;
        perf_support_ask_all(&session, WEFT_ALL_REDUCE, nranks, &servants);
        options->support.by_hand = servants.allowed == 0;
    }
    perf_support_find_device_key(&session, options->device_key, sizeof options->device_key);
    tool_session_close(&session);
    if (why[0] != '\0' && speaks) {
        fprintf(stderr, "weft: %s\n", why);
    }
    return why[0] != '\0' ? TOOL_LIBRARY : TOOL_OK;
}

static weft_status_t perf_support_explain(perf_rank_t *rank, weft_coll_t coll)
{
    char text[256];
    return weft_comm_explain(rank->comm, coll, 1, WEFT_FP32, WEFT_SUM, 0, text, sizeof text);
}

weft_status_t perf_support_refine(perf_rank_t *rank)
{
    perf_support_t *support = &rank->support;
    const perf_options_t *o = rank->options;
    *support = o->support;
    if (!support->forced) {
        return WEFT_OK;
    }
    bool asked = !support->by_hand;
    weft_status_t status = asked ? perf_support_explain(rank, WEFT_ALL_REDUCE) : WEFT_OK;
    if (status == WEFT_ERR_PLAN && (o->every || o->coll == WEFT_ALL_REDUCE)) {
        return status; /* running it would end in the same words */
    }
    support->by_hand |= status == WEFT_ERR_UNSUPPORTED || status == WEFT_ERR_PLAN;
    for (int c = 0; c < WEFT_COLL_COUNT && o->every; c++) {
        char *why = support->unserved[c];
        if (why[0] != '\0' || c == WEFT_SEND_RECV ||
            (c == WEFT_ALL_REDUCE && asked && status == WEFT_OK)) {
            continue;
        }
        weft_status_t one = perf_support_explain(rank, (weft_coll_t)c);
        if (one == WEFT_ERR_PLAN) {
            return one;
        }
        if (one == WEFT_ERR_UNSUPPORTED) {
            snprintf(why, sizeof support->unserved[c], "%.370s", weft_error_record()->text);
        }
    }
    return WEFT_OK;
}
