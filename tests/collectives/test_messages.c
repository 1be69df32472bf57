/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives from any rank meet messages in the order of the calls, and large messages arrive whole,
 * whatever memory they come from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/heard.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

static const char *const nets[] = {"core.net=net-shm", "core.net=net-socket"};

static void run_with(uint32_t nranks, ranks_work_t work, void *arg)
{
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        ranks_job_t job = {.nranks = nranks, RANKS_SET(nets[i]), .work = work, .arg = arg};
        assert_int_equal(ranks_run_both(&job), 0);
    }
}

static void run(uint32_t nranks, ranks_work_t work)
{
    run_with(nranks, work, NULL);
}

static weft_status_t receive_any(weft_comm_t *comm, uint32_t *value, uint32_t *source)
{
    weft_call_t call = {.size = sizeof call, .source_p = source};
    return weft_recv(value, 1, WEFT_UINT32, WEFT_ANY_RANK, comm, &call);
}

/* Everybody sends some messages to rank 0, which learns from whom each of them is. */
static int collect(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { EACH = 200 };
    uint32_t next[16] = {0}, answer = 0;
    int wrong = 0;
    (void)arg;
    for (uint32_t i = 0; rank != 0 && i < EACH; i++) {
        uint32_t value = rank * 1000 + i;
        NEED(weft_send(&value, 1, WEFT_UINT32, 0, comm, NULL) == WEFT_OK);
    }
    for (uint32_t i = 0; rank == 0 && i < EACH * (n - 1); i++) {
        uint32_t value = 0, source = WEFT_ANY_RANK;
        NEED(receive_any(comm, &value, &source) == WEFT_OK);
        NEED(source > 0 && source < n && value == source * 1000 + next[source]++);
    }
    for (uint32_t r = 1; rank == 0 && r < n; r++) {
        NEED(weft_send(&r, 1, WEFT_UINT32, r, comm, NULL) == WEFT_OK);
    }
    NEED(rank == 0 || weft_recv(&answer, 1, WEFT_UINT32, 0, comm, NULL) == WEFT_OK);
    NEED(rank == 0 || answer == rank);
    return wrong;
}

static void rank_0_learns_who_sent(void **state)
{
    (void)state;
    run(2, collect);
    run(5, collect);
}

/* Two receives, the first from any rank: it takes the first message of rank 1, also if the second
 * one asks for rank 1. A receive from a rank before one from any takes its message first. */
static int keep_order(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    int wrong = 0;
    (void)n;
    (void)arg;
    for (uint32_t round = 0; round < 100; round++) {
        uint32_t out[4] = {10, 11, 12, 13}, in[4] = {0}, source[4] = {9, 9, 9, 9};
        weft_request_t *request[4] = {NULL};
        for (uint32_t i = 0; i < 4; i++) {
            weft_call_t call = {
                .size = sizeof call, .request_p = &request[i], .source_p = &source[i]};
            uint32_t peer = i == 0 || i == 2 ? WEFT_ANY_RANK : 1;
            NEED((rank == 0 ? weft_recv(&in[i], 1, WEFT_UINT32, peer, comm, &call)
                            : weft_send(&out[i], 1, WEFT_UINT32, 0, comm, &call)) == WEFT_OK);
        }
        for (int i = 3; i >= 0; i--) {
            NEED(weft_request_wait(&request[i]) == WEFT_OK);
        }
        for (uint32_t i = 0; rank == 0 && i < 4; i++) {
            NEED(in[i] == out[i] && source[i] == 1);
        }
        NEED(rank == 0 || source[0] == 9);
    }
    return wrong;
}

static void receives_and_messages_meet_in_order(void **state)
{
    (void)state;
    run(2, keep_order);
}

