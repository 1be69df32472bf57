/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows from the user's side: what registering takes and refuses, calls that are under way when a
 * window ends, and memory that is gone as soon as its window is, also after a failure. Ranks are
 * threads. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

enum { BLOCK = 1 << 20, WINDOWS = 16 };

static const char *const settings[] = {"core.net=net-shm"};

static void run(uint32_t nranks, ranks_work_t work)
{
    ranks_job_t job = {.nranks = nranks, .settings = settings, .settings_count = 1, .work = work};
    assert_int_equal(ranks_run_threads(&job), 0);
}

static bool says(weft_comm_t *comm, weft_status_t got, weft_status_t expected, const char *word)
{
    weft_error_t error = {.size = sizeof error};
    (void)comm;
    weft_last_error(&error);
    return got == expected && strstr(error.text, word) != NULL;
}

/* Mistakes of one rank, which no other hears of. */
static int make_mistakes(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static char memory[64];
    weft_window_t *window = NULL;
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(says(comm, weft_window_register(comm, NULL, 64, &window), WEFT_ERR_ARG, "NULL"));
    NEED(says(comm, weft_window_register(comm, memory, 0, &window), WEFT_ERR_ARG, "1 byte"));
    NEED(says(comm, weft_window_register(comm, memory, 64, NULL), WEFT_ERR_ARG, "window is NULL"));
    NEED(
        says(comm, weft_window_register(comm, memory, UINT64_MAX, &window), WEFT_ERR_ARG, "wraps"));
    NEED(says(comm, weft_window_deregister(comm, (weft_window_t *)(void *)memory), WEFT_ERR_ARG,
              "no window"));
    NEED(window == NULL);
    NEED(weft_window_deregister(comm, NULL) == WEFT_OK);
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_window_register(comm, memory, 64, &window) == WEFT_ERR_STATE);
    NEED(weft_group_end() == WEFT_ERR_STATE);
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    return wrong;
}

static int take_all(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    char *memory = calloc(n + 1, WINDOWS * 100);
    weft_window_t *window[WINDOWS], *more = NULL;
    int wrong = 0;
    (void)arg;
    for (int i = 0; i < WINDOWS; i++) {
        /* Ranks may show areas of different lengths. */
        NEED(weft_window_register(comm, memory + i * 100, rank + 1, &window[i]) == WEFT_OK);
    }
    NEED(says(comm, weft_window_register(comm, memory, 1, &more), WEFT_ERR_RESOURCE, "16 windows"));
    NEED(weft_window_deregister(comm, window[3]) == WEFT_OK);
    NEED(weft_window_deregister(comm, window[3]) == WEFT_ERR_ARG);
    NEED(weft_window_register(comm, memory + 300, 100, &window[3]) == WEFT_OK);
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    for (int i = WINDOWS - 1; i >= 0; i--) {
        NEED(weft_window_deregister(comm, window[i]) == WEFT_OK);
    }
    free(memory);
    return wrong;
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    run(1, make_mistakes);
    run(3, make_mistakes);
}

static void there_are_sixteen_at_once(void **state)
{
    (void)state;
    run(1, take_all);
    run(3, take_all);
}

static void *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

/* Asynchronous calls on the memory, and its end behind them. */
static int end_under_way(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    size_t bytes = (size_t)BLOCK * n;
    weft_request_t *request[3] = {NULL};
    weft_window_t *window;
    int wrong = 0;
    (void)arg;
    for (int round = 0; round < 3; round++) {
        uint8_t *memory = map(bytes);
        uint8_t *out = map(bytes);
        NEED(weft_window_register(comm, memory, bytes, &window) == WEFT_OK);
        memset(memory, (int)rank + 1, BLOCK);
        for (int i = 0; i < 3; i++) {
            weft_call_t call = {.size = sizeof call, .request_p = &request[i]};
            NEED(weft_all_gather(memory, out, BLOCK, WEFT_UINT8, comm, &call) == WEFT_OK);
        }
        NEED(weft_window_deregister(comm, window) == WEFT_OK);
        munmap(memory, bytes); /* whoever reads it now is killed */
        for (int i = 0; i < 3; i++) {
            NEED(weft_request_wait(&request[i]) == WEFT_OK);
        }
        for (uint32_t r = 0; r < n; r++) {
            NEED(out[(size_t)r * BLOCK] == r + 1 && out[(size_t)(r + 1) * BLOCK - 1] == r + 1);
        }
        munmap(out, bytes);
    }
    return wrong;
}

static void a_window_ends_behind_the_calls_before(void **state)
{
    (void)state;
    run(2, end_under_way);
    run(4, end_under_way);
}

