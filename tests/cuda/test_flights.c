/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the flight record of a rank tells of operations that the device runs in a stream: when the
 * device had come to them, when they had ended, and whom they waited for. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/comm/flight_record.h"
#include "core/os/os.h"
#include "tests/cuda/desk.h"
#include "tests/support/unit.h"

enum { LARGE = 1 << 16, SMALL = 64, BYTES = LARGE * 4, LATE_MS = 300 };

enum { SETTINGS = 5 };
static const char *const settings[SETTINGS] = {
    "core.kernel=kernel-cuda", ("kernel-cuda.path=" WEFT_KERNEL_CUDA_FILE), "core.net=net-shm",
    "exec.op_timeout=20s", DESK_SHARE};

static void run(uint32_t n, desk_work_t work)
{
    const desk_job_t at_desk = {.bytes = BYTES, .work = work};
    ranks_job_t job = {.nranks = n,
                       .settings = settings,
                       .settings_count = SETTINGS,
                       .work = desk_run,
                       .arg = (void *)&at_desk};
    assert_int_equal(ranks_run_threads(&job), 0);
}

/* The record of a rank of this process, as other processes find it; NULL: none is there. */
static const weft_flight_record_t *record_of(uint32_t rank)
{
    DIR *folder = opendir("/proc/self/fd");
    const weft_flight_record_t *found = NULL;
    struct dirent *entry;
    while (found == NULL && folder != NULL && (entry = readdir(folder)) != NULL) {
        char name[256] = "";
        if (readlinkat(dirfd(folder), entry->d_name, name, sizeof name - 1) > 0 &&
            strstr(name, WEFT_FLIGHT_NAME) != NULL) {
            void *at = mmap(NULL, sizeof *found, PROT_READ, MAP_SHARED, atoi(entry->d_name), 0);
            found = at;
            if (at == MAP_FAILED || found->header.rank != rank) {
                found = NULL;
            }
        }
    }
    closedir(folder);
    return found;
}

/* The operation with that number, when it has ended; NULL: it has not after two seconds, or there
 * is no record. */
static const weft_flight_entry_t *entry_of(const weft_flight_record_t *record, weft_coll_t coll,
                                           uint64_t sequence)
{
    const uint64_t until = weft_os_deadline(2);
    while (record != NULL && weft_os_clock_ns() < until) {
        for (uint32_t i = 0; i < WEFT_FLIGHT_ENTRIES; i++) {
            const weft_flight_entry_t *entry = &record->comm[0].entry[i];
            if (atomic_load(&entry->state) == WEFT_FLIGHT_DONE && entry->coll == coll &&
                entry->sequence == sequence) {
                return entry;
            }
        }
        usleep(1000);
    }
    return NULL;
}

static int reduce(desk_t *desk)
{
    uint32_t rank = desk->rank;
    int wrong = 0;
    const weft_flight_record_t *record = record_of(rank);
    NEED(weft_barrier(desk->comm, NULL) == WEFT_OK);
    const uint64_t before = weft_os_clock_ns();
    NEED(weft_all_reduce(desk->in, desk->out, LARGE, WEFT_INT32, WEFT_SUM, desk->comm,
                         &desk->call[0]) == WEFT_OK);
    NEED(desk_settle(desk));
    const weft_flight_entry_t *entry = entry_of(record, WEFT_ALL_REDUCE, 2);
    NEED(entry != NULL && entry->count == LARGE && entry->dtype == WEFT_INT32 &&
         entry->status == WEFT_OK && entry->called >= before && entry->ended >= entry->called);
    /* A small one that waits for a late rank. */
    NEED(weft_all_reduce(desk->in, desk->out, SMALL, WEFT_INT32, WEFT_SUM, desk->comm,
                         &desk->call[0]) == WEFT_OK);
    NEED(desk_settle(desk));
    usleep(rank == 1 ? LATE_MS * 1000 : 0);
    NEED(weft_all_reduce(desk->in, desk->out, SMALL, WEFT_INT32, WEFT_SUM, desk->comm,
                         &desk->call[0]) == WEFT_OK);
    NEED(desk_settle(desk));
    if (rank == 0) {
        entry = entry_of(record, WEFT_ALL_REDUCE, 4);
        NEED(entry != NULL && entry->peer == 1 &&
             entry->ended - entry->called > LATE_MS * UINT64_C(500000));
    }
    return wrong;
}

static void operations_of_a_device_have_times(void **state)
{
    (void)state;
    run(2, reduce);
}

static int send(desk_t *desk)
{
    uint32_t rank = desk->rank;
    int wrong = 0;
    const weft_flight_record_t *record = record_of(rank);
    NEED(rank == 0
             ? weft_send(desk->in, LARGE, WEFT_INT32, 1, desk->comm, &desk->call[0]) == WEFT_OK
             : weft_recv(desk->out, LARGE, WEFT_INT32, 0, desk->comm, &desk->call[0]) == WEFT_OK);
    NEED(desk_settle(desk));
    const weft_flight_entry_t *entry = entry_of(record, WEFT_SEND_RECV, 1);
    NEED(entry != NULL && entry->sends == (rank == 0) && entry->root == 1 - rank &&
         entry->count == LARGE && entry->status == WEFT_OK);
    return wrong;
}

static void messages_of_a_device_too(void **state)
{
    (void)state;
    run(2, send);
}

static int wait_in_vain(desk_t *desk)
{
    weft_call_t call = desk->call[0];
    uint32_t rank = desk->rank;
    int wrong = 0;
    const weft_flight_record_t *record = record_of(rank);
    NEED(weft_all_reduce(desk->in, desk->out, SMALL, WEFT_INT32, WEFT_SUM, desk->comm,
                         &desk->call[0]) == WEFT_OK);
    NEED(desk_settle(desk));
    call.timeout = 0.3;
    usleep(rank == 1 ? 3 * LATE_MS * 1000 : 0);
    if (rank == 0 && record != NULL) {
        NEED(weft_all_reduce(desk->in, desk->out, SMALL, WEFT_INT32, WEFT_SUM, desk->comm, &call) ==
             WEFT_OK);
        NEED(desk_settle(desk));
        const weft_flight_entry_t *entry = entry_of(record, WEFT_ALL_REDUCE, 2);
        NEED(entry != NULL && entry->status == WEFT_ERR_TIMEOUT && entry->peer == 1);
    }
    return wrong;
}

static void one_that_fails_says_so(void **state)
{
    (void)state;
    run(2, wait_in_vain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_of_a_device_have_times),
        cmocka_unit_test(messages_of_a_device_too),
        cmocka_unit_test(one_that_fails_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
