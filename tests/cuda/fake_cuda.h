/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A CUDA runtime for tests, of threads and memory of the host: a library with the functions of
 * cuda_runtime_api.h that this tree calls, by their names and with their rules. The plugin's own C
 * files are linked to it (kernel-cuda-fake), so that what they do is tested on machines without a
 * device, and so are test programs that have streams of their own. A host that follows a pointer to
 * a device's memory crashes. What a test may set and count is in `fake_cuda`; for programs that
 * cannot, FAKE_CUDA in the environment sets some of it: "devices=3 processors=1 free=1000000 wrong
 * late no_dmabuf no_pools misroutes no_nvlink reorders bus old_driver".
 *
 * It is as strict as a device may be (fake_queues.c, fake_blocks.c). A hang ends the process with
 * the list of what stands in the streams. Words of FAKE_CUDA that change it:
 *   waits=free     calls that wait for all kernels of the process: those that free (the default) …
 *   waits=all      … those that allocate or register, and the first load of a kernel, too
 *   waits=no       … none
 *   depth=1024     launches that a hardware queue holds: the next one blocks its caller
 *   patience=100   seconds without a change after which it is a hang
 *   loose          none of it, and a hardware queue for each stream
 * CUDA_DEVICE_MAX_CONNECTIONS (8) is the number of hardware queues of a device, and with
 * CUDA_LAUNCH_BLOCKING=1 each launch waits for its kernel, as CUDA has them. */
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

/* Calls that wait until all kernels of the process have ended. */
enum { FAKE_WAITS_FREE = 1, FAKE_WAITS_ALLOC = 2, FAKE_WAITS_LOAD = 4, FAKE_WAITS_ALL = 7 };

/* What a device may do, and need not. */
typedef struct fake_strict {
    uint32_t waits; /* FAKE_WAITS_* */
    uint32_t
        connections; /* hardware queues of a device for each priority; 0: one for each stream */
    uint32_t depth;  /* steps that a hardware queue holds; 0: any number */
    bool blocking;   /* launches wait for their kernel */
    bool resident;   /* blocks that do not fit on the device wait */
    bool lingers;    /* cudaMemcpy() from pageable memory returns before the bytes are there */
    int patience;    /* seconds */
    int streams; /* of a process, beyond which making one waits for all kernels; 0: any number */
} fake_strict_t;

typedef struct fake_cuda {
    /* Set by the test. */
    bool no_driver;
    cudaError_t no_device;   /* of cudaGetDeviceCount */
    int devices, capability; /* at most FAKE_DEVICES; ten times the number */
    int processors;          /* of a device, each for four blocks of runs */
    int clock, width;        /* of a device's memory: kHz, bits; 0: the driver does not tell */
    bool not_pageable; /* devices behind a bus: of the host they reach only what is registered */
    bool no_peers;
    bool no_nvlink;    /* no path between devices keeps 128 bytes whole */
    bool misroutes;    /* what kernels read and write in memory of other devices is elsewhere */
    bool migrates;     /* pages of the host that a device touches move to it (HMM) */
    bool no_direct;    /* adapters cannot use memory of devices */
    bool no_dmabuf;    /* the driver gives out none */
    bool late;         /* what adapters write is not there before a flush */
    bool no_flush;     /* and the host has none */
    bool no_pools;     /* the driver has no pools of memory */
    bool pool_full;    /* the application's pool has no memory left */
    bool fabric;       /* the process has a channel by which handles of the fabric go */
    bool no_mps;       /* processes on a device take turns */
    bool no_domains;   /* one domain of memory synchronisation, as devices before Hopper have */
    uint32_t hidden;   /* bit per device that others have and this process does not see */
    const char *fails; /* name of the call that fails once, with `error` … */
    int fails_after;   /* … after so many that do not */
    const char *kills; /* name of the call in which the process is killed */
    cudaError_t error;
    fake_place_t place[4];
    bool swallow;                 /* launches do nothing */
    bool wrong;                   /* runs of plans leave one bit wrong in their result */
    bool counts;                  /* what kernels read and note, below */
    bool reorders;                /* kernels' stores of 16 bytes are seen late, in any order */
    size_t free_bytes, all_bytes; /* that a device says it has */
    fake_strict_t strict;
    /* Counted. */
    _Atomic uint32_t contexts;        /* a bit for each device with a primary one */
    _Atomic uint32_t kernels, loaded; /* that a program has; that it asked the attributes of */
    _Atomic uint32_t host_waits;      /* kernels that wait for the host */
    _Atomic uint32_t remaps;          /* allocations for which a pool kept nothing */
    /* Words of FIFOs that kernels read: in memory of their own device, of another one, of the host;
     * rare looks at the host's words; words that they note for the host. */
    _Atomic uint32_t reads_own, reads_apart, reads_host, glances, notes;
    _Atomic uint32_t fences;  /* of the whole system */
    _Atomic uint32_t tells;   /* words and headers that say what is there, released or done */
    _Atomic uint32_t holds;   /* slices that are told while the next one is copied */
    _Atomic uint32_t stepped; /* blocks that went through all their steps (device_stepped.h) */
    _Atomic uint32_t seeks;   /* numbers of next slices that are read from the host's memory */
    _Atomic uint32_t working; /* blocks of runs that moved something */
    _Atomic uint32_t remote;  /* launches in the remote domain of memory synchronisation */
    _Atomic uint32_t words,
        lines; /* parts of 16 bytes that kernels stored in flagged words, and lines */
    _Atomic uint32_t launches, combines, registrations, handles, dmabufs, flushes;
    _Atomic int registered, visible, allocated, streams, events, graphs, imported, pools,
        reserved; /* alive */
} fake_cuda_t;

extern fake_cuda_t fake_cuda;

/* Questions to streams and events that the calling thread has asked so far. */
extern _Thread_local uint32_t fake_queries;

/* The context that is current in this thread, NULL if none is; makes another one current. */
void *fake_cuda_context(void);
void fake_cuda_context_set(void *context);
/* Makes a context of the application's own, as cuCtxCreate(), current in this thread. */
void *fake_cuda_context_make(int device);

#endif
