/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making and freeing the instances of the plugins that a family uses. */
#include "core/comm/family_plugins.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/comm/algo_variants.h"
#include "core/comm/slots.h"
#include "core/plugin/plugin_status.h"

/* Adds to the plugin's error where the configuration lists the plugin. */
static weft_status_t family_plugins_name_listing(const weft_family_t *family,
                                                 const weft_loaded_t *loaded, weft_status_t status)
{
    weft_error_t *error = weft_error_record();
    size_t at = strnlen(error->text, sizeof error->text);
    snprintf(error->text + at, sizeof error->text - at, " (%s is listed in [core] algo, %s)",
             loaded->plugin->name, weft_config_origin(family->config, "core", "algo"));
    return status;
}

/* Finds an algorithm by name, for plans that use the plans of other algorithms. */
static weft_status_t family_plugins_find_algo(void *arg, const char *name,
                                              const weft_algo_ops_t **ops_p, weft_algo_t **algo_p)
{
    const weft_family_algos_t *algos = arg;
    const char *names[WEFT_ALGOS_MAX];
    for (uint32_t i = 0; i < algos->count; i++) {
        const weft_algo_loaded_t *algo = &algos->list[i];
        names[i] = algo->loaded->plugin->name;
        if (strcmp(names[i], name) == 0) {
            *ops_p = algo->ops;
            *algo_p = algo->algo;
            return WEFT_OK;
        }
    }
    return weft_plan_no_algo(name, names, algos->count);
}

static const int64_t *family_plugins_find_params(void *arg, const char *name)
{
    const weft_family_algos_t *algos = arg;
    uint32_t i = 0;
    while (i < algos->count && strcmp(algos->list[i].loaded->plugin->name, name) != 0) {
        i++;
    }
    return i < algos->count ? algos->list[i].loaded->params : NULL;
}

static uint32_t family_plugins_depth(const weft_algo_loaded_t *algo)
{
    if (!WEFT_HAS(algo->ops, weft_algo_ops_t, depth) || algo->ops->depth == NULL) {
        return 1;
    }
    weft_call_note_t before = weft_call_enter(algo->loaded->plugin->name, "depth");
    uint32_t depth = algo->ops->depth(algo->algo);
    weft_call_leave(before);
    return depth == 0 ? 1 : depth < WEFT_SLOTS_MOST ? depth : WEFT_SLOTS_MOST;
}

static weft_status_t family_plugins_made(const weft_loaded_t *loaded, weft_status_t status)
{
    return weft_plugin_status(loaded, "create", WEFT_RETURNS_FINAL, status);
}

static weft_status_t family_plugins_create_algos(weft_family_t *family)
{
    const weft_loaded_t *loaded;
    family->algos.finder = (weft_plan_finder_t){.find = family_plugins_find_algo,
                                                .params = family_plugins_find_params,
                                                .arg = &family->algos};
    for (uint32_t i = 0; (loaded = weft_registry_get(family->registry, WEFT_KIND_ALGO, i)) != NULL;
         i++) {
        if (i == WEFT_ALGOS_MAX) {
            return weft_fail(WEFT_ERR_CONFIG, 0, "more than %d algorithms are listed",
                             WEFT_ALGOS_MAX);
        }
        weft_algo_loaded_t *algo = &family->algos.list[i];
        algo->loaded = loaded;
        algo->ops = loaded->plugin->ops;
        weft_status_t status = family_plugins_made(
            loaded, algo->ops->create(loaded->host, loaded->config, &algo->algo));
        if (status != WEFT_OK) {
            return family_plugins_name_listing(family, loaded, status);
        }
        algo->depth = family_plugins_depth(algo);
        family->algos.count = i + 1;
    }
    return WEFT_OK;
}

static weft_status_t family_plugins_need_one(const weft_family_t *family, weft_plugin_kind_t kind,
                                             const char *what, const weft_loaded_t **loaded_p)
{
    *loaded_p = weft_registry_get(family->registry, kind, 0);
    if (*loaded_p == NULL) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "no %s plugin is listed in [core] %s", what, what);
    }
    return WEFT_OK;
}

/* The tuner sees the names of all algorithms, for options that name some. */
static weft_status_t family_plugins_check_tuner(const weft_family_t *family)
{
    const char *names[WEFT_ALGOS_MAX];
    const weft_tuner_ops_t *ops = family->tuner.ops;
    if (!WEFT_HAS(ops, weft_tuner_ops_t, check) || ops->check == NULL) {
        return WEFT_OK;
    }
    for (uint32_t i = 0; i < family->algos.count; i++) {
        names[i] = family->algos.list[i].loaded->plugin->name;
    }
    return weft_plugin_status(family->tuner.loaded, "check", WEFT_RETURNS_FINAL,
                              ops->check(family->tuner.instance, names, family->algos.count));
}

