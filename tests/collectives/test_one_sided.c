/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Puts, signals and waits from the user's side: over memory and over TCP, as threads and as
 * processes, into both kinds of windows. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

enum { MOST = 3 << 20 };

static const char *const nets[] = {"core.net=net-shm", "core.net=net-socket"};

static void run(uint32_t nranks, ranks_work_t work, void *arg)
{
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        ranks_job_t job = {.nranks = nranks, RANKS_SET(nets[i]), .work = work, .arg = arg};
        assert_int_equal(ranks_run_both(&job), 0);
    }
}

static void run_threads(uint32_t nranks, ranks_work_t work, void *arg)
{
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        ranks_job_t job = {.nranks = nranks, RANKS_SET(nets[i]), .work = work, .arg = arg};
        assert_int_equal(ranks_run_threads(&job), 0);
    }
}

static void fill(uint8_t *bytes, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)(seed * 31 + i * 7 + i / 251);
    }
}

static bool is_filled(const uint8_t *bytes, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != (uint8_t)(seed * 31 + i * 7 + i / 251)) {
            return false;
        }
    }
    return true;
}

/* Around a ring: each rank puts to its right, which answers with a signal. Bytes beside the put
 * stay. */
static int put_around(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static const size_t sizes[] = {0, 1, 8, 33, 300, 4096, 100003, MOST};
    uint8_t *out = malloc(MOST), *in = calloc(1, MOST + 16);
    uint32_t right = (rank + 1) % n, left = (rank + n - 1) % n;
    weft_window_t *window = NULL;
    int wrong = 0;
    NEED((arg == NULL ? weft_window_register(comm, in, MOST + 16, &window)
                      : weft_window_register_local(comm, in, MOST + 16, &window)) == WEFT_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && wrong == 0; i++) {
        size_t bytes = sizes[i];
        fill(out, bytes, rank + (uint32_t)i);
        memset(in, 0xee, bytes + 16);
        NEED(weft_signal(left, comm, NULL) == WEFT_OK); /* its memory is ready */
        NEED(weft_wait_signal(right, 1, comm, NULL) == WEFT_OK);
        NEED(weft_put_signal(out, bytes, WEFT_UINT8, right, window, 8, comm, NULL) == WEFT_OK);
        NEED(weft_wait_signal(left, 1, comm, NULL) == WEFT_OK);
        NEED(is_filled(in + 8, bytes, left + (uint32_t)i));
        NEED(in[7] == 0xee && in[8 + bytes] == 0xee);
    }
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    NEED(weft_window_deregister(comm, window) == WEFT_OK);
    free(out);
    free(in);
    return wrong;
}

static void puts_arrive_where_they_should(void **state)
{
    (void)state;
    run(1, put_around, NULL);
    run(2, put_around, NULL);
    run(3, put_around, NULL);
    run(2, put_around, &run);
    run(5, put_around, &run);
}

/* Elements of each rank for each rank, in one group with the waits, beside collectives. */
static int exchange_in_groups(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { EACH = 3000, ROUNDS = 20 };
    uint32_t *in = calloc((size_t)n * EACH, sizeof *in), *out = calloc(EACH, sizeof *out);
    weft_window_t *window = NULL;
    int wrong = 0;
    (void)arg;
    NEED(weft_window_register_local(comm, in, (size_t)n * EACH * sizeof *in, &window) == WEFT_OK);
    for (uint32_t round = 1; round <= ROUNDS && wrong == 0; round++) {
        uint32_t sum = 0, one = 1;
        for (uint32_t i = 0; i < EACH; i++) {
            out[i] = round * 100000 + rank * 10000 + i;
        }
        NEED(weft_group_start() == WEFT_OK);
        for (uint32_t r = 0; r < n; r++) {
            NEED(weft_put_signal(out, EACH, WEFT_UINT32, r, window, rank * EACH * sizeof *in, comm,
                                 NULL) == WEFT_OK);
            NEED(weft_wait_signal(r, 1, comm, NULL) == WEFT_OK);
        }
        NEED(weft_all_reduce(&one, &sum, 1, WEFT_UINT32, WEFT_SUM, comm, NULL) == WEFT_OK);
        NEED(weft_group_end() == WEFT_OK);
        NEED(sum == n);
        for (uint32_t i = 0; i < n * EACH; i++) {
            NEED(in[i] == round * 100000 + i / EACH * 10000 + i % EACH);
        }
        NEED(weft_barrier(comm, NULL) == WEFT_OK); /* nobody puts while it is compared */
    }
    NEED(weft_window_deregister(comm, window) == WEFT_OK);
    free(in);
    free(out);
    return wrong;
}

