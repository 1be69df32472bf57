/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Known machines, each a file of machines/ that says in lines "#: …" what the search has to find and
 * why: PATTERN [hosts] [straight]: CHANNELS x BANDWIDTH, REASON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/error.h"
#include "core/topo/machine_text.h"
#include "core/topo/search.h"
#include "core/topo/text_line.h"

#define FOLDER WEFT_SOURCE_DIR "/tests/unit/core/topo/machines/"

static const char *const machines[] = {
    "dgx-1v", "dgx-a100", "hgx-h100", "gb200-nvl72", "mi250-like",
    "cpu-2s", "pcie-8",   "cloud-vm", "nothing",
};
#define NMACHINES (sizeof machines / sizeof machines[0])

typedef struct opened {
    weft_machine_t machine;
    weft_capacities_t capacities;
    char *text;
} opened_t;

static void open_machine(opened_t *o, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, FOLDER "%s.machine", name);
    assert_int_equal(weft_text_read(path, &o->text), WEFT_OK);
    if (weft_machine_parse(path, o->text, &o->machine) != WEFT_OK) {
        fail_msg("%s", weft_error_record()->text);
    }
    assert_int_equal(weft_capacities_init(&o->capacities, &o->machine), WEFT_OK);
}

static void close_machine(opened_t *o)
{
    weft_capacities_fini(&o->capacities);
    weft_machine_fini(&o->machine);
    free(o->text);
}

static weft_graph_t search(const opened_t *o, weft_search_request_t request)
{
    weft_graph_t graph;
    assert_int_equal(weft_search(&graph, &o->capacities, &request), WEFT_OK);
    return graph;
}

/* "ring hosts: 8 x 25GB/s, …" */
static void check_line(const char *name, const opened_t *o, const char *line)
{
    weft_search_request_t request = {0};
    char words[64] = "";
    unsigned channels = 0;
    double bandwidth = 0;
    assert_int_equal(sscanf(line, "%63[^:]: %u x %lfGB/s", words, &channels, &bandwidth), 3);
    request.pattern = strncmp(words, "tree", 4) == 0    ? WEFT_GRAPH_TREE
                      : strncmp(words, "chain", 5) == 0 ? WEFT_GRAPH_CHAIN
                                                        : WEFT_GRAPH_RING;
    request.hosts = strstr(words, "hosts") != NULL;
    request.straight = strstr(words, "straight") != NULL;
    weft_graph_t graph = search(o, request);
    if (graph.nchannels != channels || graph.speed != (uint32_t)(bandwidth * 1e3 + 0.5)) {
        print_error(
            "%s, %s: found %u x %u MB/s (%s, bound %u, %llu steps), expected %u x %.3f GB/s", name,
            words, graph.nchannels, graph.speed, weft_graph_proof_name(graph.proof), graph.bound,
            (unsigned long long)graph.steps, channels, bandwidth);
    }
    weft_graph_fini(&graph);
}

static void machines_have_the_channels_that_their_files_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < NMACHINES; i++) {
        opened_t o;
        open_machine(&o, machines[i]);
        const char *line = strstr(o.text, "#: ");
        assert_non_null(line);
        for (; line != NULL; line = strstr(line + 1, "#: ")) {
            check_line(machines[i], &o, line + 3);
        }
        close_machine(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_have_the_channels_that_their_files_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