/* In a group: from oneself, from others, in any order. */
static int all_in_a_group(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    uint32_t in[16] = {0}, source[16], seen = 0;
    int wrong = 0;
    (void)arg;
    NEED(weft_group_start() == WEFT_OK);
    for (uint32_t i = 0; i < n; i++) {
        weft_call_t call = {.size = sizeof call, .source_p = &source[i]};
        NEED(weft_recv(&in[i], 1, WEFT_UINT32, WEFT_ANY_RANK, comm, &call) == WEFT_OK);
        NEED(weft_send(&rank, 1, WEFT_UINT32, i, comm, NULL) == WEFT_OK);
    }
    NEED(weft_group_end() == WEFT_OK);
    for (uint32_t i = 0; i < n; i++) {
        NEED(in[i] == source[i]);
        seen |= 1u << source[i];
    }
    NEED(seen == (1u << n) - 1);
    return wrong;
}

static void a_group_may_receive_from_any(void **state)
{
    (void)state;
    run(1, all_in_a_group);
    run(2, all_in_a_group);
    run(4, all_in_a_group);
}

static int misuse(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_error_t error = {.size = sizeof error};
    weft_call_t call = {.size = sizeof call, .timeout = 0.3};
    uint32_t value = 0, too_many[2] = {0, 0};
    int wrong = 0;
    (void)n;
    if (arg == NULL) { /* nobody sends */
        if (rank == 0) {
            NEED(weft_recv(&value, 1, WEFT_UINT32, WEFT_ANY_RANK, comm, &call) == WEFT_ERR_TIMEOUT);
            NEED(weft_comm_error(comm, &error) == WEFT_OK);
            NEED(strstr(error.text, "from any rank") != NULL);
        }
        return wrong;
    }
    if (rank == 1) {
        NEED(weft_send(too_many, 2, WEFT_UINT32, 0, comm, NULL) == WEFT_OK);
    } else if (rank == 0) {
        NEED(weft_recv(&value, 1, WEFT_UINT32, WEFT_ANY_RANK, comm, NULL) == WEFT_ERR_MISMATCH);
        NEED(weft_comm_error(comm, &error) == WEFT_OK);
        NEED(error.peer == 1 && strstr(error.text, "count") != NULL);
    }
    return wrong;
}

static void what_does_not_fit_is_told(void **state)
{
    (void)state;
    char other;
    for (int i = 0; i < 2; i++) {
        ranks_job_t job = {.nranks = 2,
                           .settings = nets,
                           .settings_count = 1,
                           .work = misuse,
                           .arg = i == 0 ? NULL : &other};
        assert_int_equal(ranks_run_threads(&job), 0);
    }
}

/* A rank that waits for itself has nothing to connect. */
static int send_to_itself(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_request_t *request = NULL;
    weft_call_t call = {.size = sizeof call, .timeout = 0.3, .request_p = &request};
    uint32_t value = 0;
    int wrong = 0;
    (void)n;
    (void)arg;
    if (rank == 0) {
        NEED(weft_send(&value, 1, WEFT_UINT32, 0, comm, &call) == WEFT_OK);
        NEED(weft_request_wait(&request) == WEFT_ERR_TIMEOUT);
        NEED(ranks_error_says(WEFT_ERR_TIMEOUT, "rank 0 waits for rank 0 to take data"));
    }
    return wrong;
}

static void a_rank_that_waits_for_itself_is_told(void **state)
{
    ranks_job_t job = {.nranks = 2, .settings = nets, .settings_count = 1, .work = send_to_itself};
    (void)state;
    assert_int_equal(ranks_run_threads(&job), 0);
}

static int leave_one_waiting(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    uint32_t value = 0;
    int wrong = 0;
    (void)n;
    (void)arg;
    if (rank == 0) {
        weft_status_t status = weft_recv(&value, 1, WEFT_UINT32, WEFT_ANY_RANK, comm, NULL);
        NEED(status == WEFT_ERR_PEER_LEFT);
    }
    return wrong;
}

/* Ranks 2 and above leave without a word: before rank 0 looks for messages, or, with `arg`, while
 * it does so and connects to them. Rank 1 is late. */
