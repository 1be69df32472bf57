/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether the devices of this process can be a team of a multicast object, and whether the draft
 * kernel of plugins/kernel-cuda/device/device_multicast.h sums in the switch what they have. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cuda.h>

#include "tests/gpu/line.h"
#include "tests/gpu/probe.h"

enum { TEAM_MAX = 8, FLOATS = 256 << 10, ROUNDS = 20, BLOCKS = 16, THREADS = 512 };

/* Functions of the driver, by name. */
static struct {
    CUresult (*attribute)(int *, CUdevice_attribute, CUdevice);
    CUresult (*granularity)(size_t *, const CUmulticastObjectProp *, CUmulticastGranularity_flags);
    CUresult (*create)(CUmemGenericAllocationHandle *, const CUmulticastObjectProp *);
    CUresult (*add_device)(CUmemGenericAllocationHandle, CUdevice);
    CUresult (*bind)(CUmemGenericAllocationHandle, size_t, CUmemGenericAllocationHandle, size_t,
                     size_t, unsigned long long);
    CUresult (*allocate)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                         unsigned long long);
    CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
    CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
    CUresult (*allow)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
} driver;

typedef struct team {
    uint32_t devices;
    int device[TEAM_MAX];
    size_t bytes; /* of the object: the buffer and the words of the blocks */
    CUmemGenericAllocationHandle object;
    CUdeviceptr all, own[TEAM_MAX];
    CUmemAccessDesc access[TEAM_MAX];
} team_t;

/* Ends the process with a line: what the driver refuses is an answer. */
static void must(CUresult result, const char *what)
{
    if (result != CUDA_SUCCESS) {
        char text[64];
        snprintf(text, sizeof text, "multicast: %s", what);
        line_answer(text, "left out", (double)result, "CUresult");
        _exit(0);
    }
}

static void driver_open(void)
{
    static const struct {
        const char *name;
        void *function;
    } list[] = {{"cuDeviceGetAttribute", &driver.attribute},
                {"cuMulticastGetGranularity", &driver.granularity},
                {"cuMulticastCreate", &driver.create},
                {"cuMulticastAddDevice", &driver.add_device},
                {"cuMulticastBindMem", &driver.bind},
                {"cuMemCreate", &driver.allocate},
                {"cuMemAddressReserve", &driver.reserve},
                {"cuMemMap", &driver.map},
                {"cuMemSetAccess", &driver.allow}};
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        void *symbol = library != NULL ? dlsym(library, list[i].name) : NULL;
        if (symbol == NULL) {
            line_answer("multicast", "left out", 0,
                        library != NULL ? list[i].name : "no libcuda.so.1");
            _exit(0);
        }
        memcpy(list[i].function, &symbol, sizeof symbol); /* ISO C has no cast between them */
    }
}

static void team_find(team_t *team)
{
    int devices = 0;
    PROBE_OK(cudaGetDeviceCount(&devices));
    for (int d = 0; d < devices && team->devices < TEAM_MAX; d++) {
        int able = 0;
        must(driver.attribute(&able, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, d), "attribute");
        if (able != 0) {
            PROBE_OK(cudaSetDevice(d));
            PROBE_OK(cudaFree(NULL));
            team->access[team->devices] =
                (CUmemAccessDesc){.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d},
                                  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
            team->device[team->devices++] = d;
        }
    }
    line_answer("devices of this process with multicast", "ok", team->devices, "-");
    if (team->devices == 0) {
        _exit(0);
    }
}

static CUdeviceptr team_map(const team_t *team, CUmemGenericAllocationHandle memory,
                            const CUmemAccessDesc *access, size_t devices)
{
    CUdeviceptr at = 0;
    must(driver.reserve(&at, team->bytes, team->bytes, 0, 0), "cuMemAddressReserve");
    must(driver.map(at, team->bytes, 0, memory, 0), "cuMemMap");
    must(driver.allow(at, team->bytes, access, devices), "cuMemSetAccess");
    return at;
}

