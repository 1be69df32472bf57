/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every algorithm of the build × every fixed form × numbers of ranks, on real communicators whose
 * ranks are threads. What an algorithm claims by supports() must come out right, with the same bits
 * on all ranks; what it does not claim is printed at the end. Slots are small, so that the largest
 * count takes several passes.
 *   test-collectives-algorithms NET [windows] RANKS…     windows: all buffers lie in windows */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/collectives/algos.h"
#include "tests/collectives/sweep_case.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#define RANKS_MAX 64u
#define FULL_RANKS 17u

/* What one algorithm claims, by number of ranks. */
typedef struct claims {
    bool claims[RANKS_MAX + 1][WEFT_COLL_COUNT];
    uint64_t runs[WEFT_COLL_COUNT];
    char why[WEFT_COLL_COUNT][160]; /* first refusal */
} claims_t;

static claims_t all_claims[ALGOS_MAX];
static char net_setting[128];
static uint32_t ranks[RANKS_MAX];
static size_t nranks;
static bool in_windows;

/* Types and operators are sampled: each call takes the next pair. */
static sweep_case_t sample(weft_coll_t coll, uint64_t count, uint32_t n, uint32_t turn)
{
    static const weft_dtype_t dtypes[] = {WEFT_FP32, WEFT_UINT8, WEFT_BF16, WEFT_INT64, WEFT_FP16};
    sweep_case_t c = {.coll = coll, .count = count, .root = (turn * 5 + (uint32_t)coll) % n};
    c.dtype = dtypes[turn % (sizeof dtypes / sizeof dtypes[0])];
    c.op = sweep_reduces(coll) ? (weft_op_t)(turn % WEFT_OP_COUNT) : WEFT_SUM;
    c.op = weft_op_has_dtype(c.op, c.dtype) ? c.op : WEFT_SUM;
    return c;
}

/* A number below 1 of a narrow float, and a factor from 1 to 2: sums of them are rounded. */
typedef struct narrow {
    weft_dtype_t dtype, bits; /* the type, and the integers that have its bits */
    uint32_t mantissa, bias;
} narrow_t;

static uint16_t narrow_mantissa(const narrow_t *of, uint64_t h)
{
    return (uint16_t)((h * UINT64_C(0x9e3779b97f4a7c15) >> 40) & ((1u << of->mantissa) - 1));
}

static uint16_t narrow_value(const narrow_t *of, uint32_t rank, uint64_t i)
{
    uint64_t h = i * 131 + rank + 1;
    uint32_t exponent = of->bias - 4 + (uint32_t)(h % 4);
    return (uint16_t)(exponent << of->mantissa | narrow_mantissa(of, h));
}

static uint16_t narrow_factor(const narrow_t *of, uint32_t rank)
{
    return (uint16_t)(of->bias << of->mantissa | narrow_mantissa(of, rank + 7));
}

/* Whether all ranks have the same bits: the least and the largest of each element. */
static int bits_differ(const narrow_t *of, weft_op_t op, weft_comm_t *comm, uint32_t rank)
{
    enum { COUNT = 200 };
    uint8_t in[2 * COUNT], out[2 * COUNT], least[2 * COUNT], most[2 * COUNT];
    size_t size = weft_dtype_size(of->dtype);
    uint16_t factor = narrow_factor(of, rank);
    weft_call_t call = {.size = sizeof call, .scalar = op == WEFT_PREMULSUM ? &factor : NULL};
    int wrong = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        uint16_t value = narrow_value(of, rank, i);
        memcpy(in + i * size, &value, size);
    }
    NEED(weft_all_reduce(in, out, COUNT, of->dtype, op, comm, &call) == WEFT_OK);
    NEED(weft_all_reduce(out, least, COUNT, of->bits, WEFT_MIN, comm, NULL) == WEFT_OK);
    NEED(weft_all_reduce(out, most, COUNT, of->bits, WEFT_MAX, comm, NULL) == WEFT_OK);
    if (wrong == 0 && memcmp(least, most, COUNT * size) != 0) {
        fprintf(stderr, "rank %u: %s of %s has other bits on other ranks\n", rank, weft_op_name(op),
                weft_dtype_name(of->dtype));
        wrong++;
    }
    return wrong;
}

static int narrow_bits_differ(weft_comm_t *comm, uint32_t rank)
{
    static const narrow_t types[] = {{WEFT_BF16, WEFT_UINT16, 7, 127},
                                     {WEFT_FP16, WEFT_UINT16, 10, 15},
                                     {WEFT_FP8_E4M3, WEFT_UINT8, 3, 7},
                                     {WEFT_FP8_E5M2, WEFT_UINT8, 2, 15}};
    static const weft_op_t ops[] = {WEFT_SUM, WEFT_AVG, WEFT_PREMULSUM};
    int wrong = 0;
    for (uint32_t i = 0; i < 12 && wrong == 0; i++) {
        wrong += bits_differ(&types[i / 3], ops[i % 3], comm, rank);
    }
    return wrong;
}

