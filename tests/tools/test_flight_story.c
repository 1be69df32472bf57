/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flight records joined: what is told of a job whose ranks were made up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/os/os.h"
#include "tests/support/unit.h"
#include "tools/flight_plot.h"
#include "tools/flight_story.h"

enum { RANKS = 4, CALLS = 3 };
#define MS UINT64_C(1000000)

static weft_flight_record_t records[RANKS];
static bool alive[RANKS];
static uint32_t count;
static char told[65536];

static weft_flight_comm_t *comm_of(uint32_t rank)
{
    return &records[rank].comm[0];
}

/* Four ranks that have called three all-reduces; operation s was called s seconds after rank 0
 * began, and took 1 ms. The odd ranks are on another host, whose clock began elsewhere. */
static int set_up(void **state)
{
    (void)state;
    memset(records, 0, sizeof records);
    count = RANKS;
    for (uint32_t r = 0; r < RANKS; r++) {
        uint64_t zero = r % 2 == 0 ? 5000 * MS : 900000 * MS;
        alive[r] = true;
        records[r].header = (weft_flight_header_t){.header_bytes = sizeof records[r].header,
                                                   .comm_bytes = sizeof records[r].comm[0],
                                                   .entry_bytes = sizeof(weft_flight_entry_t),
                                                   .comms = WEFT_FLIGHT_COMMS,
                                                   .entries = WEFT_FLIGHT_ENTRIES,
                                                   .pid = 100 + (int32_t)r,
                                                   .rank = r,
                                                   .nranks = RANKS,
                                                   .began = zero,
                                                   .began_wall = 1700000000000 * MS,
                                                   .joined = zero + MS,
                                                   .host_id = {(uint8_t)(r % 2)},
                                                   .host = "vm"};
        memcpy(records[r].header.magic, WEFT_FLIGHT_MAGIC, 8);
        weft_flight_comm_t *comm = comm_of(r);
        *comm = (weft_flight_comm_t){.life = WEFT_FLIGHT_OPEN,
                                     .rank = r,
                                     .nranks = RANKS,
                                     .id = 0xabc,
                                     .opened = zero,
                                     .culprit = -1,
                                     .name = "world"};
        comm->called = comm->completed = CALLS;
        for (uint32_t s = 1; s <= CALLS; s++) {
            comm->entry[comm->next++] = (weft_flight_entry_t){.number = s,
                                                              .sequence = s,
                                                              .count = 8,
                                                              .called = zero + 1000 * s * MS,
                                                              .ended = zero + 1000 * s * MS + MS,
                                                              .peer = -1,
                                                              .coll = WEFT_ALL_REDUCE,
                                                              .dtype = WEFT_FP32,
                                                              .state = WEFT_FLIGHT_DONE};
        }
    }
    return 0;
}

typedef void (*use_t)(const flight_jobs_t *jobs, FILE *out);

static void use_story(const flight_jobs_t *jobs, FILE *out)
{
    for (uint32_t i = 0; i < jobs->count; i++) {
        flight_story(&jobs->job[i], 0, out);
    }
}

static void use_svg(const flight_jobs_t *jobs, FILE *out)
{
    flight_put_svg(&jobs->job[0], 0, out);
}

/* Ten seconds after the job began. */
static uint64_t moment_of(const flight_job_t *job)
{
    const flight_rank_t *rank = &job->rank[0];
    return flight_at(rank, rank->source->record->header.began) + 10000 * MS;
}

static void use_json_now(const flight_jobs_t *jobs, FILE *out)
{
    uint64_t now[RANKS];
    assert_true(jobs->count <= RANKS);
    for (uint32_t i = 0; i < jobs->count; i++) {
        now[i] = moment_of(&jobs->job[i]);
    }
    flight_put_json(jobs, now, out);
}

static void use_svg_now(const flight_jobs_t *jobs, FILE *out)
{
    flight_put_svg(&jobs->job[0], moment_of(&jobs->job[0]), out);
}