static void groups_put_and_wait(void **state)
{
    (void)state;
    run(1, exchange_in_groups, NULL);
    run(2, exchange_in_groups, NULL);
    run(4, exchange_in_groups, NULL);
}

/* Rank 0 makes no call until rank 1 has put more than all slots hold; then it takes all signals at
 * once. */
static int put_to_an_absent_one(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { PUTS = 5 };
    atomic_uint *has_put = arg;
    uint8_t *in = calloc(n, MOST), *out = malloc(MOST);
    weft_window_t *window = NULL;
    int wrong = 0;
    NEED(weft_window_register(comm, in, (uint64_t)n * MOST, &window) == WEFT_OK);
    if (rank == 0) {
        for (uint32_t ms = 0; atomic_load(has_put) == 0 && ms < 60000; ms++) {
            usleep(1000);
        }
        NEED(atomic_exchange(has_put, 0) == PUTS);
        NEED(weft_wait_signal(1, PUTS, comm, NULL) == WEFT_OK);
        NEED(is_filled(in + MOST, MOST, 1 + PUTS - 1));
    } else {
        for (uint32_t i = 0; i < PUTS; i++) {
            fill(out, MOST, rank + i);
            NEED(weft_put_signal(out, MOST, WEFT_UINT8, 0, window, (uint64_t)rank * MOST, comm,
                                 NULL) == WEFT_OK);
        }
        atomic_store(has_put, PUTS);
    }
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    NEED(weft_window_deregister(comm, window) == WEFT_OK);
    free(in);
    free(out);
    return wrong;
}

static void the_target_makes_no_call(void **state)
{
    (void)state;
    atomic_uint *has_put =
        mmap(NULL, sizeof *has_put, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(has_put, MAP_FAILED);
    run(2, put_to_an_absent_one, has_put);
    munmap(has_put, sizeof *has_put);
}

/* Many small puts in a row, asynchronous on both sides, counted in batches. */
static int stream_of_puts(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { PUTS = 600, BATCH = 60 };
    uint64_t in[PUTS] = {0}, out[PUTS];
    weft_request_t *request[PUTS] = {NULL};
    weft_window_t *window = NULL;
    int wrong = 0;
    (void)arg;
    NEED(weft_window_register(comm, in, sizeof in, &window) == WEFT_OK);
    for (uint32_t i = 0; i < PUTS && rank + 1 < n; i++) {
        const weft_call_t call = {.size = sizeof call, .request_p = &request[i]};
        out[i] = i + 1;
        NEED(weft_put_signal(&out[i], 1, WEFT_UINT64, rank + 1, window, i * sizeof *in, comm,
                             &call) == WEFT_OK);
    }
    for (uint32_t i = 0; i < PUTS && rank > 0; i += BATCH) {
        NEED(weft_wait_signal(rank - 1, BATCH, comm, NULL) == WEFT_OK);
        for (uint32_t k = 0; k < i + BATCH; k++) {
            NEED(in[k] == k + 1);
        }
    }
    for (uint32_t i = 0; i < PUTS && rank + 1 < n; i++) {
        NEED(weft_request_wait(&request[i]) == WEFT_OK);
    }
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    NEED(weft_window_deregister(comm, window) == WEFT_OK);
    return wrong;
}

static void small_puts_stay_in_order(void **state)
{
    (void)state;
    run(2, stream_of_puts, NULL);
    run(3, stream_of_puts, NULL);
}

/* A put waits for the window of its number; waits of several threads' requests take signals in
 * order. */
static int put_before_the_window(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    uint32_t first = 0, second = 0, value = 77;
    weft_window_t *window[2] = {NULL};
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_window_register_local(comm, &first, sizeof first, &window[0]) == WEFT_OK);
    if (rank == 0) {
        NEED(weft_window_register_local(comm, &second, sizeof second, &window[1]) == WEFT_OK);
        NEED(weft_put_signal(&value, 1, WEFT_UINT32, 1, window[1], 0, comm, NULL) == WEFT_OK);
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
    } else {
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
        usleep(20000);
        NEED(weft_window_register_local(comm, &second, sizeof second, &window[1]) == WEFT_OK);
        NEED(weft_wait_signal(0, 1, comm, NULL) == WEFT_OK);
        NEED(second == 77 && first == 0);
    }
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    NEED(weft_window_deregister(comm, window[0]) == WEFT_OK);
    NEED(weft_window_deregister(comm, window[1]) == WEFT_OK);
    NEED(weft_window_deregister(comm, window[1]) == WEFT_ERR_ARG);
    return wrong;
}

