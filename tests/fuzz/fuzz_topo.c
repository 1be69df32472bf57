/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A graph of rings, chains or trees as text, on a machine that stands before it ("weft-machine 1
 * …") or on one of ours; what is read is printed, and read again as the same text. And lists of
 * CPUs. */
#include "core/base/error.h"
#include "core/topo/capacities.h"
#include "core/topo/cpu_list.h"
#include "core/topo/graph_text.h"
#include "core/topo/machine_text.h"
#include "fuzz.h"

#define DEVICES_MOST 24u /* routes are as many as pairs of them */

static const char machine_text[] = "weft-machine 1\n"
                                   "machine name=fuzz\n"
                                   "package 0 index=0\n"
                                   "node 0 index=0 package=0 cores=4 pus=4 usable=4 list=0-3\n"
                                   "branch 0 node=0 bandwidth=20GB/s\n"
                                   "gpu 0 branch=0 pci=20GB/s\n"
                                   "gpu 1 branch=0 pci=20GB/s\n"
                                   "nic 0 branch=0 pci=20GB/s speed=12GB/s rail=0\n"
                                   "nic 1 branch=0 pci=20GB/s speed=12GB/s rail=1\n"
                                   "link 0 1 bandwidth=50GB/s\n";

static char *printed(const weft_graph_t *graph)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    FUZZ_NEED(out != NULL);
    weft_graph_print(graph, "fuzz", out);
    fclose(out);
    return text;
}

static void graph_of(const char *text, const weft_capacities_t *capacities)
{
    weft_graph_t graph, again;
    const char *path = fuzz_file((const uint8_t *)text, strlen(text));
    weft_status_t status = weft_graph_parse("fuzz", text, capacities, &graph);
    FUZZ_NEED(weft_graph_load(path, capacities, &again) == status);
    if (status != WEFT_OK) {
        FUZZ_NEED(weft_error_record()->text[0] != '\0');
        return;
    }
    weft_graph_fini(&again);
    FUZZ_NEED(weft_graph_check(&graph, capacities) == WEFT_OK);
    char *first = printed(&graph);
    FUZZ_NEED(weft_graph_parse("fuzz", first, capacities, &again) == WEFT_OK);
    char *second = printed(&again);
    fuzz_same(first, second);
    free(first);
    free(second);
    weft_graph_fini(&graph);
    weft_graph_fini(&again);
}

/* Routes go over edges that there are, and every edge has a bandwidth and a name. */
static void check_capacities(const weft_capacities_t *capacities)
{
    char name[160];
    uint32_t ends = weft_capacities_ends(capacities);
    FUZZ_NEED(capacities->nparticipants > 0);
    for (uint32_t from = 0; from < ends; from++) {
        for (uint32_t to = 0; to < ends; to++) {
            const weft_route_t *route = weft_capacities_route(capacities, from, to);
            for (uint32_t e = 0; e < route->nedges; e++) {
                FUZZ_NEED(route->edges[e] < capacities->nedges);
                FUZZ_NEED(capacities->bandwidths[route->edges[e]] > 0);
            }
        }
    }
    for (uint32_t e = 0; e < capacities->nedges; e++) {
        weft_capacities_edge_name(capacities, e, name, sizeof name);
        FUZZ_NEED(name[0] != '\0');
    }
}

/* Cuts the machine that stands before the graph from the text. */
static void machine_and_graph(char *text)
{
    weft_machine_t machine = {.source = {0}};
    weft_capacities_t capacities;
    char *graph = strstr(text, "weft-graph");
    const char *own = machine_text;
    if (strncmp(text, "weft-machine", 12) == 0 && graph != NULL && graph[-1] == '\n') {
        graph[-1] = '\0';
        own = text;
    }
    if (weft_machine_parse("fuzz", own, &machine) != WEFT_OK) {
        return;
    }
    if (machine.ndevices + machine.nnodes <= DEVICES_MOST) {
        FUZZ_NEED(weft_capacities_init(&capacities, &machine) == WEFT_OK);
        check_capacities(&capacities);
        graph_of(graph != NULL ? graph : text, &capacities);
        weft_capacities_fini(&capacities);
    }
    weft_machine_fini(&machine);
}

/* What is printed is a list of the same CPUs, unless it is cut. */
static void cpus_of(const char *text)
{
    weft_cpu_list_t cpus, again;
    char whole[4 * 8192], cut[24];
    uint32_t count = 0;
    if (!weft_cpu_list_parse(text, &cpus)) {
        return;
    }
    for (uint32_t at = 0; (at = weft_cpu_list_next(&cpus, at)) < WEFT_CPUS_MAX; at++) {
        FUZZ_NEED(weft_cpu_list_has(&cpus, at));
        count++;
    }
    FUZZ_NEED(count == weft_cpu_list_count(&cpus));
    weft_cpu_list_print(&cpus, whole, sizeof whole);
    weft_cpu_list_print(&cpus, cut, sizeof cut);
    size_t length = strlen(cut);
    FUZZ_NEED(strcmp(whole, cut) == 0 || (length >= 3 && strncmp(whole, cut, length - 3) == 0 &&
                                          strcmp(cut + length - 3, "...") == 0));
    FUZZ_NEED(weft_cpu_list_parse(whole, &again) && memcmp(&cpus, &again, sizeof cpus) == 0);
    weft_cpu_list_and(&again, &(weft_cpu_list_t){{UINT64_MAX}});
    FUZZ_NEED(weft_cpu_list_next(&again, 64) == WEFT_CPUS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = fuzz_text(data, bytes);
    cpus_of(text);
    machine_and_graph(text);
    free(text);
    return 0;
}
