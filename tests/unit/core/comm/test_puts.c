/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Puts that no call of the API makes: the numbers of those behind very many others, and messages
 * that a faulty peer changed. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/comm/engine.h"
#include "core/comm/handle.h"
#include "core/comm/puts.h"
#include "core/exec/port.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

static const char *const nets[] = {"core.net=net-shm", "core.net=net-socket"};

static void run(ranks_work_t work, void *arg)
{
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        ranks_job_t job = {.nranks = 2, RANKS_SET(nets[i]), .work = work, .arg = arg};
        assert_int_equal(ranks_run_threads(&job), 0);
    }
}

static weft_p2p_queue_t *queue_of_puts(const weft_comm_state_t *state)
{
    return &state->windows.puts->p2p.queues[2 * 1 + 1];
}

/* Numbers -------------------------------------------------------------------------------------- */

/* As if rank 0 had put so often before. */
static bool age(weft_comm_t *comm, uint32_t rank, uint64_t puts)
{
    weft_comm_state_t *state;
    if (weft_comm_enter(comm, "test", &state) != WEFT_OK) {
        return false;
    }
    if (rank == 0) {
        queue_of_puts(state)->sequence = queue_of_puts(state)->completed = puts;
    } else {
        state->windows.puts->from[0].queue.completed = puts;
    }
    weft_comm_leave(state);
    return weft_barrier(comm, NULL) == WEFT_OK;
}

static int put_very_often(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    enum { PUTS = 6 };
    uint64_t in[PUTS] = {0};
    weft_window_t *window = NULL;
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_window_register_local(comm, in, sizeof in, &window) == WEFT_OK);
    NEED((rank == 0 ? weft_signal(1, comm, NULL) : weft_wait_signal(0, 1, comm, NULL)) == WEFT_OK);
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    NEED(age(comm, rank, UINT64_C(0xfffffffd)));
    for (uint64_t i = 0; i < PUTS && wrong == 0; i++) {
        const uint64_t out = i + 1;
        if (rank == 0) {
            NEED(weft_put_signal(&out, 1, WEFT_UINT64, 1, window, i * sizeof out, comm, NULL) ==
                 WEFT_OK);
        } else {
            NEED(weft_wait_signal(0, 1, comm, NULL) == WEFT_OK);
            NEED(in[i] == out);
        }
    }
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    return wrong;
}

static void puts_go_on_behind_four_billion_others(void **state)
{
    (void)state;
    run(put_very_often, NULL);
}

/* Waits ---------------------------------------------------------------------------------------- */

enum { STEPS_MOST = 100000000 };

/* Steps until the wait for rank 1 has been found idle. */
static bool step_until_idle(weft_comm_state_t *state, const weft_p2p_queue_t *wait)
{
    for (uint32_t i = 0; i < STEPS_MOST && wait->idle_since == 0; i++) {
        (void)weft_engine_step(state);
    }
    return wait->idle_since != 0;
}

/* Steps until a put of rank 1 has come. */
static bool step_until_put(weft_comm_state_t *state, const weft_put_source_t *source)
{
    for (uint32_t i = 0; i < STEPS_MOST && source->signals == 0; i++) {
        (void)weft_engine_step(state);
    }
    return source->signals == 1;
}

/* Rank 0 waits for two signals: after the first it has waited for no time. */
static int wait_for_two(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_request_t *request = NULL;
    const weft_call_t call = {.size = sizeof call, .request_p = &request};
    _Atomic bool *waits = arg;
    weft_comm_state_t *state;
    int wrong = 0;
    (void)n;
    if (rank == 1) {
        while (!atomic_load(waits)) {
            weft_os_yield();
        }
        NEED(weft_signal(0, comm, NULL) == WEFT_OK);
        NEED(weft_barrier(comm, NULL) == WEFT_OK);
        return wrong + (weft_signal(0, comm, NULL) != WEFT_OK);
    }
    NEED(weft_wait_signal(1, 2, comm, &call) == WEFT_OK);
    NEED(weft_comm_enter(comm, "test", &state) == WEFT_OK);
    const weft_p2p_queue_t *wait = weft_p2p_receives(&state->windows.puts->p2p, 1);
    NEED(step_until_idle(state, wait));
    atomic_store(waits, true);
    NEED(step_until_put(state, &state->windows.puts->from[1]));
    NEED(wait->idle_since == 0);
    weft_comm_leave(state);
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    NEED(weft_request_wait(&request) == WEFT_OK);
    return wrong;
}