static void a_put_waits_for_its_window(void **state)
{
    (void)state;
    run(2, put_before_the_window, NULL);
}

/* Rank 0 waits in a group over two communicators, whose part in the first is done, while rank 1
 * puts there. Rank 1 comes to the second one later. */
static int put_into_a_group(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const weft_call_t call = {.size = sizeof call, .timeout = 10.0 * RANKS_SLOWER};
    uint8_t *in = calloc(1, MOST), *out = malloc(MOST);
    uint32_t one = 1, sum = 0, mine = 0;
    weft_window_t *window = NULL;
    weft_comm_t *twin = NULL;
    int wrong = 0;
    (void)arg;
    fill(out, MOST, rank);
    NEED(weft_comm_dup(comm, &twin) == WEFT_OK);
    NEED(weft_window_register_local(comm, in, MOST, &window) == WEFT_OK);
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    if (rank == 1) {
        usleep(20000);
        NEED(weft_put_signal(out, MOST, WEFT_UINT8, 0, window, 0, comm, &call) == WEFT_OK);
    }
    NEED(weft_group_start() == WEFT_OK);
    NEED(weft_send(&one, 1, WEFT_UINT32, rank, comm, NULL) == WEFT_OK);
    NEED(weft_recv(&mine, 1, WEFT_UINT32, rank, comm, NULL) == WEFT_OK);
    NEED(weft_all_reduce(&one, &sum, 1, WEFT_UINT32, WEFT_SUM, twin, NULL) == WEFT_OK);
    NEED(weft_group_end() == WEFT_OK);
    NEED(sum == n && mine == 1);
    if (rank == 0) {
        NEED(weft_wait_signal(1, 1, comm, NULL) == WEFT_OK);
        NEED(is_filled(in, MOST, 1));
    }
    NEED(weft_comm_destroy(twin) == WEFT_OK);
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    NEED(weft_window_deregister(comm, window) == WEFT_OK);
    free(in);
    free(out);
    return wrong;
}

static void the_target_waits_in_a_group_for_another_communicator(void **state)
{
    (void)state;
    run(2, put_into_a_group, NULL);
    run(3, put_into_a_group, NULL);
}

/* Rank 1 puts from a window that rank 0 may be ending: it is read in place by threads, in which the
 * target of the put looks at it no more. */
static int put_from_an_ending_window(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    uint8_t *in = calloc(1, MOST), *out = malloc(MOST);
    weft_window_t *target = NULL, *source = NULL;
    int wrong = 0;
    (void)arg;
    for (uint32_t round = 0; round < 4 && wrong == 0; round++) {
        fill(out, MOST, rank + round);
        NEED(weft_window_register_local(comm, in, MOST, &target) == WEFT_OK);
        NEED(weft_window_register(comm, out, MOST, &source) == WEFT_OK);
        if (rank == 1) {
            usleep(2000); /* rank 0 is in the call that ends it */
            NEED(weft_put_signal(out, MOST, WEFT_UINT8, 0, target, 0, comm, NULL) == WEFT_OK);
        }
        NEED(weft_window_deregister(comm, source) == WEFT_OK);
        if (rank == 0) {
            NEED(weft_wait_signal(1, 1, comm, NULL) == WEFT_OK);
            NEED(is_filled(in, MOST, 1 + round));
        }
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
        NEED(weft_window_deregister(comm, target) == WEFT_OK);
    }
    (void)n;
    free(in);
    free(out);
    return wrong;
}

