/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See algos.h. */
#include "tests/collectives/algos.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/builder.h"
#include "core/plan/verify.h"
#include "tests/support/fake_host.h"
#include "tests/support/unit.h"

#define RANKS_MAX 64u

typedef struct algorithm {
    const weft_plugin_t *plugin;
    const weft_algo_ops_t *ops;
    void *config;
    fake_host_t fake;
    weft_algo_t *algo;
} algorithm_t;

static algorithm_t algorithms[ALGOS_MAX];
static uint32_t nalgorithms;
static char all_names[1024] = "core.algo=";

uint32_t algos_count(void)
{
    return nalgorithms;
}

const char *algos_name(uint32_t i)
{
    return algorithms[i].plugin->name;
}

const char *algos_setting(void)
{
    return all_names;
}

static weft_status_t find(void *arg, const char *name, const weft_algo_ops_t **ops_p,
                          weft_algo_t **algo_p)
{
    (void)arg;
    for (uint32_t i = 0; i < nalgorithms; i++) {
        if (strcmp(algos_name(i), name) == 0) {
            *ops_p = algorithms[i].ops;
            *algo_p = algorithms[i].algo;
            return WEFT_OK;
        }
    }
    return WEFT_ERR_UNSUPPORTED;
}

/* Settings under which a plugin has something to do on one host. */
static const char *const hier_settings[] = {"group=2", NULL};

static const char *const *settings_of(const weft_plugin_t *plugin)
{
    return strcmp(plugin->name, "algo-hier") == 0 ? hier_settings : NULL;
}

const char *algos_option(void)
{
    for (uint32_t i = 0; i < nalgorithms; i++) {
        if (strcmp(algos_name(i), "algo-hier") == 0) {
            return "algo-hier.group=2";
        }
    }
    return "plan.verify=first";
}

static const uint32_t one_host[RANKS_MAX];
static const weft_algo_topo_t view = {.size = sizeof view, .nhosts = 1, .host = one_host};
static const weft_plan_finder_t finder = {.find = find};

/* Whether emit() serves the call on one host. */
static bool writes(const algorithm_t *a, weft_algo_call_t call)
{
    weft_plan_t *plan = NULL;
    weft_status_t status = weft_plan_emit(a->ops, a->algo, &call, &view, &finder, &plan);
    weft_plan_destroy(plan);
    assert_true(status == WEFT_OK || status == WEFT_ERR_UNSUPPORTED);
    return status == WEFT_OK;
}

/* The vector collectives that the plans of a call serve. */
static weft_vector_t vector_at(const algorithm_t *a, weft_algo_call_t call)
{
    weft_plan_t *plans[RANKS_MAX] = {NULL};
    weft_verify_report_t report = {0};
    weft_verify_input_t input = {.plans = plans, .nranks = call.nranks, .slots = 4, .slices = 2};
    for (call.rank = 0; call.rank < call.nranks; call.rank++) {
        assert_int_equal(weft_plan_emit(a->ops, a->algo, &call, &view, &finder, &plans[call.rank]),
                         WEFT_OK);
    }
    assert_int_equal(weft_plan_verify(&input, &report), WEFT_OK);
    assert_int_equal(report.verdict, WEFT_VERDICT_OK);
    for (uint32_t r = 0; r < call.nranks; r++) {
        weft_plan_destroy(plans[r]);
    }
    return report.vector;
}

static bool serves(weft_vector_t vector, weft_coll_t coll)
{
    return coll == WEFT_ALL_GATHER_V || coll == WEFT_REDUCE_SCATTER_V
               ? vector == WEFT_VECTOR_BLOCKS
               : vector == WEFT_VECTOR_PAIRS || vector == WEFT_VECTOR_PASSED;
}

/* Whether they serve it from every root: where it is may decide who passes blocks on. */
static bool serves_vectors(const algorithm_t *a, weft_algo_call_t call, weft_coll_t coll)
{
    uint32_t roots = weft_coll_is_rooted(call.coll) ? call.nranks : 1;
    for (call.root = 0; call.root < roots; call.root++) {
        if (!serves(vector_at(a, call), coll)) {
            return false;
        }
    }
    return true;
}

bool algos_claim(uint32_t i, weft_coll_t coll, uint32_t n, char *why, size_t bytes)
{
    algorithm_t *a = &algorithms[i];
    weft_algo_call_t call = {.size = sizeof call, .coll = weft_coll_base(coll), .nranks = n};
    const weft_algo_param_t *p = a->ops->params;
    for (size_t k = 0; p != NULL && p[k].name != NULL; k++) {
        call.params[k] = p[k].value;
    }
    why[0] = '\0';
    if (n > 1 && (a->ops->supports(a->algo, &call) != WEFT_OK || !writes(a, call))) {
        fake_host_take_error(&a->fake, why, bytes);
        return false;
    }
    if (n > 1 && weft_coll_has_vectors(coll) && !serves_vectors(a, call, coll)) {
        snprintf(why, bytes, "its plan is not for vectors");
        return false;
    }
    return true;
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
    a->config = a->plugin != NULL
                    ? fake_config_create(a->plugin, settings_of(a->plugin), why, sizeof why)
                    : NULL;
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

static int load_all(void)
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
    return failures;
}

bool algos_open(void)
{
    int failures = load_all();
    failures += failures == 0 ? create_all() : 0;
    return failures == 0 && nalgorithms > 0;
}

void algos_close(void)
{
    for (uint32_t i = 0; i < nalgorithms; i++) {
        algorithm_t *a = &algorithms[i];
        a->ops->destroy(a->algo);
        fake_host_fini(&a->fake);
        fake_config_destroy(a->config);
    }
}