/* A kernel of the host need not know bytes. */
static void family_plugins_find_copy(weft_family_kernel_t *kernel)
{
    if (kernel->memory != NULL || weft_combiner_select(kernel->loaded, kernel->instance, WEFT_UINT8,
                                                       WEFT_SUM, &kernel->copy) != WEFT_OK) {
        kernel->copy.fn = NULL;
    }
}

weft_status_t weft_family_create_plugins(weft_family_t *family)
{
    weft_status_t status =
        family_plugins_need_one(family, WEFT_KIND_KERNEL, "kernel", &family->kernel.loaded);
    if (status == WEFT_OK) {
        status = family_plugins_need_one(family, WEFT_KIND_TUNER, "tuner", &family->tuner.loaded);
    }
    if (status != WEFT_OK) {
        return status;
    }
    family->kernel.ops = family->kernel.loaded->plugin->ops;
    family->tuner.ops = family->tuner.loaded->plugin->ops;
    const weft_loaded_t *kernel = family->kernel.loaded;
    status = family_plugins_made(
        kernel, family->kernel.ops->create(kernel->host, kernel->config, &family->kernel.instance));
    if (status == WEFT_OK) {
        family->kernel.props.size = sizeof family->kernel.props;
        status = family->kernel.ops->props(family->kernel.instance, &family->kernel.props);
        status = weft_plugin_status(kernel, "props", WEFT_RETURNS_FINAL, status);
    }
    if (status == WEFT_OK && WEFT_HAS(family->kernel.ops, weft_kernel_ops_t, get_extension)) {
        family->kernel.lanes =
            family->kernel.ops->get_extension(family->kernel.instance, WEFT_KERNEL_LANES);
        family->kernel.memory =
            family->kernel.ops->get_extension(family->kernel.instance, WEFT_KERNEL_MEMORY);
        /* Host code moves payloads that lie on a device by the kernel's copy function. */
        if (family->kernel.memory != NULL) {
            family->kernel.share =
                family->kernel.ops->get_extension(family->kernel.instance, WEFT_KERNEL_IPC);
            family->kernel.direct =
                family->kernel.ops->get_extension(family->kernel.instance, WEFT_KERNEL_GPUDIRECT);
        }
    }
    if (status == WEFT_OK) {
        family_plugins_find_copy(&family->kernel);
    }
    if (status == WEFT_OK) {
        const weft_loaded_t *tuner = family->tuner.loaded;
        status = family_plugins_made(
            tuner, family->tuner.ops->create(tuner->host, tuner->config, &family->tuner.instance));
    }
    status = status == WEFT_OK ? family_plugins_create_algos(family) : status;
    status = status == WEFT_OK ? family_plugins_check_tuner(family) : status;
    return status == WEFT_OK ? weft_algo_variants_make(family) : status;
}

weft_status_t weft_family_share_device(weft_family_t *family)
{
    weft_family_kernel_t *kernel = &family->kernel;
    const weft_job_t *job = &family->job;
    const uint32_t gpu = job->ranks[family->rank].gpu;
    uint32_t ranks = 0;
    if (kernel->lanes == NULL || !WEFT_HAS(kernel->lanes, weft_kernel_lanes_t, share_device) ||
        kernel->lanes->share_device == NULL || gpu == WEFT_JOB_NONE) {
        return WEFT_OK;
    }
    for (uint32_t rank = 0; rank < family->nranks; rank++) {
        ranks += job->host[rank] == job->host[family->rank] && job->ranks[rank].gpu == gpu;
    }
    weft_status_t status = weft_plugin_status(kernel->loaded, "share_device", WEFT_RETURNS_FINAL,
                                              kernel->lanes->share_device(kernel->instance, ranks));
    return status == WEFT_OK
               ? weft_plugin_status(kernel->loaded, "props", WEFT_RETURNS_FINAL,
                                    kernel->ops->props(kernel->instance, &kernel->props))
               : status;
}

void weft_family_destroy_plugins(weft_family_t *family)
{
    for (uint32_t i = 0; i < family->algos.count; i++) {
        family->algos.list[i].ops->destroy(family->algos.list[i].algo);
    }
    if (family->tuner.instance != NULL) {
        family->tuner.ops->destroy(family->tuner.instance);
    }
    if (family->kernel.instance != NULL) {
        family->kernel.ops->destroy(family->kernel.instance);
    }
}