static void a_put_comes_from_a_window_that_its_target_ends(void **state)
{
    (void)state;
    run(2, put_from_an_ending_window, NULL);
    run(3, put_from_an_ending_window, NULL);
}

static int make_mistakes(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    uint64_t memory[4] = {0};
    weft_window_t *window = NULL;
    int wrong = 0;
    (void)arg;
    NEED(weft_window_register_local(comm, NULL, 8, &window) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "weft_window_register_local: the memory is NULL"));
    NEED(weft_window_register_local(comm, memory, sizeof memory, &window) == WEFT_OK);
    NEED(weft_put_signal(memory, 1, WEFT_UINT64, n, window, 0, comm, NULL) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "weft_put_signal: peer"));
    NEED(weft_put_signal(memory, 1, WEFT_UINT64, 0, NULL, 0, comm, NULL) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "the window is NULL"));
    NEED(weft_put_signal(memory, 1, WEFT_UINT64, 0, (weft_window_t *)(void *)memory, 0, comm,
                         NULL) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "no window of this communicator"));
    NEED(weft_put_signal(NULL, 1, WEFT_UINT64, 0, window, 0, comm, NULL) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "the send buffer is NULL"));
    NEED(weft_put_signal(memory, 1, (weft_dtype_t)99, 0, window, 0, comm, NULL) == WEFT_ERR_ARG);
    NEED(weft_put_signal(memory, 1, WEFT_UINT64, 0, window, UINT64_MAX, comm, NULL) ==
         WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "beyond every window"));
    NEED(weft_put_signal(memory, UINT64_MAX, WEFT_UINT64, 0, window, 0, comm, NULL) ==
         WEFT_ERR_ARG);
    NEED(weft_signal(n, comm, NULL) == WEFT_ERR_ARG);
    NEED(weft_wait_signal(n, 1, comm, NULL) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "weft_wait_signal: peer"));
    NEED(weft_wait_signal(rank, 0, comm, NULL) == WEFT_OK);
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    return wrong;
}

/* Windows that this communicator has no longer, or never had. */
static int put_into_other_windows(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    uint64_t memory[4] = {0};
    weft_window_t *mine = NULL, *other = NULL;
    weft_comm_t *child = NULL;
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_comm_dup(comm, &child) == WEFT_OK);
    NEED(weft_window_register_local(comm, memory, sizeof memory, &mine) == WEFT_OK);
    NEED(weft_window_register(child, memory, sizeof memory, &other) == WEFT_OK);
    NEED(weft_put_signal(memory, 1, WEFT_UINT64, 0, other, 0, comm, NULL) == WEFT_ERR_ARG);
    NEED(ranks_error_says(WEFT_ERR_ARG, "no window of this communicator"));
    NEED(weft_put_signal(memory, 0, WEFT_UINT64, 0, mine, 0, child, NULL) == WEFT_ERR_ARG);
    NEED(weft_window_deregister(child, mine) == WEFT_ERR_ARG);
    NEED(weft_window_deregister(comm, mine) == WEFT_OK);
    NEED(weft_put_signal(memory, 1, WEFT_UINT64, 0, mine, 0, comm, NULL) == WEFT_ERR_ARG);
    NEED(weft_put_signal(memory, 0, WEFT_UINT64, 0, mine, 0, comm, NULL) == WEFT_ERR_ARG);
    NEED(weft_comm_destroy(child) == WEFT_OK);
    NEED(weft_put_signal(memory, 1, WEFT_UINT64, 0, other, 0, child, NULL) == WEFT_ERR_STATE);
    NEED(weft_wait_signal(rank, 1, child, NULL) == WEFT_ERR_STATE);
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    return wrong;
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    run_threads(1, make_mistakes, NULL);
    run_threads(3, make_mistakes, NULL);
    run_threads(2, put_into_other_windows, NULL);
}

