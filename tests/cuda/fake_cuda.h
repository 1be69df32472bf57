/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A CUDA runtime for tests, of threads and memory of the host: a library with the functions of
 * cuda_runtime_api.h that this tree calls, by their names and with their rules. The plugin's own C files
 * are linked to it (kernel-cuda-fake), so that what they do is tested on machines without a device, and so
 * are test programs that have streams of their own. A host that follows a pointer to a device's memory
 * crashes. What a test may set and count is in `fake_cuda`; for programs that cannot, FAKE_CUDA in the
 * environment sets some of it: "devices=3 processors=1 free=1000000 wrong late no_dmabuf". */
#ifndef TESTS_CUDA_FAKE_CUDA_H
#define TESTS_CUDA_FAKE_CUDA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

enum { FAKE_DEVICES = 16 };

/* A buffer of the test with the place that the runtime shall say it has. */
typedef struct fake_place {
    const void *at;
    uint64_t bytes;
    enum cudaMemoryType type;
    int device;
} fake_place_t;

typedef struct fake_cuda {
    /* Set by the test. */
    bool no_driver;
    cudaError_t no_device;   /* of cudaGetDeviceCount */
    int devices, capability; /* at most FAKE_DEVICES; ten times the number */
    int processors;          /* of a device, each for four blocks of runs */
    bool not_pageable, no_peers;
    bool migrates;     /* pages of the host that a device touches move to it (HMM) */
    bool no_direct;    /* adapters cannot use memory of devices */
    bool no_dmabuf;    /* the driver gives out none */
    bool late;         /* what adapters write is not there before a flush */
    bool no_flush;     /* and the host has none */
    uint32_t hidden;   /* bit per device that others have and this process does not see */
    const char *fails; /* name of the call that fails once, with `error` … */
    int fails_after;   /* … after so many that do not */
    const char *kills; /* name of the call in which the process is killed */
    cudaError_t error;
    fake_place_t place[4];
    bool swallow;                 /* launches do nothing */
    bool wrong;                   /* runs of plans leave one bit wrong in their result */
    size_t free_bytes, all_bytes; /* that a device says it has */
    /* Counted. */
    _Atomic uint32_t contexts;        /* a bit for each device with a primary one */
    _Atomic uint32_t kernels, loaded; /* that a program has; that it asked the attributes of */
    _Atomic uint32_t launches, combines, registrations, handles, dmabufs, flushes;
    _Atomic int registered, visible, allocated, streams, events, graphs, imported; /* alive */
} fake_cuda_t;

extern fake_cuda_t fake_cuda;

/* The context that is current in this thread, NULL if none is; makes another one current. */
void *fake_cuda_context(void);
void fake_cuda_context_set(void *context);
/* Makes a context of the application's own, as cuCtxCreate(), current in this thread. */
void *fake_cuda_context_make(int device);

#endif