static int leave_before_a_late_one(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    uint32_t value = 1, source = WEFT_ANY_RANK;
    int wrong = 0;
    (void)n;
    if (rank == 0) {
        weft_call_t call = {.size = sizeof call, .source_p = &source, .timeout = 20};
        usleep(arg == NULL ? 200000 : 0);
        NEED(weft_recv(&value, 1, WEFT_UINT32, WEFT_ANY_RANK, comm, &call) == WEFT_OK);
        NEED(value == 1 && source == 1);
    } else if (rank == 1) {
        usleep(2500000); /* rank 0 has given up its last try to connect to the others */
        NEED(weft_send(&value, 1, WEFT_UINT32, 0, comm, NULL) == WEFT_OK);
    } else if (arg != NULL) {
        usleep(100000);
    }
    return wrong;
}

static void who_has_left_keeps_no_message_of_others_away(void **state)
{
    (void)state;
    bool meanwhile = true;
    run_with(4, leave_before_a_late_one, NULL);
    run_with(4, leave_before_a_late_one, &meanwhile);
}

static void a_rank_that_waits_for_nobody_is_told(void **state)
{
    (void)state;
    run(3, leave_one_waiting);
}

/* Rank 0 is late with its first message and never sends the second; `arg`: it sends none. */
static int wait_for_a_late_one(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_call_t call = {.size = sizeof call, .timeout = 0.6};
    const char *words = arg != NULL ? "; it has not called the send, or cannot be reached"
                                    : "rank 1 waits for rank 0 for data";
    uint32_t value = 0;
    int wrong = 0;
    (void)n;
    if (rank == 0 && arg == NULL) {
        usleep(400000);
        NEED(weft_send(&value, 1, WEFT_UINT32, 1, comm, NULL) == WEFT_OK);
    } else if (rank == 1 && arg == NULL) {
        NEED(weft_recv(&value, 1, WEFT_UINT32, 0, comm, NULL) == WEFT_OK);
    }
    if (rank == 1) {
        NEED(weft_recv(&value, 1, WEFT_UINT32, 0, comm, &call) == WEFT_ERR_TIMEOUT);
        NEED(ranks_error_says(WEFT_ERR_TIMEOUT, words));
    } else {
        usleep(700000); /* a rank that has left is no late one */
    }
    return wrong;
}

static const char *run_and_hear(const ranks_job_t *job)
{
    heard_begin();
    int wrong = ranks_run_threads(job);
    const char *text = heard_end();
    assert_int_equal(wrong, 0);
    return text;
}

static void a_rank_that_waits_long_says_so_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        const char *const settings[] = {nets[i], "boot.late=100ms"};
        ranks_job_t job = {
            .nranks = 2, .settings = settings, .settings_count = 2, .work = wait_for_a_late_one};
        const char *text = run_and_hear(&job);
        assert_int_equal(heard_count(text, "rank 1 has waited "), 1);
        assert_non_null(strstr(text, " s in a receive of 1 uint32 from rank 0 (message 1) for "
                                     "rank 0 to connect; it has not called the send, or"));
        job.arg = &job;
        assert_int_equal(heard_count(run_and_hear(&job), "rank 1 has waited "), 1);
    }
}

/* Large messages ------------------------------------------------------------------------------- */

enum { LARGE = 3 << 20 };

static uint8_t *obtain(weft_comm_t *comm, int alloc)
{
    void *memory = NULL;
    if (alloc && weft_mem_alloc(comm, LARGE, &memory) != WEFT_OK) {
        return NULL;
    }
    return alloc ? memory : malloc(LARGE);
}

static void drop(weft_comm_t *comm, int alloc, uint8_t *memory)
{
    if (alloc) {
        weft_mem_free(comm, memory);
    } else {
        free(memory);
    }
}

/* Round and round, of several lengths, one with a last slice that its header holds; the sender uses
 * its buffer as soon as it may. */