/* Leaves in `told` what `use` prints. */
static void tell(use_t use)
{
    flight_source_t sources[RANKS];
    const char *why;
    for (uint32_t i = 0; i < count; i++) {
        /* The ranks are found in any order. */
        uint32_t r = count - 1 - i;
        sources[i] =
            (flight_source_t){.alive = alive[r],
                              .pid = records[r].header.pid,
                              .record = flight_parse(&records[r], sizeof records[r], &why)};
        assert_non_null(sources[i].record);
    }
    flight_jobs_t jobs = flight_jobs_make(&(flight_sources_t){.source = sources, .count = count});
    FILE *out = fmemopen(told, sizeof told, "w");
    assert_non_null(out);
    use(&jobs, out);
    fclose(out);
    flight_jobs_free(&jobs);
    for (uint32_t i = 0; i < count; i++) {
        weft_os_free(sources[i].record);
    }
}

static void says(const char *what)
{
    assert_says(told, what);
}

static void says_not(const char *what)
{
    if (strstr(told, what) != NULL) {
        fail_msg("'%s' is in\n%s", what, told);
    }
}

static void a_job_without_trouble(void **state)
{
    (void)state;
    tell(use_story);
    says("communicator world (0000000000000abc) of 4 ranks\n");
    says("last operation: 3, all_reduce of 8 float, over");
    says_not("behind");
    says_not("no record");
    says_not("not the same");
}

static void a_rank_that_has_not_called(void **state)
{
    (void)state;
    comm_of(2)->entry[2].state = WEFT_FLIGHT_FREE;
    comm_of(2)->called = comm_of(2)->completed = 2;
    for (uint32_t r = 0; r < RANKS; r += r == 1 ? 2 : 1) {
        comm_of(r)->entry[2].state = WEFT_FLIGHT_CALLED;
        comm_of(r)->entry[2].peer = 2;
    }
    tell(use_story);
    says("last operation: 3, all_reduce of 8 float, open on ranks 0, 1, 3");
    says("rank 2 behind: the last call of the slowest is operation 2");
    says("operation 3 waits for rank 2 (process 102 on vm) to call it");
    says("rank 0: operation 3, all_reduce of 8 float, waits for rank 2");
}

static void a_rank_that_called_something_else(void **state)
{
    (void)state;
    comm_of(1)->entry[1].coll = WEFT_BROADCAST;
    comm_of(1)->entry[1].root = 3;
    tell(use_story);
    says("operation 2 is not the same everywhere: ranks 0, 2, 3 called all_reduce of 8 float; rank "
         "1 called broadcast of 8 float, root 3");
}

static void ranks_that_died_failed_or_left_no_record(void **state)
{
    (void)state;
    count = RANKS - 1;
    alive[1] = false;
    weft_flight_comm_t *comm = comm_of(2);
    comm->failed = comm->opened + 9000 * MS;
    comm->status = WEFT_ERR_PEER_DEAD;
    atomic_store(&comm->life, WEFT_FLIGHT_FAILED);
    snprintf(comm->failure, sizeof comm->failure, "rank 1 died");
    tell(use_story);
    says("no record of rank 3\n");
    says("rank 1 (process 101 on vm) ended without leaving: killed, crashed, or without "
         "weft_comm_destroy()\n");
    says("failed on 1 of them, first on rank 2: ERR_PEER_DEAD: rank 1 died");
}

/* The rank has no entry for the calls from `first` on: it did not wait in them. */
static void does_not_wait(uint32_t rank, uint32_t first)
{
    weft_flight_comm_t *comm = comm_of(rank);
    for (uint32_t s = first; s <= CALLS; s++) {
        comm->entry[s - 1] = (weft_flight_entry_t){.peer = -1};
        weft_history_put(&comm->history, &(weft_signature_t){.coll = WEFT_ALL_REDUCE,
                                                             .dtype = WEFT_FP32,
                                                             .count = 8,
                                                             .sequence = s});
    }
    comm->next = first - 1;
}

