/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which way messages go after trials, and which reports count. */
#include "core/exec/store_trials.h"

#include "tests/support/unit.h"

enum { EVERY = WEFT_STORE_TRIAL_EVERY };

/* What both copies of a message take, by way. */
typedef struct machine {
    uint64_t send[WEFT_STORE_WAYS], receive[WEFT_STORE_WAYS];
} machine_t;

static const machine_t near_cores = {.send = {400, 350}, .receive = {100, 700}};
static const machine_t far_cores = {.send = {1600, 400}, .receive = {600, 500}};

typedef struct sender {
    weft_store_trials_t trials;
    uint64_t number, report;
    uint32_t seen; /* ways of timed messages */
} sender_t;

/* Sends the next timed message. Its receiver may be one that reports nothing. */
static weft_store_t send_timed(sender_t *s, const machine_t *m, uint64_t bytes, bool reports)
{
    s->number = s->number / EVERY * EVERY + EVERY - 1;
    const weft_store_t way = weft_store_trials_begin(&s->trials, s->number, bytes, s->report);
    weft_store_trials_end(&s->trials, s->number, m->send[way]);
    if (reports) {
        s->report = weft_store_report(s->number, m->receive[way]);
    }
    s->seen |= 1u << way;
    s->number++;
    return way;
}

static void send_many(sender_t *s, const machine_t *m, uint64_t bytes, bool reports)
{
    for (int i = 0; i < 40; i++) {
        (void)send_timed(s, m, bytes, reports);
    }
}

static void one_message_of_many_is_timed(void **state)
{
    uint32_t timed = 0;
    (void)state;
    for (uint64_t number = 0; number < 10 * EVERY; number++) {
        timed += weft_store_is_timed(number);
    }
    assert_int_equal(timed, 10);
}

static void the_way_with_the_shorter_copies_is_chosen(void **state)
{
    sender_t s = {.number = 0};
    (void)state;
    assert_int_equal(s.trials.chosen, WEFT_STORE_CACHED);
    send_many(&s, &far_cores, 4096, true);
    assert_int_equal(s.trials.chosen, WEFT_STORE_PAST);
    assert_int_equal(s.seen, 1u << WEFT_STORE_CACHED | 1u << WEFT_STORE_PAST);
    /* Near cores: the sender alone would go past the caches. */
    send_many(&s, &near_cores, 4096, true);
    assert_int_equal(s.trials.chosen, WEFT_STORE_CACHED);
}

static void without_reports_nothing_changes(void **state)
{
    sender_t s = {.number = 0};
    (void)state;
    send_many(&s, &far_cores, 4096, false);
    assert_int_equal(s.trials.chosen, WEFT_STORE_CACHED);
    send_many(&s, &far_cores, 4096, true);
    send_many(&s, &near_cores, 4096, false);
    assert_int_equal(s.trials.chosen, WEFT_STORE_PAST);
}

static void a_report_of_another_message_does_not_count(void **state)
{
    sender_t s = {.number = 0};
    (void)state;
    for (int i = 0; i < 40; i++) {
        const weft_store_t way = send_timed(&s, &far_cores, 4096, false);
        s.report = weft_store_report(s.number - 1 - EVERY, far_cores.receive[way]);
    }
    assert_int_equal(s.trials.chosen, WEFT_STORE_CACHED);
}

/* Every second timed message is 16 times as long. By those, the ways that near cores take for the
 * other ones would look bad. */
static void trials_of_a_period_have_one_length(void **state)
{
    static const machine_t long_ones = {.send = {16000, 16000}, .receive = {16000, 16000}};
    static const uint32_t firsts[] = {0, 1};
    (void)state;
    for (int f = 0; f < 2; f++) {
        sender_t s = {.number = 0};
        for (uint32_t i = firsts[f]; i < 400; i++) {
            const bool is_long = i % 2 != 0;
            (void)send_timed(&s, is_long ? &long_ones : &near_cores, is_long ? 65536 : 4096, true);
            assert_int_equal(s.trials.chosen, WEFT_STORE_CACHED);
        }
    }
}

static void another_length_gets_trials_soon(void **state)
{
    static const machine_t long_ones = {.send = {90000, 50000}, .receive = {90000, 50000}};
    sender_t s = {.number = 0};
    (void)state;
    send_many(&s, &near_cores, 1024, true);
    assert_int_equal(s.trials.chosen, WEFT_STORE_CACHED);
    for (int i = 0; i < 20; i++) {
        (void)send_timed(&s, &long_ones, 65536, true);
    }
    assert_int_equal(s.trials.chosen, WEFT_STORE_PAST);
}

static void a_report_holds_a_long_time(void **state)
{
    (void)state;
    assert_int_equal(weft_store_report(7, UINT64_C(1) << 40) & UINT32_MAX, UINT32_MAX);
    assert_int_equal(weft_store_report(7, UINT64_C(1) << 40) >> 32, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_message_of_many_is_timed),
        cmocka_unit_test(the_way_with_the_shorter_copies_is_chosen),
        cmocka_unit_test(without_reports_nothing_changes),
        cmocka_unit_test(a_report_of_another_message_does_not_count),
        cmocka_unit_test(trials_of_a_period_have_one_length),
        cmocka_unit_test(another_length_gets_trials_soon),
        cmocka_unit_test(a_report_holds_a_long_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
