/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who finds the graph. A plugin gets the machine and gives the graph as text, so the structs of
 * core/topo stay out of the ABI. */
#include "core/plugin/find_graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/topo/graph_text.h"
#include "core/topo/machine_text.h"
#include "core/topo/search.h"

#define TEXT_MAX (UINT32_C(1) << 20)

static weft_status_t find_graph_no_memory(void)
{
    return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for a graph as text");
}

/* The machine as text; free() frees it. NULL: no memory. */
static char *find_graph_print(const weft_machine_t *machine)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    weft_machine_print(machine, out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static weft_status_t find_graph_expect(const weft_graph_wanted_t *wanted, const char *from,
                                       weft_graph_t *graph)
{
    if (graph->pattern == wanted->pattern) {
        return WEFT_OK;
    }
    weft_status_t status = weft_fail(
        WEFT_ERR_CONFIG, 0, "%s has the graph of a %s, of a %s is needed", from,
        weft_graph_pattern_name(graph->pattern), weft_graph_pattern_name(wanted->pattern));
    weft_graph_fini(graph);
    return status;
}

/* Reads what a plugin wrote. A mistake in it is the plugin's. */
static weft_status_t find_graph_parse(const weft_graph_wanted_t *wanted, const char *plugin,
                                      const char *text, weft_graph_t *graph_p)
{
    char from[96], why[400];
    snprintf(from, sizeof from, "graph of plugin %.64s", plugin);
    weft_status_t status = weft_graph_parse(from, text, wanted->capacities, graph_p);
    status = status == WEFT_OK ? find_graph_expect(wanted, from, graph_p) : status;
    if (status == WEFT_ERR_CONFIG) {
        snprintf(why, sizeof why, "%.390s", weft_error_record()->text);
        status = weft_fail(WEFT_ERR_PLUGIN, 0, "%s", why);
    }
    return status;
}

static bool find_graph_is_offered(const weft_topo_ops_t *ops)
{
    return WEFT_HAS(ops, weft_topo_ops_t, graph) && ops->graph != NULL;
}

weft_status_t weft_find_graph_by(const weft_topo_ops_t *ops, weft_topo_t *topo, const char *plugin,
                                 const weft_graph_wanted_t *wanted, weft_graph_t *graph_p)
{
    if (!find_graph_is_offered(ops)) {
        return WEFT_ERR_UNSUPPORTED;
    }
    uint32_t pattern = wanted->pattern == WEFT_GRAPH_TREE ? WEFT_TOPO_TREE : WEFT_TOPO_RING;
    char *machine = find_graph_print(wanted->machine), *text = weft_os_alloc(TEXT_MAX, 0);
    weft_status_t status = machine != NULL && text != NULL
                               ? ops->graph(topo, machine, pattern, wanted->hosts, text, TEXT_MAX)
                               : find_graph_no_memory();
    if (status == WEFT_OK) {
        text[TEXT_MAX - 1] = '\0';
        status = find_graph_parse(wanted, plugin, text, graph_p);
    }
    weft_os_free(text);
    free(machine);
    return status;
}

static weft_status_t find_graph_of_plugin(const weft_loaded_t *loaded,
                                          const weft_graph_wanted_t *wanted, weft_graph_t *graph_p)
{
    const weft_topo_ops_t *ops = loaded->plugin->ops;
    weft_topo_t *topo = NULL;
    if (!find_graph_is_offered(ops)) {
        return WEFT_ERR_UNSUPPORTED;
    }
    weft_status_t status = ops->create(loaded->host, loaded->config, &topo);
    if (status == WEFT_OK) {
        status = weft_find_graph_by(ops, topo, loaded->plugin->name, wanted, graph_p);
        ops->destroy(topo);
    }
    return status;
}

/* Reads the file that an option names. */
static weft_status_t find_graph_in_file(const char *option, const char *file,
                                        const weft_graph_wanted_t *wanted, weft_graph_t *graph_p)
{
    weft_status_t status = weft_graph_load(file, wanted->capacities, graph_p);
    status = status == WEFT_OK ? find_graph_expect(wanted, file, graph_p) : status;
    return status == WEFT_OK ? WEFT_OK : weft_fail_about(option);
}

weft_status_t weft_find_graph(const weft_registry_t *registry, const weft_settings_t *settings,
                              const weft_graph_wanted_t *wanted, weft_graph_t *graph_p)
{
    const bool tree = wanted->pattern == WEFT_GRAPH_TREE;
    const char *file = tree ? settings->core.trees : settings->core.rings;
    const weft_loaded_t *loaded;
    weft_status_t status = WEFT_ERR_UNSUPPORTED;
    if (file[0] != '\0') {
        return find_graph_in_file(tree ? "[core] trees" : "[core] rings", file, wanted, graph_p);
    }
    for (uint32_t i = 0; status == WEFT_ERR_UNSUPPORTED &&
                         (loaded = weft_registry_get(registry, WEFT_KIND_TOPO, i)) != NULL;
         i++) {
        status = find_graph_of_plugin(loaded, wanted, graph_p);
    }
    if (status == WEFT_ERR_UNSUPPORTED) {
        const weft_search_request_t request = {.pattern = wanted->pattern,
                                               .hosts = wanted->hosts,
                                               .channels_max = WEFT_FIND_GRAPH_CHANNELS};
        weft_error_clear(weft_error_record());
        status = weft_search(graph_p, wanted->capacities, &request);
    }
    return status;
}
