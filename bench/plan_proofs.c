/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processor time and memory of both proofs, for every built-in algorithm and collective: a table
 * for docs/plans.md. Usage: bench_plan_proofs [RANKS [SLOTS [SLICES [ALGORITHM…]]]]. Each line
 * comes from a process of its own, so that its memory is its own, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/error.h"
#include "tools/plan_source.h"

#define RANKS_PER_HOST 8u

typedef struct request {
    uint32_t nranks, slots, slices;
} request_t;

typedef struct spec {
    const char *text;
    int hosts; /* on hosts of 8 ranks */
} spec_t;

static const spec_t specs[] = {
    {"algo-ring", 0},
    {"algo-tree", 0},
    {"algo-tree", 1},
    {"algo-halving", 0},
    {"algo-pat", 0},
    {"algo-flat", 0},
    {"algo-direct", 0},
    {"algo-hier:between=algo-ring", 1},
    {"algo-hier:between=algo-tree", 1},
    {"algo-hier:between=algo-halving", 1},
};

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double peak_mib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static void prove(const plan_source_t *source, const request_t *request, weft_coll_t coll,
                  const spec_t *spec)
{
    plan_set_t set;
    uint32_t n = request->nranks;
    plan_hosts_t hosts = {.count = spec->hosts ? (n + RANKS_PER_HOST - 1) / RANKS_PER_HOST : 1};
    weft_algo_call_t call = plan_source_call(source, coll, n, 0);
    if (plan_source_supports(source, &call) != WEFT_OK) {
        return;
    }
    double before = peak_mib(), start = cpu_seconds();
    weft_status_t status = plan_set_emit(&set, source, coll, n, 0, &hosts);
    double emitted = cpu_seconds();
    weft_verify_report_t reports[2];
    weft_verify_input_t input = {
        .plans = set.plans, .nranks = n, .slots = request->slots, .slices = request->slices};
    status = status != WEFT_OK ? status : weft_plan_prove(&input, reports);
    double proved = cpu_seconds();
    if (status == WEFT_OK) {
        uint64_t bytes = 0;
        for (uint32_t rank = 0; rank < n; rank++) {
            uint64_t one = weft_plan_bytes(set.plans[rank]);
            bytes = one > bytes ? one : bytes;
        }
        printf("| %s%s | %s | %s, %s | %.3f | %.3f | %.0f | %llu |\n", spec->text,
               spec->hosts ? ", 8 a host" : "", weft_coll_name(coll),
               weft_verdict_name(reports[0].verdict), weft_verdict_name(reports[1].verdict),
               emitted - start, proved - emitted, peak_mib() - before, (unsigned long long)bytes);
    } else if (status != WEFT_ERR_UNSUPPORTED) {
        printf("| %s | %s | %s |\n", spec->text, weft_coll_name(coll), weft_error_record()->text);
    }
    plan_set_free(&set);
}

static int run(const request_t *request, const spec_t *spec, weft_coll_t coll)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        plan_source_t source;
        tool_settings_t settings = {0};
        int code = plan_source_open(&source, &settings, spec->text, NULL, 0);
        if (code == TOOL_OK) {
            prove(&source, request, coll, spec);
            plan_source_close(&source);
        }
        fflush(stdout);
        _exit(code);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static int wanted(const char *text, int argc, char **argv)
{
    for (int i = 4; i < argc; i++) {
        if (strncmp(text, argv[i], strlen(argv[i])) == 0) {
            return 1;
        }
    }
    return argc <= 4;
}

int main(int argc, char **argv)
{
    request_t request = {.nranks = argc > 1 ? (uint32_t)atoi(argv[1]) : 1024,
                         .slots = argc > 2 ? (uint32_t)atoi(argv[2]) : 8,
                         .slices = argc > 3 ? (uint32_t)atoi(argv[3]) : 4};
    int good = 1;
    printf("%u ranks, %u slots, %u slices\n\n", request.nranks, request.slots, request.slices);
    puts("| algorithm | collective | verdict, in place | emission, s | proofs, s | MiB | bytes a "
         "rank "
         "|\n|---|---|---|---|---|---|---|");
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        for (int coll = 0; wanted(specs[i].text, argc, argv) && coll < WEFT_COLL_COUNT; coll++) {
            if (weft_coll_has_plan((weft_coll_t)coll)) {
                good &= run(&request, &specs[i], (weft_coll_t)coll);
            }
        }
    }
    return good ? 0 : 1;
}