/* An operation in which nobody waited has no entry that says how it ended. */
static void a_call_that_failed_at_once_is_not_over(void **state)
{
    (void)state;
    for (uint32_t r = 0; r < RANKS; r++) {
        does_not_wait(r, CALLS);
        comm_of(r)->failed = comm_of(r)->opened + 9000 * MS;
        comm_of(r)->status = WEFT_ERR_MISMATCH;
        atomic_store(&comm_of(r)->life, WEFT_FLIGHT_FAILED);
    }
    tell(use_story);
    says("last operation: 3, all_reduce of 8 float\n");
}

/* Rank 0 came by a ticket, in which there is no name. */
static void a_newcomer_calls_a_communicator_as_the_others_do(void **state)
{
    (void)state;
    for (uint32_t r = 1; r < RANKS; r++) {
        strcpy(comm_of(r)->name, r == 1 ? "world/shrunk/grown" : "mine");
    }
    tell(use_story);
    says("communicator world/shrunk/grown (");
    tell(use_svg);
    says("world/shrunk/grown (");
    tell(use_json_now);
    says("world/shrunk/grown (0000000000000abc), rank 0 of 4");
    says("mine (0000000000000abc), rank 3 of 4");
}

static void one_is_no_plural(void **state)
{
    (void)state;
    for (uint32_t r = 0; r < RANKS; r++) {
        for (uint32_t i = 0; i < WEFT_FLIGHT_PLACES; i++) {
            if (comm_of(r)->entry[i].sequence > 1) {
                comm_of(r)->entry[i] = (weft_flight_entry_t){.peer = -1};
            }
        }
    }
    tell(use_story);
    says("of 1 collective whose times are known, rank ");
}

/* All others wait for it each time, and go on when it comes. */
static void who_is_waited_for_came_last(void **state)
{
    (void)state;
    does_not_wait(2, 1);
    tell(use_story);
    says("of 3 collectives whose times are known, rank 2 came last in 3, by 1 ms in the median");
}

static void rank_0_may_be_the_one_that_is_waited_for(void **state)
{
    (void)state;
    does_not_wait(0, 2);
    tell(use_story);
    says("of 3 collectives whose times are known, rank ");
    says("rank 0 came last in 2, by 1 ms in the median");
}

/* Every collective ends late for rank 2, as behind a slow link. It calls the next one at once. */
static void who_was_held_by_the_collective_before_is_not_to_blame(void **state)
{
    (void)state;
    for (uint32_t r = 0; r < RANKS; r++) {
        for (uint32_t i = 0; i < CALLS; i++) {
            comm_of(r)->entry[i].ended += 9 * MS;
        }
    }
    weft_flight_entry_t *entry = comm_of(2)->entry;
    for (uint32_t i = 1; i < CALLS; i++) {
        entry[i].called += 5 * MS;
        entry[i - 1].ended = entry[i].called - MS;
    }
    tell(use_story);
    says("rank 2 came last in 2, by 5 ms in the median, mostly because the one before had ended "
         "late there\n");
    entry[0].ended = entry[1].called - 4 * MS;
    entry[1].ended = entry[2].called - 4 * MS;
    tell(use_story);
    says("rank 2 came last in 2, by 5 ms in the median, which may be chance");
}

/* Rank 2 computes 10 ms longer than the others before three broadcasts. It ends each of them late
 * because it called it late, and calls the next one at once. */
static void who_was_late_before_is_to_blame(void **state)
{
    (void)state;
    for (uint32_t r = 0; r < RANKS; r++) {
        weft_flight_entry_t *entry = comm_of(r)->entry;
        for (uint32_t i = 0; i < CALLS; i++) {
            entry[i].coll = WEFT_BROADCAST;
            entry[i].called = entry[0].called + i * MS / 2 + (r == 2 && i == 0 ? 10 * MS : 0);
            entry[i].ended = entry[i].called + MS / 4;
        }
    }
    tell(use_story);
    says("rank 2 came last in 3, by 10 ms in the median, which may be chance");
}

