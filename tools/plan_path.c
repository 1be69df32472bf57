/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See plan_path.h. */
#include "tools/plan_path.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/comm/device_edges.h"
#include "core/exec/slot.h"
#include "tools/values.h"

int plan_path_parse(const char *text)
{
    const char *names[WEFT_KERNEL_PATH_COUNT + 1] = {NULL};
    for (uint32_t i = 0; i < WEFT_KERNEL_PATH_COUNT; i++) {
        names[i] = weft_figures_path_name((weft_kernel_path_t)i);
    }
    return tool_parse_name("path", text, names);
}

/* What the kernel says of the device that it would use here, or presumes of one. */
static bool plan_path_ask_kernel(const weft_loaded_t *loaded, weft_kernel_props_t *props)
{
    const weft_kernel_ops_t *ops = loaded->plugin->ops;
    weft_kernel_t *kernel = NULL;
    if (ops->create(loaded->host, loaded->config, &kernel) == WEFT_OK) {
        bool told = ops->props(kernel, props) == WEFT_OK;
        ops->destroy(kernel);
        return told;
    }
    if (WEFT_HAS(ops, weft_kernel_ops_t, presume) && ops->presume != NULL) {
        ops->presume(loaded->config, props);
    }
    return false;
}

static weft_status_t plan_path_take(const tool_session_t *session, const weft_kernel_props_t *props,
                                    plan_path_t *path)
{
    const weft_figures_settings_t *settings = &session->settings.figures;
    const weft_figures_names_t names = {session->registry, session->config};
    weft_figures_t given;
    weft_status_t status =
        weft_figures_read(settings->edge, settings->kernel, path->kernel, &names, &given);
    if (status != WEFT_OK) {
        return status;
    }
    const weft_device_costs_t costs = {path->kernel, props, &given};
    const double launch = given.kernel.launch, gamma = given.kernel.gamma[WEFT_FP32];
    weft_device_edge(&costs, path->path, WEFT_KERNEL_PROTOCOL_SIMPLE, &path->edge);
    weft_device_protocols(&costs, path->path, path->protocol);
    path->launch = launch > 0 ? launch : (double)props->launch_ns * 1e-9;
    path->gamma = gamma > 0 ? gamma : 1 / (double)(props->bandwidth + 1);
    return WEFT_OK;
}

weft_status_t plan_path_ask(const tool_session_t *session, plan_path_t *path)
{
    const weft_loaded_t *loaded = weft_registry_get(session->registry, WEFT_KIND_KERNEL, 0);
    const weft_plan_settings_t *plan = &session->settings.plan;
    weft_kernel_props_t props = {.size = sizeof props};
    if (loaded == NULL) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "--path: no kernel is loaded");
    }
    snprintf(path->kernel, sizeof path->kernel, "%s", loaded->plugin->name);
    path->presumed = !plan_path_ask_kernel(loaded, &props);
    weft_status_t status = plan_path_take(session, &props, path);
    if (status == WEFT_OK && !(path->edge.alpha > 0 && path->edge.beta > 0)) {
        const char *name = weft_figures_path_name(path->path);
        return weft_fail(WEFT_ERR_CONFIG, 0,
                         "--path %s: %s says nothing of edges between devices; --set "
                         "core.kernel=kernel-cuda does, or lines such as [figures] edge = %s %s "
                         "latency=3us bandwidth=25GB/s",
                         name, path->kernel, path->kernel, name);
    }
    path->channels = plan->channels > 0   ? (uint32_t)plan->channels
                     : props.channels > 0 ? props.channels
                                          : 1;
    path->channel_bytes = plan->channel_bytes > 0 ? plan->channel_bytes : WEFT_CHANNEL_BYTES_DEVICE;
    return status;
}

void plan_path_apply(const plan_path_t *path, weft_cost_model_t *model)
{
    model->level[WEFT_LEVEL_INSIDE] = path->edge;
    memcpy(model->protocol, path->protocol, sizeof model->protocol);
    model->gamma = path->gamma;
    model->launch = path->launch;
    model->at_once = true;
}

const char *plan_path_travel(weft_kernel_protocol_t protocol, uint64_t longest)
{
    return longest <= WEFT_SLOT_INLINE ? "header" : weft_figures_protocol_name(protocol);
}
