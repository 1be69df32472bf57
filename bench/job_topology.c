/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Time to know a job: the search for the rings and trees of each kind of host, once a host, and
 * what every rank computes then: devices, levels, orders, and the view of the whole job. A table
 * for docs/topology.md. Usage: bench_job_topology MACHINES HOSTS RANKS-A-HOST FILE…, with hosts of
 * the kinds in turn; MACHINES is the folder of the files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/topo_view.h"
#include "core/topo/job_orders.h"
#include "core/topo/job_words.h"
#include "core/topo/machine_text.h"
#include "core/topo/search.h"

#define CHANNELS 16u

static void must(weft_status_t status)
{
    if (status != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_error_record()->text);
        exit(1);
    }
}

static double ms_since(uint64_t began)
{
    return (double)(weft_os_clock_ns() - began) * 1e-6;
}

/* What the first rank of a host does. Returns the milliseconds that it takes. */
static double describe(const char *path, bool hosts, weft_job_kind_t **kind_p)
{
    weft_machine_t machine;
    weft_capacities_t capacities;
    weft_graph_t rings, trees;
    weft_search_request_t ring = {.hosts = hosts, .channels_max = CHANNELS}, tree = ring;
    ring.pattern = WEFT_GRAPH_RING;
    tree.pattern = WEFT_GRAPH_TREE;
    must(weft_machine_load(path, &machine));
    uint64_t began = weft_os_clock_ns();
    must(weft_capacities_init(&capacities, &machine));
    must(weft_search(&rings, &capacities, &ring));
    must(weft_search(&trees, &capacities, &tree));
    must(weft_job_kind_make(&machine, &capacities, &rings, &trees, kind_p));
    double took = ms_since(began);
    (*kind_p)->imagined = 1;
    weft_graph_fini(&rings);
    weft_graph_fini(&trees);
    weft_capacities_fini(&capacities);
    weft_machine_fini(&machine);
    return took;
}

typedef struct sizes {
    uint32_t hosts, each, kinds;
} sizes_t;

/* What every rank does. */
static double order(const sizes_t *sizes, weft_job_kind_t *const *kinds, weft_job_t *job)
{
    uint32_t n = sizes->hosts * sizes->each;
    weft_job_rank_t *told = weft_os_alloc(n * sizeof *told, 0);
    weft_job_word_t *words = weft_os_alloc(n * sizeof *words, 0);
    uint32_t *machine = weft_os_alloc(n * sizeof *machine, 0);
    const char **names = weft_os_alloc(sizes->hosts * sizeof *names, 0);
    weft_topo_view_t near, view;
    for (uint32_t i = 0; i < n; i++) {
        machine[i] = i / sizes->each;
        names[machine[i]] = "";
        told[i] = (weft_job_rank_t){.node = 0, .gpu = WEFT_JOB_NONE, .cpus = 1};
        words[i].kind = weft_job_kind_hash(kinds[machine[i] % sizes->kinds]);
    }
    uint64_t began = weft_os_clock_ns();
    must(weft_job_init(job, told, machine, n, sizes->hosts));
    must(weft_job_take_words(job, words));
    memcpy(job->kinds, kinds, sizes->kinds * sizeof *kinds);
    must(weft_job_find_devices(job, words));
    must(weft_job_make_levels(job, NULL, names));
    must(weft_topo_view_init(&near, &job->topo, NULL, n));
    must(weft_job_make_orders(job, &near.topo));
    weft_topo_view_fini(&near);
    must(weft_topo_view_init(&view, &job->topo, NULL, n));
    double took = ms_since(began);
    weft_topo_view_fini(&view);
    weft_os_free(words);
    weft_os_free(machine);
    weft_os_free(names);
    return took;
}

int main(int argc, char **argv)
{
    if (argc < 5 || argc - 4 > (int)WEFT_JOB_KINDS_MAX) {
        fprintf(stderr, "usage: bench_job_topology MACHINES HOSTS RANKS-A-HOST FILE…\n");
        return 1;
    }
    const sizes_t sizes = {(uint32_t)strtoul(argv[2], NULL, 10),
                           (uint32_t)strtoul(argv[3], NULL, 10), (uint32_t)argc - 4};
    weft_job_kind_t *kinds[WEFT_JOB_KINDS_MAX];
    double search = 0;
    uint32_t bytes = 0;
    printf("| ");
    for (uint32_t i = 0; i < sizes.kinds; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s.machine", argv[1], argv[4 + i]);
        double took = describe(path, sizes.hosts > 1, &kinds[i]);
        search = took > search ? took : search;
        bytes += kinds[i]->bytes;
        printf("%s%s", i > 0 ? ", " : "", argv[4 + i]);
    }
    weft_job_t job;
    double ordering = order(&sizes, kinds, &job);
    printf(" | %u | %u | %u | %u | %.1f | %.1f | %.1f |\n", sizes.hosts, sizes.hosts * sizes.each,
           job.topo.nrings, job.topo.nchains, (double)bytes / 1024, search, ordering);
    weft_job_fini(&job);
    return 0;
}