/* All call 40 all-reduces at once, but one that comes 2 ms late: rank 2 each `every`-th time. */
static void tell_of_late_ones(void **state, uint32_t every)
{
    set_up(state);
    for (uint32_t r = 0; r < RANKS; r++) {
        weft_flight_comm_t *comm = comm_of(r);
        const weft_flight_entry_t like = comm->entry[0];
        comm->called = comm->completed = comm->next = 40;
        for (uint32_t i = 0; i < 40; i++) {
            const bool late = r == (i % every == 0 ? 2 : i % RANKS);
            comm->entry[i] = like;
            comm->entry[i].number = comm->entry[i].sequence = i + 1;
            comm->entry[i].called += (10 * i + (late ? 2 : 0)) * MS;
            comm->entry[i].ended = like.called + (10 * i + 3) * MS;
        }
    }
    tell(use_story);
}

static void who_is_late_as_often_as_others_is_not_to_blame(void **state)
{
    tell_of_late_ones(state, 5);
    says("rank 2 came last in 16, by 2 ms in the median, which may be chance, or the scheduler\n");
    tell_of_late_ones(state, 2);
    says("rank 2 came last in 20, by 2 ms in the median\n");
}

/* All call the same at once. Rank 2 is done after 45 us and has no entry, the others a moment
 * later: that was the transfer, and nobody was late. */
static void who_is_a_little_faster_did_not_come_last(void **state)
{
    (void)state;
    does_not_wait(2, 1);
    for (uint32_t r = 0; r < RANKS; r++) {
        for (uint32_t i = 0; i < CALLS && r != 2; i++) {
            comm_of(r)->entry[i].ended = comm_of(r)->entry[i].called + MS / 5 - 1000;
        }
    }
    tell(use_story);
    says_not("came last");
    for (uint32_t r = 0; r < RANKS; r++) {
        for (uint32_t i = 0; i < CALLS && r != 2; i++) {
            comm_of(r)->entry[i].ended = comm_of(r)->entry[i].called + MS / 5;
        }
    }
    tell(use_story);
    says("rank 2 came last in 3, by 0.2 ms in the median");
}

/* Nobody knows which of two came last, nor whether an entry was there that is overwritten; and a
 * root, or another rank beside it, need not have come last. */
static void who_came_last_is_not_guessed(void **state)
{
    (void)state;
    does_not_wait(1, 1);
    does_not_wait(2, 1);
    tell(use_story);
    says_not("times are known");
    set_up(state);
    does_not_wait(2, 1);
    comm_of(2)->next = WEFT_FLIGHT_ENTRIES + 1;
    tell(use_story);
    says_not("times are known");
    set_up(state);
    does_not_wait(2, 1);
    weft_signature_t signature = {.coll = WEFT_BROADCAST, .dtype = WEFT_FP32, .count = 8};
    memset(&comm_of(2)->history, 0, sizeof comm_of(2)->history);
    for (uint32_t s = 1; s <= CALLS; s++) {
        signature.sequence = s;
        weft_history_put(&comm_of(2)->history, &signature);
        for (uint32_t r = 0; r < RANKS; r++) {
            comm_of(r)->entry[s - 1].coll = WEFT_BROADCAST;
        }
    }
    tell(use_story);
    says_not("times are known");
}

/* The clock of the other host is 5 s ahead: its ranks seem to call when all is over. */
static void clocks_of_two_hosts_are_brought_together(void **state)
{
    (void)state;
    records[1].header.began_wall += 5000 * MS;
    records[3].header.began_wall += 5000 * MS;
    comm_of(2)->entry[1].called += MS / 2;
    comm_of(2)->entry[2].called += MS / 2;
    tell(use_story);
    says("of 3 collectives whose times are known, rank ");
    /* Not by seconds. */
    says(" ms in the median");
    says_not("e+0");
    tell(use_svg);
    says("<svg");
    says("the last 2.00");
}

