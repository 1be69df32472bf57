/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of the program `probe` share. Its kernel is one for all jobs, and a second one
 * that is there to be loaded late. The launches are in probe.cu, and for the CUDA runtime of
 * threads in probe_fake.c. The verdict of a line is "ok" for any answer that the design allows
 * for. */
#ifndef TESTS_GPU_PROBE_H
#define TESTS_GPU_PROBE_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#include "plugins/kernel-cuda/device/device_multicast.h"

enum { PROBE_NOTES = 256, PROBE_APART = 16 /* words from one cache line to the next but one */ };

/* Memory of the host that kernels see. */
typedef struct probe_words {
    uint64_t begun, go;
    uint64_t note[PROBE_NOTES];
} probe_words_t;

enum {
    PROBE_NOTHING, /* ends at once */
    PROBE_WAIT,    /* notes that it has begun and ends when `go` is not 0 */
    PROBE_NOTE,    /* writes note[step] */
    PROBE_STEPS,   /* one thread repeats a step: nanoseconds of one in *result */
    PROBE_PONG,    /* two ends in turn raise each other's word: nanoseconds there and back */
    PROBE_SLICES,  /* each block combines slices, one after another */
    PROBE_JOBS
};

/* What is repeated. */
enum {
    PROBE_LOAD_HOST,
    PROBE_ACQUIRE_HOST,
    PROBE_ACQUIRE_DEVICE,
    PROBE_FENCE,
    PROBE_FENCE_HOST,   /* behind a store to the host's memory */
    PROBE_FENCE_DEVICE, /* behind one to the device's */
    PROBE_FENCE_LOAD,   /* and then a load of the device's memory, whose cache is empty */
    PROBE_STEPS_ALL
};

typedef struct probe_job {
    uint32_t what, step;
    uint64_t rounds;
    probe_words_t *words;
    uint64_t *device; /* memory of the device */
    uint64_t *result; /* memory of the host */
    uint64_t *end[2]; /* words of a pong; block b is end b + side */
    uint32_t side;
    /* Slices. */
    uint32_t nsrc, apart; /* apart: the leader's warp does not combine, as in a plan */
    float *buffer[3];     /* two sources and the destination */
    uint64_t each;        /* elements of a slice */
} probe_job_t;

#if defined(__cplusplus)
extern "C" {
#endif
cudaError_t probe_launch(const probe_job_t *job, uint32_t blocks, uint32_t threads,
                         cudaStream_t stream);
/* Of the second kernel. */
cudaError_t probe_launch_late(cudaStream_t stream);
cudaError_t probe_load_late(void);
/* On the current device. */
cudaError_t probe_launch_multicast(const multicast_job_t *job, uint32_t blocks, uint32_t threads);
#if defined(__cplusplus)
}
#endif

/* What the program has: functions that answer one question each, in a process of their own. */
void probe_call(int number);
const char *probe_call_name(int number); /* NULL: there are no more */
void probe_capture(int unused);
/* The same of streams that were used before, made before, and made beside. */
void probe_queues(int streams);
void probe_queues_new(int streams);
void probe_queues_beside(int streams);
void probe_processes(int unused);
void probe_pools(int unused);
void probe_launches(int unused);
void probe_steps(int unused);
void probe_slices(int unused);
void probe_multicast(int unused);

/* Ends the process with a line when a call fails that is not the question. */
#define PROBE_OK(call) probe_must((call), #call)
void probe_must(cudaError_t error, const char *call);
double probe_us(void);
probe_words_t *probe_words(void);
cudaStream_t probe_stream(void);
/* Starts a kernel that waits, and waits until it does. */
void probe_wait_begin(probe_words_t *words, cudaStream_t stream);
void probe_wait_end(probe_words_t *words);

#endif
