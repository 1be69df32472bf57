/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NVLinks by NVML. The few types and functions are written out here, as nvml.h has them since
 * driver 470, so that the plugin needs no headers of NVIDIA and runs without the library. */
#include "hwloc_nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define NVML_LIBRARY "libnvidia-ml.so.1"
#define NVML_LINKS 18u /* NVML_NVLINK_MAX_LINKS */
#define NVML_REMOTE_GPU 0u
#define NVML_REMOTE_SWITCH 2u

typedef void *nvml_device_t;

typedef struct nvml_pci {
    char legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
} nvml_pci_t;

/* 0 is success everywhere. */
typedef struct nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    int (*find)(const char *bus_id, nvml_device_t *device_p);
    int (*capability)(nvml_device_t device, int *major_p, int *minor_p);
    int (*state)(nvml_device_t device, unsigned link, unsigned *active_p);
    int (*remote_type)(nvml_device_t device, unsigned link, unsigned *type_p);
    int (*remote_pci)(nvml_device_t device, unsigned link, nvml_pci_t *pci_p);
} nvml_t;

/* A data pointer does not convert to a function pointer in C; POSIX says the bits do. */
static bool nvml_symbol(void *library, const char *name, void *function_p)
{
    void *symbol = dlsym(library, name);
    memcpy(function_p, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool nvml_open(nvml_t *nvml)
{
    void *library = dlopen(NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    *nvml = (nvml_t){.library = library};
    return library != NULL && nvml_symbol(library, "nvmlInit_v2", &nvml->init) &&
           nvml_symbol(library, "nvmlShutdown", &nvml->shutdown) &&
           nvml_symbol(library, "nvmlDeviceGetHandleByPciBusId_v2", &nvml->find) &&
           nvml_symbol(library, "nvmlDeviceGetCudaComputeCapability", &nvml->capability) &&
           nvml_symbol(library, "nvmlDeviceGetNvLinkState", &nvml->state) &&
           nvml_symbol(library, "nvmlDeviceGetNvLinkRemoteDeviceType", &nvml->remote_type) &&
           nvml_symbol(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", &nvml->remote_pci) &&
           nvml->init() == 0;
}

/* Bytes per second of one link in one direction: NVLink 1 of Pascal, 2 to 4 of Volta to Hopper, the
 * narrow one of GA10x, 5 of Blackwell. */
static double nvml_link_bandwidth(int major, int minor)
{
    if (major < 7) {
        return 20e9;
    }
    return major >= 10 ? 50e9 : major == 8 && minor == 6 ? 14.0625e9 : 25e9;
}

static uint32_t nvml_find_gpu(const hwloc_pci_gpu_t *gpus, uint32_t count, const nvml_pci_t *pci)
{
    char address[64];
    snprintf(address, sizeof address, "%04x:%02x:%02x.0", pci->domain, pci->bus, pci->device);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(gpus[i].address, address) == 0) {
            return i;
        }
    }
    return count;
}

/* Bandwidth from one GPU to each of the others, and behind them to the switch. */
static void nvml_ask_gpu(const nvml_t *nvml, const hwloc_pci_gpu_t *gpus, uint32_t count,
                         uint32_t own, double *to)
{
    nvml_device_t device = NULL;
    int major = 0, minor = 0;
    memset(to, 0, (count + 1) * sizeof *to);
    if (nvml->find(gpus[own].address, &device) != 0 ||
        nvml->capability(device, &major, &minor) != 0) {
        return;
    }
    for (unsigned link = 0; link < NVML_LINKS; link++) {
        unsigned active = 0, type = 255;
        nvml_pci_t pci = {0};
        if (nvml->state(device, link, &active) != 0 || active == 0 ||
            nvml->remote_type(device, link, &type) != 0) {
            continue;
        }
        if (type == NVML_REMOTE_SWITCH) {
            to[count] += nvml_link_bandwidth(major, minor);
        } else if (type == NVML_REMOTE_GPU && nvml->remote_pci(device, link, &pci) == 0) {
            const uint32_t other = nvml_find_gpu(gpus, count, &pci);
            if (other < count) {
                to[other] += nvml_link_bandwidth(major, minor);
            }
        }
    }
}

/* Both ends tell of a link between two GPUs: that of the first counts. */
static weft_status_t nvml_add(const weft_topo_builder_t *builder, const hwloc_pci_gpu_t *gpus,
                              uint32_t count, uint32_t own, const double *to)
{
    weft_status_t status = WEFT_OK;
    for (uint32_t other = own + 1; other <= count && status == WEFT_OK; other++) {
        const weft_topo_link_t link = {.size = sizeof link,
                                       .bandwidth = to[other],
                                       .from = gpus[own].index,
                                       .to = other < count ? gpus[other].index : WEFT_TOPO_NONE};
        if (to[other] > 0) {
            status = builder->add_link(builder, &link);
        }
    }
    return status;
}

weft_status_t hwloc_nvml_add_links(const weft_host_t *host, const weft_topo_builder_t *builder,
                                   const hwloc_pci_gpu_t *gpus, uint32_t count)
{
    nvml_t nvml;
    double to[WEFT_TOPO_DEVICES_MAX + 1];
    weft_status_t status = WEFT_OK;
    if (nvml_open(&nvml)) {
        for (uint32_t own = 0; own < count && status == WEFT_OK; own++) {
            nvml_ask_gpu(&nvml, gpus, count, own, to);
            status = nvml_add(builder, gpus, count, own, to);
        }
        nvml.shutdown();
    } else {
        host->log(host, WEFT_LOG_DEBUG, "no NVML here: NVLinks are not known");
    }
    if (nvml.library != NULL) {
        dlclose(nvml.library);
    }
    return status;
}