/* Rank 2 is in a time namespace: its clock is 3,000 s ahead of that of rank 0, on the same host. */
static void clocks_of_one_host_may_differ(void **state)
{
    (void)state;
    const uint64_t ahead = 3000000 * MS;
    weft_flight_comm_t *comm = comm_of(2);
    records[2].header.began += ahead;
    records[2].header.joined += ahead;
    comm->opened += ahead;
    for (uint32_t i = 0; i < CALLS; i++) {
        comm->entry[i].called += ahead + MS / 2;
        comm->entry[i].ended += ahead;
    }
    tell(use_story);
    says("rank 2 came last in 3, by 0.5 ms in the median");
}

/* The caller's clock is that of no rank here. */
static void now_is_told_by_who_has_the_clock_or_by_the_time_of_day(void **state)
{
    (void)state;
    const uint64_t day = weft_os_wall_ms() * MS, clock = weft_os_clock_ns(), second = 1000 * MS;
    flight_source_t sources[2];
    const char *why;
    for (uint32_t r = 0; r < 2; r++) {
        records[r].header.began_wall = day - 60 * second;
        records[r].header.began = 77 * second;
        sources[r].record = flight_parse(&records[r], sizeof records[r], &why);
        assert_non_null(sources[r].record);
    }
    flight_rank_t ranks[2] = {{.source = &sources[0], .shift = 1}, {.source = &sources[1]}};
    ranks[1].shift = (int64_t)(1000 * second); /* as if moved */
    const flight_job_t job = {.found = 2, .rank = ranks};
    assert_true(flight_now(&job) - day < 100 * second);
    sources[1].record->header.began = clock - 60 * second;
    assert_true(flight_now(&job) - clock - 1000 * second < 100 * second);
    for (uint32_t r = 0; r < 2; r++) {
        weft_os_free(sources[r].record);
    }
}

/* The third operation hangs. */
static void hang(void)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        weft_flight_comm_t *comm = comm_of(r);
        comm->completed = CALLS - 1;
        comm->entry[CALLS - 1].state = WEFT_FLIGHT_CALLED;
        comm->entry[CALLS - 1].ended = 0;
    }
}

/* Who looks at a job that hangs sees how long it has. */
static void an_open_operation_reaches_to_now_if_its_process_runs(void **state)
{
    (void)state;
    hang();
    alive[3] = false;
    tell(use_json_now);
    says("\"ts\": 2000000.000,\n      \"dur\": 7000000.000,");
    says("\"ts\": 2000000.000,\n      \"dur\": 0.000,");
    tell(use_svg_now);
    says("4 ranks: the last 9.000 s");
    says("rank 2: operation 3, all_reduce of 8 float: 7000.000 ms, open");
    says("rank 3: operation 3, all_reduce of 8 float: 0.000 ms, open");
}

/* As many digits as the clock has, whenever that was. */
static void the_trace_has_nanoseconds_after_a_day(void **state)
{
    (void)state;
    for (uint32_t r = 0; r < RANKS; r++) {
        weft_flight_entry_t *last = &comm_of(r)->entry[CALLS - 1];
        last->called += 86400 * 1000 * MS + 123456789;
        last->ended = last->called + 1001;
    }
    tell(use_json_now);
    says("\"ts\": 86402123456.789,\n      \"dur\": 1.001,");
}

/* Two jobs of one host: the ranks 0 of both are two processes. */
static void ranks_of_two_jobs_are_processes_of_their_own(void **state)
{
    (void)state;
    for (uint32_t r = 2; r < RANKS; r++) {
        comm_of(r)->id = 0xdef;
        comm_of(r)->rank = records[r].header.rank = r - 2;
    }
    tell(use_json_now);
    says("\"pid\": 0,\n      \"tid\": 0,\n      \"args\": {\n        \"name\": \"rank 0 (process "
         "10");
    says("\"pid\": 1,");
    says("\"pid\": 2,\n      \"tid\": 1,\n      \"args\": {\n        \"name\": \"rank 0 (process "
         "10");
    says("\"pid\": 3,");
}

/* Seconds where there are many milliseconds. */
static void times_of_the_picture_are_numbers_that_people_read(void **state)
{
    (void)state;
    tell(use_svg);
    says("4 ranks: the last 2.001 s");
    says(">1.50 s<");
    says(">500 ms<");
}

