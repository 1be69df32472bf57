/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that has loaded a CUDA runtime, the first argument, and whose user chose kernel-cpu:
 * its buffers are memory of the host, also where the runtime finds no driver. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/nccl/types.h"

#include "bindings/nccl/functions.h"
#include "tests/support/unit.h"

enum { RANKS = 2, COUNT = 1000 };

static void *runtime;

static int devices(void)
{
    int (*get)(int *) = NULL;
    int count = 0;
    void *found = dlsym(runtime, "cudaGetDeviceCount");
    assert_non_null(found);
    memcpy(&get, &found, sizeof get);
    return get(&count) == 0 ? count : 0;
}

static void need_success(ncclResult_t result)
{
    if (result != ncclSuccess) {
        fail_msg("%d: %s", result, ncclGetLastError(NULL));
    }
}

static void sum(ncclComm_t *comms, float **values)
{
    need_success(ncclGroupStart());
    for (int i = 0; i < RANKS; i++) {
        need_success(
            ncclAllReduce(values[i], values[i], COUNT, ncclFloat32, ncclSum, comms[i], NULL));
    }
    need_success(ncclGroupEnd());
}

static void buffers_are_memory_of_the_host(void **state)
{
    ncclComm_t comms[RANKS];
    float *values[RANKS];
    (void)state;
    need_success(ncclCommInitAll(comms, RANKS, NULL));
    for (int i = 0; i < RANKS; i++) {
        need_success(ncclMemAlloc((void **)&values[i], COUNT * sizeof **values));
        for (int j = 0; j < COUNT; j++) {
            assert_true(values[i][j] == 0);
            values[i][j] = (float)(j + i);
        }
    }
    sum(comms, values);
    for (int i = 0; i < RANKS; i++) {
        for (int j = 0; j < COUNT; j++) {
            assert_true(values[i][j] == (float)(2 * j + 1));
        }
        need_success(ncclMemFree(values[i]));
        assert_int_not_equal(ncclMemFree(values[i]), ncclSuccess);
        need_success(ncclCommDestroy(comms[i]));
    }
}

/* More ranks than there are devices. */
static void ranks_are_threads_of_the_host(void **state)
{
    enum { MOST = 32 };
    ncclComm_t comms[MOST];
    const int many = devices() + 2;
    (void)state;
    assert_in_range(many, 2, MOST);
    need_success(ncclCommInitAll(comms, many, NULL));
    for (int i = 0; i < many; i++) {
        need_success(ncclCommDestroy(comms[i]));
    }
}

/* Comes last: from here on nobody has chosen a kernel. */
static void memory_is_freed_where_it_came_from(void **state)
{
    void *host = NULL, *device = NULL;
    (void)state;
    need_success(ncclMemAlloc(&host, 1));
    unsetenv("WEFT_CORE_KERNEL");
    unsetenv("WEFT_CONF");
    if (devices() > 0) {
        need_success(ncclMemAlloc(&device, 1));
    } else {
        assert_int_equal(ncclMemAlloc(&device, 1), ncclUnhandledCudaError);
    }
    need_success(ncclMemFree(host));
    need_success(ncclMemFree(device));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_are_memory_of_the_host),
        cmocka_unit_test(ranks_are_threads_of_the_host),
        cmocka_unit_test(memory_is_freed_where_it_came_from),
    };
    runtime = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (runtime == NULL) {
        fprintf(stderr, "no runtime: %s\n", argc > 1 ? dlerror() : "the argument is missing");
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