static int pass_on(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static const uint64_t lengths[] = {1, 100, 16383, 16384, 70001, (1 << 20) + 40, LARGE};
    int wrong = 0;
    (void)arg;
    for (int kind = 0; kind < 4; kind++) {
        uint8_t *send = obtain(comm, kind & 1), *recv = obtain(comm, kind & 2);
        for (size_t l = 0; l < 3 * sizeof lengths / sizeof *lengths; l++) {
            uint64_t count = lengths[l / 3], bad = 0;
            for (uint64_t i = 0; i < count; i++) {
                send[i] = (uint8_t)(i * 7 + rank + l);
            }
            NEED(weft_group_start() == WEFT_OK);
            NEED(weft_send(send, count, WEFT_UINT8, (rank + 1) % n, comm, NULL) == WEFT_OK);
            NEED(weft_recv(recv, count, WEFT_UINT8, (rank + n - 1) % n, comm, NULL) == WEFT_OK);
            NEED(weft_group_end() == WEFT_OK);
            memset(send, 0xee, count);
            for (uint64_t i = 0; i < count; i++) {
                bad += recv[i] != (uint8_t)(i * 7 + (rank + n - 1) % n + l);
            }
            NEED(bad == 0);
        }
        drop(comm, kind & 1, send);
        drop(comm, kind & 2, recv);
    }
    return wrong;
}

static void large_messages_arrive_whole(void **state)
{
    (void)state;
    run(2, pass_on);
    run(3, pass_on);
}

/* Sends go into slots through the caches and past them (core/exec/store_trials.h): so many of one
 * length that both happens, also with what is no whole vector. */
static int send_each_way(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static const uint64_t lengths[] = {1024, 1037, 4096, 70001};
    enum { EACH = 300, SPAN = 70001 + 64 };
    uint8_t *memory = calloc(1, SPAN);
    int wrong = 0;
    (void)arg;
    NEED(memory != NULL && n == 2);
    for (uint32_t i = 0; i < 4 * EACH; i++) {
        const uint64_t bytes = lengths[i / EACH];
        uint8_t *at = memory + i % 64, first = (uint8_t)(i * 7), last = (uint8_t)(i * 11 + 1);
        if (rank == 0) {
            memset(at, first, bytes / 2);
            memset(at + bytes / 2, last, bytes - bytes / 2);
            NEED(weft_send(at, bytes, WEFT_UINT8, 1, comm, NULL) == WEFT_OK);
            continue;
        }
        NEED(weft_recv(at, bytes, WEFT_UINT8, 0, comm, NULL) == WEFT_OK);
        for (uint64_t b = 0; b < bytes; b++) {
            NEED(at[b] == (b < bytes / 2 ? first : last));
        }
    }
    free(memory);
    return wrong;
}

static void messages_arrive_whole_past_the_caches_too(void **state)
{
    (void)state;
    run(2, send_each_way);
}

/* One of many messages: blocking, asynchronous, or in a group with others. */
#define MIXED 600u
#define MIXED_LARGEST 40000u

typedef struct mixed {
    weft_comm_t *comm;
    uint32_t rank;
    unsigned seed;
    uint8_t *memory; /* a place for each message that is under way */
} mixed_t;

enum { MIXED_AT_ONCE = 8 };

static uint64_t mixed_length(uint32_t i)
{
    static const uint64_t lengths[] = {1, 8, 0, 64, 1000, 1025, 4096, 16383, 16384, MIXED_LARGEST};
    return lengths[i * 7 % (sizeof lengths / sizeof *lengths)];
}

static weft_status_t mixed_call(const mixed_t *m, uint32_t i, uint8_t *at, const weft_call_t *call)
{
    return m->rank == 0 ? weft_send(at, mixed_length(i), WEFT_UINT8, 1, m->comm, call)
                        : weft_recv(at, mixed_length(i), WEFT_UINT8, 0, m->comm, call);
}

static void mixed_fill(const mixed_t *m, uint32_t i, uint8_t *at)
{
    for (uint64_t b = 0; b < mixed_length(i); b++) {
        at[b] = m->rank == 0 ? (uint8_t)(i * 31 + b) : 0xee;
    }
}

static int mixed_is_wrong(const mixed_t *m, uint32_t i, const uint8_t *at)
{
    int wrong = 0;
    for (uint64_t b = 0; m->rank == 1 && b < mixed_length(i); b++) {
        wrong |= at[b] != (uint8_t)(i * 31 + b);
    }
    return wrong;
}