/* Rank 0 alone makes windows that are refused, and later ones have the same numbers all the
 * same. */
static int register_wrongly(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    uint64_t out = rank + 1, in = 0;
    weft_window_t *none = NULL, *window = NULL;
    int wrong = 0;
    (void)arg;
    if (rank == 0) {
        NEED(weft_window_register_local(comm, &in, 0, &none) == WEFT_ERR_ARG);
        NEED(ranks_error_says(WEFT_ERR_ARG, "a window has at least 1 byte"));
        NEED(weft_window_register_local(comm, &in, UINT64_MAX, &none) == WEFT_ERR_ARG);
        NEED(ranks_error_says(WEFT_ERR_ARG, "wraps around the address space"));
        NEED(weft_window_register_local(comm, &in, sizeof in, NULL) == WEFT_ERR_ARG);
        NEED(weft_group_start() == WEFT_OK);
        NEED(weft_window_register_local(comm, &in, sizeof in, &none) == WEFT_ERR_STATE);
        NEED(ranks_error_says(WEFT_ERR_STATE, "not inside a group"));
        NEED(weft_window_deregister(comm, NULL) == WEFT_ERR_STATE);
        NEED(weft_group_end() == WEFT_ERR_STATE);
        NEED(none == NULL);
    }
    NEED(weft_window_register_local(comm, &in, sizeof in, &window) == WEFT_OK);
    NEED(weft_put_signal(&out, 1, WEFT_UINT64, (rank + 1) % n, window, 0, comm, NULL) == WEFT_OK);
    NEED(weft_wait_signal((rank + n - 1) % n, 1, comm, NULL) == WEFT_OK);
    NEED(in == (rank + n - 1) % n + 1);
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    NEED(weft_window_deregister(comm, window) == WEFT_OK);
    return wrong;
}

static void windows_that_are_refused_are_not_counted(void **state)
{
    (void)state;
    run_threads(1, register_wrongly, NULL);
    run_threads(3, register_wrongly, NULL);
}

/* What the target finds wrong with a put of rank 1. */
typedef struct put_wrong {
    uint64_t offset, count;
    bool ended; /* the target has deregistered the window */
    const char *words;
} put_wrong_t;

static int put_wrongly(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const put_wrong_t *put = arg;
    uint8_t memory[64] = {0}, out[128] = {0};
    weft_window_t *window = NULL;
    int wrong = 0;
    (void)n;
    NEED(weft_window_register_local(comm, memory, sizeof memory, &window) == WEFT_OK);
    if (put->ended && rank == 0) {
        NEED(weft_window_deregister(comm, window) == WEFT_OK);
    }
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    if (rank == 1) {
        /* The failure may come back before the put is complete. */
        weft_status_t status =
            weft_put_signal(out, put->count, WEFT_UINT8, 0, window, put->offset, comm, NULL);
        NEED(status == WEFT_OK || status == WEFT_ERR_MISMATCH);
        NEED(weft_wait_signal(0, 1, comm, NULL) ==
             WEFT_ERR_MISMATCH); /* the failure comes here, too */
    } else {
        weft_error_t error = {.size = sizeof error};
        NEED(weft_wait_signal(1, 1, comm, NULL) == WEFT_ERR_MISMATCH);
        NEED(ranks_error_says(WEFT_ERR_MISMATCH, put->words));
        NEED(weft_comm_error(comm, &error) == WEFT_OK && error.peer == 1);
    }
    return wrong;
}

