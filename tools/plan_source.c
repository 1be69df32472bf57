/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Algorithms by name and options, and the plans that they make. */
#include "tools/plan_source.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/call_note.h"
#include "core/os/os.h"
#include "core/plan/builder.h"
#include "tools/plan_find.h"
#include "tools/session.h"
#include "tools/tool.h"
#include "tools/values.h"

/* Number of the loaded algorithm called `name`, or −1 and one line on stderr. */
static int plan_algo_find(const tool_session_t *session, const char *name)
{
    const char *names[64];
    int i = 0;
    for (; i < 63; i++) {
        const weft_loaded_t *loaded =
            weft_registry_get(session->registry, WEFT_KIND_ALGO, (uint32_t)i);
        if (loaded == NULL) {
            break;
        }
        if (strcmp(loaded->plugin->name, name) == 0) {
            return i;
        }
        names[i] = loaded->plugin->name;
    }
    names[i] = NULL;
    if (i == 0) {
        tool_usage("no algorithm is loaded; [core] algo lists them");
    } else if (weft_registry_has_spare(session->registry, WEFT_KIND_ALGO, name)) {
        tool_usage("%s is not loaded: add it to [core] algo", name);
    } else {
        tool_parse_name("algorithm", name, names);
    }
    return -1;
}

static const weft_algo_ops_t *plan_source_ops(const plan_source_t *source)
{
    return source->loaded->plugin->ops;
}

static int plan_source_open_session(plan_source_t *source, const char *name)
{
    weft_status_t status = tool_session_open(&source->session, &source->settings);
    if (status != WEFT_OK) {
        return tool_report(status);
    }
    source->is_open = true;
    int index = plan_algo_find(&source->session, name);
    if (index < 0) {
        return TOOL_USAGE;
    }
    source->loaded = weft_registry_get(source->session.registry, WEFT_KIND_ALGO, (uint32_t)index);
    memcpy(source->params, source->loaded->params, sizeof source->params);
    return TOOL_OK;
}

int plan_source_open(plan_source_t *source, const tool_settings_t *settings, const char *spec,
                     const char *const *params, uint32_t nparams)
{
    char name[64];
    *source = (plan_source_t){.settings = *settings};
    snprintf(source->label, sizeof source->label, "%s", spec);
    bool good = tool_settings_take_algo(&source->settings, spec, name, sizeof name);
    for (uint32_t i = 0; i < nparams && good; i++) {
        size_t at = strlen(source->label);
        good = tool_settings_add(&source->settings, name, params[i], strlen(params[i]));
        snprintf(source->label + at, sizeof source->label - at, "%c%s",
                 strchr(source->label, ':') == NULL ? ':' : ',', params[i]);
    }
    int code = good ? plan_source_open_session(source, name) : TOOL_USAGE;
    if (code == TOOL_OK) {
        weft_status_t status = plan_source_ops(source)->create(
            source->loaded->host, source->loaded->config, &source->algo);
        code = status == WEFT_OK ? TOOL_OK : tool_report(status);
    }
    if (code != TOOL_OK) {
        plan_source_close(source);
        return code;
    }
    plan_finder_open(&source->others, source->session.registry);
    return TOOL_OK;
}

void plan_source_close(plan_source_t *source)
{
    if (source->algo != NULL) {
        plan_source_ops(source)->destroy(source->algo);
        plan_finder_close(&source->others);
    }
    if (source->is_open) {
        tool_session_close(&source->session);
    }
    source->algo = NULL;
    source->is_open = false;
}

weft_algo_call_t plan_source_call(const plan_source_t *source, weft_coll_t coll, uint32_t nranks,
                                  uint32_t root)
{
    weft_algo_call_t call = {.size = sizeof call, .coll = coll, .nranks = nranks, .root = root};
    memcpy(call.params, source->params, sizeof call.params);
    const weft_algo_ops_t *ops = plan_source_ops(source);
    if (source->pack > 1 && WEFT_HAS(ops, weft_algo_ops_t, pack) && ops->pack != NULL) {
        uint32_t wanted = ops->pack(source->algo, &call);
        call.pack = wanted < source->pack ? wanted : source->pack;
    }
    return call;
}

int plan_hosts_read(plan_hosts_t *hosts, const char *text)
{
    *hosts = (plan_hosts_t){0};
    for (const char *at = text; *at != '\0';) {
        char part[24];
        size_t length = strcspn(at, ",");
        int64_t value;
        snprintf(part, sizeof part, "%.*s", (int)length, at);
        if (length >= sizeof part ||
            !tool_parse_integer("--hosts", part, 1, PLAN_RANKS_MAX, &value)) {
            return TOOL_USAGE;
        }
        if (hosts->listed == PLAN_HOSTS_MAX) {
            return tool_usage("--hosts lists more than %u hosts", PLAN_HOSTS_MAX);
        }
        hosts->list[hosts->listed++] = (uint32_t)value;
        at += length + (at[length] == ',');
    }
    if (hosts->listed == 0) {
        return tool_usage("--hosts wants a number of hosts, or ranks per host such as 4,4,3");
    }
    if (hosts->listed == 1) {
        hosts->count = hosts->list[0];
        hosts->listed = 0;
    }
    return TOOL_OK;
}