/* Calls some messages from number `i` on in one way, and waits for them. Returns how many were
 * wrong. */
static int mixed_some(mixed_t *m, uint32_t i, uint32_t count)
{
    const uint32_t rank = m->rank;
    weft_request_t *request[MIXED_AT_ONCE] = {NULL};
    int wrong = 0, way = rand_r(&m->seed) % 3;
    if (way == 2) {
        NEED(weft_group_start() == WEFT_OK);
    }
    for (uint32_t k = 0; k < count; k++) {
        weft_call_t call = {.size = sizeof call, .request_p = &request[k]};
        uint8_t *at = m->memory + (size_t)k * MIXED_LARGEST;
        mixed_fill(m, i + k, at);
        NEED(mixed_call(m, i + k, at, way == 1 ? &call : NULL) == WEFT_OK);
    }
    if (way == 2) {
        NEED(weft_group_end() == WEFT_OK);
    }
    for (uint32_t k = 0; k < count; k++) {
        NEED(way != 1 || weft_request_wait(&request[k]) == WEFT_OK);
        wrong += mixed_is_wrong(m, i + k, m->memory + (size_t)k * MIXED_LARGEST);
    }
    return wrong;
}

static int mix(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    mixed_t m = {comm, rank, rank + 1, malloc((size_t)MIXED_AT_ONCE * MIXED_LARGEST)};
    int wrong = m.memory == NULL;
    (void)n;
    (void)arg;
    for (uint32_t i = 0; !wrong && i < MIXED;) {
        uint32_t left = MIXED - i, most = left < MIXED_AT_ONCE ? left : MIXED_AT_ONCE;
        uint32_t count = 1 + (uint32_t)rand_r(&m.seed) % most;
        if (rand_r(&m.seed) % 4 == 0) {
            usleep((useconds_t)rand_r(&m.seed) % 500); /* the other one is ahead, or behind */
        }
        wrong += mixed_some(&m, i, count);
        i += count;
    }
    free(m.memory);
    return wrong;
}

static void messages_of_all_calls_keep_their_order(void **state)
{
    (void)state;
    run(2, mix);
}

/* The second message is there when its receive is called. */
static int misfit(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_error_t error = {.size = sizeof error};
    uint32_t value[2] = {0, 0};
    int wrong = 0;
    (void)n;
    (void)arg;
    if (rank == 1) {
        NEED(weft_send(value, 1, WEFT_UINT32, 0, comm, NULL) == WEFT_OK);
        NEED(weft_send(value, 2, WEFT_UINT32, 0, comm, NULL) == WEFT_OK);
        usleep(100000);
        return wrong;
    }
    NEED(weft_recv(value, 1, WEFT_UINT32, 1, comm, NULL) == WEFT_OK);
    usleep(20000);
    NEED(weft_recv(value, 1, WEFT_UINT32, 1, comm, NULL) == WEFT_ERR_MISMATCH);
    NEED(weft_comm_error(comm, &error) == WEFT_OK);
    NEED(error.peer == 1 && strstr(error.text, "count") != NULL);
    return wrong;
}

static void what_is_there_and_does_not_fit_is_told(void **state)
{
    (void)state;
    run(2, misfit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_0_learns_who_sent),
        cmocka_unit_test(receives_and_messages_meet_in_order),
        cmocka_unit_test(a_group_may_receive_from_any),
        cmocka_unit_test(what_does_not_fit_is_told),
        cmocka_unit_test(a_rank_that_waits_for_itself_is_told),
        cmocka_unit_test(a_rank_that_waits_for_nobody_is_told),
        cmocka_unit_test(who_has_left_keeps_no_message_of_others_away),
        cmocka_unit_test(a_rank_that_waits_long_says_so_once),
        cmocka_unit_test(large_messages_arrive_whole),
        cmocka_unit_test(messages_arrive_whole_past_the_caches_too),
        cmocka_unit_test(messages_of_all_calls_keep_their_order),
        cmocka_unit_test(what_is_there_and_does_not_fit_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