/* All devices join before any memory is bound. */
static void team_open(team_t *team)
{
    CUmulticastObjectProp shape = {.numDevices = team->devices, .size = 4u * FLOATS + 4096};
    size_t step = 1;
    must(driver.granularity(&step, &shape, CU_MULTICAST_GRANULARITY_RECOMMENDED), "granularity");
    shape.size = team->bytes = (shape.size + step - 1) / step * step;
    must(driver.create(&team->object, &shape), "cuMulticastCreate");
    for (uint32_t i = 0; i < team->devices; i++) {
        must(driver.add_device(team->object, team->device[i]), "cuMulticastAddDevice");
    }
    for (uint32_t i = 0; i < team->devices; i++) {
        const CUmemAllocationProp kind = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                          .location = team->access[i].location};
        CUmemGenericAllocationHandle memory = 0;
        must(driver.allocate(&memory, team->bytes, &kind, 0), "cuMemCreate");
        must(driver.bind(team->object, 0, memory, 0, team->bytes, 0), "cuMulticastBindMem");
        team->own[i] = team_map(team, memory, &team->access[i], 1);
    }
    team->all = team_map(team, team->object, team->access, team->devices);
}

static void team_fill(const team_t *team)
{
    static float values[FLOATS];
    for (uint32_t i = 0; i < team->devices; i++) {
        for (uint32_t e = 0; e < FLOATS; e++) {
            values[e] = (float)(e % 1000 + i);
        }
        PROBE_OK(cudaSetDevice(team->device[i]));
        PROBE_OK(cudaMemset((void *)team->own[i], 0, team->bytes));
        PROBE_OK(cudaMemcpy((void *)team->own[i], values, sizeof values, cudaMemcpyDefault));
    }
    /* No device stores to another before that one is ready. */
    for (uint32_t i = 0; i < team->devices; i++) {
        PROBE_OK(cudaSetDevice(team->device[i]));
        PROBE_OK(cudaDeviceSynchronize());
    }
}

static void team_run(const team_t *team, uint32_t before)
{
    for (uint32_t i = 0; i < team->devices; i++) {
        const multicast_job_t job = {.all = (uint8_t *)team->all,
                                     .arrived = (uint32_t *)(team->own[i] + 4u * FLOATS),
                                     .arrived_all = (uint32_t *)(team->all + 4u * FLOATS),
                                     .vectors = FLOATS / 4,
                                     .device = i,
                                     .devices = team->devices,
                                     .dtype = WEFT_FP32,
                                     .before = before};
        PROBE_OK(cudaSetDevice(team->device[i]));
        PROBE_OK(probe_launch_multicast(&job, BLOCKS, THREADS));
    }
    for (uint32_t i = 0; i < team->devices; i++) {
        PROBE_OK(cudaSetDevice(team->device[i]));
        PROBE_OK(cudaDeviceSynchronize());
    }
}

/* Sums of small whole numbers are exact in any order. */
static bool team_has_sums(const team_t *team)
{
    static float found[FLOATS];
    const uint32_t n = team->devices;
    bool same = true;
    for (uint32_t i = 0; i < n; i++) {
        PROBE_OK(cudaSetDevice(team->device[i]));
        PROBE_OK(cudaMemcpy(found, (void *)team->own[i], sizeof found, cudaMemcpyDefault));
        for (uint32_t e = 0; e < FLOATS; e++) {
            same = same && found[e] == (float)(n * (e % 1000) + n * (n - 1) / 2);
        }
    }
    return same;
}

void probe_multicast(int unused)
{
    static team_t team;
    (void)unused;
    driver_open();
    team_find(&team);
    team_open(&team);
    team_fill(&team);
    team_run(&team, 0);
    line_print("multicast: sums of a team, 1 MiB", team_has_sums(&team), team.devices, "devices");
    const double begin = probe_us();
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        team_run(&team, round);
    }
    line_answer("multicast: 1 MiB with launch and wait", "ok",
                (probe_us() - begin) / (double)ROUNDS, "us");
}
