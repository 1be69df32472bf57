/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of several blocks, by algo-pat: which calls have them, how many blocks fit, and that
 * results are right where a message is full, where one more would fit, and where blocks have
 * several slices.
 *   test-collectives-packed section.key=value… */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#define RANKS_MAX 9u

/* Settings of the command line, then those of a test. */
static const char *settings[8] = {"plan.algo=algo-pat"};
static uint32_t given = 1;

static int run(uint32_t nranks, const char *setting, ranks_work_t work, void *arg)
{
    settings[given] = setting;
    ranks_job_t job = {.nranks = nranks,
                       .settings = settings,
                       .settings_count = given + (setting != NULL ? 1 : 0),
                       .work = work,
                       .arg = arg};
    return ranks_run_threads(&job);
}

/* What the communicator says of a call, and the words that must, or must not, be in it. */
typedef struct saying {
    weft_coll_t coll;
    uint64_t count; /* floats of a block */
    const char *words;
    bool said;
} saying_t;

static int explain(weft_comm_t *comm, uint32_t rank, uint32_t nranks, void *arg)
{
    int wrong = 0;
    (void)nranks;
    for (const saying_t *s = arg; s->words != NULL; s++) {
        char text[1024] = "";
        NEED(weft_comm_explain(comm, s->coll, s->count, WEFT_FP32, WEFT_SUM, 0, text,
                               sizeof text) == WEFT_OK);
        if ((strstr(text, s->words) != NULL) != s->said) {
            fprintf(stderr, "rank %u, %llu floats: %s\n", rank, (unsigned long long)s->count, text);
            wrong++;
        }
    }
    return wrong;
}

static void blocks_that_fit_share_messages(void **state)
{
    static saying_t sayings[] = {
        {WEFT_ALL_GATHER, 2, "up to 4 chunks in a message", true},
        {WEFT_REDUCE_SCATTER, 2, "up to 4 chunks in a message", true},
        {WEFT_ALL_GATHER, 4096, "up to 4 chunks in a message", true},
        {WEFT_ALL_GATHER, 4097, "in a message", false},
        {WEFT_ALL_GATHER, 1u << 20, "in a message", false},
        {WEFT_ALL_GATHER_V, 2, "in a message", false},
        {WEFT_REDUCE_SCATTER_V, 2, "in a message", false},
        {.words = NULL},
    };
    (void)state;
    assert_int_equal(run(8, NULL, explain, sayings), 0);
}

static void slots_and_the_parameter_limit_them(void **state)
{
    static saying_t slots[] = {
        {WEFT_ALL_GATHER, 256, "up to 4 chunks in a message", true},
        {WEFT_ALL_GATHER, 257, "up to 2 chunks in a message", true},
        {WEFT_ALL_GATHER, 512, "up to 2 chunks in a message", true},
        {WEFT_ALL_GATHER, 513, "in a message", false},
        {.words = NULL},
    };
    static saying_t three[] = {
        {WEFT_ALL_GATHER, 2, "up to 3 chunks in a message", true},
        {.words = NULL},
    };
    static saying_t none[] = {
        {WEFT_ALL_GATHER, 2, "in a message", false},
        {.words = NULL},
    };
    (void)state;
    assert_int_equal(run(8, "exec.slot_bytes=4K", explain, slots), 0);
    assert_int_equal(run(8, "algo-pat.aggregate=3", explain, three), 0);
    assert_int_equal(run(8, "algo-pat.aggregate=1", explain, none), 0);
}

static int32_t value(uint32_t rank, uint64_t at)
{
    return (int32_t)(1000 * rank + at % 991);
}

static int gather(weft_comm_t *comm, uint32_t rank, uint32_t n, uint64_t count, int in_place)
{
    int32_t *all = malloc((n * count + 1) * sizeof *all);
    int32_t *own = in_place ? all + rank * count : malloc((count + 1) * sizeof *own);
    int wrong = 0;
    for (uint64_t i = 0; i < count; i++) {
        own[i] = value(rank, i);
    }
    NEED(weft_all_gather(own, all, count, WEFT_INT32, comm, NULL) == WEFT_OK);
    for (uint64_t i = 0; i < n * count && wrong == 0; i++) {
        NEED(all[i] == value((uint32_t)(i / count), i % count));
    }
    if (!in_place) {
        free(own);
    }
    free(all);
    return wrong;
}

