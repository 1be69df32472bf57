/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flight records that are read while their ranks write: what is read is whole, or left out. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/comm/comm.h"
#include "tests/support/unit.h"
#include "tools/flight_jobs.h"

enum { LOOKS = 200, NAMES = 300000, REOPENED = 500 };

static weft_flight_t flight;
static weft_comm_state_t comm;
static _Atomic bool over;

/* Operations of two kinds in turns: an even number says one, an odd one the other. */
static const weft_signature_t kinds[2] = {
    {.coll = WEFT_ALL_REDUCE, .dtype = WEFT_FP32, .op = WEFT_MAX, .root = 0, .count = 4},
    {.coll = WEFT_BROADCAST, .dtype = WEFT_UINT8, .op = WEFT_SUM, .root = 3, .count = 900}};
static const weft_status_t ends[2] = {WEFT_OK, WEFT_ERR_LINK};

static void call(uint64_t number)
{
    weft_signature_t signature = kinds[number % 2];
    weft_request_t request = {.sequence = number,
                              .args = {.coll = (weft_coll_t)signature.coll,
                                       .dtype = (weft_dtype_t)signature.dtype,
                                       .op = (weft_op_t)signature.op,
                                       .root = signature.root,
                                       .count = signature.count}};
    signature.sequence = (uint32_t)number;
    comm.flight->called = number;
    weft_history_put(&comm.flight->history, &signature);
    weft_comm_record(&comm, &request, number * 10);
    weft_flight_end(request.flight, ends[number % 2]);
    comm.flight->completed = number;
}

/* Another communicator that says its number everywhere. */
static void reopen(uint64_t number)
{
    const uint32_t small = (uint32_t)(number % 1000);
    weft_flight_comm_t *other = weft_flight_add(&flight, 1000000 + number, 5000 + small, small);
    assert_non_null(other);
    if (number % 2 == 0) {
        weft_error_t error = {.status = WEFT_ERR_LINK, .peer = (int32_t)small};
        memset(error.text, 'a' + (int)(number % 26), 200);
        weft_flight_fail(&flight, other, &error);
    }
    weft_flight_remove(&flight, other);
}

static void *write_on(void *arg)
{
    char name[60] = "";
    (void)arg;
#ifdef WEFT_CHECKED
    atomic_store(&comm.owner_thread, weft_os_thread_self());
#endif
    for (uint64_t i = 1; !atomic_load(&over); i++) {
        call(i);
        if (i % NAMES == 0) {
            memset(name, 'a' + (int)(i / NAMES % 26), sizeof name - 1);
            weft_flight_name(comm.flight, name);
        }
        if (i % REOPENED == 0) {
            reopen(i / REOPENED);
        }
    }
    return NULL;
}

/* Whether an entry is one operation from end to end. */
static bool is_whole(const weft_flight_entry_t *entry)
{
    const weft_signature_t *kind = &kinds[entry->sequence % 2];
    const bool done = entry->state == WEFT_FLIGHT_DONE;
    return entry->state == WEFT_FLIGHT_FREE ||
           (entry->coll == kind->coll && entry->dtype == kind->dtype && entry->op == kind->op &&
            entry->root == kind->root && entry->count == kind->count &&
            entry->called == entry->sequence * 10 && entry->number == entry->sequence &&
            (entry->ended != 0) == done &&
            entry->status == (done ? ends[entry->sequence % 2] : WEFT_IN_PROGRESS));
}

static void check_operations(const weft_flight_comm_t *at)
{
    weft_flight_entry_t entry;
    for (uint32_t k = 0; k < WEFT_FLIGHT_ENTRIES; k++) {
        if (!is_whole(&at->entry[k])) {
            fail_msg(
                "%s of %llu, number %llu, operation %llu, called %llu, status %d, state %u",
                weft_coll_name((weft_coll_t)at->entry[k].coll),
                (unsigned long long)at->entry[k].count, (unsigned long long)at->entry[k].number,
                (unsigned long long)at->entry[k].sequence, (unsigned long long)at->entry[k].called,
                at->entry[k].status, at->entry[k].state);
        }
    }
    for (uint64_t i = 0; i < WEFT_HISTORY && i < at->called; i++) {
        if (flight_find(at, at->called - i, &entry)) {
            assert_int_equal(entry.coll, kinds[(at->called - i) % 2].coll);
            assert_int_equal(entry.count, kinds[(at->called - i) % 2].count);
        }
    }
    assert_int_equal(at->name[strspn(at->name, (char[]){at->name[0], '\0'})], '\0');
}

static void check_other(const weft_flight_comm_t *at)
{
    const uint32_t small = (uint32_t)((at->id - 1000000) % 1000);
    assert_int_equal(at->rank, small);
    assert_int_equal(at->nranks, 5000 + small);
    if (at->life == WEFT_FLIGHT_FAILED) {
        assert_true(at->failed != 0);
        assert_int_equal(at->culprit, small);
        assert_int_equal(at->status, WEFT_ERR_LINK);
        assert_int_equal(
            strspn(at->failure, (char[]){(char)('a' + (int)((at->id - 1000000) % 26)), '\0'}), 200);
    } else {
        assert_true(at->failed == 0);
        assert_int_equal(at->culprit, -1);
        assert_string_equal(at->failure, "");
    }
}

static uint32_t look(void)
{
    flight_sources_t sources = {.count = 0};
    char pid[16];
    uint32_t done = 0;
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    assert_true(flight_read(pid, &sources));
    assert_int_equal(sources.count, 1);
    const flight_copy_t *copy = sources.source[0].record;
    for (uint32_t i = 0; i < copy->ncomms; i++) {
        const weft_flight_comm_t *at = &copy->comm[i];
        if (at->id != 1) {
            check_other(at);
            continue;
        }
        check_operations(at);
        for (uint32_t k = 0; k < WEFT_FLIGHT_ENTRIES; k++) {
            done += at->entry[k].state == WEFT_FLIGHT_DONE ? 1 : 0;
        }
    }
    flight_free(&sources);
    return done;
}

static void what_is_read_is_whole(void **state)
{
    pthread_t writer;
    (void)state;
    assert_int_equal(weft_flight_open(&flight, "", 8, 3), WEFT_OK);
    weft_flight_join(&flight);
    comm.flight = weft_flight_add(&flight, 1, 8, 3);
    assert_non_null(comm.flight);
    assert_int_equal(pthread_create(&writer, NULL, write_on, NULL), 0);
    for (int i = 0; i < LOOKS; i++) {
        (void)look();
    }
    atomic_store(&over, true);
    pthread_join(writer, NULL);
    assert_int_equal(look(), WEFT_FLIGHT_ENTRIES); /* nobody writes: nothing is left out */
    weft_flight_close(&flight);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