/* Rank 1 gives up in the middle and unmaps its memory at once; nobody else knows of that. */
static int fail_and_unmap(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    size_t bytes = (size_t)BLOCK * n;
    uint8_t *memory = map(bytes), *out = map(bytes);
    weft_window_t *window;
    weft_error_t error = {.size = sizeof error};
    weft_status_t status = weft_window_register(comm, memory, bytes, &window);
    int wrong = 0;
    (void)arg;
    NEED(status == WEFT_OK);
    for (int i = 0; status == WEFT_OK; i++) {
        weft_request_t *request = NULL;
        weft_call_t call = {.size = sizeof call, .request_p = &request};
        status = weft_all_gather(memory, out, BLOCK, WEFT_UINT8, comm, &call);
        if (rank == 1 && i == 4) {
            NEED(weft_comm_abort(comm) == WEFT_OK);
        }
        status = status == WEFT_OK ? weft_request_wait(&request) : status;
    }
    NEED(weft_comm_error(comm, &error) == WEFT_OK);
    NEED(error.status == WEFT_ERR_ABORTED && error.peer == 1);
    NEED(weft_window_deregister(comm, window) == WEFT_OK);
    munmap(memory, bytes);
    munmap(out, bytes);
    return wrong;
}

static void memory_goes_with_its_window_after_a_failure_too(void **state)
{
    (void)state;
    for (int round = 0; round < 5; round++) {
        run(3, fail_and_unmap);
    }
}

/* One rank ends a window, another shows one more. */
static int disagree(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static char memory[2][128];
    weft_window_t *window, *more = NULL;
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_window_register(comm, memory[rank], 128, &window) == WEFT_OK);
    weft_status_t status = rank == 0 ? weft_window_deregister(comm, window)
                                     : weft_window_register(comm, memory[rank], 64, &more);
    NEED(status == WEFT_ERR_MISMATCH);
    NEED(more == NULL);
    return wrong;
}

static void ranks_that_disagree_are_told(void **state)
{
    (void)state;
    run(2, disagree);
}

/* Rank 0 sends what is short, and is done although nobody has called to receive it. */
static int send_ahead(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static _Atomic uint32_t sent;
    enum { ROUNDS = 5, LARGE = 1 << 16, SHORT = 8192 };
    void *memory = NULL;
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_mem_alloc(comm, LARGE, &memory) == WEFT_OK);
    for (int i = 0; i < ROUNDS; i++) { /* the large ones show it to the other */
        NEED(weft_broadcast(memory, memory, LARGE / 4, WEFT_FP32, 0, comm, NULL) == WEFT_OK);
    }
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    const time_t until = time(NULL) + 30;
    while (rank != 0 && atomic_load(&sent) == 0 && time(NULL) < until) {
        usleep(1000);
    }
    NEED(rank == 0 || atomic_load(&sent) == 1);
    NEED(weft_broadcast(memory, memory, SHORT / 4, WEFT_FP32, 0, comm, NULL) == WEFT_OK);
    atomic_store(&sent, rank == 0 ? 1 : 2);
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    NEED(weft_mem_free(comm, memory) == WEFT_OK);
    return wrong;
}

static void a_short_broadcast_from_shared_memory_waits_for_nobody(void **state)
{
    (void)state;
    run(2, send_ahead);
}

/* Windows are exchanged by an all-gather, which algo-tree does not have: that ends the call alike
 * on all ranks, and nothing else. */
static int register_without_all_gather(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static char memory[64];
    weft_window_t *window = NULL;
    float one = 1, sum = 0;
    int wrong = 0;
    (void)rank;
    (void)arg;
    NEED(says(comm, weft_window_register(comm, memory, sizeof memory, &window),
              WEFT_ERR_UNSUPPORTED, "all_gather"));
    NEED(window == NULL);
    NEED(weft_all_reduce(&one, &sum, 1, WEFT_FP32, WEFT_SUM, comm, NULL) == WEFT_OK);
    NEED(sum == (float)n);
    return wrong;
}

static void without_an_all_gather_the_communicator_goes_on(void **state)
{
    ranks_job_t job = {.nranks = 3,
                       RANKS_SET("core.net=net-shm", "core.algo=algo-tree"),
                       .work = register_without_all_gather};
    (void)state;
    assert_int_equal(ranks_run_threads(&job), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(there_are_sixteen_at_once),
        cmocka_unit_test(a_window_ends_behind_the_calls_before),
        cmocka_unit_test(memory_goes_with_its_window_after_a_failure_too),
        cmocka_unit_test(ranks_that_disagree_are_told),
        cmocka_unit_test(a_short_broadcast_from_shared_memory_waits_for_nobody),
        cmocka_unit_test(without_an_all_gather_the_communicator_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
