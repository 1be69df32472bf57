/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See ncclnet_library.h. Before v11 init() is for the process, so the table of libraries is, too
 * (decision 79). */
#include "ncclnet_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "ncclnet_call.h"

#define LIBRARIES 8u /* that one process may use */

static pthread_mutex_t libraries_lock = PTHREAD_MUTEX_INITIALIZER;
static ncclnet_library_t libraries[LIBRARIES];

static const char *ncclnet_file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* `why` gets the reason of the name as it is written. */
static void *ncclnet_library_dlopen(const char *name, char *path, size_t bytes, char *why,
                                    size_t why_bytes)
{
    snprintf(path, bytes, "%s", name);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle != NULL) {
        return handle;
    }
    const char *reason = dlerror();
    snprintf(why, why_bytes, "%s", reason != NULL ? reason : "dlopen failed");
    if (strchr(name, '/') != NULL || strncmp(name, "lib", 3) == 0) {
        return NULL;
    }
    snprintf(path, bytes, "libnccl-net-%s.so", name);
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        reason = dlerror();
        snprintf(why, why_bytes, "%s", reason != NULL ? reason : "dlopen failed");
    }
    return handle;
}

/* Takes the newest table that the library has. */
static weft_status_t ncclnet_library_choose(weft_net_t *net, void *handle,
                                            ncclnet_library_t *library)
{
    const weft_host_t *host = net->host;
    for (size_t i = 0; i < NCCLNET_SHIMS && library->table == NULL; i++) {
        library->shim = ncclnet_shims[i];
        library->table = dlsym(handle, library->shim->symbol);
    }
    if (library->table == NULL) {
        return host->set_error(host, WEFT_ERR_PLUGIN, 0,
                               "%s: found none of the symbols ncclNetPlugin_v%u to "
                               "ncclNetPlugin_v%u, expected one; is it a network plugin of NCCL?",
                               library->path, WEFT_NCCL_OLDEST, WEFT_NCCL_NEWEST);
    }
    const char *missing = library->shim->missing(library->table);
    if (missing != NULL) {
        return host->set_error(host, WEFT_ERR_PLUGIN, 0, "%s: %s of %s is NULL", library->path,
                               missing, library->shim->symbol);
    }
    return WEFT_OK;
}

static ncclnet_library_t *ncclnet_library_place(const void *handle)
{
    ncclnet_library_t *place = NULL;
    for (uint32_t i = 0; i < LIBRARIES; i++) {
        if (libraries[i].handle == handle) {
            return &libraries[i];
        }
        place = place == NULL && libraries[i].handle == NULL ? &libraries[i] : place;
    }
    return place;
}

/* With the lock. */
static weft_status_t ncclnet_library_find(weft_net_t *net, ncclnet_library_t **library_p)
{
    const weft_host_t *host = net->host;
    ncclnet_library_t library = {.path = ""};
    char why[400] = "";
    void *handle = ncclnet_library_dlopen(net->config.library, library.path, sizeof library.path,
                                          why, sizeof why);
    if (handle == NULL) {
        return host->set_error(host, WEFT_ERR_CONFIG, 0, "[net-nccl] cannot open library = %s: %s",
                               net->config.library, why);
    }
    ncclnet_library_t *place = ncclnet_library_place(handle);
    if (place == NULL) {
        return host->set_error(host, WEFT_ERR_RESOURCE, 0,
                               "%s: a process can use %u libraries, and has them", library.path,
                               LIBRARIES);
    }
    if (place->handle == NULL) {
        library.handle = handle;
        snprintf(library.file, sizeof library.file, "%.63s", ncclnet_file_of(library.path));
        weft_status_t status = ncclnet_library_choose(net, handle, &library);
        if (status != WEFT_OK) {
            return status;
        }
        ncclnet_call_prepare(&library);
        *place = library;
    }
    *library_p = place;
    return WEFT_OK;
}

/* With the lock. */
static weft_status_t ncclnet_library_init(weft_net_t *net, ncclnet_library_t *library)
{
    if (library->initialised) {
        return WEFT_OK;
    }
    ncclnet_call_t call = ncclnet_call_begin(net, NCCLNET_INIT, -1);
    weft_status_t status =
        ncclnet_call_end(&call, library->shim->init(library->table, &net->setup, &net->instance));
    net->made = status == WEFT_OK && library->shim->instances;
    library->initialised = status == WEFT_OK && !library->shim->instances;
    return status;
}

weft_status_t ncclnet_library_open(weft_net_t *net)
{
    const weft_host_t *host = net->host;
    ncclnet_library_t *library = NULL;
    if (net->config.library[0] == '\0') {
        return host->set_error(
            host, WEFT_ERR_CONFIG, 0,
            "[net-nccl] library is not set; it names a network plugin of NCCL: the path of "
            "a libnccl-net-*.so, or the word after \"libnccl-net-\"");
    }
    net->setup.log = ncclnet_log;
    net->setup.config.trafficClass = (int)net->config.traffic_class;
    weft_status_t status = host->random(host, &net->setup.id, sizeof net->setup.id);
    pthread_mutex_lock(&libraries_lock);
    if (status == WEFT_OK) {
        status = ncclnet_library_find(net, &library);
    }
    net->library = library;
    if (status == WEFT_OK) {
        status = ncclnet_library_init(net, library);
    }
    pthread_mutex_unlock(&libraries_lock);
    return status;
}

void ncclnet_library_close(weft_net_t *net)
{
    if (net->made) {
        ncclnet_call_t call = ncclnet_call_begin(net, NCCLNET_FINALIZE, -1);
        ncclnet_call_end_close(&call,
                               net->library->shim->finalize(net->library->table, net->instance));
    }
    net->made = false;
}
