/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft info`: the loaded plugins with their options, and what their devices say of themselves. */
#include "tools/info.h"

#include <string.h>

#include <weft/plugin/algo.h>
#include <weft/plugin/net.h>
#include <weft/plugin/tuner.h>

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

static const tool_option_t options_table[] = {
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
    for (; p != NULL && p->name != NULL; p++) {
        if (json == NULL) {
            printf("    parameter %s = %lld (%lld to %lld): %s\n", p->name, (long long)p->value,
                   (long long)p->min, (long long)p->max, p->help);
            continue;
        }
        json_open(json, p->name, '{');
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

static void info_print_kind(json_t *json, const tool_session_t *session, uint32_t kind)
{
    const weft_loaded_t *loaded;
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
        info_print_plugin(json, session, loaded);
    }
    if (json != NULL) {
        json_close(json, ']');
    }
}

static int info_print_all(const tool_settings_t *settings, bool as_json)
{
    tool_session_t session;
    json_t json = {.out = stdout};
    weft_status_t status = tool_session_open(&session, settings);
    if (status != WEFT_OK) {
        return tool_report(status);
    }
    if (as_json) {
        json_open(&json, NULL, '{');
        json_string(&json, "weft_version", weft_version());
    } else {
        printf("weft %s\n", weft_version());
    }
    for (uint32_t kind = TOOL_KIND_FIRST; kind <= TOOL_KIND_LAST; kind++) {
        info_print_kind(as_json ? &json : NULL, &session, kind);
    }
    if (as_json) {
        json_close(&json, '}');
    }
    tool_session_close(&session);
    return TOOL_OK;
}

typedef struct info_request {
    tool_settings_t settings;
    bool as_json, launcher, memory;
    int64_t processes; /* 0: not given */
} info_request_t;

static int info_answer(const info_request_t *request)
{
    uint32_t processes = request->processes > 0 ? (uint32_t)request->processes : 2;
    if (request->processes > 0 && !request->memory) {
        return tool_usage("-P goes with --memory");
    }
    if (request->launcher) {
        json_t json = {.out = stdout};
        return info_launcher(request->as_json ? &json : NULL, &request->settings);
    }
    return request->memory ? info_memory(&request->settings, processes, request->as_json)
                           : info_print_all(&request->settings, request->as_json);
}

static bool info_take(info_request_t *request, int id, const char *value)
{
    switch (id) {
    case TOOL_OPT_JSON:
        request->as_json = true;
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
        case TOOL_ARGS_OPERAND:
            return tool_usage("weft info takes no name, got '%s'", args.value);
        case 'h':
            printf("usage: weft info [options]\n\n");
            tool_options_print(options_table, stdout);
            return TOOL_OK;
        default:
            if (!info_take(&request, id, args.value)) {
                return TOOL_USAGE;
            }
        }
    }
}