static int work(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const bool *claims = arg;
    const uint64_t counts[] = {0, 1, n - 1, 7 * n + 3, n <= FULL_RANKS ? 1000 * n + 77 : 300};
    int wrong = in_windows ? sweep_windows_open(comm, n * counts[4]) : 0;
    for (uint32_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        for (uint32_t i = 0; claims[coll] && i < 10 && wrong == 0; i++) {
            sweep_case_t c = sample((weft_coll_t)coll, counts[i / 2], n, i + coll + n);
            c.in_place = i % 2 != 0;
            wrong += sweep_case_run(&c, comm, rank, n);
        }
    }
    wrong += wrong == 0 && claims[WEFT_ALL_REDUCE] ? narrow_bits_differ(comm, rank) : 0;
    wrong += wrong == 0 && in_windows ? sweep_windows_close(comm) : 0;
    return wrong != 0;
}

static bool is_shape(uint32_t coll)
{
    return sweep_is_fixed((weft_coll_t)coll);
}

static void ask(uint32_t index, uint32_t n)
{
    claims_t *a = &all_claims[index];
    for (uint32_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        char why[160] = "";
        a->claims[n][coll] =
            is_shape(coll) && algos_claim(index, (weft_coll_t)coll, n, why, sizeof why);
        if (a->why[coll][0] == '\0') {
            memcpy(a->why[coll], why, sizeof why);
        }
    }
}

static bool claims_any(const bool *claims)
{
    bool any = false;
    for (uint32_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        any = any || claims[coll];
    }
    return any;
}

static void run_one(uint32_t index, uint32_t n)
{
    char forced[160];
    claims_t *a = &all_claims[index];
    snprintf(forced, sizeof forced, "plan.algo=%s", algos_name(index));
    const char *settings[] = {net_setting, algos_setting(), algos_option(), "exec.slot_bytes=1K",
                              forced};
    ranks_job_t job = {
        .nranks = n, .settings = settings, .settings_count = 5, .work = work, .arg = a->claims[n]};
    ask(index, n);
    if (!claims_any(a->claims[n])) {
        return;
    }
    int failed = ranks_run_threads(&job);
    if (failed != 0) {
        fail_msg("%s, %s, %u ranks: %d ranks failed", net_setting, algos_name(index), n, failed);
    }
    for (uint32_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        a->runs[coll] += a->claims[n][coll];
    }
}

static void every_claim_comes_out_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < nranks; i++) {
        for (uint32_t a = 0; a < algos_count(); a++) {
            run_one(a, ranks[i]);
        }
    }
}

static void print_claims(uint32_t index)
{
    const claims_t *a = &all_claims[index];
    printf("%s:", algos_name(index));
    for (uint32_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        if (a->runs[coll] > 0) {
            printf(" %s", weft_coll_name((weft_coll_t)coll));
            if (a->runs[coll] < nranks) {
                printf(" (%llu of %zu)", (unsigned long long)a->runs[coll], nranks);
            }
        }
    }
    printf("\n");
    for (uint32_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        if (is_shape(coll) && a->runs[coll] < nranks) {
            printf("    not claimed: %s: %s\n", weft_coll_name((weft_coll_t)coll), a->why[coll]);
        }
    }
}

static void print_all(void)
{
    printf(
        "\nSampled: counts 0, 1, n-1, 7n+3, 1000n+77 (300 beyond %u ranks), each out of place and "
        "in place; data types and operators in turn; one root each.\nRanks:",
        FULL_RANKS);
    for (size_t i = 0; i < nranks; i++) {
        printf(" %u", ranks[i]);
    }
    printf(" over %s. Claimed and right:\n", net_setting);
    for (uint32_t i = 0; i < algos_count(); i++) {
        print_claims(i);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_claim_comes_out_right)};
    if (argc < 3) {
        fprintf(stderr, "usage: %s NET [windows] RANKS…\n", argv[0]);
        return 2;
    }
    snprintf(net_setting, sizeof net_setting, "core.net=%s", argv[1]);
    in_windows = strcmp(argv[2], "windows") == 0;
    for (int i = in_windows ? 3 : 2; i < argc && nranks < RANKS_MAX; i++) {
        ranks[nranks] = (uint32_t)strtoul(argv[i], NULL, 10);
        if (ranks[nranks] < 1 || ranks[nranks] > RANKS_MAX) {
            fprintf(stderr, "%s: ranks are 1 to %u\n", argv[i], RANKS_MAX);
            return 2;
        }
        nranks++;
    }
    bool opened = algos_open();
    int failures = opened ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
    if (opened) {
        print_all();
        algos_close();
    }
    return failures != 0;
}
