/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks of a descriptor and its tables. Only data of the plugin is read here, none of its code
 * runs; each check makes the next one safe. */
#include "core/plugin/plugin_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weft/plugin/algo.h>
#include <weft/plugin/kernel.h>
#include <weft/plugin/net.h>
#include <weft/plugin/topo.h>
#include <weft/plugin/tuner.h>

#include "core/base/error.h"
#include "core/config/option_table.h"

#define OPS_MAX_BYTES 65536u /* a larger "size" is no size */
#define CONFIG_MAX_BYTES ((size_t)1 << 20)
#define TEXT_MAX_BYTES 256
#define SLOTS_MAX 24

/* A slot that must be filled. */
typedef struct weft_slot {
    const char *name;
    size_t offset;
} weft_slot_t;

#define SLOT(type, field)                                                                          \
    {                                                                                              \
#field, offsetof(type, field)                                                              \
    }

static const weft_slot_t net_slots[SLOTS_MAX] = {
    SLOT(weft_net_ops_t, create),       SLOT(weft_net_ops_t, destroy),
    SLOT(weft_net_ops_t, device_count), SLOT(weft_net_ops_t, device_props),
    SLOT(weft_net_ops_t, device_open),  SLOT(weft_net_ops_t, device_close),
    SLOT(weft_net_ops_t, listen),       SLOT(weft_net_ops_t, listener_close),
    SLOT(weft_net_ops_t, reachable),    SLOT(weft_net_ops_t, connect_begin),
    SLOT(weft_net_ops_t, connect_poll), SLOT(weft_net_ops_t, accept),
    SLOT(weft_net_ops_t, conn_info),    SLOT(weft_net_ops_t, conn_check),
    SLOT(weft_net_ops_t, conn_close),
};
static const weft_slot_t net_message_slots[SLOTS_MAX] = {
    SLOT(weft_net_ops_t, post),
    SLOT(weft_net_ops_t, poll),
    SLOT(weft_net_ops_t, cancel),
};
static const weft_slot_t net_map_slots[SLOTS_MAX] = {SLOT(weft_net_ops_t, get_extension)};
static const weft_slot_t algo_slots[SLOTS_MAX] = {
    SLOT(weft_algo_ops_t, create),
    SLOT(weft_algo_ops_t, destroy),
    SLOT(weft_algo_ops_t, supports),
    SLOT(weft_algo_ops_t, emit),
};
static const weft_slot_t kernel_slots[SLOTS_MAX] = {
    SLOT(weft_kernel_ops_t, create),
    SLOT(weft_kernel_ops_t, destroy),
    SLOT(weft_kernel_ops_t, props),
    SLOT(weft_kernel_ops_t, select),
};
static const weft_slot_t tuner_slots[SLOTS_MAX] = {
    SLOT(weft_tuner_ops_t, create),
    SLOT(weft_tuner_ops_t, destroy),
    SLOT(weft_tuner_ops_t, choose),
};
static const weft_slot_t topo_slots[SLOTS_MAX] = {
    SLOT(weft_topo_ops_t, create),
    SLOT(weft_topo_ops_t, destroy),
    SLOT(weft_topo_ops_t, discover),
};

static const struct {
    uint16_t major, minor;
    const weft_slot_t *slots;
} kinds[] = {
    [WEFT_KIND_NET] = {WEFT_ABI_NET_MAJOR, WEFT_ABI_NET_MINOR, net_slots},
    [WEFT_KIND_ALGO] = {WEFT_ABI_ALGO_MAJOR, WEFT_ABI_ALGO_MINOR, algo_slots},
    [WEFT_KIND_KERNEL] = {WEFT_ABI_KERNEL_MAJOR, WEFT_ABI_KERNEL_MINOR, kernel_slots},
    [WEFT_KIND_TUNER] = {WEFT_ABI_TUNER_MAJOR, WEFT_ABI_TUNER_MINOR, tuner_slots},
    [WEFT_KIND_TOPO] = {WEFT_ABI_TOPO_MAJOR, WEFT_ABI_TOPO_MINOR, topo_slots},
};

static weft_status_t magic_check(const weft_listed_t *listed, const weft_plugin_t *plugin)
{
    char found[32], expected[32];
    if (plugin->magic == WEFT_PLUGIN_MAGIC) {
        return WEFT_OK;
    }
    snprintf(found, sizeof found, "0x%08" PRIx32, plugin->magic);
    snprintf(expected, sizeof expected, "0x%08x", WEFT_PLUGIN_MAGIC);
    return weft_listed_refuse(listed, "wrong magic", found, expected);
}

static weft_status_t kind_check(const weft_listed_t *listed, const weft_plugin_t *plugin)
{
    char number[32];
    const char *found = weft_plugin_kind_name(plugin->kind);
    if (plugin->kind == (uint32_t)listed->kind) {
        return WEFT_OK;
    }
    snprintf(number, sizeof number, "%" PRIu32, plugin->kind);
    return weft_listed_refuse(listed, "wrong kind", found != NULL ? found : number,
                              weft_plugin_kind_name((uint32_t)listed->kind));
}

