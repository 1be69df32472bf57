/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the flight records tell of ranks that wait: in every kind of call, for whom, and who waits
 * long says so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weft/recovery.h>

#include "tests/support/heard.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"
#include "tools/flight_story.h"

enum { RANKS = 3, LATE = 2, TRIES = 300 };

/* What is waited in while rank LATE is somewhere else, and the words that tell of it. */
typedef struct wait_case {
    weft_status_t (*call)(weft_comm_t *comm, uint32_t rank);
    bool late_calls; /* rank LATE calls it, too, once the words were read */
    const char *words;
} wait_case_t;

/* Leaves in `told` what `weft trace` says of this process. */
static void tell(char *told, size_t bytes)
{
    flight_sources_t sources = {.count = 0};
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    memset(told, 0, bytes);
    if (flight_read(pid, &sources)) {
        flight_jobs_t jobs = flight_jobs_make(&sources);
        FILE *out = fmemopen(told, bytes - 1, "w");
        for (uint32_t i = 0; out != NULL && i < jobs.count; i++) {
            flight_story(&jobs.job[i], flight_now(&jobs.job[i]), out);
        }
        if (out != NULL) {
            fclose(out);
        }
        flight_jobs_free(&jobs);
    }
    flight_free(&sources);
}

/* Whether the words are told, sooner or later. */
static bool is_told(const char *words)
{
    static char told[16384];
    for (int i = 0; i < TRIES; i++) {
        tell(told, sizeof told);
        if (strstr(told, words) != NULL) {
            return true;
        }
        usleep(10000);
    }
    fprintf(stderr, "'%s' is not in\n%s", words, told);
    return false;
}

static int wait_for_the_late_one(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    wait_case_t *wait = arg;
    int wrong = 0;
    (void)n;
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    if (rank == LATE) {
        NEED(is_told(wait->words));
        usleep(300000); /* the others wait for longer than boot.late */
        NEED(!wait->late_calls || wait->call(comm, rank) == WEFT_OK);
    } else {
        NEED(wait->call(comm, rank) == WEFT_OK);
    }
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    return wrong;
}

/* Both: what is in the records, and what was logged. */
static void check(wait_case_t *wait, const char *logged)
{
    static const char *const settings[] = {"boot.late=100ms"};
    ranks_job_t job = {.nranks = RANKS,
                       .settings = settings,
                       .settings_count = 1,
                       .work = wait_for_the_late_one,
                       .arg = wait};
    heard_begin();
    int wrong = ranks_run_threads(&job);
    const char *text = heard_end();
    assert_int_equal(wrong, 0);
    assert_in_range(heard_count(text, logged), 1, RANKS);
}

/* Rank 0 receives what LATE sends last. */
static weft_status_t receive_any(weft_comm_t *comm, uint32_t rank)
{
    uint32_t value = rank;
    return rank == 0      ? weft_recv(&value, 1, WEFT_UINT32, WEFT_ANY_RANK, comm, NULL)
           : rank == LATE ? weft_send(&value, 1, WEFT_UINT32, 0, comm, NULL)
                          : WEFT_OK;
}

static void a_receive_from_any_rank(void **state)
{
    wait_case_t wait = {.call = receive_any,
                        .late_calls = true,
                        .words = "rank 0: receive of 1 uint32 from any rank, for "};
    (void)state;
    check(&wait, " s in a receive of 1 uint32 from any rank; no message for it has come");
}

/* Rank 0 waits for what LATE raises last. */
static weft_status_t wait_for_signals(weft_comm_t *comm, uint32_t rank)
{
    weft_status_t status = WEFT_OK;
    for (int i = 0; i < 2 && rank == LATE && status == WEFT_OK; i++) {
        status = weft_signal(0, comm, NULL);
    }
    return rank == 0 ? weft_wait_signal(LATE, 2, comm, NULL) : status;
}

static void a_wait_for_signals(void **state)
{
    wait_case_t wait = {.call = wait_for_signals,
                        .late_calls = true,
                        .words = "rank 0: wait 1, wait for 2 signals of rank 2, for "};
    (void)state;
    check(&wait, " s in a wait for 2 signals of rank 2 (wait 1)");
}

/* A large one has an entry from the start, which says from whom it came in the end. */
enum { LARGE = 1 << 18 };
static weft_status_t receive_large(weft_comm_t *comm, uint32_t rank)
{
    uint32_t *values = calloc(LARGE, sizeof *values);
    weft_status_t status = WEFT_OK;
    if (rank == 0) {
        status = weft_recv(values, LARGE, WEFT_UINT32, WEFT_ANY_RANK, comm, NULL);
    } else if (rank == LATE) {
        status = weft_send(values, LARGE, WEFT_UINT32, 0, comm, NULL);
    }
    free(values);
    return status;
}

