/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of communicators: where they come from, and that errors and explanations say them. */
#include <string.h>

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

static const char *const settings[] = {"core.net=net-shm"};

static int is_called(weft_comm_t *comm, uint32_t rank, const char *expected)
{
    char name[WEFT_COMM_NAME_BYTES] = "";
    int wrong = 0;
    NEED(weft_comm_name(comm, name, sizeof name) == WEFT_OK);
    if (strcmp(name, expected) != 0) {
        fprintf(stderr, "rank %u: the name is %s, not %s\n", rank, name, expected);
        wrong++;
    }
    return wrong;
}

/* A split and a copy are operations of the parent, which counts them. */
static int derive(weft_comm_t *comm, uint32_t rank, uint32_t nranks, void *arg)
{
    weft_comm_t *part = NULL, *copy = NULL, *group = NULL, *rest = NULL;
    const uint32_t all[] = {0, 1};
    int wrong = is_called(comm, rank, "world");
    (void)arg;
    NEED(nranks == 2);
    NEED(weft_comm_split(comm, 7, 0, &part) == WEFT_OK);
    NEED(weft_comm_dup(part, &copy) == WEFT_OK);
    NEED(weft_comm_create_group(comm, all, 2, 9, &group) == WEFT_OK);
    NEED(weft_comm_set_name(comm, "trainer") == WEFT_OK);
    NEED(weft_comm_shrink(comm, NULL, 0, &rest) == WEFT_OK);
    wrong += is_called(part, rank, "world/split1:7") + is_called(copy, rank, "world/split1:7/dup1");
    wrong += is_called(group, rank, "world/group9") + is_called(rest, rank, "trainer/shrunk");
    weft_comm_destroy(rest);
    weft_comm_destroy(group);
    weft_comm_destroy(copy);
    weft_comm_destroy(part);
    return wrong;
}

static int say(weft_comm_t *comm, uint32_t rank, uint32_t nranks, void *arg)
{
    weft_error_t error = {.size = sizeof error}, last = {.size = sizeof last};
    weft_comm_t *part = NULL;
    char text[1024] = "";
    float value = 1;
    int wrong = 0;
    (void)nranks;
    (void)arg;
    NEED(weft_comm_split(comm, 0, 0, &part) == WEFT_OK);
    NEED(weft_comm_set_name(part, "tensor") == WEFT_OK);
    NEED(weft_comm_explain(part, WEFT_ALL_REDUCE, 8, WEFT_FP32, WEFT_SUM, 0, text, sizeof text) ==
         WEFT_OK);
    NEED(strstr(text, "; no windows here; in tensor") != NULL);
    /* Rank 1 may abort before rank 0 has left the barrier. */
    weft_status_t met = weft_barrier(part, NULL);
    NEED(met == WEFT_OK || (rank == 0 && met == WEFT_ERR_ABORTED));
    if (rank == 1) {
        NEED(weft_comm_abort(part) == WEFT_OK);
    }
    NEED(weft_all_reduce(&value, &value, 1, WEFT_FP32, WEFT_SUM, part, NULL) == WEFT_ERR_ABORTED);
    NEED(weft_comm_error(part, &error) == WEFT_OK && weft_last_error(&last) == WEFT_OK);
    NEED(strcmp(error.text, "in tensor: rank 1 called weft_comm_abort") == 0);
    NEED(strcmp(last.text, error.text) == 0);
    weft_comm_destroy(part);
    return wrong;
}

/* Threads of a process read windows in place, other processes do not. */
static int explain_window(weft_comm_t *comm, uint32_t rank, uint32_t nranks, void *arg)
{
    enum { COUNT = 1 << 16 };
    static _Thread_local float data[COUNT];
    const char *expected = arg;
    weft_window_t *window = NULL;
    char text[1024] = "";
    int wrong = 0;
    (void)nranks;
    NEED(weft_window_register(comm, data, sizeof data, &window) == WEFT_OK);
    NEED(weft_comm_explain(comm, WEFT_ALL_REDUCE, 8, WEFT_FP32, WEFT_SUM, 0, text, sizeof text) ==
         WEFT_OK);
    NEED(strstr(text, expected) != NULL && strstr(text, " other ranks; in world") != NULL);
    NEED(weft_window_deregister(comm, window) == WEFT_OK);
    return wrong;
}

