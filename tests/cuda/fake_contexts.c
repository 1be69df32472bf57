/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What every thread has of its own: the current context and the last error. As since CUDA 12.0,
 * cudaSetDevice() makes the primary context of the device, and so does the first call that needs
 * one, of device 0, in a thread that never chose. */
#include "tests/cuda/fake.h"

struct CUctx_st {
    char nothing; /* a context is its place in the array */
};

/* The primary contexts of all devices, then one of the application's own for each. */
static struct CUctx_st contexts[2 * FAKE_DEVICES];
static _Thread_local struct CUctx_st *current; /* NULL: none */
static _Thread_local cudaError_t last;

static int contexts_device(void)
{
    return (int)((current - contexts) % FAKE_DEVICES);
}

static void contexts_use_primary(int device)
{
    atomic_fetch_or(&fake_cuda.contexts, 1u << device);
    current = &contexts[device];
}

int fake_device(void)
{
    if (current == NULL) {
        contexts_use_primary(0);
    }
    return contexts_device();
}

void *fake_cuda_context(void)
{
    return current;
}

void fake_cuda_context_set(void *context)
{
    current = context;
}

void *fake_cuda_context_make(int device)
{
    current = &contexts[FAKE_DEVICES + device];
    return current;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = current != NULL ? contexts_device() : 0;
    return fake_answer(__func__);
}

cudaError_t cudaSetDevice(int device)
{
    cudaError_t error = fake_answer(__func__);
    if (error == cudaSuccess && (device < 0 || device >= fake_cuda.devices)) {
        error = fake_told(cudaErrorInvalidDevice);
    }
    if (error == cudaSuccess) {
        contexts_use_primary(device);
    }
    return error;
}

cudaError_t fake_told(cudaError_t error)
{
    last = error != cudaSuccess ? error : last;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last;
    last = cudaSuccess;
    return error;
}
