/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A graph of rings, chains or trees as text, on a machine that fits it or not; and lists of CPUs. */
#include "core/topo/capacities.h"
#include "core/topo/cpu_list.h"
#include "core/topo/graph_text.h"
#include "core/topo/machine_text.h"
#include "fuzz.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static weft_capacities_t capacities;
    weft_graph_t graph;
    weft_cpu_list_t cpus;
    char *text = fuzz_text(data, bytes);
    if (capacities.nparticipants == 0) {
        static weft_machine_t machine;
        FUZZ_NEED(weft_machine_parse("fuzz", machine_text, &machine) == WEFT_OK);
        FUZZ_NEED(weft_capacities_init(&capacities, &machine) == WEFT_OK);
    }
    if (weft_graph_parse("fuzz", text, &capacities, &graph) == WEFT_OK) {
        FUZZ_NEED(weft_graph_check(&graph, &capacities) == WEFT_OK);
        weft_graph_fini(&graph);
    }
    (void)weft_cpu_list_parse(text, &cpus);
    free(text);
    return 0;
}