/* A room that is too small for it. */
static int explain_in_less(weft_comm_t *comm, uint32_t rank, uint32_t nranks, void *arg)
{
    char whole[1024] = "", text[1024];
    int wrong = 0;
    (void)rank;
    (void)nranks;
    (void)arg;
    NEED(weft_comm_set_name(comm, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80") == WEFT_OK);
    NEED(weft_comm_explain(comm, WEFT_ALL_REDUCE, 8, WEFT_FP32, WEFT_SUM, 0, whole, sizeof whole) ==
         WEFT_OK);
    for (size_t bytes = strlen(whole) + 1; bytes > 0; bytes--) {
        NEED(weft_comm_explain(comm, WEFT_ALL_REDUCE, 8, WEFT_FP32, WEFT_SUM, 0, text, bytes) ==
             WEFT_OK);
        const size_t used = strlen(text);
        NEED(used < bytes && used + 4 >= bytes && memcmp(text, whole, used) == 0);
        NEED(((unsigned char)whole[used] & 0xc0) != 0x80); /* a character begins behind it */
    }
    return wrong;
}

static int refuse(weft_comm_t *comm, uint32_t rank, uint32_t nranks, void *arg)
{
    char name[8], longest[2 * WEFT_COMM_NAME_BYTES];
    int wrong = 0;
    (void)nranks;
    (void)arg;
    NEED(weft_comm_set_name(comm, NULL) == WEFT_ERR_ARG);
    NEED(weft_comm_set_name(comm, "") == WEFT_ERR_ARG);
    NEED(weft_comm_set_name(comm, "two\nlines") == WEFT_ERR_ARG);
    NEED(weft_comm_name(comm, name, 0) == WEFT_ERR_ARG);
    NEED(weft_comm_name(comm, NULL, 8) == WEFT_ERR_ARG);
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    NEED(weft_comm_set_name(comm, longest) == WEFT_OK);
    longest[WEFT_COMM_NAME_BYTES - 1] = '\0';
    wrong += is_called(comm, rank, longest);
    NEED(weft_comm_name(comm, name, sizeof name) == WEFT_OK && strcmp(name, "xxxxxxx") == 0);
    NEED(weft_comm_set_name(comm, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9") == WEFT_OK);
    NEED(weft_comm_name(comm, name, sizeof name) == WEFT_OK &&
         strcmp(name, "\xc3\xa9\xc3\xa9\xc3\xa9") == 0); /* between two characters */
    return wrong;
}

static void run(ranks_work_t work)
{
    const ranks_job_t job = {.nranks = 2, .settings = settings, .settings_count = 1, .work = work};
    assert_int_equal(ranks_run_both(&job), 0);
}

static void communicators_are_called_after_their_parents(void **state)
{
    (void)state;
    run(derive);
}

static void errors_and_explanations_say_the_name(void **state)
{
    (void)state;
    run(say);
}

static void explanations_tell_windows(void **state)
{
    static char read[] = "; 1 window of 262144 bytes here, read in place by 1 of 1 other ranks";
    ranks_job_t job = {.nranks = 2,
                       .settings = settings,
                       .settings_count = 1,
                       .work = explain_window,
                       .arg = read};
    (void)state;
    assert_int_equal(ranks_run_threads(&job), 0);
#ifndef __SANITIZE_THREAD__
    static char not_read[] = "; 1 window of 262144 bytes here, read in place by 0 of 1 other ranks";
    job.arg = not_read;
    assert_int_equal(ranks_run_processes(&job, 120, -1), 0);
#endif
}

static void explanations_are_cut_between_characters(void **state)
{
    (void)state;
    run(explain_in_less);
}

static void wrong_names_are_refused(void **state)
{
    (void)state;
    run(refuse);
}

/* The options may carry a name; programs that were built before do not say one. */
static void the_options_name_the_first(void **state)
{
    weft_comm_options_t options = {
        .size = sizeof options, .settings = settings, .settings_count = 1, .name = "first"};
    weft_unique_id_t id;
    weft_comm_t *comm = NULL;
    (void)state;
    for (int old = 0; old < 2; old++) {
        assert_int_equal(weft_unique_id_create(&id, &options), WEFT_OK);
        assert_int_equal(weft_comm_init_rank(&comm, 1, &id, 0, &options), WEFT_OK);
        assert_int_equal(is_called(comm, 0, old ? "world" : "first"), 0);
        assert_int_equal(weft_comm_destroy(comm), WEFT_OK);
        options.size = offsetof(weft_comm_options_t, name);
    }
    options = (weft_comm_options_t){.size = sizeof options, .name = ""};
    assert_int_equal(weft_unique_id_create(&id, &options), WEFT_OK);
    assert_int_equal(weft_comm_init_rank(&comm, 1, &id, 0, &options), WEFT_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(communicators_are_called_after_their_parents),
        cmocka_unit_test(errors_and_explanations_say_the_name),
        cmocka_unit_test(explanations_tell_windows),
        cmocka_unit_test(explanations_are_cut_between_characters),
        cmocka_unit_test(wrong_names_are_refused),
        cmocka_unit_test(the_options_name_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
