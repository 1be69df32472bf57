/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The flight record of a family: who gets a place in it, which file stays, what a failure
 * leaves. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/comm/flight.h"
#include "tests/support/unit.h"

static weft_flight_t flight;

static void open_in(const char *folder)
{
    memset(&flight, 0, sizeof flight);
    assert_int_equal(weft_flight_open(&flight, folder, 8, 3), WEFT_OK);
    assert_non_null(flight.memory.base);
}

static void the_record_says_whose_it_is(void **state)
{
    (void)state;
    open_in("");
    const weft_flight_header_t *header = flight.memory.base;
    assert_memory_equal(header->magic, WEFT_FLIGHT_MAGIC, sizeof header->magic);
    assert_int_equal(header->pid, getpid());
    assert_int_equal(header->rank, 3);
    assert_int_equal(header->nranks, 8);
    assert_int_equal(header->joined, 0);
    weft_flight_join(&flight);
    assert_true(header->joined >= header->began);
    weft_flight_close(&flight);
}

/* Communicators come and go; those that failed go last. */
static void closed_communicators_make_room(void **state)
{
    weft_flight_comm_t *comm[WEFT_FLIGHT_COMMS];
    (void)state;
    open_in("");
    for (uint32_t i = 0; i < WEFT_FLIGHT_COMMS; i++) {
        comm[i] = weft_flight_add(&flight, i, 8, 3);
        assert_non_null(comm[i]);
    }
    const weft_flight_header_t *header = flight.memory.base;
    weft_flight_comm_t *outside = weft_flight_add(&flight, 100, 8, 3);
    assert_non_null(outside);
    assert_int_equal(header->left_out, 1);
    weft_flight_remove(&flight, outside);

    weft_error_t error = {.status = WEFT_ERR_PEER_DEAD, .peer = 5, .sequence = 9};
    snprintf(error.text, sizeof error.text, "rank 5 died");
    weft_flight_fail(&flight, comm[4], &error);
    weft_flight_remove(&flight, comm[4]);
    weft_flight_remove(&flight, comm[7]);
    comm[7]->entry[0] = (weft_flight_entry_t){.sequence = 1, .state = WEFT_FLIGHT_DONE};
    comm[7]->next = 1;
    assert_ptr_equal(weft_flight_add(&flight, 101, 8, 3), comm[7]);
    assert_int_equal(comm[7]->entry[0].state, WEFT_FLIGHT_FREE);
    assert_int_equal(comm[4]->life, WEFT_FLIGHT_FAILED);
    assert_int_equal(comm[4]->culprit, 5);
    assert_string_equal(comm[4]->failure, "rank 5 died");
    assert_ptr_equal(weft_flight_add(&flight, 102, 8, 3), comm[4]);
    assert_int_equal(header->left_out, 1);
    weft_flight_close(&flight);
}

static void without_a_record_a_communicator_has_memory(void **state)
{
    (void)state;
    memset(&flight, 0, sizeof flight);
    weft_flight_comm_t *comm = weft_flight_add(&flight, 1, 8, 3);
    assert_non_null(comm);
    assert_int_equal(comm->rank, 3);
    weft_flight_remove(&flight, comm);
    weft_flight_remove(&flight, NULL);
    weft_flight_end(NULL, WEFT_OK);
    weft_flight_close(&flight);
}

/* Files ---------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/weft-flight-XXXXXX";

static uint32_t files(void)
{
    uint32_t count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        count += entry->d_name[0] != '.' ? 1 : 0;
    }
    closedir(dir);
    return count;
}

static void a_file_stays_after_a_failure_only(void **state)
{
    char first[sizeof flight.memory.path];
    struct stat file;
    (void)state;
    assert_non_null(mkdtemp(folder));
    const mode_t before = umask(0777);
    open_in(folder);
    umask(before);
    assert_int_equal(stat(flight.memory.path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    assert_true(file.st_blocks * 512 >= (blkcnt_t)sizeof(weft_flight_record_t));
    weft_flight_join(&flight);
    weft_flight_close(&flight);
    assert_int_equal(files(), 0);

    open_in(folder);
    snprintf(first, sizeof first, "%s", flight.memory.path);
    weft_flight_join(&flight);
    weft_error_t error = {.status = WEFT_ERR_TIMEOUT, .peer = -1};
    weft_flight_fail(&flight, weft_flight_add(&flight, 1, 8, 3), &error);
    weft_flight_close(&flight);
    assert_int_equal(files(), 1);

    /* One that never joined stays, too, beside the other. */
    open_in(folder);
    assert_string_not_equal(first, flight.memory.path);
    weft_flight_close(&flight);
    assert_int_equal(files(), 2);
    unlink(first);
    unlink(flight.memory.path);
    assert_int_equal(rmdir(folder), 0);
}

static void a_folder_that_is_not_there_is_an_error(void **state)
{
    (void)state;
    memset(&flight, 0, sizeof flight);
    assert_int_equal(weft_flight_open(&flight, "/nowhere/at/all", 8, 3), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "/nowhere/at/all"));
    weft_flight_close(&flight);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_record_says_whose_it_is),
        cmocka_unit_test(closed_communicators_make_room),
        cmocka_unit_test(without_a_record_a_communicator_has_memory),
        cmocka_unit_test(a_file_stays_after_a_failure_only),
        cmocka_unit_test(a_folder_that_is_not_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