static void what_arrives_ends_the_idle_time_of_a_wait(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        _Atomic bool waits = false;
        ranks_job_t job = {.nranks = 2, RANKS_SET(nets[i]), .work = wait_for_two, .arg = &waits};
        assert_int_equal(ranks_run_threads(&job), 0);
    }
}

/* Changed messages ----------------------------------------------------------------------------- */

enum { WINDOW = 64, BESIDE = 64, NUMBER = 2 };

/* One message, which a put of this rank would not be. */
typedef struct changed_put {
    weft_signature_t signature;
    const char *words;
} changed_put_t;

static bool send_changed(weft_comm_t *comm, const changed_put_t *put)
{
    weft_comm_state_t *state;
    bool sent = false;
    if (weft_comm_enter(comm, "test", &state) != WEFT_OK) {
        return false;
    }
    weft_port_t *port = queue_of_puts(state)->port;
    if (port != NULL && weft_port_can_send(port, WINDOW)) {
        memset(weft_port_payload(port, WINDOW), 0x5a, WINDOW);
        sent = weft_port_send(port, &put->signature, WINDOW, NULL) == WEFT_OK;
    }
    while (sent && !weft_comm_has_failed(state)) {
        (void)weft_engine_step(state);
    }
    weft_comm_leave(state);
    return sent;
}

static bool is_untouched(const uint8_t *memory)
{
    size_t touched = 0;
    for (size_t i = 0; i < BESIDE; i++) {
        touched += (memory[i] | memory[BESIDE + WINDOW + i]) != 0;
    }
    return touched == 0;
}

static int put_changed(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const changed_put_t *put = arg;
    const weft_call_t call = {.size = sizeof call, .timeout = 20};
    uint8_t memory[BESIDE + WINDOW + BESIDE] = {0};
    weft_error_t error = {.size = sizeof error};
    weft_window_t *window = NULL;
    int wrong = 0;
    (void)n;
    NEED(weft_window_register_local(comm, memory + BESIDE, WINDOW, &window) == WEFT_OK);
    if (rank == 0) {
        NEED(weft_signal(1, comm, NULL) == WEFT_OK); /* connects them */
        NEED(send_changed(comm, put));
    } else {
        NEED(weft_wait_signal(0, 2, comm, &call) == WEFT_ERR_MISMATCH);
        NEED(ranks_error_says(WEFT_ERR_MISMATCH, put->words));
        NEED(weft_comm_error(comm, &error) == WEFT_OK && error.peer == 0);
        NEED(is_untouched(memory));
    }
    return wrong;
}

static void a_put_that_was_changed_writes_nothing_outside_its_window(void **state)
{
    static changed_put_t puts[] = {
        {.signature = {.root = 1, .count = WINDOW + 1}, .words = "put 65 bytes at offset 0"},
        {.signature = {.root = 1, .count = UINT64_MAX, .plan = 1},
         .words = "put 18446744073709551615 bytes at offset 1 into window 1 of rank 1"},
        {.signature = {.root = 1, .count = 1, .plan = WINDOW}, .words = "at offset 64"},
        {.signature = {.root = 1, .count = 1, .dtype = 255, .op = 255, .plan = UINT32_MAX},
         .words = "at offset 281474976710655"},
        {.signature = {.root = 0, .count = 1}, .words = "into window 0 of rank 1, which has been"},
        {.signature = {.root = 1, .count = 1, .sequence = 9},
         .words = "message number 2 here, 9 there"},
        {.signature = {.root = 1, .count = 1, .coll = 200},
         .words = "collective send_recv here, unknown there"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof puts / sizeof *puts; i++) {
        weft_signature_t *signature = &puts[i].signature;
        signature->coll = signature->coll != 0 ? signature->coll : WEFT_SEND_RECV;
        signature->sequence = signature->sequence != 0 ? signature->sequence : NUMBER;
        run(put_changed, &puts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(puts_go_on_behind_four_billion_others),
        cmocka_unit_test(what_arrives_ends_the_idle_time_of_a_wait),
        cmocka_unit_test(a_put_that_was_changed_writes_nothing_outside_its_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
