/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The event log: what is known is found, the oldest event makes room, deaths stay, and all
 * is told in the order in which it came. */
#include <string.h>

#include "core/boot/event_log.h"
#include "tests/support/unit.h"

static void add_leave(weft_event_log_t *log, uint64_t comm_id, uint32_t rank, uint64_t sequence)
{
    weft_leave_t leave = {.sequence = sequence, .run = {.length = sequence > 1 ? 2 : 0}};
    leave.run.last.sequence = (uint32_t)sequence;
    weft_event_log_add_leave(log, comm_id, rank, &leave);
}

static void events_are_found_by_communicator_and_rank(void **unused)
{
    (void)unused;
    weft_event_log_t log;
    weft_error_t error = {.status = WEFT_ERR_ARG, .peer = 2};
    assert_int_equal(weft_event_log_init(&log, 4), WEFT_OK);
    assert_null(weft_event_log_find(&log, WEFT_FRAME_FAIL, 7, 0));
    weft_event_log_add_failure(&log, 7, &error, NULL);
    add_leave(&log, 8, 3, 41);
    const weft_logged_event_t *failure = weft_event_log_find(&log, WEFT_FRAME_FAIL, 7, 1);
    assert_non_null(failure);
    assert_int_equal(failure->failure->error.status, WEFT_ERR_ARG);
    const weft_logged_event_t *leave = weft_event_log_find(&log, WEFT_FRAME_LEAVE_COMM, 8, 3);
    assert_non_null(leave);
    assert_true(leave->sequence == 41 && leave->rank == 3);
    weft_leave_t said = weft_logged_leave(leave);
    assert_true(said.sequence == 41 && said.run.length == 2 && said.run.last.sequence == 41);
    assert_null(weft_event_log_find(&log, WEFT_FRAME_LEAVE_COMM, 8, 2));
    assert_null(weft_event_log_find(&log, WEFT_FRAME_LEAVE_COMM, 7, 3));
    assert_null(weft_event_log_find(&log, WEFT_FRAME_FAIL, 8, 0));
    weft_event_log_fini(&log);
}

static void the_oldest_event_makes_room_and_deaths_stay(void **unused)
{
    (void)unused;
    weft_event_log_t log;
    weft_error_t error = {.status = WEFT_ERR_PEER_DEAD, .peer = 1};
    assert_int_equal(weft_event_log_init(&log, 1), WEFT_OK);
    weft_event_log_add_death(&log, &error);
    weft_event_log_add_failure(&log, 1, &error, NULL);
    for (uint32_t i = 1; i < log.room; i++) {
        add_leave(&log, 2, i, 0);
    }
    assert_non_null(weft_event_log_find(&log, WEFT_FRAME_FAIL, 1, 0));
    add_leave(&log, 2, log.room, 0);
    assert_null(weft_event_log_find(&log, WEFT_FRAME_FAIL, 1, 0));
    assert_non_null(weft_event_log_find(&log, WEFT_FRAME_LEAVE_COMM, 2, log.room));
    assert_non_null(log.deaths);
    assert_int_equal(log.deaths->error.peer, 1);
    assert_null(log.deaths->next);
    weft_event_log_fini(&log);
}

static void memory_grows_with_events_and_all_of_them_are_found(void **unused)
{
    (void)unused;
    enum { RANKS = 500, COMMS = 7 };
    weft_event_log_t log;
    assert_int_equal(weft_event_log_init(&log, RANKS), WEFT_OK);
    for (uint32_t i = 0; i < 3 * log.room; i++) {
        uint32_t first = i < log.room ? 0 : i - log.room + 1;
        add_leave(&log, i % COMMS, i, i);
        assert_true(log.held >= weft_event_log_count(&log) && log.held < 4 * (i + 16));
        assert_non_null(weft_event_log_find(&log, WEFT_FRAME_LEAVE_COMM, i % COMMS, i));
        assert_non_null(weft_event_log_find(&log, WEFT_FRAME_LEAVE_COMM, first % COMMS, first));
        if (first > 0) {
            first--;
            assert_null(weft_event_log_find(&log, WEFT_FRAME_LEAVE_COMM, first % COMMS, first));
        }
    }
    weft_event_log_fini(&log);
}

/* Arrival in numbers: a death is its rank, an event its sequence or, for a failure, its
 * communicator. */
static uint64_t number_of(const weft_event_step_t *step)
{
    assert_true((step->event == NULL) != (step->death == NULL));
    if (step->death != NULL) {
        return (uint64_t)step->death->error.peer;
    }
    return step->event->type == WEFT_FRAME_FAIL ? step->event->comm_id : step->event->sequence;
}

static void a_walk_follows_the_order_of_arrival(void **unused)
{
    (void)unused;
    weft_event_log_t log;
    assert_int_equal(weft_event_log_init(&log, 4), WEFT_OK);
    for (uint32_t i = 0; i < 6; i++) {
        weft_error_t error = {.peer = (int32_t)i};
        if (i == 1 || i == 2 || i == 5) {
            weft_event_log_add_death(&log, &error);
        } else if (i == 0) {
            weft_event_log_add_failure(&log, i, &error, NULL);
        } else {
            add_leave(&log, 9, i, i);
        }
    }
    weft_event_step_t step;
    weft_event_cursor_t at = weft_event_log_walk(&log);
    for (uint64_t i = 0; i < 6; i++) {
        assert_true(weft_event_log_next(&at, &step));
        assert_int_equal(number_of(&step), i);
    }
    assert_false(weft_event_log_next(&at, &step));
    weft_event_log_fini(&log);
}

static void a_walk_begins_with_the_oldest_event_that_is_left(void **unused)
{
    (void)unused;
    weft_event_log_t log;
    assert_int_equal(weft_event_log_init(&log, 1), WEFT_OK);
    uint32_t most = log.room, lost = 5;
    weft_event_log_add_death(&log, &(weft_error_t){.peer = -1});
    for (uint32_t i = 0; i < most + lost; i++) {
        add_leave(&log, 2, i, i);
    }
    weft_event_step_t step;
    weft_event_cursor_t at = weft_event_log_walk(&log);
    assert_true(weft_event_log_next(&at, &step));
    assert_non_null(step.death);
    for (uint32_t i = lost; i < most + lost; i++) {
        assert_true(weft_event_log_next(&at, &step));
        assert_int_equal(number_of(&step), i);
    }
    assert_false(weft_event_log_next(&at, &step));
    weft_event_log_fini(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_found_by_communicator_and_rank),
        cmocka_unit_test(memory_grows_with_events_and_all_of_them_are_found),
        cmocka_unit_test(the_oldest_event_makes_room_and_deaths_stay),
        cmocka_unit_test(a_walk_follows_the_order_of_arrival),
        cmocka_unit_test(a_walk_begins_with_the_oldest_event_that_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
