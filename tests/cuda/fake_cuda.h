/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A CUDA runtime for tests: the few functions that plugins/kernel-cuda calls, over host memory and
 * threads. Linked into a module of the plugin's own C files, so that what they do is tested on machines
 * without a device. The module exports `fake_cuda`. */
#ifndef TESTS_CUDA_FAKE_CUDA_H
#define TESTS_CUDA_FAKE_CUDA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

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
    cudaError_t no_device; /* of cudaGetDeviceCount */
    int devices, capability;
    bool not_pageable, no_peers;
    const char *fails; /* name of the call that fails once, with `error` */
    cudaError_t error;
    fake_place_t place[4];
    bool swallow; /* launches do nothing */
    /* Counted. */
    _Atomic int current; /* device of the process; threads share it here */
    _Atomic uint32_t launches, combines, registrations;
    _Atomic int registered, visible, allocated, streams; /* alive */
} fake_cuda_t;

#endif