uint32_t plan_hosts_spread(const plan_hosts_t *hosts, uint32_t nranks, uint32_t *host_of)
{
    uint32_t rank = 0;
    for (uint32_t h = 0; h < hosts->listed; h++) {
        for (uint32_t i = 0; i < hosts->list[h] && rank < nranks; i++) {
            host_of[rank++] = h;
        }
    }
    if (hosts->listed != 0) {
        return rank == nranks ? hosts->listed : 0;
    }
    uint32_t count = hosts->count < nranks ? hosts->count : nranks;
    uint32_t each = (nranks + count - 1) / count;
    for (; rank < nranks; rank++) {
        host_of[rank] = rank / each;
    }
    return host_of[nranks - 1] + 1;
}

weft_status_t plan_source_supports(const plan_source_t *source, const weft_algo_call_t *call)
{
    weft_call_note_t before = weft_call_enter(source->label, "supports");
    weft_status_t status = plan_source_ops(source)->supports(source->algo, call);
    weft_call_leave(before);
    return status;
}

weft_status_t plan_source_emit(const plan_source_t *source, const weft_algo_call_t *call,
                               const weft_algo_topo_t *view, weft_plan_t **plan_p)
{
    weft_call_note_t before = weft_call_enter(source->label, "emit");
    weft_status_t status = weft_plan_emit(plan_source_ops(source), source->algo, call, view,
                                          &source->others.finder, plan_p);
    weft_call_leave(before);
    return status == WEFT_ERR_PLAN ? weft_plan_name_mistake(source->loaded->plugin->name) : status;
}

/* Makes room for the plans, and the view of the hosts. */
static weft_status_t plan_set_place(plan_set_t *set, const plan_hosts_t *hosts)
{
    set->plans = calloc(set->nranks, sizeof(weft_plan_t *));
    set->hosts = calloc(set->nranks, sizeof *set->hosts);
    if (set->plans == NULL || set->hosts == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for the plans of %u ranks", set->nranks);
    }
    weft_algo_topo_t topo = {.size = sizeof topo, .host = set->hosts};
    topo.nhosts = plan_hosts_spread(hosts, set->nranks, set->hosts);
    return weft_topo_view_init(&set->view, &topo, NULL, set->nranks);
}

weft_status_t plan_set_emit(plan_set_t *set, const plan_source_t *source, weft_coll_t coll,
                            uint32_t nranks, uint32_t root, const plan_hosts_t *hosts)
{
    *set = (plan_set_t){.source = source, .nranks = nranks};
    set->call = plan_source_call(source, coll, nranks, root);
    weft_status_t status = plan_set_place(set, hosts);
    status = status == WEFT_OK ? plan_source_supports(source, &set->call) : status;
    uint64_t start = weft_os_clock_ns();
    for (uint32_t r = 0; r < nranks && status == WEFT_OK; r++) {
        weft_algo_call_t call = set->call;
        call.rank = r;
        status = plan_source_emit(source, &call, &set->view.topo, &set->plans[r]);
    }
    set->emit_seconds = (double)(weft_os_clock_ns() - start) * 1e-9;
    return status;
}

void plan_set_free(plan_set_t *set)
{
    for (uint32_t r = 0; set->plans != NULL && r < set->nranks; r++) {
        weft_plan_destroy(set->plans[r]);
    }
    weft_topo_view_fini(&set->view);
    free(set->plans);
    free(set->hosts);
    set->plans = NULL;
    set->hosts = NULL;
}

static bool plan_source_serves(const tool_session_t *session, const weft_loaded_t *loaded,
                               const plan_set_t *asked)
{
    plan_source_t source = {.loaded = loaded};
    weft_plan_t *plan = NULL;
    memcpy(source.params, loaded->params, sizeof source.params);
    snprintf(source.label, sizeof source.label, "%s", loaded->plugin->name);
    if (plan_source_ops(&source)->create(loaded->host, loaded->config, &source.algo) != WEFT_OK) {
        return false;
    }
    plan_finder_open(&source.others, session->registry);
    weft_algo_call_t call =
        plan_source_call(&source, asked->call.coll, asked->nranks, asked->call.root);
    bool good = plan_source_supports(&source, &call) == WEFT_OK &&
                plan_source_emit(&source, &call, &asked->view.topo, &plan) == WEFT_OK;
    weft_plan_destroy(plan);
    plan_source_close(&source);
    return good;
}

void plan_algos_serving(const tool_session_t *session, weft_coll_t coll, uint32_t nranks,
                        uint32_t root, const plan_hosts_t *hosts, char *text, size_t bytes)
{
    plan_set_t asked = {.nranks = nranks, .call = {.coll = coll, .root = root}};
    size_t at = 0;
    text[0] = '\0';
    if (plan_set_place(&asked, hosts) != WEFT_OK) {
        plan_set_free(&asked);
        return;
    }
    for (uint32_t i = 0; at + 1 < bytes; i++) {
        const weft_loaded_t *loaded = weft_registry_get(session->registry, WEFT_KIND_ALGO, i);
        if (loaded == NULL) {
            break;
        }
        if (plan_source_serves(session, loaded, &asked)) {
            at += (size_t)snprintf(text + at, bytes - at, "%s%s", at > 0 ? ", " : "",
                                   loaded->plugin->name);
        }
    }
    plan_set_free(&asked);
}
