/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two ranks in one thread for callgrind: calls whose instructions do not depend on time, because
 * nothing ever waits. A broadcast leaves the root before the other rank asks for it, a reduction
 * reaches the root before it is called there; an all-reduce, and a send with its receive, are
 * driven as a group of both ranks.
 *
 *   bench_call_instructions WHAT[:BYTES] CALLS [section.key=value …]
 *
 * WHAT is broadcast, reduce, all_reduce, send, message, burst or join; without BYTES it is 8. A
 * call of burst is a group of BURST sends and their receives; a call of join makes a communicator
 * of both ranks, each in a thread of its own, and destroys it. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/weft.h>

#define NRANKS 2
#define BURST 16 /* as in bench/beside/beside.h */

static weft_unique_id_t job_id;
static weft_comm_t *comms[NRANKS];
static weft_comm_options_t options = {.size = sizeof options};
static float *sends[NRANKS], *recvs[NRANKS];
static uint64_t call_count;

static void bench_require(weft_status_t status)
{
    if (status != WEFT_OK) {
        weft_error_t error = {.size = sizeof error};
        (void)weft_last_error(&error);
        fprintf(stderr, "%s: %s\n", weft_status_name(status), error.text);
        exit(1);
    }
}

__attribute__((noinline)) static void *path_join(void *arg)
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
        if (pthread_create(&threads[r], NULL, path_join, (void *)(uintptr_t)&ranks[r]) != 0) {
            exit(1);
        }
    }
    for (uint32_t r = 0; r < NRANKS; r++) {
        pthread_join(threads[r], NULL);
    }
}

static void bench_leave_all(void)
{
    for (uint32_t r = 0; r < NRANKS; r++) {
        (void)weft_comm_destroy(comms[r]);
    }
}

/* callgrind collects inside of functions whose name begins with path_. */
__attribute__((noinline)) static weft_status_t path_broadcast(float *data, uint32_t r)
{
    return weft_broadcast(data, data, call_count, WEFT_FP32, 0, comms[r], NULL);
}

__attribute__((noinline)) static weft_status_t path_reduce(float *send, float *recv, uint32_t r)
{
    return weft_reduce(send, recv, call_count, WEFT_FP32, WEFT_SUM, 1, comms[r], NULL);
}

__attribute__((noinline)) static weft_status_t path_all_reduce(void)
{
    bench_require(weft_group_start());
    for (uint32_t r = 0; r < NRANKS; r++) {
        bench_require(
            weft_all_reduce(sends[r], recvs[r], call_count, WEFT_FP32, WEFT_SUM, comms[r], NULL));
    }
    return weft_group_end();
}

__attribute__((noinline)) static weft_status_t path_send(void)
{
    bench_require(weft_group_start());
    bench_require(weft_send(sends[0], call_count, WEFT_FP32, 1, comms[0], NULL));
    bench_require(weft_recv(recvs[1], call_count, WEFT_FP32, 0, comms[1], NULL));
    return weft_group_end();
}

/* The message is there before its receive is called. */
__attribute__((noinline)) static weft_status_t path_message(uint32_t r)
{
    return r == 0 ? weft_send(sends[0], call_count, WEFT_FP32, 1, comms[0], NULL)
                  : weft_recv(recvs[1], call_count, WEFT_FP32, 0, comms[1], NULL);
}

__attribute__((noinline)) static weft_status_t path_burst(void)
{
    bench_require(weft_group_start());
    for (uint32_t i = 0; i < BURST; i++) {
        bench_require(weft_send(sends[0], call_count, WEFT_FP32, 1, comms[0], NULL));
        bench_require(weft_recv(recvs[1], call_count, WEFT_FP32, 0, comms[1], NULL));
    }
    return weft_group_end();
}

static void bench_call(const char *what)
{
    if (strcmp(what, "all_reduce") == 0) {
        bench_require(path_all_reduce());
    } else if (strcmp(what, "send") == 0) {
        bench_require(path_send());
    } else if (strcmp(what, "burst") == 0) {
        bench_require(path_burst());
    } else if (strcmp(what, "join") == 0) {
        bench_leave_all();
        bench_join_all();
    } else {
        for (uint32_t r = 0; r < NRANKS; r++) {
            bench_require(strcmp(what, "message") == 0     ? path_message(r)
                          : strcmp(what, "broadcast") == 0 ? path_broadcast(sends[r], r)
                                                           : path_reduce(sends[r], recvs[r], r));
        }
    }
}

/* The first calls connect, in both ranks at once. */
static void bench_connect(void)
{
    bench_require(weft_group_start());
    for (uint32_t r = 0; r < NRANKS; r++) {
        bench_require(path_broadcast(sends[r], r));
        bench_require(path_reduce(sends[r], recvs[r], r));
        bench_require(path_message(r));
    }
    bench_require(weft_group_end());
}

/* WHAT[:BYTES] into a name and the number of elements; false: there is no such name. */
static bool bench_parse(char *what)
{
    static const char *const known[] = {"broadcast", "reduce", "all_reduce", "send",
                                        "message",   "burst",  "join"};
    char *colon = strchr(what, ':');
    uint64_t bytes = colon ? strtoull(colon + 1, NULL, 10) : 8;
    if (colon) {
        *colon = 0;
    }
    call_count = bytes / sizeof(float);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i], what) == 0) {
            return bytes >= sizeof(float);
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    if (argc < 3 || !bench_parse(argv[1])) {
        fprintf(stderr,
                "usage: %s broadcast|reduce|all_reduce|send|message|burst|join[:BYTES] CALLS "
                "[section.key=value …]\n",
                argv[0]);
        return 2;
    }
    options.settings = (const char *const *)(argv + 3);
    options.settings_count = (uint32_t)(argc - 3);
    for (uint32_t r = 0; r < NRANKS; r++) {
        sends[r] = calloc(call_count, sizeof(float));
        recvs[r] = calloc(call_count, sizeof(float));
        if (!sends[r] || !recvs[r]) {
            return 1;
        }
    }
    bench_join_all();
    if (strcmp(argv[1], "join") != 0) {
        bench_connect();
    }
    for (long i = 0, calls = atol(argv[2]); i < calls; i++) {
        bench_call(argv[1]);
    }
    bench_leave_all();
    for (uint32_t r = 0; r < NRANKS; r++) {
        free(sends[r]);
        free(recvs[r]);
    }
    return 0;
}