static int receive_and_look(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    flight_sources_t sources = {.count = 0};
    char pid[16], text[160];
    uint32_t known = 0;
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(receive_large(comm, rank) == WEFT_OK);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    NEED(rank != 0 || flight_read(pid, &sources));
    for (uint32_t i = 0; i < sources.count; i++) {
        const weft_flight_comm_t *at = &sources.source[i].record->comm[0];
        for (uint32_t k = 0; at->rank == 0 && k < WEFT_FLIGHT_ENTRIES; k++) {
            if (at->entry[k].state == WEFT_FLIGHT_DONE && at->entry[k].coll == WEFT_SEND_RECV) {
                flight_text(&at->entry[k], text, sizeof text);
                known += strcmp(text, "receive of 262144 uint32 from rank 2") == 0;
                NEED(at->entry[k].sequence == 1);
            }
        }
    }
    NEED(rank != 0 || known == 1);
    flight_free(&sources);
    NEED(weft_barrier(comm, NULL) == WEFT_OK);
    return wrong;
}

static void a_large_receive_from_any_rank_says_from_whom(void **state)
{
    ranks_job_t job = {.nranks = RANKS, .work = receive_and_look};
    (void)state;
    assert_int_equal(ranks_run_threads(&job), 0);
}

/* Calls that are no operations, which go on where the communicator has failed, too. */
static weft_status_t agree(weft_comm_t *comm, uint32_t rank)
{
    uint64_t bits = 3 + rank;
    return weft_comm_agree(comm, &bits);
}

static weft_status_t shrink(weft_comm_t *comm, uint32_t rank)
{
    weft_comm_t *child = NULL;
    weft_status_t status = weft_comm_shrink(comm, NULL, 0, &child);
    (void)rank;
    return status == WEFT_OK ? weft_comm_destroy(child) : status;
}

static void calls_that_vote(void **state)
{
    (void)state;
    wait_case_t agrees = {.call = agree, .late_calls = true, .words = "rank 1: comm_agree, for "};
    check(&agrees, " in weft_comm_agree; it has not called it, or does not answer");
    wait_case_t shrinks = {
        .call = shrink, .late_calls = true, .words = "rank 0: comm_shrink, for "};
    check(&shrinks, " in weft_comm_shrink; it has not called it, or does not answer");
    agrees.words = "s, waits for rank 2\n    rank 1: comm_agree, for ";
    check(&agrees, " in weft_comm_agree; it has not called it, or does not answer");
}

/* The new communicator has its name while its members come. */
static weft_status_t make_group(weft_comm_t *comm, uint32_t rank)
{
    const uint32_t ranks[] = {2, 0, 1};
    weft_comm_t *child = NULL;
    weft_status_t status = weft_comm_create_group(comm, ranks, 3, 5, &child);
    (void)rank;
    return status == WEFT_OK ? weft_comm_destroy(child) : status;
}

static void making_a_group(void **state)
{
    wait_case_t wait = {
        .call = make_group, .late_calls = true, .words = "communicator world/group5 ("};
    (void)state;
    check(&wait, "in world/group5: rank ");
}

/* Who waits long says in which communicator, where there are several. */
static int wait_in_a_part(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    weft_comm_t *part = NULL;
    uint64_t bits = 0;
    uint32_t value = 0;
    int wrong = 0;
    (void)n;
    (void)arg;
    NEED(weft_comm_dup(comm, &part) == WEFT_OK);
    for (int i = 0; i < 4; i++) {
        if (rank == LATE) {
            usleep(400000);
        }
        if (i == 0) {
            NEED(weft_barrier(part, NULL) == WEFT_OK);
        } else if (i == 1) {
            NEED(weft_comm_agree(part, &bits) == WEFT_OK);
        } else if (i == 2 && rank == 0) {
            NEED(weft_recv(&value, 1, WEFT_UINT32, WEFT_ANY_RANK, part, NULL) == WEFT_OK);
        } else if (i == 3 && rank == 0) {
            NEED(weft_recv(&value, 1, WEFT_UINT32, LATE, part, NULL) == WEFT_OK);
        } else if (rank == LATE) {
            NEED(weft_send(&value, 1, WEFT_UINT32, 0, part, NULL) == WEFT_OK);
        }
    }
    NEED(weft_comm_destroy(part) == WEFT_OK);
    return wrong;
}

static void who_waits_says_where(void **state)
{
    static const char *const settings[] = {"boot.late=100ms"};
    ranks_job_t job = {
        .nranks = RANKS, .settings = settings, .settings_count = 1, .work = wait_in_a_part};
    (void)state;
    heard_begin();
    int wrong = ranks_run_threads(&job);
    const char *text = heard_end();
    assert_int_equal(wrong, 0);
    assert_in_range(heard_count(text, "in world/dup1: rank "), 4, 4 * RANKS);
    assert_in_range(heard_count(text, " s for rank 2 in operation 1 (barrier)"), 1, RANKS);
    assert_int_equal(heard_count(text, "comm: rank "),
                     heard_count(text, "(comm_split or comm_dup)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_receive_from_any_rank),
        cmocka_unit_test(a_wait_for_signals),
        cmocka_unit_test(a_large_receive_from_any_rank_says_from_whom),
        cmocka_unit_test(calls_that_vote),
        cmocka_unit_test(making_a_group),
        cmocka_unit_test(who_waits_says_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
