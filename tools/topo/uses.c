/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Joins the machine with the devices of net and kernel plugins. */
#include "tools/topo/uses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/topo/paths.h"

/* `words` are separated by spaces; "mlx5_0:1" is a port of mlx5_0. */
static bool uses_has_word(const char *words, const char *name)
{
    const size_t length = strcspn(name, ":");
    for (const char *at = words; length > 0 && *at != '\0';) {
        size_t word = strcspn(at, " ");
        if (word == length && memcmp(at, name, length) == 0) {
            return true;
        }
        at += word + (at[word] == ' ' ? 1 : 0);
    }
    return false;
}

static uint32_t uses_find_device(const topo_t *topo, const topo_use_t *use)
{
    const char *address = use->gpu ? use->kernel.pci : use->net.pci;
    for (uint32_t i = 0; i < topo->machine.ndevices; i++) {
        const weft_machine_device_t *device = &topo->machine.devices[i];
        if ((device->kind == WEFT_DEVICE_GPU) == use->gpu &&
            (strcmp(device->address, address) == 0 ||
             (!use->gpu && uses_has_word(device->system, use->net.name)))) {
            return i;
        }
    }
    return WEFT_MACHINE_NONE;
}

weft_status_t topo_use_add(topo_t *topo, const topo_use_t *use)
{
    topo_use_t *more = realloc(topo->uses, (topo->nuses + 1) * sizeof *more);
    if (more == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a topology");
    }
    topo->uses = more;
    more[topo->nuses] = *use;
    more[topo->nuses].device = uses_find_device(topo, use);
    topo->nuses++;
    return WEFT_OK;
}

static uint32_t uses_device_used(const topo_t *topo, const char *plugin, uint32_t index)
{
    for (uint32_t i = 0; i < topo->nuses; i++) {
        const topo_use_t *use = &topo->uses[i];
        if (use->gpu && use->index == index && strcmp(use->plugin, plugin) == 0) {
            return use->device;
        }
    }
    return WEFT_MACHINE_NONE;
}

weft_status_t topo_use_reach(topo_t *topo, const char *plugin, uint32_t from, uint32_t to)
{
    uint32_t a = uses_device_used(topo, plugin, from), b = uses_device_used(topo, plugin, to);
    if (a == WEFT_MACHINE_NONE || b == WEFT_MACHINE_NONE || a == b ||
        weft_path_between(&topo->machine, a, b).class == WEFT_ALGO_PATH_NV) {
        return WEFT_OK;
    }
    return weft_machine_add_link(&topo->machine, &(weft_machine_link_t){.from = a, .to = b});
}

static weft_status_t uses_add_trouble(topo_t *topo, const weft_plugin_t *plugin,
                                      weft_status_t status)
{
    topo_trouble_t *more = realloc(topo->troubles, (topo->ntroubles + 1) * sizeof *more);
    const char *text = weft_error_record()->text;
    if (more == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a topology");
    }
    topo->troubles = more;
    more += topo->ntroubles++;
    snprintf(more->plugin, sizeof more->plugin, "%s", plugin->name);
    snprintf(more->text, sizeof more->text, "%s",
             text[0] != '\0' ? text : weft_status_text(status));
    return WEFT_OK;
}

static weft_status_t uses_ask_net(topo_t *topo, const weft_plugin_t *plugin, weft_net_t *net)
{
    const weft_net_ops_t *ops = plugin->ops;
    uint32_t count = 0;
    weft_status_t status = ops->device_count(net, &count);
    for (uint32_t i = 0; i < count && status == WEFT_OK; i++) {
        topo_use_t use = {.index = i, .net = {.size = sizeof use.net}};
        snprintf(use.plugin, sizeof use.plugin, "%s", plugin->name);
        status = ops->device_props(net, i, &use.net);
        status = status == WEFT_OK ? topo_use_add(topo, &use) : status;
    }
    return status;
}

static weft_status_t uses_ask_reach(topo_t *topo, const weft_plugin_t *plugin,
                                    weft_kernel_t *kernel, const weft_kernel_describe_t *describe,
                                    uint32_t count)
{
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < count * count && status == WEFT_OK; i++) {
        weft_kernel_peer_access_t reach = {.size = sizeof reach};
        if (i / count == i % count) {
            continue;
        }
        status = describe->peer_access(kernel, i / count, i % count, &reach);
        if (status == WEFT_OK && reach.atomics) {
            status = topo_use_reach(topo, plugin->name, i / count, i % count);
        }
    }
    return status;
}

static weft_status_t uses_ask_kernel(topo_t *topo, const weft_plugin_t *plugin,
                                     weft_kernel_t *kernel)
{
    const weft_kernel_ops_t *ops = plugin->ops;
    const weft_kernel_describe_t *describe = WEFT_HAS(ops, weft_kernel_ops_t, get_extension)
                                                 ? ops->get_extension(kernel, WEFT_KERNEL_DESCRIBE)
                                                 : NULL;
    uint32_t count = 0;
    if (describe == NULL) {
        return WEFT_OK;
    }
    weft_status_t status = describe->count(kernel, &count);
    for (uint32_t i = 0; i < count && status == WEFT_OK; i++) {
        topo_use_t use = {.index = i, .gpu = true, .kernel = {.size = sizeof use.kernel}};
        snprintf(use.plugin, sizeof use.plugin, "%s", plugin->name);
        status = describe->device(kernel, i, &use.kernel);
        status = status == WEFT_OK ? topo_use_add(topo, &use) : status;
    }
    return status == WEFT_OK ? uses_ask_reach(topo, plugin, kernel, describe, count) : status;
}

static weft_status_t uses_ask(topo_t *topo, const weft_loaded_t *loaded)
{
    const weft_plugin_t *plugin = loaded->plugin;
    weft_status_t status;
    if (plugin->kind == WEFT_KIND_NET) {
        const weft_net_ops_t *ops = plugin->ops;
        weft_net_t *net = NULL;
        status = ops->create(loaded->host, loaded->config, &net);
        if (status == WEFT_OK) {
            status = uses_ask_net(topo, plugin, net);
            ops->destroy(net);
        }
    } else {
        const weft_kernel_ops_t *ops = plugin->ops;
        weft_kernel_t *kernel = NULL;
        status = ops->create(loaded->host, loaded->config, &kernel);
        if (status == WEFT_OK) {
            status = uses_ask_kernel(topo, plugin, kernel);
            ops->destroy(kernel);
        }
    }
    return status == WEFT_OK ? WEFT_OK : uses_add_trouble(topo, plugin, status);
}

weft_status_t topo_use_plugins(topo_t *topo, const tool_session_t *session)
{
    static const weft_plugin_kind_t kinds[] = {WEFT_KIND_NET, WEFT_KIND_KERNEL};
    weft_status_t status = WEFT_OK;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const weft_loaded_t *loaded;
        for (uint32_t i = 0; status == WEFT_OK &&
                             (loaded = weft_registry_get(session->registry, kinds[k], i)) != NULL;
             i++) {
            status = uses_ask(topo, loaded);
        }
    }
    weft_registry_spare(session->registry, WEFT_KIND_NET, topo->spare_net, sizeof topo->spare_net);
    weft_registry_spare(session->registry, WEFT_KIND_KERNEL, topo->spare_kernel,
                        sizeof topo->spare_kernel);
    return status;
}

void topo_close(topo_t *topo)
{
    weft_machine_fini(&topo->machine);
    free(topo->uses);
    free(topo->troubles);
    *topo = (topo_t){0};
}
