/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every algorithm of the build × every fixed form × numbers of ranks, on real communicators whose
 * ranks are threads. What an algorithm claims by supports() must come out right; what it does not
 * claim is printed at the end. Slots are small, so that the largest count takes several passes.
 *   test-collectives-algorithms NET RANKS… */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <weft/plugin/algo.h>

#include "tests/collectives/sweep_case.h"
#include "tests/support/fake_host.h"
#include "tests/support/ranks.h"

#define ALGOS_MAX 32u
#define RANKS_MAX 64u
#define FULL_RANKS 17u

typedef struct algorithm {
    const weft_plugin_t *plugin;
    const weft_algo_ops_t *ops;
    void *config;
    fake_host_t fake;
    weft_algo_t *algo;
    bool claims[RANKS_MAX + 1][WEFT_COLL_COUNT];
    uint64_t runs[WEFT_COLL_COUNT];
    char why[WEFT_COLL_COUNT][160]; /* first refusal */
} algorithm_t;

static algorithm_t algorithms[ALGOS_MAX];
static uint32_t nalgorithms;
static char all_names[1024] = "core.algo=";
static char net_setting[128];
static uint32_t ranks[RANKS_MAX];
static size_t nranks;

/* What is run in one job. */
typedef struct job_work {
    const algorithm_t *algorithm;
    const bool *claims;
} job_work_t;

/* Types and operators are sampled: each call takes the next pair. */
static sweep_case_t sample(weft_coll_t coll, uint64_t count, uint32_t n, uint32_t turn)
{
    static const weft_dtype_t dtypes[] = {WEFT_FP32, WEFT_UINT8, WEFT_BF16, WEFT_INT64, WEFT_FP16};
    sweep_case_t c = {.coll = coll, .count = count, .root = (turn * 5 + (uint32_t)coll) % n};
    c.dtype = dtypes[turn % (sizeof dtypes / sizeof dtypes[0])];
    c.op = sweep_reduces(coll) ? (weft_op_t)(turn % WEFT_OP_COUNT) : WEFT_SUM;
    return c;
}

static int work(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const job_work_t *w = arg;
    const uint64_t counts[] = {0, 1, n - 1, 7 * n + 3, n <= FULL_RANKS ? 1000 * n + 77 : 300};
    int wrong = 0;
    for (uint32_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        for (uint32_t i = 0; w->claims[coll] && i < 10 && wrong == 0; i++) {
            sweep_case_t c = sample((weft_coll_t)coll, counts[i / 2], n, i + coll + n);
            c.in_place = i % 2 != 0;
            wrong += sweep_case_run(&c, comm, rank, n);
        }
    }
    return wrong != 0 || weft_barrier(comm, NULL) != WEFT_OK;
}

static bool is_shape(uint32_t coll)
{
    return sweep_is_fixed((weft_coll_t)coll);
}

