/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Instances of plugins for the kits. */
#include "kit_instance.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/check/check_layer.h"
#include "tests/support/fake_host.h"

#define PATIENCE_S 5.0 /* for a call that does not return */

static struct {
    void *(*own)(const weft_host_t *host, size_t bytes, size_t align); /* of the core */
    _Atomic uint64_t count, fail_at;
} allocations;

/* Of threads that find something at the same time only the first one speaks. */
_Noreturn static void kit_end_with(int code, const char *format, va_list args)
{
    static pthread_mutex_t speaks = PTHREAD_MUTEX_INITIALIZER;
    (void)pthread_mutex_lock(&speaks);
    vprintf(format, args);
    printf("\n");
    kit_end(code);
}

void kit_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    kit_end_with(1, format, args);
}

void kit_skip_case(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    kit_end_with(KIT_SKIPPED, format, args);
}

static void *kit_alloc(const weft_host_t *host, size_t bytes, size_t align)
{
    uint64_t number = atomic_fetch_add(&allocations.count, 1) + 1;
    if (number == atomic_load(&allocations.fail_at)) {
        (void)host->set_error(host, WEFT_ERR_RESOURCE, 0, "no memory for %zu bytes", bytes);
        return NULL;
    }
    return allocations.own(host, bytes, align);
}

/* The allocation with this number (from 1), counted from now on, fails; 0: none. */
static void kit_alloc_fail_at(uint64_t number)
{
    atomic_store(&allocations.count, 0);
    atomic_store(&allocations.fail_at, number);
}

/* Makes the layer and the config struct, not yet the object. */
static void kit_instance_init(kit_instance_t *instance, const kit_run_t *run)
{
    char why[400];
    weft_log_set_level(WEFT_LOG_ERROR);
    *instance = (kit_instance_t){.run = run, .core = {.name = run->plugin->name}};
    weft_host_fill(&instance->host, &instance->core);
    allocations.own = instance->host.alloc;
    instance->host.alloc = kit_alloc;
    instance->config = fake_config_create(run->plugin, run->settings, why, sizeof why);
    if (instance->config == NULL) {
        kit_fail("%s", why);
    }
    kit_require_ok(
        weft_check_create(run->plugin, run->path, &instance->host, PATIENCE_S, &instance->check),
        "core.check");
    instance->ops = weft_check_plugin(instance->check)->ops;
}

/* Calls create() of the plugin's kind. */
static weft_status_t kit_instance_create(kit_instance_t *instance)
{
    const weft_host_t *host = weft_check_host(instance->check);
    weft_algo_t *algo = NULL;
    weft_kernel_t *kernel = NULL;
    weft_tuner_t *tuner = NULL;
    weft_status_t status;
    switch (instance->run->plugin->kind) {
    case WEFT_KIND_ALGO:
        status = ((const weft_algo_ops_t *)instance->ops)->create(host, instance->config, &algo);
        instance->object = algo;
        break;
    case WEFT_KIND_KERNEL:
        status =
            ((const weft_kernel_ops_t *)instance->ops)->create(host, instance->config, &kernel);
        instance->object = kernel;
        break;
    default:
        status = ((const weft_tuner_ops_t *)instance->ops)->create(host, instance->config, &tuner);
        instance->object = tuner;
        break;
    }
    return status;
}

static void kit_instance_destroy(kit_instance_t *instance, void *object)
{
    switch (instance->run->plugin->kind) {
    case WEFT_KIND_ALGO:
        ((const weft_algo_ops_t *)instance->ops)->destroy(object);
        break;
    case WEFT_KIND_KERNEL:
        ((const weft_kernel_ops_t *)instance->ops)->destroy(object);
        break;
    default:
        ((const weft_tuner_ops_t *)instance->ops)->destroy(object);
        break;
    }
}

void kit_instance_open(kit_instance_t *instance, const kit_run_t *run)
{
    kit_instance_init(instance, run);
    if (!kit_accepted(kit_instance_create(instance), "create")) {
        kit_skip_case("create: %s", weft_error_record()->text);
    }
}

void kit_instance_close(kit_instance_t *instance)
{
    kit_instance_destroy(instance, instance->object);
    kit_require_ok(WEFT_OK, "destroy");
    weft_check_destroy(instance->check);
    fake_config_destroy(instance->config);
}

/* The layer logs a breach when it finds it, so its line is there already. */
void kit_require_ok(weft_status_t status, const char *what)
{
    if (weft_check_count() > 0) {
        _exit(1);
    }
    if (status != WEFT_OK) {
        kit_fail("%s: found %s (%s), expected OK", what, weft_status_name(status),
                 weft_error_record()->text);
    }
}

bool kit_accepted(weft_status_t status, const char *what)
{
    kit_require_ok(status == WEFT_ERR_UNSUPPORTED ? WEFT_OK : status, what);
    return status == WEFT_OK;
}

/* Cases ---------------------------------------------------------------------------------------- */

static void kit_destroy_nothing(const weft_plugin_t *plugin)
{
    switch (plugin->kind) {
    case WEFT_KIND_ALGO:
        ((const weft_algo_ops_t *)plugin->ops)->destroy(NULL);
        break;
    case WEFT_KIND_KERNEL:
        ((const weft_kernel_ops_t *)plugin->ops)->destroy(NULL);
        break;
    default:
        ((const weft_tuner_ops_t *)plugin->ops)->destroy(NULL);
        break;
    }
}

void kit_common_life(const kit_run_t *run)
{
    for (int i = 0; i < 3; i++) {
        kit_instance_t instance;
        kit_instance_open(&instance, run);
        if (i == 2) {
            /* Past the layer, which does not pass NULL on; by then it has a note of who is in
             * it. */
            weft_check_call_t call = weft_check_enter(instance.check, "destroy(NULL)");
            kit_destroy_nothing(run->plugin);
            weft_check_leave(&call);
        }
        kit_instance_close(&instance);
    }
}

void kit_common_two(const kit_run_t *run)
{
    kit_instance_t one, other;
    kit_instance_open(&one, run);
    kit_instance_open(&other, run);
    kit_instance_close(&one);
    kit_instance_close(&other);
}

void kit_common_memory(const kit_run_t *run)
{
    for (uint64_t n = 1; n < 100; n++) {
        kit_instance_t instance;
        kit_instance_init(&instance, run);
        kit_alloc_fail_at(n);
        weft_status_t status = kit_instance_create(&instance);
        uint64_t asked = atomic_load(&allocations.count);
        kit_alloc_fail_at(0);
        bool refused = status == WEFT_ERR_RESOURCE || status == WEFT_ERR_UNSUPPORTED;
        kit_require_ok(refused ? WEFT_OK : status, "create, short of memory");
        if (status == WEFT_OK && n <= asked) {
            kit_fail("create: found OK when allocation %llu fails, expected ERR_RESOURCE",
                     (unsigned long long)n);
        }
        int64_t left = atomic_load(&instance.check->allocations);
        if (status != WEFT_OK && left != 0) {
            kit_fail("create: found %lld pieces of memory kept when allocation %llu fails, "
                     "expected none",
                     (long long)left, (unsigned long long)n);
        }
        if (status == WEFT_OK) {
            kit_instance_close(&instance);
            return;
        }
        weft_check_destroy(instance.check);
        fake_config_destroy(instance.config);
    }
}
