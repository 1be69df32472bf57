/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Damaged files: whatever the bytes, algo-file refuses with a reason or makes plans that the
 * verifier can judge; nothing crashes or leaks. */
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plan/verify.h"
#include "tests/support/plan_files.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define ROUNDS 2000u
#define LIMIT 200000u /* steps of one proof */

static const struct {
    const char *file;
    weft_coll_t coll;
    uint32_t nranks, root;
} examples[] = {
    {"allpairs-all-reduce-4.xml", WEFT_ALL_REDUCE, 4, 0},
    {"ring-all-gather-4.xml", WEFT_ALL_GATHER, 4, 0},
    {"ring-reduce-scatter-4.xml", WEFT_REDUCE_SCATTER, 4, 0},
    {"pairs-all-to-all-4.xml", WEFT_ALL_TO_ALL, 4, 0},
    {"chain-broadcast-4-root-1.xml", WEFT_BROADCAST, 4, 1},
    {"hangs-all-reduce-2.xml", WEFT_ALL_REDUCE, 2, 0},
    {"doubling-all-reduce-4.plan", WEFT_ALL_REDUCE, 4, 0},
};

static uint32_t random_below(uint64_t *seed, uint64_t n)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*seed >> 33) % n);
}

/* One change: another byte, another digit, a piece left out or copied elsewhere. */
static size_t damage(char *bytes, size_t count, uint64_t *seed)
{
    size_t at = random_below(seed, count);
    size_t length = 1 + random_below(seed, 60);
    length = length > count - at ? count - at : length;
    switch (random_below(seed, 6)) {
    case 0:
        bytes[at] = (char)random_below(seed, 256);
        return count;
    case 1:
        memmove(bytes + at, bytes + at + length, count - at - length);
        return count - length;
    case 2:
        memmove(bytes + random_below(seed, count - length + 1), bytes + at, length);
        return count;
    default: /* most likely to be accepted */
        for (; at < count; at++) {
            if (bytes[at] >= '0' && bytes[at] <= '9') {
                bytes[at] = (char)('0' + random_below(seed, 10));
                break;
            }
        }
        return count;
    }
}

/* What of an XML program is left to the verifier: how deep queues are, and order between lanes. */
static int may_be_left(weft_verdict_t verdict)
{
    return verdict == WEFT_VERDICT_OK || verdict == WEFT_VERDICT_DEADLOCK ||
           verdict == WEFT_VERDICT_RACE || verdict == WEFT_VERDICT_UNWRITTEN ||
           verdict == WEFT_VERDICT_TOO_BIG;
}

/* 0: refused at load or emit; 1: judged to be wrong; 2: still right. */
static int judge(const char *path, weft_coll_t coll, uint32_t nranks, uint32_t root, int is_xml)
{
    plan_fixture_t fixture;
    int result = 0;
    if (plan_files_open(&fixture, path) != WEFT_OK) {
        assert_true(weft_error_record()->text[0] != '\0');
    } else if (plan_files_serve(&fixture, coll, nranks, root)) {
        weft_plan_t **plans = plan_fixture_emit(&fixture, coll, nranks, root);
        weft_verify_report_t report = {.verdict = WEFT_VERDICT_MALFORMED};
        if (plans != NULL) {
            weft_verify_input_t input = {
                .plans = plans, .nranks = nranks, .slots = 4, .slices = 2, .limit = LIMIT};
            assert_int_equal(weft_plan_verify(&input, &report), WEFT_OK);
        }
        if (is_xml && !may_be_left(report.verdict)) {
            fail_msg("%s: %s", path, report.text);
        }
        result = report.verdict == WEFT_VERDICT_OK ? 2 : 1;
        plan_fixture_free(plans, nranks);
    }
    plan_fixture_close(&fixture);
    return result;
}

static void damaged_files_are_refused_or_judged(void **state)
{
    (void)state;
    uint64_t seed = 7;
    uint32_t results[3] = {0};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        size_t example = round % (sizeof examples / sizeof *examples), count;
        char path[512];
        snprintf(path, sizeof path, "%s%s", PLAN_FILES_EXAMPLES, examples[example].file);
        char *bytes = plan_files_read(path, &count);
        for (uint32_t i = 1 + random_below(&seed, 3); i > 0 && count > 64; i--) {
            count = damage(bytes, count, &seed);
        }
        snprintf(path, sizeof path, "%s", scratch_write("damaged", bytes, count));
        results[judge(path, examples[example].coll, examples[example].nranks,
                      examples[example].root, strstr(examples[example].file, ".xml") != NULL)]++;
        free(bytes);
    }
    print_message("%u refused, %u judged to be wrong, %u still right\n", results[0], results[1],
                  results[2]);
    assert_true(results[0] > ROUNDS / 4);
    assert_true(results[2] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_files_are_refused_or_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
