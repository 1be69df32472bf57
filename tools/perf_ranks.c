/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks of one process, each in a thread. */

#include "tools/perf_ranks.h"

#include <stdlib.h>

#include "core/os/os.h"
#include "tools/perf_run.h"
#include "tools/tool.h"

typedef struct rank_thread {
    perf_rank_t rank;
    const weft_unique_id_t *id;
    weft_os_thread_t *thread;
} rank_thread_t;

uint32_t perf_process_threads(const perf_options_t *options)
{
    return (uint32_t)(options->threads * options->gpus);
}

static void perf_ranks_thread_main(void *arg)
{
    rank_thread_t *t = arg;
    perf_rank_run(&t->rank, t->id);
}

static void perf_ranks_set_rank(rank_thread_t *t, const perf_process_t *process, uint32_t index,
                                const weft_unique_id_t *id)
{
    uint32_t threads = perf_process_threads(process->options);
    t->id = id;
    t->rank.options = process->options;
    t->rank.rank = process->index * threads + index;
    t->rank.nranks = process->count * threads;
    t->rank.local = process->local * threads + index;
}

/* The calling thread is the first rank; it is the one that prints. */
static void perf_ranks_run_threads(rank_thread_t *ranks, uint32_t threads)
{
    char name[16];
    for (uint32_t i = 1; i < threads; i++) {
        snprintf(name, sizeof name, "rank %u", ranks[i].rank.rank % 100000);
        weft_status_t status =
            weft_os_thread_start(name, perf_ranks_thread_main, &ranks[i], &ranks[i].thread);
        if (status != WEFT_OK) {
            ranks[i].rank.exit_code = tool_report(status);
        }
    }
    perf_ranks_thread_main(&ranks[0]);
    for (uint32_t i = 1; i < threads; i++) {
        weft_os_thread_join(ranks[i].thread);
    }
}

int perf_exit_join(int so_far, int code)
{
    bool gives_way = so_far == TOOL_OK || so_far == TOOL_WRONG ||
                     (so_far == TOOL_LIBRARY && code == TOOL_TIMEOUT);
    return gives_way && code != TOOL_OK ? code : so_far;
}

int perf_process_run(const perf_process_t *process, const weft_unique_id_t *id)
{
    uint32_t threads = perf_process_threads(process->options);
    perf_report_t report = {0};
    rank_thread_t *ranks = calloc(threads, sizeof *ranks);
    if (ranks == NULL) {
        fprintf(stderr, "weft: no memory for %u ranks\n", threads);
        return TOOL_INTERNAL;
    }
    for (uint32_t i = 0; i < threads; i++) {
        perf_ranks_set_rank(&ranks[i], process, i, id);
    }
    ranks[0].rank.report = process->index == 0 ? &report : NULL;
    perf_ranks_run_threads(ranks, threads);
    int code = TOOL_OK;
    for (uint32_t i = 0; i < threads; i++) {
        code = perf_exit_join(code, ranks[i].rank.exit_code);
    }
    free(ranks);
    return code;
}
