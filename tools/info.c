/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft info`: the loaded plugins with their options, and what their devices say of themselves. */
#include "tools/info.h"

#include <string.h>

#include <weft/plugin/algo.h>
#include <weft/plugin/net.h>
#include <weft/plugin/tuner.h>

#include "core/base/build.h"
#include "core/config/nearest.h"
#include "core/plugin/net_props.h"
#include "core/plugin/plugin_status.h"
#include "tools/args.h"
#include "tools/info_kernel.h"
#include "tools/info_launcher.h"
#include "tools/info_memory.h"
#include "tools/json.h"
#include "tools/session.h"
#include "tools/tool.h"
#include "tools/values.h"

typedef struct info_walk {
    json_t *json; /* NULL: text */
    const char *section;
} info_walk_t;

/* What of all is shown: kinds and plugins by name, or single options. */
enum { INFO_NAMES = 32, INFO_KNOWN = 256 };
typedef struct info_filter {
    const char *names[INFO_NAMES + 1]; /* kinds and plugins; none: all */
    uint32_t count;
    const char *option; /* "section.key"; NULL: not asked for one */
} info_filter_t;

static const tool_option_t options_table[] = {
    {'O', "option", "SECTION.KEY", "show this option alone", 'O'},
    {0, "launcher", NULL, "who started this process, and how the unique id comes to it", 'l'},
    TOOL_OPTIONS_CONFIG,
    {0, "memory", NULL, "what a rank holds, in a job that is started for it", 'M'},
    {'P', "processes", "N", "with --memory: ranks of that job [2]", 'P'},
    {0, "json", NULL, "print JSON", TOOL_OPT_JSON},
    {'h', "help", NULL, "this text", 'h'},
    {0, NULL, NULL, NULL, 0},
};

static void info_visit_option(void *arg, const char *section, const weft_option_t *option,
                              const char *value, const char *origin)
{
    info_walk_t *walk = arg;
    if (strcmp(section, walk->section) != 0) {
        return;
    }
    if (walk->json == NULL) {
        printf("    %-16s = %-12s %s (%s)\n", option->name, value, option->help, origin);
        return;
    }
    json_open(walk->json, option->name, '{');
    json_string(walk->json, "value", value);
    json_string(walk->json, "origin", origin);
    json_string(walk->json, "help", option->help);
    json_close(walk->json, '}');
}

static void info_print_lines(const char *text)
{
    for (const char *at = text; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        printf("      %.*s\n", (int)length, at);
        at += length + (at[length] == '\n' ? 1 : 0);
    }
}

/* `more`: what the plugin tells beside the properties, or "". */
static void info_print_device(json_t *json, const weft_net_props_t *p, uint32_t index,
                              const char *more)
{
    if (json == NULL) {
        printf("    device %u: %s%s%s, latency %.1f us, %.1f GB/s, slots %u of %llu B%s\n", index,
               p->name, p->pci[0] != '\0' ? " at " : "", p->pci, (double)p->latency_ns / 1e3,
               (double)p->bandwidth / 1e9, p->slots, (unsigned long long)p->slot_bytes,
               (p->memory_kinds & WEFT_MEMORY_CUDA) != 0 ? ", also on GPUs" : "");
        info_print_lines(more);
        return;
    }
    json_open(json, NULL, '{');
    json_string(json, "name", p->name);
    json_string(json, "pci", p->pci);
    json_unsigned(json, "rail", p->rail);
    json_unsigned(json, "memory_kinds", p->memory_kinds);
    json_unsigned(json, "latency_ns", p->latency_ns);
    json_unsigned(json, "bandwidth", p->bandwidth);
    json_unsigned(json, "local_bandwidth", p->local_bandwidth);
    json_unsigned(json, "overhead_ns", p->overhead_ns);
    json_unsigned(json, "local_overhead_ns", p->local_overhead_ns);
    json_unsigned(json, "ordering_bytes", p->ordering_bytes);
    json_unsigned(json, "flush_needed", p->flush_needed);
    json_unsigned(json, "max_outstanding", p->max_outstanding);
    json_unsigned(json, "inline_bytes", p->inline_bytes);
    json_unsigned(json, "max_message", p->max_message);
    json_unsigned(json, "slot_bytes", p->slot_bytes);
    json_unsigned(json, "slots", p->slots);
    json_string(json, "more", more);
    json_close(json, '}');
}

static weft_status_t info_walk_devices(json_t *json, const weft_loaded_t *loaded, weft_net_t *net)
{
    const weft_net_ops_t *ops = loaded->plugin->ops;
    uint32_t count = 0;
    char more[8192] = "";
    const weft_net_describe_t *describe = WEFT_HAS(ops, weft_net_ops_t, get_extension)
                                              ? ops->get_extension(net, WEFT_NET_DESCRIBE)
                                              : NULL;
    weft_status_t status = ops->device_count(net, &count);
    if (json != NULL) {
        json_open(json, "devices", '[');
    } else if (status == WEFT_OK && count == 0) {
        printf("    no device\n");
    }
    for (uint32_t i = 0; i < count && status == WEFT_OK; i++) {
        weft_net_props_t props;
        status = weft_net_props_read(loaded, net, i, &props);
        if (status == WEFT_OK && describe != NULL) {
            status = describe->describe(net, i, more, sizeof more);
        }
        if (status == WEFT_OK) {
            info_print_device(json, &props, i, more);
        }
    }
    if (json != NULL) {
        json_close(json, ']');
    }
    return status;
}

static void info_print_net(json_t *json, const weft_loaded_t *loaded)
{
    const weft_net_ops_t *ops = loaded->plugin->ops;
    weft_net_t *net = NULL;
    weft_status_t status = weft_plugin_status(loaded, "create", WEFT_RETURNS_FINAL,
                                              ops->create(loaded->host, loaded->config, &net));
    if (status == WEFT_OK) {
        status = info_walk_devices(json, loaded, net);
        ops->destroy(net);
    }
    if (status != WEFT_OK) {
        info_trouble(json, status);
    }
}

static void info_print_params(json_t *json, const weft_loaded_t *loaded)
{
    const weft_algo_ops_t *ops = loaded->plugin->ops;
    const weft_algo_param_t *p = WEFT_HAS(ops, weft_algo_ops_t, params) ? ops->params : NULL;
    if (json != NULL) {
        json_open(json, "parameters", '{');
    }
    for (uint32_t i = 0; p != NULL && p->name != NULL; p++, i++) {
        if (json == NULL) {
            printf("    parameter %s = %lld (%lld to %lld): %s\n", p->name,
                   (long long)loaded->params[i], (long long)p->min, (long long)p->max, p->help);
            continue;
        }
        json_open(json, p->name, '{');
        json_integer(json, "value", loaded->params[i]);
        json_integer(json, "default", p->value);
        json_integer(json, "min", p->min);
        json_integer(json, "max", p->max);
        json_string(json, "help", p->help);
        json_close(json, '}');
    }
    if (json != NULL) {
        json_close(json, '}');
    }
}

static void info_print_instance(json_t *json, const weft_loaded_t *loaded)
{
    switch (loaded->plugin->kind) {
    case WEFT_KIND_NET:
        info_print_net(json, loaded);
        break;
    case WEFT_KIND_KERNEL:
        info_kernel(json, loaded);
        break;
    case WEFT_KIND_ALGO:
        info_print_params(json, loaded);
        break;
    default:
        break;
    }
}

static void info_print_plugin(json_t *json, const tool_session_t *session,
                              const weft_loaded_t *loaded)
{
    const weft_plugin_t *p = loaded->plugin;
    info_walk_t walk = {.json = json, .section = p->name};
    if (json == NULL) {
        printf("  %s %s: %s\n    ABI %u.%u, %s\n", p->name, p->version, p->help, p->abi_major,
               p->abi_minor, loaded->path);
        info_print_instance(NULL, loaded);
        weft_config_each(session->config, info_visit_option, &walk);
        return;
    }
    json_open(json, NULL, '{');
    json_string(json, "name", p->name);
    json_string(json, "version", p->version);
    json_string(json, "help", p->help);
    json_string(json, "path", loaded->path);
    json_unsigned(json, "abi_major", p->abi_major);
    json_unsigned(json, "abi_minor", p->abi_minor);
    info_print_instance(json, loaded);
    json_open(json, "options", '{');
    weft_config_each(session->config, info_visit_option, &walk);
    json_close(json, '}');
    json_close(json, '}');
}

static bool info_is_named(const info_filter_t *filter, const char *name)
{
    bool named = filter->count == 0;
    for (uint32_t i = 0; i < filter->count; i++) {
        named = named || strcmp(filter->names[i], name) == 0;
    }
    return named;
}

/* Kinds, then plugins, up to a NULL. */
static void info_list_names(const tool_session_t *session, const char *known[INFO_KNOWN])
{
    const weft_loaded_t *loaded;
    uint32_t count = 0;
    for (uint32_t kind = TOOL_KIND_FIRST; kind <= TOOL_KIND_LAST; kind++) {
        known[count++] = tool_kind_name(kind);
    }
    for (uint32_t kind = TOOL_KIND_FIRST; kind <= TOOL_KIND_LAST; kind++) {
        for (uint32_t i = 0; count < INFO_KNOWN - 1; i++) {
            loaded = weft_registry_get(session->registry, (weft_plugin_kind_t)kind, i);
            if (loaded == NULL) {
                break;
            }
            known[count++] = loaded->plugin->name;
        }
    }
    known[count] = NULL;
}

static bool info_check_names(const tool_session_t *session, const info_filter_t *filter)
{
    const char *known[INFO_KNOWN];
    info_list_names(session, known);
    for (uint32_t i = 0; i < filter->count; i++) {
        if (tool_parse_name("kind or plugin in use", filter->names[i], known) < 0) {
            return false;
        }
    }
    return true;
}

/* Whether a kind, or one of its plugins, is asked for. */
static bool info_wants_kind(const tool_session_t *session, const info_filter_t *filter,
                            uint32_t kind)
{
    bool wanted = info_is_named(filter, tool_kind_name(kind));
    for (uint32_t i = 0; !wanted; i++) {
        const weft_loaded_t *loaded =
            weft_registry_get(session->registry, (weft_plugin_kind_t)kind, i);
        if (loaded == NULL) {
            break;
        }
        wanted = info_is_named(filter, loaded->plugin->name);
    }
    return wanted;
}

static void info_print_kind(json_t *json, const tool_session_t *session,
                            const info_filter_t *filter, uint32_t kind)
{
    const weft_loaded_t *loaded;
    const bool all = info_is_named(filter, tool_kind_name(kind));
    if (!info_wants_kind(session, filter, kind)) {
        return;
    }
    if (json == NULL) {
        printf("\n%s\n", tool_kind_name(kind));
    } else {
        json_open(json, tool_kind_name(kind), '[');
    }
    for (uint32_t i = 0;; i++) {
        loaded = weft_registry_get(session->registry, (weft_plugin_kind_t)kind, i);
        if (loaded == NULL) {
            break;
        }
        if (all || info_is_named(filter, loaded->plugin->name)) {
            info_print_plugin(json, session, loaded);
        }
    }
    if (json != NULL) {
        json_close(json, ']');
    }
}

/* One option of the core or of a plugin in use. */
typedef struct info_option {
    json_t *json;
    const char *wanted; /* "section.key" */
    weft_nearest_t nearest;
    char near[96];
    bool found;
} info_option_t;

static void info_visit_wanted(void *arg, const char *section, const weft_option_t *option,
                              const char *value, const char *origin)
{
    info_option_t *look = arg;
    char name[sizeof look->near];
    snprintf(name, sizeof name, "%s.%s", section, option->name);
    /* A key without its section is like a key, or its dot is another sign. */
    const char *like[] = {name, option->name};
    const size_t forms = strchr(look->wanted, '.') != NULL ? 1 : 2;
    for (size_t i = 0; i < forms; i++) {
        weft_nearest_offer(&look->nearest, like[i], strlen(like[i]));
        if (look->nearest.best == like[i]) {
            memcpy(look->near, name, sizeof name);
            look->nearest.best = look->near;
        }
    }
    if (strcmp(name, look->wanted) != 0) {
        return;
    }
    look->found = true;
    if (look->json == NULL) {
        printf("%s = %s\n  %s (%s)\n", name, value, option->help, origin);
        return;
    }
    json_string(look->json, "option", name);
    json_string(look->json, "value", value);
    json_string(look->json, "origin", origin);
    json_string(look->json, "help", option->help);
}

static int info_print_option(json_t *json, const tool_session_t *session, const char *wanted)
{
    info_option_t look = {.json = json, .wanted = wanted};
    weft_nearest_start(&look.nearest, wanted);
    weft_config_each(session->config, info_visit_wanted, &look);
    if (look.found) {
        return TOOL_OK;
    }
    return look.nearest.best != NULL
               ? tool_usage("unknown option '%s'; did you mean %s?", wanted, look.near)
               : tool_usage("unknown option '%s'; weft config lists them", wanted);
}

/* Head, and all that is asked for. */
static int info_print_parts(json_t *json, const tool_session_t *session,
                            const info_filter_t *filter)
{
    const char *file = weft_config_file(session->config);
    if (filter->option != NULL) {
        return info_print_option(json, session, filter->option);
    }
    if (json != NULL) {
        json_string(json, "weft_version", weft_version());
        json_string(json, "build", weft_build());
        json_string(json, "file", file != NULL ? file : "");
    } else {
        printf("weft %s\nconfiguration: %s\n", weft_build(),
               file != NULL ? file : "no file was read");
    }
    for (uint32_t kind = TOOL_KIND_FIRST; kind <= TOOL_KIND_LAST; kind++) {
        info_print_kind(json, session, filter, kind);
    }
    return TOOL_OK;
}

static int info_print_all(const tool_settings_t *settings, const info_filter_t *filter,
                          bool as_json)
{
    tool_session_t session;
    json_t json = {.out = stdout};
    weft_status_t status = tool_session_open(&session, settings);
    if (status != WEFT_OK) {
        return tool_report(status);
    }
    int code = TOOL_USAGE;
    if (info_check_names(&session, filter)) {
        if (as_json) {
            json_open(&json, NULL, '{');
        }
        code = info_print_parts(as_json ? &json : NULL, &session, filter);
        if (as_json) {
            json_close(&json, '}');
        }
    }
    tool_session_close(&session);
    return code;
}

typedef struct info_request {
    tool_settings_t settings;
    info_filter_t filter;
    bool as_json, launcher, memory;
    int64_t processes; /* 0: not given */
} info_request_t;

static int info_answer(const info_request_t *request)
{
    uint32_t processes = request->processes > 0 ? (uint32_t)request->processes : 2;
    if (request->processes > 0 && !request->memory) {
        return tool_usage("-P goes with --memory");
    }
    if ((request->launcher || request->memory) &&
        (request->filter.count > 0 || request->filter.option != NULL)) {
        return tool_usage("names and --option do not go with --launcher and --memory");
    }
    if (request->launcher) {
        json_t json = {.out = stdout};
        return info_launcher(request->as_json ? &json : NULL, &request->settings);
    }
    return request->memory ? info_memory(&request->settings, processes, request->as_json)
                           : info_print_all(&request->settings, &request->filter, request->as_json);
}

static bool info_take(info_request_t *request, int id, const char *value)
{
    switch (id) {
    case TOOL_OPT_JSON:
        request->as_json = true;
        return true;
    case 'O':
        request->filter.option = value;
        return true;
    case TOOL_ARGS_OPERAND:
        if (request->filter.count == INFO_NAMES) {
            tool_usage("more than %d names", INFO_NAMES);
            return false;
        }
        request->filter.names[request->filter.count++] = value;
        return true;
    case 'l':
        request->launcher = true;
        return true;
    case 'M':
        request->memory = true;
        return true;
    case 'P':
        return tool_parse_integer("-P", value, 1, 4096, &request->processes);
    default:
        return tool_settings_take(&request->settings, id, value);
    }
}

int tool_info(int argc, char **argv)
{
    info_request_t request = {.memory = false};
    tool_args_t args = {.options = options_table, .argc = argc, .argv = argv, .at = 1};
    for (;;) {
        int id = tool_args_next(&args);
        switch (id) {
        case TOOL_ARGS_END:
            return info_answer(&request);
        case TOOL_ARGS_ERROR:
            return TOOL_USAGE;
        case 'h':
            printf(
                "usage: weft info [KIND|PLUGIN…] [options]\n\n"
                "All plugins, or those of kinds (net, algo, kernel, tuner, topo) and names.\n\n");
            tool_options_print(options_table, stdout);
            return TOOL_OK;
        default:
            if (!info_take(&request, id, args.value)) {
                return TOOL_USAGE;
            }
        }
    }
}