static weft_status_t abi_check(const weft_listed_t *listed, const weft_plugin_t *plugin)
{
    char found[32], expected[64], reason[48];
    uint16_t major = kinds[listed->kind].major, minor = kinds[listed->kind].minor;
    if (plugin->abi_major == major && plugin->abi_minor <= minor) {
        return WEFT_OK;
    }
    snprintf(reason, sizeof reason, "%s ABI of the %s kind",
             plugin->abi_major != major ? "other" : "newer",
             weft_plugin_kind_name((uint32_t)listed->kind));
    snprintf(found, sizeof found, "%u.%u", plugin->abi_major, plugin->abi_minor);
    snprintf(expected, sizeof expected, minor == 0 ? "%u.0" : "%u.0 to %u.%u", major, major, minor);
    return weft_listed_refuse(listed, reason, found, expected);
}

static weft_status_t size_check(const weft_listed_t *listed, const weft_plugin_t *plugin)
{
    char found[32], expected[48];
    if (plugin->size >= sizeof *plugin && plugin->size < OPS_MAX_BYTES) {
        return WEFT_OK;
    }
    snprintf(found, sizeof found, "%" PRIu32 " bytes", plugin->size);
    snprintf(expected, sizeof expected, "%zu bytes", sizeof *plugin);
    return weft_listed_refuse(listed, "wrong size of the descriptor", found, expected);
}

static weft_status_t name_check(const weft_listed_t *listed, const weft_plugin_t *plugin)
{
    char found[TEXT_MAX_BYTES];
    const char *name = plugin->name;
    snprintf(found, sizeof found, "%.60s", name != NULL ? name : "none");
    if (name == NULL || !weft_option_name_ok(name, strnlen(name, TEXT_MAX_BYTES), '-')) {
        return weft_listed_refuse(listed, "bad name", found, "1 to 48 of a-z, 0-9 and -");
    }
    if (listed->name != NULL && strcmp(name, listed->name) != 0) {
        return weft_listed_refuse(listed, "other name", found, listed->name);
    }
    if (plugin->version == NULL || plugin->help == NULL) {
        return weft_listed_refuse(listed, plugin->version == NULL ? "no version" : "no help",
                                  "NULL", "one line of text");
    }
    return WEFT_OK;
}

static weft_status_t options_check(const weft_listed_t *listed, const weft_plugin_t *plugin)
{
    char why[400];
    const weft_option_t *options = plugin->options;
    if (plugin->config_size > CONFIG_MAX_BYTES) {
        snprintf(why, sizeof why, "%zu bytes", plugin->config_size);
        return weft_listed_refuse(listed, "bad config_size", why, "at most 1 MiB");
    }
    if (options == NULL) {
        return WEFT_OK;
    }
    if (!weft_option_table_check(options, plugin->config_size, why, sizeof why)) {
        /* The text says "…, expected …" in place of the usual two halves. */
        return weft_fail(WEFT_ERR_PLUGIN, 0,
                         "plugin %s: bad option table: found %s (%s, listed by %s)", plugin->name,
                         why, listed->path, listed->origin);
    }
    for (; options->name != NULL; options++) {
        if (strcmp(options->name, "path") == 0 || strcmp(options->name, "optional") == 0) {
            return weft_listed_refuse(listed, "bad option table", options->name,
                                      "another name, this one is taken by the loader");
        }
    }
    return WEFT_OK;
}

/* True if the slot lies inside the table and is not all zero; function pointers are compared as
 * bytes because they have no common type. */
static bool plugin_check_slot_filled(const void *ops, size_t size, size_t offset)
{
    static const char zero[sizeof(void (*)(void))];
    return offset + sizeof zero <= size &&
           memcmp((const char *)ops + offset, zero, sizeof zero) != 0;
}

static weft_status_t slots_check(const weft_listed_t *listed, const void *ops, size_t size,
                                 const weft_slot_t *slots)
{
    char found[64], expected[96];
    for (; slots->name != NULL; slots++) {
        if (plugin_check_slot_filled(ops, size, slots->offset)) {
            continue;
        }
        bool inside = slots->offset + sizeof(void (*)(void)) <= size;
        snprintf(found, sizeof found, inside ? "NULL" : "a table of %zu bytes", size);
        snprintf(expected, sizeof expected, "a function %s at byte %zu", slots->name,
                 slots->offset);
        return weft_listed_refuse(listed, inside ? "missing slot" : "operation table too short",
                                  found, expected);
    }
    return WEFT_OK;
}

