/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two ranks in one thread for callgrind: calls of 8 bytes whose instructions do not depend on time, because
 * nothing ever waits. A broadcast leaves the root before the other rank asks for it, a reduction reaches the
 * root before it is called there, and an all-reduce of both ranks is driven as a group.
 *
 *   bench_call_instructions broadcast|reduce|all_reduce CALLS [section.key=value …] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/weft.h>

#define NRANKS 2

static weft_unique_id_t job_id;
static weft_comm_t *comms[NRANKS];
static weft_comm_options_t options = {.size = sizeof options};

static void bench_require(weft_status_t status)
{
    if (status != WEFT_OK) {
        weft_error_t error = {.size = sizeof error};
        (void)weft_last_error(&error);
        fprintf(stderr, "%s: %s\n", weft_status_name(status), error.text);
        exit(1);
    }
}

static void *bench_join(void *arg)
{
    uint32_t rank = *(const uint32_t *)arg;
    bench_require(weft_comm_init_rank(&comms[rank], NRANKS, &job_id, rank, &options));
    return NULL;
}

static void bench_join_all(void)
{
    static const uint32_t ranks[NRANKS] = {0, 1};
    pthread_t threads[NRANKS];
    bench_require(weft_unique_id_create(&job_id, &options));
    for (uint32_t r = 0; r < NRANKS; r++) {
        if (pthread_create(&threads[r], NULL, bench_join, (void *)(uintptr_t)&ranks[r]) != 0) {
            exit(1);
        }
    }
    for (uint32_t r = 0; r < NRANKS; r++) {
        pthread_join(threads[r], NULL);
    }
}

/* callgrind collects inside of functions whose name begins with path_. */
__attribute__((noinline)) static weft_status_t path_broadcast(float *data, uint32_t r)
{
    return weft_broadcast(data, data, 2, WEFT_FP32, 0, comms[r], NULL);
}

__attribute__((noinline)) static weft_status_t path_reduce(float *data, uint32_t r)
{
    return weft_reduce(data, data + 2, 2, WEFT_FP32, WEFT_SUM, 1, comms[r], NULL);
}

__attribute__((noinline)) static weft_status_t path_all_reduce(float *data)
{
    bench_require(weft_group_start());
    for (uint32_t r = 0; r < NRANKS; r++) {
        bench_require(weft_all_reduce(data + 4 * r, data + 4 * r + 2, 2, WEFT_FP32, WEFT_SUM,
                                      comms[r], NULL));
    }
    return weft_group_end();
}

static void bench_call(const char *what, float *data)
{
    if (strcmp(what, "all_reduce") == 0) {
        bench_require(path_all_reduce(data));
        return;
    }
    for (uint32_t r = 0; r < NRANKS; r++) {
        bench_require(what[0] == 'b' ? path_broadcast(data, r) : path_reduce(data, r));
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s broadcast|reduce|all_reduce CALLS [section.key=value …]\n",
                argv[0]);
        return 2;
    }
    static float data[16];
    options.settings = (const char *const *)(argv + 3);
    options.settings_count = (uint32_t)(argc - 3);
    bench_join_all();
    /* The first call connects, in both ranks at once. */
    bench_require(weft_group_start());
    for (uint32_t r = 0; r < NRANKS; r++) {
        bench_require(weft_broadcast(data + 4 * r, data + 4 * r, 2, WEFT_FP32, 0, comms[r], NULL));
        bench_require(
            weft_reduce(data + 4 * r, data + 4 * r + 2, 2, WEFT_FP32, WEFT_SUM, 1, comms[r], NULL));
    }
    bench_require(weft_group_end());
    for (long i = 0, calls = atol(argv[2]); i < calls; i++) {
        bench_call(argv[1], data);
    }
    for (uint32_t r = 0; r < NRANKS; r++) {
        (void)weft_comm_destroy(comms[r]);
    }
    return 0;
}