static int scatter(weft_comm_t *comm, uint32_t rank, uint32_t n, uint64_t count, int in_place)
{
    int32_t *all = malloc((n * count + 1) * sizeof *all);
    int32_t *own = in_place ? all + rank * count : malloc((count + 1) * sizeof *own);
    int wrong = 0;
    for (uint64_t i = 0; i < n * count; i++) {
        all[i] = value(rank, i);
    }
    NEED(weft_reduce_scatter(all, own, count, WEFT_INT32, WEFT_SUM, comm, NULL) == WEFT_OK);
    for (uint64_t i = 0; i < count && wrong == 0; i++) {
        int32_t sum = 0;
        for (uint32_t r = 0; r < n; r++) {
            sum += value(r, rank * count + i);
        }
        NEED(own[i] == sum);
    }
    if (!in_place) {
        free(own);
    }
    free(all);
    return wrong;
}

/* 256 and 512 ints: four and two blocks fill a slot of 4 KiB. */
static int calls(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static const uint64_t counts[] = {0, 1, 9, 31, 255, 256, 257, 511, 512, 513, 5000};
    int wrong = 0;
    (void)arg;
    for (uint32_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (int in_place = 0; in_place < 2; in_place++) {
            wrong += gather(comm, rank, n, counts[i], in_place);
            wrong += scatter(comm, rank, n, counts[i], in_place);
        }
    }
    return wrong;
}

static int gathers(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static const uint64_t counts[] = {1, 512, 513, 5000, 100000};
    char text[1024] = "";
    int wrong = 0;
    (void)arg;
    NEED(weft_comm_explain(comm, WEFT_ALL_GATHER, 5000, WEFT_INT32, WEFT_SUM, 0, text,
                           sizeof text) == WEFT_OK);
    NEED(strstr(text, "all_gather by algo-file") != NULL &&
         strstr(text, "up to 2 chunks in a message") != NULL);
    for (uint32_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (int in_place = 0; in_place < 2; in_place++) {
            wrong += gather(comm, rank, n, counts[i], in_place);
        }
    }
    return wrong;
}

static void results_are_right_where_messages_are_full(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= RANKS_MAX; n++) {
        assert_int_equal(run(n, "exec.slot_bytes=4K", calls, NULL), 0);
    }
}

/* The tuner's rule cuts messages to 256 bytes, so chunks have several slices and passes. */
static void results_are_right_in_several_slices(void **state)
{
    (void)state;
    assert_int_equal(
        run(8, "tuner.rule=all_gather: algo-pat slices=3 slice_bytes=256", calls, NULL), 0);
    assert_int_equal(
        run(9, "tuner.rule=reduce_scatter: algo-pat slices=2 slice_bytes=256", calls, NULL), 0);
}

/* A plan of a file packs whatever the size, so messages of long blocks have many slices. */
static void a_file_packs_blocks_of_any_length(void **state)
{
    static char setting[64] = "algo-file.files=/tmp/weft-packed-XXXXXX";
    const char *path = strchr(setting, '=') + 1;
    (void)state;
    int fd = mkstemp(setting + (path - setting));
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    for (uint32_t r = 0; r < 4; r++) {
        fprintf(file,
                "plan all_gather ranks 4 rank %u root 0 chunks 1 tmp 0 lanes 1\n"
                "port 0 lane 0 send to %u channel 0\nport 1 lane 0 receive from %u channel 0\n"
                "port 2 lane 0 send to %u channel 0\nport 3 lane 0 receive from %u channel 0\n"
                "lane 0\npar 2\nmove port 0, out[%u] <- in[0]\nmove out[%u] <- port 1\n"
                "par 2\nmove port 2 <- out[%u+1] count 2 packed\n"
                "move out[%u+1] <- port 3 count 2 packed\n\n",
                r, r ^ 1, r ^ 1, r ^ 2, r ^ 2, r, r ^ 1, r & 2, (r & 2) ^ 2);
    }
    fclose(file);
    settings[0] = "core.algo=algo-file algo-flat";
    settings[given] = "exec.slot_bytes=4K";
    ranks_job_t job = {.nranks = 4, .settings = settings, .work = gathers};
    settings[given + 1] = setting;
    settings[given + 2] = "tuner.prefer=all_gather:algo-file";
    job.settings_count = given + 3;
    int wrong = ranks_run_threads(&job);
    settings[0] = "plan.algo=algo-pat";
    unlink(path);
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc && given < 4; i++) {
        settings[given++] = argv[i];
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_that_fit_share_messages),
        cmocka_unit_test(slots_and_the_parameter_limit_them),
        cmocka_unit_test(results_are_right_where_messages_are_full),
        cmocka_unit_test(results_are_right_in_several_slices),
        cmocka_unit_test(a_file_packs_blocks_of_any_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