static weft_status_t ops_check(const weft_listed_t *listed, const weft_plugin_t *plugin)
{
    size_t size;
    char found[64];
    if (plugin->ops == NULL) {
        return weft_listed_refuse(listed, "no operation table", "NULL", "a table");
    }
    memcpy(&size, plugin->ops, sizeof size);
    if (size >= OPS_MAX_BYTES || size < sizeof size) {
        snprintf(found, sizeof found, "%zu as its first word", size);
        return weft_listed_refuse(listed, "bad operation table", found, "its size in bytes");
    }
    return slots_check(listed, plugin->ops, size, kinds[listed->kind].slots);
}

static weft_status_t net_check(const weft_listed_t *listed, const weft_net_ops_t *ops)
{
    char found[32];
    const uint32_t known = WEFT_NET_CAP_MESSAGES | WEFT_NET_CAP_MAP;
    if (ops->caps == 0 || (ops->caps & ~known) != 0) {
        snprintf(found, sizeof found, "0x%" PRIx32, ops->caps);
        return weft_listed_refuse(listed, "bad caps", found,
                                  "WEFT_NET_CAP_MESSAGES, WEFT_NET_CAP_MAP or both");
    }
    weft_status_t status = WEFT_OK;
    if ((ops->caps & WEFT_NET_CAP_MESSAGES) != 0) {
        status = slots_check(listed, ops, ops->size, net_message_slots);
    }
    if (status == WEFT_OK && (ops->caps & WEFT_NET_CAP_MAP) != 0) {
        status = slots_check(listed, ops, ops->size, net_map_slots);
    }
    if (status == WEFT_OK &&
        WEFT_HAS(ops, weft_net_ops_t, reg) != WEFT_HAS(ops, weft_net_ops_t, dereg)) {
        return weft_listed_refuse(listed, "half a pair of slots", "one of reg and dereg",
                                  "both or none");
    }
    return status;
}

/* Parameters and options are keys of one section. */
static bool algo_param_is_taken(const weft_plugin_t *plugin, const weft_algo_param_t *params,
                                size_t i)
{
    const weft_option_t *option = plugin->options;
    const char *name = params[i].name;
    for (size_t j = 0; j < i; j++) {
        if (strcmp(params[j].name, name) == 0) {
            return true;
        }
    }
    while (option != NULL && option->name != NULL && strcmp(option->name, name) != 0) {
        option++;
    }
    return (option != NULL && option->name != NULL) || strcmp(name, "path") == 0 ||
           strcmp(name, "optional") == 0;
}

static weft_status_t algo_check(const weft_listed_t *listed, const weft_plugin_t *plugin)
{
    const weft_algo_ops_t *ops = plugin->ops;
    char found[TEXT_MAX_BYTES];
    const weft_algo_param_t *params = WEFT_HAS(ops, weft_algo_ops_t, params) ? ops->params : NULL;
    for (size_t i = 0; params != NULL && params[i].name != NULL; i++) {
        const weft_algo_param_t *p = &params[i];
        if (i == WEFT_ALGO_PARAMS_MAX) {
            return weft_listed_refuse(listed, "bad parameters", "more than 8",
                                      "at most WEFT_ALGO_PARAMS_MAX 8");
        }
        if (p->help == NULL || p->min > p->value || p->value > p->max) {
            snprintf(found, sizeof found, "%.60s: %" PRId64 " in %" PRId64 " to %" PRId64, p->name,
                     p->value, p->min, p->max);
            return weft_listed_refuse(listed, "bad parameters", found,
                                      "help, and a default inside the range");
        }
        if (!weft_option_name_ok(p->name, strlen(p->name), '_') ||
            algo_param_is_taken(plugin, params, i)) {
            snprintf(found, sizeof found, "%.60s", p->name);
            return weft_listed_refuse(listed, "bad parameters", found,
                                      "names of a-z, 0-9 and _, each once, that no option has");
        }
    }
    return WEFT_OK;
}

weft_status_t weft_listed_check(const weft_listed_t *listed, const weft_plugin_t *plugin)
{
    static weft_status_t (*const checks[])(const weft_listed_t *, const weft_plugin_t *) = {
        magic_check, kind_check, abi_check, size_check, name_check, options_check, ops_check,
    };
    if (weft_plugin_kind_name((uint32_t)listed->kind) == NULL) {
        return weft_fail(WEFT_ERR_ARG, 0, "no plugin kind %d", (int)listed->kind);
    }
    if (plugin == NULL) {
        return weft_listed_refuse(listed, "no descriptor", "NULL from weft_plugin_entry",
                                  "a descriptor");
    }
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        weft_status_t status = checks[i](listed, plugin);
        if (status != WEFT_OK) {
            return status;
        }
    }
    if (listed->kind == WEFT_KIND_NET) {
        return net_check(listed, plugin->ops);
    }
    return listed->kind == WEFT_KIND_ALGO ? algo_check(listed, plugin) : WEFT_OK;
}

weft_status_t weft_plugin_check(const weft_plugin_t *plugin, weft_plugin_kind_t kind,
                                const char *name, const char *path, const char *origin)
{
    const weft_listed_t listed = {.kind = kind, .name = name, .path = path, .origin = origin};
    return weft_listed_check(&listed, plugin);
}
