/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A libcudart.so of a machine without GPU but with a driver. Network plugins of NCCL that are built
 * for CUDA ask it for the functions of the driver when they begin, also where they will only move
 * memory of the host. Every function that it gives out says that there is no device. */
#include <string.h>

#define NO_DEVICE 100
#define VERSION_OF_ALL 13000

int cudaRuntimeGetVersion(int *version);
int cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags,
                            int *found);
int cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                     unsigned long long flags, int *found);

static int driver_version(int *version)
{
    *version = VERSION_OF_ALL;
    return 0;
}

static int driver_no_device(void)
{
    return NO_DEVICE;
}

int cudaRuntimeGetVersion(int *version)
{
    *version = VERSION_OF_ALL;
    return 0;
}

int cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags, int *found)
{
    (void)flags;
    if (strcmp(name, "cuDriverGetVersion") == 0) {
        *(int (**)(int *))function = driver_version;
    } else {
        *(int (**)(void))function = driver_no_device;
    }
    *found = 0;
    return 0;
}

int cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                     unsigned long long flags, int *found)
{
    (void)version;
    return cudaGetDriverEntryPoint(name, function, flags, found);
}