/* One rank alone is served by the core. */
static void ask(algorithm_t *a, uint32_t n)
{
    for (uint32_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        weft_algo_call_t call = {.size = sizeof call, .coll = (weft_coll_t)coll, .nranks = n};
        const weft_algo_param_t *p = a->ops->params;
        for (size_t i = 0; p != NULL && p[i].name != NULL; i++) {
            call.params[i] = p[i].value;
        }
        a->claims[n][coll] =
            is_shape(coll) && (n == 1 || a->ops->supports(a->algo, &call) == WEFT_OK);
        if (is_shape(coll) && !a->claims[n][coll] && a->why[coll][0] == '\0') {
            fake_host_take_error(&a->fake, a->why[coll], sizeof a->why[coll]);
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

static void run_one(algorithm_t *a, uint32_t n)
{
    char forced[160];
    snprintf(forced, sizeof forced, "plan.algo=%s", a->plugin->name);
    const char *settings[] = {net_setting, all_names, "exec.slot_bytes=1K", forced};
    job_work_t w = {.algorithm = a, .claims = a->claims[n]};
    ranks_job_t job = {
        .nranks = n, .settings = settings, .settings_count = 4, .work = work, .arg = &w};
    ask(a, n);
    if (!claims_any(a->claims[n])) {
        return;
    }
    int failed = ranks_run_threads(&job);
    if (failed != 0) {
        fail_msg("%s, %s, %u ranks: %d ranks failed", net_setting, a->plugin->name, n, failed);
    }
    for (uint32_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        a->runs[coll] += a->claims[n][coll];
    }
}

static void every_claim_comes_out_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < nranks; i++) {
        for (uint32_t a = 0; a < nalgorithms; a++) {
            run_one(&algorithms[a], ranks[i]);
        }
    }
}

static int compare_names(const void *a, const void *b)
{
    const algorithm_t *x = a;
    const algorithm_t *y = b;
    return strcmp(x->plugin->name, y->plugin->name);
}

static int open_one(const char *file)
{
    algorithm_t *a = &algorithms[nalgorithms];
    char path[1024];
    char why[512] = "too many algorithms";
    snprintf(path, sizeof path, "%s/%s", WEFT_PLUGIN_DIR, file);
    a->plugin =
        nalgorithms < ALGOS_MAX ? fake_plugin_open(path, WEFT_KIND_ALGO, why, sizeof why) : NULL;
    a->config = a->plugin != NULL ? fake_config_create(a->plugin, NULL, why, sizeof why) : NULL;
    if (a->config == NULL) {
        printf("FAILED %s: %s\n", path, why);
        return 1;
    }
    nalgorithms++;
    return 0;
}

static int create_all(void)
{
    int failures = 0;
    qsort(algorithms, nalgorithms, sizeof algorithms[0], compare_names);
    for (uint32_t i = 0; i < nalgorithms; i++) {
        algorithm_t *a = &algorithms[i];
        size_t at = strlen(all_names);
        snprintf(all_names + at, sizeof all_names - at, "%s%s", i > 0 ? " " : "", a->plugin->name);
        a->ops = a->plugin->ops;
        fake_host_init(&a->fake, a->plugin->name);
        failures += a->ops->create(&a->fake.host, a->config, &a->algo) != WEFT_OK;
    }
    return failures;
}

static int open_all(void)
{
    DIR *folder = opendir(WEFT_PLUGIN_DIR);
    int failures = folder == NULL;
    struct dirent *e;
    while (folder != NULL && (e = readdir(folder)) != NULL) {
        size_t length = strlen(e->d_name);
        if (strncmp(e->d_name, "algo-", 5) == 0 && strcmp(e->d_name + length - 3, ".so") == 0) {
            failures += open_one(e->d_name);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return failures + create_all();
}

static void close_all(void)
{
    for (uint32_t i = 0; i < nalgorithms; i++) {
        algorithm_t *a = &algorithms[i];
        a->ops->destroy(a->algo);
        fake_host_fini(&a->fake);
        fake_config_destroy(a->config);
    }
}

static void print_claims(const algorithm_t *a)
{
    printf("%s:", a->plugin->name);
    for (uint32_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        if (a->runs[coll] > 0) {
            printf(" %s", weft_coll_name((weft_coll_t)coll));
            printf(a->runs[coll] < nranks ? " (%llu of %zu)" : "",
                   (unsigned long long)a->runs[coll], nranks);
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
    for (uint32_t i = 0; i < nalgorithms; i++) {
        print_claims(&algorithms[i]);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_claim_comes_out_right)};
    if (argc < 3) {
        fprintf(stderr, "usage: %s NET RANKS…\n", argv[0]);
        return 2;
    }
    snprintf(net_setting, sizeof net_setting, "core.net=%s", argv[1]);
    for (int i = 2; i < argc && nranks < RANKS_MAX; i++) {
        ranks[nranks] = (uint32_t)strtoul(argv[i], NULL, 10);
        if (ranks[nranks] < 1 || ranks[nranks] > RANKS_MAX) {
            fprintf(stderr, "%s: ranks are 1 to %u\n", argv[i], RANKS_MAX);
            return 2;
        }
        nranks++;
    }
    int failures = open_all();
    failures += failures == 0 ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
    print_all();
    close_all();
    return failures != 0 || nalgorithms == 0;
}
