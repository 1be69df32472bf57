/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See offer.h. */
#include "offer.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/config/config.h"
#include "core/config/settings.h"
#include "core/plugin/net_props.h"
#include "core/plugin/registry.h"
#include "offer_auth.h"

/* net-nccl would load this library again. */
#define ITSELF "net-nccl"

static pthread_mutex_t offer_lock = PTHREAD_MUTEX_INITIALIZER;
static offer_t offer;
static weft_config_t *config;
static weft_registry_t *registry;
static weft_nccl_log_t logger;

offer_t *offer_get(void)
{
    return &offer;
}

int offer_refuse(int result, const char *format, ...)
{
    char text[500];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (logger != NULL) {
        logger(WEFT_NCCL_LOG_WARN, ~0ul, __FILE__, __LINE__, "NET/weft: %s", text);
    }
    return result;
}

int offer_fail(weft_status_t status, const char *what)
{
    const weft_error_t *error = weft_error_record();
    int result = status == WEFT_ERR_PROTO ? WEFT_NCCL_INVALID_USAGE
                 : status == WEFT_ERR_ARG ? WEFT_NCCL_INVALID_ARGUMENT
                 : status == WEFT_ERR_LINK || status == WEFT_ERR_PEER_DEAD ? WEFT_NCCL_REMOTE_ERROR
                 : status == WEFT_ERR_SYSTEM || status == WEFT_ERR_RESOURCE
                     ? WEFT_NCCL_SYSTEM_ERROR
                     : WEFT_NCCL_INTERNAL_ERROR;
    const char *text = error->status == status ? error->text : "no reason was given";
    return offer_refuse(result, "%s: %s: %s", what, weft_status_name(status), text);
}

static void offer_find_pci(offer_device_t *device)
{
    char path[64], real[PATH_MAX];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s", device->props.pci);
    if (device->props.pci[0] != '\0' && realpath(path, real) != NULL &&
        strlen(real) < sizeof device->pci_path) {
        snprintf(device->pci_path, sizeof device->pci_path, "%.127s", real);
    }
}

static weft_status_t offer_list_devices(const weft_loaded_t *loaded)
{
    uint32_t count = 0;
    weft_status_t status = offer.ops->device_count(offer.net, &count);
    offer.ndevices = count < OFFER_DEVICES ? count : OFFER_DEVICES;
    for (uint32_t i = 0; status == WEFT_OK && i < offer.ndevices; i++) {
        status = weft_net_props_read(loaded, offer.net, i, &offer.devices[i].props);
        pthread_mutex_init(&offer.devices[i].lock, NULL);
        offer_find_pci(&offer.devices[i]);
    }
    return status;
}

/* OK with no device: the next transport may have some. */
static weft_status_t offer_try(const weft_loaded_t *loaded)
{
    const weft_net_ops_t *ops = loaded->plugin->ops;
    if ((ops->caps & WEFT_NET_CAP_MESSAGES) == 0 || strcmp(loaded->plugin->name, ITSELF) == 0) {
        return WEFT_OK;
    }
    offer.ops = ops;
    weft_status_t status = ops->create(offer_auth_host(loaded->host), loaded->config, &offer.net);
    if (status != WEFT_OK) {
        return status;
    }
    status = offer_list_devices(loaded);
    if (status != WEFT_OK || offer.ndevices == 0) {
        ops->destroy(offer.net);
        offer.ndevices = 0;
        return status;
    }
    snprintf(offer.name, sizeof offer.name, "weft/%.30s", loaded->plugin->name);
    return WEFT_OK;
}

/* Only transports are needed. */
static weft_status_t offer_load(void)
{
    weft_settings_t settings;
    weft_status_t status = weft_config_load(NULL, &config);
    if (status == WEFT_OK) {
        status = weft_settings_read(config, &settings);
    }
    if (status == WEFT_OK) {
        settings.core.algo = settings.core.kernel = settings.core.tuner = settings.core.topo = "";
        status = weft_registry_load(config, &settings, false, &registry);
    }
    return status;
}

static int offer_find(void)
{
    const weft_loaded_t *loaded;
    weft_status_t status = registry == NULL ? offer_load() : WEFT_OK;
    if (status != WEFT_OK) {
        weft_config_destroy(config);
        config = NULL;
        return offer_fail(status, "cannot begin");
    }
    for (uint32_t i = 0; offer.ndevices == 0; i++) {
        loaded = weft_registry_get(registry, WEFT_KIND_NET, i);
        if (loaded == NULL) {
            return offer_refuse(
                WEFT_NCCL_SYSTEM_ERROR,
                "no transport of [core] net carries messages and has a device here");
        }
        status = offer_try(loaded);
        if (status != WEFT_OK) {
            return offer_fail(status, loaded->plugin->name);
        }
    }
    return WEFT_NCCL_SUCCESS;
}

int offer_begin(weft_nccl_log_t log)
{
    pthread_mutex_lock(&offer_lock);
    logger = log;
    int result = offer.ndevices == 0 ? offer_find() : WEFT_NCCL_SUCCESS;
    pthread_mutex_unlock(&offer_lock);
    if (result == WEFT_NCCL_SUCCESS && log != NULL) {
        log(WEFT_NCCL_LOG_INFO, ~0ul, __FILE__, __LINE__, "NET/weft: %s, %u devices", offer.name,
            offer.ndevices);
    }
    return result;
}

offer_device_t *offer_device_open(int dev)
{
    if (dev < 0 || (uint32_t)dev >= offer.ndevices) {
        (void)offer_refuse(0, "device %d of %u", dev, offer.ndevices);
        return NULL;
    }
    offer_device_t *device = &offer.devices[dev];
    pthread_mutex_lock(&device->lock);
    weft_status_t status = device->device != NULL
                               ? WEFT_OK
                               : offer.ops->device_open(offer.net, (uint32_t)dev, &device->device);
    device->users += status == WEFT_OK ? 1 : 0;
    pthread_mutex_unlock(&device->lock);
    if (status != WEFT_OK) {
        (void)offer_fail(status, "device_open");
        return NULL;
    }
    return device;
}

void offer_device_close(offer_device_t *device)
{
    pthread_mutex_lock(&device->lock);
    if (--device->users == 0) {
        offer.ops->device_close(device->device);
        device->device = NULL;
    }
    pthread_mutex_unlock(&device->lock);
}
