/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Devices, and what the tests set. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake.h"

fake_cuda_t fake_cuda = {.devices = 2,
                         .capability = 90,
                         .processors = 16,
                         .clock = 2619000,
                         .width = 5120,
                         .free_bytes = 1000,
                         .all_bytes = 5000};

enum { CONNECTIONS = 8, CONNECTIONS_MOST = 32, DEPTH = 1024, PATIENCE_S = 100 };

/* What follows `name` in the text, or NULL. */
static const char *setting(const char *text, const char *name)
{
    const char *at = text != NULL ? strstr(text, name) : NULL;
    return at != NULL ? at + strlen(name) : NULL;
}

/* A number of the environment between 1 and `most`, else `unset`. */
static int environment_number(const char *name, int unset, int most)
{
    const char *text = getenv(name);
    const int number = text != NULL ? atoi(text) : 0;
    return number < 1 ? unset : number > most ? most : number;
}

static void read_strictness(const char *text)
{
    fake_strict_t *s = &fake_cuda.strict;
    const char *depth = setting(text, "depth="), *patience = setting(text, "patience=");
    const int connections =
        environment_number("CUDA_DEVICE_MAX_CONNECTIONS", CONNECTIONS, CONNECTIONS_MOST);
    *s = (fake_strict_t){.waits = FAKE_WAITS_FREE,
                         .connections = (uint32_t)connections,
                         .depth = depth != NULL ? (uint32_t)atoi(depth) : DEPTH,
                         .resident = true,
                         .lingers = true};
    if (setting(text, "loose") != NULL) {
        *s = (fake_strict_t){.waits = 0};
    }
    s->waits = setting(text, "waits=all") != NULL ? FAKE_WAITS_ALL : s->waits;
    s->waits = setting(text, "waits=no") != NULL ? 0 : s->waits;
    s->blocking = environment_number("CUDA_LAUNCH_BLOCKING", 0, 1) != 0;
    s->patience = patience != NULL ? atoi(patience) : PATIENCE_S;
}

__attribute__((constructor)) static void read_environment(void)
{
    const char *text = getenv("FAKE_CUDA");
    const char *devices = setting(text, "devices="), *bytes = setting(text, "free=");
    const char *processors = setting(text, "processors=");
    read_strictness(text);
    fake_cuda.wrong = setting(text, "wrong") != NULL;
    fake_cuda.late = setting(text, "late") != NULL;
    fake_cuda.no_dmabuf = setting(text, "no_dmabuf") != NULL;
    fake_cuda.no_pools = setting(text, "no_pools") != NULL;
    fake_cuda.misroutes = setting(text, "misroutes") != NULL;
    fake_cuda.no_mps = setting(text, "no_mps") != NULL;
    fake_cuda.no_nvlink = setting(text, "no_nvlink") != NULL;
    fake_cuda.reorders = setting(text, "reorders") != NULL;
    fake_cuda.not_pageable = setting(text, "bus") != NULL;
    fake_cuda.no_device =
        setting(text, "old_driver") != NULL ? cudaErrorInsufficientDriver : cudaSuccess;
    fake_cuda.devices = devices != NULL ? atoi(devices) : fake_cuda.devices;
    fake_cuda.processors = processors != NULL ? atoi(processors) : fake_cuda.processors;
    if (bytes != NULL) {
        fake_cuda.free_bytes = fake_cuda.all_bytes = strtoull(bytes, NULL, 10);
    }
}

cudaError_t fake_answer(const char *name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    cudaError_t error = cudaSuccess;
    pthread_mutex_lock(&lock);
    if (fake_cuda.kills != NULL && strcmp(fake_cuda.kills, name) == 0) {
        raise(SIGKILL);
    }
    if (fake_cuda.fails != NULL && strcmp(fake_cuda.fails, name) == 0 &&
        fake_cuda.fails_after-- <= 0) {
        fake_cuda.fails = NULL;
        error = fake_cuda.error;
    }
    pthread_mutex_unlock(&lock);
    return fake_told(error);
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = fake_cuda.devices;
    return fake_cuda.no_device;
}

/* The second device is like the first, in another socket. */
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    memset(prop, 0, sizeof *prop);
    memset(prop->uuid.bytes, 0xa0 + device, sizeof prop->uuid.bytes);
    strcpy(prop->name, "Device of threads");
    prop->pciDomainID = 1;
    prop->pciBusID = 0x3b + device;
    prop->totalGlobalMem = fake_cuda.all_bytes;
    prop->major = fake_cuda.capability / 10;
    prop->minor = fake_cuda.capability % 10;
    return fake_answer("cudaGetDeviceProperties");
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr which, int device,
                                      int peer)
{
    (void)device;
    (void)peer;
    *value = which == cudaDevP2PAttrPerformanceRank ? 3
             : which == cudaDevP2PAttrNativeAtomicSupported
                 ? !fake_cuda.no_peers && !fake_cuda.no_nvlink
                 : !fake_cuda.no_peers;
    return fake_answer(__func__);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device)
{
    if (device < 0 || device >= fake_cuda.devices) {
        return cudaErrorInvalidDevice;
    }
    switch (which) {
    case cudaDevAttrHostNumaId:
        *value = device;
        return fake_answer(__func__);
    case cudaDevAttrMultiProcessorCount:
        *value = fake_cuda.processors;
        break;
    case cudaDevAttrComputeCapabilityMajor:
        *value = fake_cuda.capability / 10;
        break;
    case cudaDevAttrComputeCapabilityMinor:
        *value = fake_cuda.capability % 10;
        break;
    case cudaDevAttrPageableMemoryAccess:
        *value = !fake_cuda.not_pageable;
        break;
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables:
        *value = !fake_cuda.not_pageable && !fake_cuda.migrates;
        break;
    case cudaDevAttrMemoryPoolsSupported:
        *value = !fake_cuda.no_pools;
        break;
    case cudaDevAttrMemoryClockRate:
        *value = fake_cuda.clock;
        break;
    case cudaDevAttrGlobalMemoryBusWidth:
        *value = fake_cuda.width;
        break;
    case cudaDevAttrMemSyncDomainCount:
        *value = fake_cuda.no_domains ? 1 : 4;
        break;
    case cudaDevAttrMpsEnabled:
        *value = !fake_cuda.no_mps;
        break;
    case cudaDevAttrGPUDirectRDMASupported:
        *value = !fake_cuda.no_direct;
        break;
    case cudaDevAttrGPUDirectRDMAFlushWritesOptions:
        *value = fake_cuda.no_flush ? 0 : cudaFlushGPUDirectRDMAWritesOptionHost;
        break;
    case cudaDevAttrGPUDirectRDMAWritesOrdering:
        *value = fake_cuda.late ? cudaGPUDirectRDMAWritesOrderingNone
                                : cudaGPUDirectRDMAWritesOrderingAllDevices;
        break;
    default:
        *value = 1;
        break;
    }
    return cudaSuccess;
}

/* Names of the errors that tests read. */
static const struct {
    cudaError_t error;
    const char *name, *text;
} words[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal address"},
};

const char *cudaGetErrorName(cudaError_t error)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (words[i].error == error) {
            return words[i].name;
        }
    }
    return "cudaError";
}

const char *cudaGetErrorString(cudaError_t error)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (words[i].error == error) {
            return words[i].text;
        }
    }
    return "an error";
}
