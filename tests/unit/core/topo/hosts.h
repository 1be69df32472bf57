/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the tests of jobs share: machines of the tests as descriptions of hosts, and jobs on
 * them. */
#ifndef TESTS_CORE_TOPO_HOSTS_H
#define TESTS_CORE_TOPO_HOSTS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/topo/job_words.h"
#include "core/topo/machine_text.h"
#include "core/topo/search.h"
#include "tests/support/unit.h"

#define MACHINES WEFT_SOURCE_DIR "/tests/unit/core/topo/machines/"

static inline weft_job_kind_t *describe_machine(const weft_machine_t *machine)
{
    weft_capacities_t capacities;
    weft_graph_t rings, trees;
    weft_job_kind_t *kind;
    const weft_search_request_t ring = {.pattern = WEFT_GRAPH_RING, .hosts = true},
                                tree = {.pattern = WEFT_GRAPH_TREE, .hosts = true};
    assert_int_equal(weft_capacities_init(&capacities, machine), WEFT_OK);
    assert_int_equal(weft_search(&rings, &capacities, &ring), WEFT_OK);
    assert_int_equal(weft_search(&trees, &capacities, &tree), WEFT_OK);
    assert_int_equal(weft_job_kind_make(machine, &capacities, &rings, &trees, &kind), WEFT_OK);
    weft_graph_fini(&rings);
    weft_graph_fini(&trees);
    weft_capacities_fini(&capacities);
    return kind;
}

/* The description of a machine file; ranks are to be dealt to its participants. */
static inline weft_job_kind_t *describe(const char *name)
{
    char path[512];
    weft_machine_t machine;
    snprintf(path, sizeof path, MACHINES "%s.machine", name);
    assert_int_equal(weft_machine_load(path, &machine), WEFT_OK);
    weft_job_kind_t *kind = describe_machine(&machine);
    weft_machine_fini(&machine);
    kind->imagined = 1;
    return kind;
}

/* A job of `n` ranks, of which rank i is on host[i]; host h is machines[h modulo count]. */
static inline void open_job_on(weft_job_t *job, const uint32_t *host, uint32_t n, uint32_t nhosts,
                               const char *const *machines, uint32_t count)
{
    static const char *const names[64] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    weft_job_rank_t *told = weft_os_alloc(n * sizeof *told, 0);
    weft_job_word_t *words = weft_os_alloc(n * sizeof *words, 0);
    for (uint32_t i = 0; i < n; i++) {
        told[i] = (weft_job_rank_t){.node = WEFT_JOB_NONE, .gpu = WEFT_JOB_NONE, .cpus = 1};
    }
    assert_int_equal(weft_job_init(job, told, host, n, nhosts), WEFT_OK);
    for (uint32_t h = 0; h < job->nhosts; h++) {
        weft_job_kind_t *kind = describe(machines[host[job->first[h]] % count]);
        words[job->first[h]] =
            (weft_job_word_t){.kind = weft_job_kind_hash(kind), .bytes = kind->bytes};
        weft_os_free(kind);
    }
    assert_int_equal(weft_job_take_words(job, words), WEFT_OK);
    for (uint32_t kind = 0; kind < job->nkinds; kind++) {
        job->kinds[kind] = describe(machines[host[weft_job_kind_rank(job, kind)] % count]);
    }
    assert_int_equal(weft_job_find_devices(job, words), WEFT_OK);
    assert_int_equal(weft_job_make_levels(job, NULL, names), WEFT_OK);
    weft_os_free(words);
}

#endif
