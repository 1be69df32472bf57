/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks with different kernels: which may meet in one communicator, and what those are told that
 * may not. */
#include <pthread.h>
#include <string.h>

#include <weft/weft.h>

#include "tests/support/unit.h"

#define PLAIN "plain-kernel.path=" WEFT_PLAIN_KERNEL_FILE

typedef struct rank {
    const weft_unique_id_t *id;
    weft_comm_options_t options;
    uint32_t number;
    weft_status_t status;
    weft_error_t error;
    pthread_t thread;
} rank_t;

static void *join(void *arg)
{
    rank_t *rank = arg;
    weft_comm_t *comm = NULL;
    rank->error.size = sizeof rank->error;
    rank->status = weft_comm_init_rank(&comm, 2, rank->id, rank->number, &rank->options);
    weft_last_error(&rank->error);
    if (rank->status == WEFT_OK) {
        rank->status = weft_barrier(comm, NULL);
        weft_comm_destroy(comm);
    }
    return NULL;
}

/* Two ranks with these settings, each list ending with NULL, meet: both get `status`, and are told
 * these words. */
static void meet(const char *const *first, const char *const *second, weft_status_t status,
                 const char *words)
{
    weft_unique_id_t id;
    rank_t ranks[2];
    weft_comm_options_t any = {.size = sizeof any, .config = "/dev/null"};
    assert_int_equal(weft_unique_id_create(&id, &any), WEFT_OK);
    for (uint32_t r = 0; r < 2; r++) {
        ranks[r] = (rank_t){.id = &id, .number = r, .options = any};
        ranks[r].options.settings = r == 0 ? first : second;
        while (ranks[r].options.settings[ranks[r].options.settings_count] != NULL) {
            ranks[r].options.settings_count++;
        }
        assert_int_equal(pthread_create(&ranks[r].thread, NULL, join, &ranks[r]), 0);
    }
    for (uint32_t r = 0; r < 2; r++) {
        pthread_join(ranks[r].thread, NULL);
        if (ranks[r].status != status ||
            (words[0] != '\0' && strstr(ranks[r].error.text, words) == NULL)) {
            fail_msg("rank %u: %s: %s; wanted \"%s\"", r, weft_status_name(ranks[r].status),
                     ranks[r].error.text, words);
        }
    }
}

static void kernels_of_one_arithmetic_may_have_different_options(void **state)
{
    static const char *const first[] = {"kernel-cpu.isa=c", "kernel-cpu.stream=no", NULL};
    static const char *const second[] = {"kernel-cpu.isa=auto", "kernel-cpu.stream=yes", NULL};
    (void)state;
    meet(first, second, WEFT_OK, "");
}

static void a_kernel_whose_arithmetic_has_no_name_must_be_everywhere(void **state)
{
    static const char *const first[] = {"kernel-cpu.isa=c", "core.kernel=kernel-cpu", NULL};
    static const char *const second[] = {PLAIN, "core.kernel=plain-kernel", NULL};
    (void)state;
    meet(first, second, WEFT_ERR_MISMATCH,
         "the ranks differ in the arithmetic of core.kernel: rank 1");
    meet(second, first, WEFT_ERR_MISMATCH, "has \"that of plain-kernel 7\"");
}

static void its_options_must_be_equal_too(void **state)
{
    static const char *const first[] = {"core.kernel=plain-kernel", PLAIN, NULL};
    static const char *const second[] = {"core.kernel=plain-kernel", PLAIN, "plain-kernel.kind=2",
                                         NULL};
    (void)state;
    meet(first, first, WEFT_ERR_UNSUPPORTED, "plain-kernel computes nothing");
    meet(first, second, WEFT_ERR_MISMATCH, "plain-kernel.kind");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_of_one_arithmetic_may_have_different_options),
        cmocka_unit_test(a_kernel_whose_arithmetic_has_no_name_must_be_everywhere),
        cmocka_unit_test(its_options_must_be_equal_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