static void a_put_beside_the_window_fails(void **state)
{
    static put_wrong_t puts[] = {
        {.offset = 60,
         .count = 5,
         .words = "rank 1 put 5 bytes at offset 60 into window 1 of "
                  "rank 0, which has 64 bytes there"},
        {.offset = 65, .count = 1, .words = "at offset 65"},
        {.offset = UINT64_C(0xfffffffffff0), .count = 100, .words = "at offset 281474976710640"},
        {.count = 8, .ended = true, .words = "which has been deregistered there"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof puts / sizeof *puts; i++) {
        run_threads(2, put_wrongly, &puts[i]);
    }
}

static int wait_in_vain(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const weft_call_t call = {.size = sizeof call, .timeout = 0.3};
    int wrong = 0;
    (void)n;
    if (rank == 0 && arg == NULL) {
        NEED(weft_wait_signal(1, 2, comm, &call) == WEFT_ERR_TIMEOUT);
        NEED(ranks_error_says(WEFT_ERR_TIMEOUT, "wait for 2 signals of rank 1 (wait 1) not done"));
        NEED(ranks_error_says(WEFT_ERR_TIMEOUT, "rank 0 waits for rank 1 to signal"));
    } else if (rank == 0) {
        NEED(weft_wait_signal(1, 1, comm, NULL) == WEFT_OK);
        NEED(weft_wait_signal(1, 1, comm, NULL) == WEFT_ERR_PEER_LEFT);
        NEED(ranks_error_says(WEFT_ERR_PEER_LEFT, "rank 1 left the communicator"));
    } else if (arg == NULL) {
        NEED(weft_signal(0, comm, NULL) == WEFT_OK);
        usleep(500000); /* a rank that has left is no late one */
    } else {
        NEED(weft_signal(0, comm, NULL) == WEFT_OK);
    }
    return wrong;
}

/* Rank 1 is outside of all calls and has made none that makes its progress thread look for puts. */
static int signal_in_vain(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const weft_call_t call = {.size = sizeof call, .timeout = 0.3 * RANKS_SLOWER};
    int wrong = 0;
    (void)n;
    (void)arg;
    if (rank == 0) {
        NEED(weft_signal(1, comm, &call) == WEFT_ERR_TIMEOUT);
        NEED(ranks_error_says(WEFT_ERR_TIMEOUT, "signal to rank 1 (put 1) not done"));
        NEED(ranks_error_says(
            WEFT_ERR_TIMEOUT,
            "rank 0 waits for rank 1 to connect; it is in no call of this communicator, "
            "and has made no window or one-sided call in it before, or cannot be reached"));
    } else {
        usleep(500000 * RANKS_SLOWER); /* a rank that has left is no late one */
    }
    return wrong;
}

/* The put is there, and what it waits for is this rank's own window. */
static int wait_without_a_window(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const weft_call_t call = {.size = sizeof call, .timeout = 0.3 * RANKS_SLOWER};
    uint64_t memory = 0;
    weft_window_t *window = NULL;
    int wrong = 0;
    (void)arg;
    if (rank == 0) {
        NEED(weft_window_register_local(comm, &memory, sizeof memory, &window) == WEFT_OK);
        NEED(weft_put_signal(&memory, 1, WEFT_UINT64, n - 1, window, 0, comm, NULL) == WEFT_OK);
    }
    if (rank == n - 1) {
        NEED(weft_wait_signal(0, 1, comm, &call) == WEFT_ERR_TIMEOUT);
        NEED(ranks_error_says(WEFT_ERR_TIMEOUT, "rank 1 waits for rank 0 to signal; a put of it is "
                                                "here, and waits for window 1, which rank 1 has "
                                                "not registered"));
    } else {
        usleep(500000 * RANKS_SLOWER); /* a rank that has left is no late one */
    }
    return wrong;
}

static void who_waits_in_vain_is_told(void **state)
{
    (void)state;
    run_threads(2, wait_in_vain, NULL);
    run_threads(2, wait_in_vain, &run);
    run_threads(2, wait_without_a_window, NULL);
    run_threads(2, signal_in_vain, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(puts_arrive_where_they_should),
        cmocka_unit_test(groups_put_and_wait),
        cmocka_unit_test(the_target_makes_no_call),
        cmocka_unit_test(small_puts_stay_in_order),
        cmocka_unit_test(a_put_waits_for_its_window),
        cmocka_unit_test(the_target_waits_in_a_group_for_another_communicator),
        cmocka_unit_test(a_put_comes_from_a_window_that_its_target_ends),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(windows_that_are_refused_are_not_counted),
        cmocka_unit_test(a_put_beside_the_window_fails),
        cmocka_unit_test(who_waits_in_vain_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