/* Short operations that did not wait have no entry; the history of calls knows them. */
static void short_operations_are_known_by_the_history(void **state)
{
    (void)state;
    for (uint32_t r = 0; r < RANKS; r++) {
        weft_flight_comm_t *comm = comm_of(r);
        comm->called = r == 1 ? 1000 : 1001;
        comm->completed = 1000;
        for (uint32_t s = CALLS + 1; s <= comm->called; s++) {
            weft_history_put(&comm->history,
                             &(weft_signature_t){.coll = WEFT_BARRIER, .sequence = s});
        }
    }
    tell(use_story);
    says("last operation: 1001, barrier, open on ranks 0, 2, 3");
    says("operation 1001 waits for rank 1 (process 101 on vm) to call it");
}

static void what_is_no_record_is_refused(void **state)
{
    const char *why = NULL;
    (void)state;
    assert_null(flight_parse("nonsense of any kind", 20, &why));
    assert_string_equal(why, "is no flight record");
    assert_null(flight_parse(&records[0], sizeof records[0] - 1, &why));
    assert_non_null(strstr(why, "another version"));
    records[0].header.entries = 7;
    assert_null(flight_parse(&records[0], sizeof records[0], &why));
    assert_non_null(strstr(why, "another version"));
}

static void wrong_entries_are_left_out(void **state)
{
    (void)state;
    for (uint32_t r = 0; r < RANKS; r++) {
        comm_of(r)->entry[2].coll = 200;
        comm_of(r)->called = 2;
        records[r].comm[1] = (weft_flight_comm_t){.life = 77, .nranks = 4};
        records[r].comm[2] = (weft_flight_comm_t){.life = 1, .rank = 9, .nranks = 4};
    }
    tell(use_story);
    says("last operation: 2, all_reduce of 8 float, over");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_job_without_trouble, set_up),
        cmocka_unit_test_setup(a_rank_that_has_not_called, set_up),
        cmocka_unit_test_setup(a_rank_that_called_something_else, set_up),
        cmocka_unit_test_setup(ranks_that_died_failed_or_left_no_record, set_up),
        cmocka_unit_test_setup(a_call_that_failed_at_once_is_not_over, set_up),
        cmocka_unit_test_setup(a_newcomer_calls_a_communicator_as_the_others_do, set_up),
        cmocka_unit_test_setup(one_is_no_plural, set_up),
        cmocka_unit_test_setup(who_is_waited_for_came_last, set_up),
        cmocka_unit_test_setup(rank_0_may_be_the_one_that_is_waited_for, set_up),
        cmocka_unit_test_setup(who_was_held_by_the_collective_before_is_not_to_blame, set_up),
        cmocka_unit_test_setup(who_was_late_before_is_to_blame, set_up),
        cmocka_unit_test_setup(who_is_late_as_often_as_others_is_not_to_blame, set_up),
        cmocka_unit_test_setup(who_is_a_little_faster_did_not_come_last, set_up),
        cmocka_unit_test_setup(who_came_last_is_not_guessed, set_up),
        cmocka_unit_test_setup(clocks_of_one_host_may_differ, set_up),
        cmocka_unit_test_setup(now_is_told_by_who_has_the_clock_or_by_the_time_of_day, set_up),
        cmocka_unit_test_setup(clocks_of_two_hosts_are_brought_together, set_up),
        cmocka_unit_test_setup(an_open_operation_reaches_to_now_if_its_process_runs, set_up),
        cmocka_unit_test_setup(the_trace_has_nanoseconds_after_a_day, set_up),
        cmocka_unit_test_setup(ranks_of_two_jobs_are_processes_of_their_own, set_up),
        cmocka_unit_test_setup(times_of_the_picture_are_numbers_that_people_read, set_up),
        cmocka_unit_test_setup(short_operations_are_known_by_the_history, set_up),
        cmocka_unit_test_setup(what_is_no_record_is_refused, set_up),
        cmocka_unit_test_setup(wrong_entries_are_left_out, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
