/* SPDX-License-Identifier: BSD-3-Clause
 *
 * weft-topo, which `weft topo` becomes: options and outputs. */
#include <string.h>

#include "core/base/error.h"
#include "core/plugin/discover.h"
#include "tools/args.h"
#include "tools/session.h"
#include "tools/tool.h"
#include "tools/topo/draw.h"
#include "tools/topo/graph.h"
#include "tools/topo/print.h"
#include "tools/topo/topo.h"
#include "tools/topo/uses.h"
#include "tools/topo/write_json.h"
#include "core/topo/paths.h"
#include "tools/values.h"
#include "tools/whole_file.h"

enum { TOPO_SVG = 1, TOPO_XML, TOPO_XML_IN };

typedef struct topo_request {
    tool_settings_t settings;
    topo_graph_request_t graph;
    bool json;
    const char *svg, *xml, *xml_in; /* files; "-": stdout */
} topo_request_t;

static const tool_option_t options_table[] = {
    {0, "json", NULL, "print JSON", TOOL_OPT_JSON},
    {0, "svg", "FILE", "draw the machine; - = standard output", TOPO_SVG},
    {0, "xml", "FILE", "write the machine as XML of hwloc; - = standard output", TOPO_XML},
    {0, "xml-in", "FILE", "show the machine of such an XML, without what plugins say", TOPO_XML_IN},
    TOPO_GRAPH_OPTIONS,
    TOOL_OPTIONS_CONFIG,
    {'h', "help", NULL, "this text", 'h'},
    {0, NULL, NULL, NULL, 0},
};

static void weft_topo_print_help(void)
{
    printf(
        "usage: weft topo [options]\n\n"
        "This machine as the core sees it, by the plugins of [core] topo or from /sys: packages,\n"
        "NUMA nodes, caches, cores that this process may use, GPUs and NICs with their places,\n"
        "what the loaded plugins say of them, and the paths between them. One machine at a time: "
        "the machines of a job are not shown together yet.\n\n");
    tool_options_print(options_table, stdout);
    printf("\npaths, nearest first:\n");
    for (weft_algo_path_class_t path = WEFT_ALGO_PATH_NV; path <= WEFT_ALGO_PATH_UNKNOWN; path++) {
        printf("  %-6s%s\n", weft_path_name(path), weft_path_help(path));
    }
}

static bool weft_topo_is_stdout(const char *file)
{
    return file != NULL && strcmp(file, "-") == 0;
}

static weft_status_t weft_topo_draw(const topo_t *topo, const char *file)
{
    whole_file_t whole;
    weft_status_t status = whole_file_open(&whole, file);
    if (status != WEFT_OK) {
        return status;
    }
    topo_draw(topo, whole.out);
    return whole_file_close(&whole);
}

/* The plugin writes a file of its own: the one that takes the place of `file`. */
static weft_status_t weft_topo_save_by(const weft_loaded_t *loaded, const char *file)
{
    const weft_topo_ops_t *ops = loaded->plugin->ops;
    weft_topo_t *topo = NULL;
    whole_file_t whole;
    weft_status_t status = whole_file_open(&whole, file);
    if (status != WEFT_OK) {
        return status;
    }
    status = ops->create(loaded->host, loaded->config, &topo);
    if (status == WEFT_OK) {
        status = ops->save(topo, whole.beside != NULL ? whole.beside : whole.path);
        if (status == WEFT_ERR_SYSTEM) { /* of a name that the user did not give */
            weft_fail(status, weft_error_record()->os_errno, "cannot write %s", file);
        }
    }
    ops->destroy(topo);
    if (status != WEFT_OK) {
        whole_file_drop(&whole);
        return status;
    }
    return whole_file_close(&whole);
}

/* By the first topo plugin that writes files: it is the one that was asked first. */
static weft_status_t weft_topo_save(const tool_session_t *session, const char *file)
{
    const weft_loaded_t *loaded;
    for (uint32_t i = 0; (loaded = weft_registry_get(session->registry, WEFT_KIND_TOPO, i)) != NULL;
         i++) {
        if (WEFT_HAS((const weft_topo_ops_t *)loaded->plugin->ops, weft_topo_ops_t, save)) {
            return weft_topo_save_by(loaded, file);
        }
    }
    return weft_fail(WEFT_ERR_CONFIG, 0,
                     "no topo plugin is loaded that writes XML; topo-hwloc is built where CMake "
                     "finds hwloc 2 (Debian: libhwloc-dev)");
}

static weft_status_t weft_topo_put_all(const topo_t *topo, const tool_session_t *session,
                                       const topo_request_t *request)
{
    weft_status_t status = WEFT_OK;
    if (request->svg != NULL) {
        status = weft_topo_draw(topo, request->svg);
    }
    if (status == WEFT_OK && request->xml != NULL) {
        status = weft_topo_save(session, request->xml);
    }
    if (status != WEFT_OK || weft_topo_is_stdout(request->svg) ||
        weft_topo_is_stdout(request->xml)) {
        return status;
    }
    if (request->json) {
        topo_write_json(topo, stdout);
    } else {
        topo_print(topo, stdout);
    }
    return WEFT_OK;
}

/* What plugins say of devices is said of this machine, not of one in a file. */
static weft_status_t weft_topo_show(const tool_session_t *session, const topo_request_t *request)
{
    topo_t topo = {0};
    weft_status_t status =
        weft_discover(session->registry, session->config, &session->settings, &topo.machine);
    if (status == WEFT_OK && request->graph.graph) {
        status = topo_graph_show(&request->graph, &topo.machine, request->json, request->svg);
        topo_close(&topo);
        return status;
    }
    if (status == WEFT_OK && request->xml_in == NULL) {
        status = topo_use_plugins(&topo, session);
    }
    status = status == WEFT_OK ? weft_topo_put_all(&topo, session, request) : status;
    topo_close(&topo);
    return status;
}

static weft_status_t weft_topo_read_xml(tool_settings_t *settings, const char *file,
                                        char text[WEFT_OS_PATH_MAX])
{
    static const char plugin[] = "core.topo=topo-hwloc";
    int length = snprintf(text, WEFT_OS_PATH_MAX, "topo-hwloc.xml=%s", file);
    if (length >= WEFT_OS_PATH_MAX || !tool_settings_take(settings, TOOL_OPT_SET, plugin) ||
        !tool_settings_take(settings, TOOL_OPT_SET, text)) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "--xml-in: the path is too long, or there are too many --set");
    }
    return WEFT_OK;
}

static int weft_topo_run(topo_request_t *request)
{
    tool_session_t session;
    char xml[WEFT_OS_PATH_MAX];
    weft_status_t status = WEFT_OK;
    if ((request->graph.graph || request->graph.more) &&
        !topo_graph_check(&request->graph, request->json, request->svg)) {
        return TOOL_USAGE;
    }
    if (request->graph.machine != NULL) {
        status = topo_graph_show_file(&request->graph, request->json, request->svg);
        return status == WEFT_OK ? TOOL_OK : tool_report(status);
    }
    if (weft_topo_is_stdout(request->svg) + weft_topo_is_stdout(request->xml) + request->json > 1) {
        return tool_usage("one of --json, --svg - and --xml - can have standard output");
    }
    if (request->xml_in != NULL) {
        status = weft_topo_read_xml(&request->settings, request->xml_in, xml);
    }
    status = status == WEFT_OK ? tool_session_open(&session, &request->settings) : status;
    if (status != WEFT_OK) {
        return tool_report(status);
    }
    status = weft_topo_show(&session, request);
    tool_session_close(&session);
    return status == WEFT_OK ? TOOL_OK : tool_report(status);
}

/* Takes an option; false: it is none, or has a wrong value. */
static bool weft_topo_take(topo_request_t *request, int id, const char *value)
{
    switch (id) {
    case TOOL_OPT_JSON:
        request->json = true;
        return true;
    case TOPO_SVG:
        request->svg = value;
        return true;
    case TOPO_XML:
        request->xml = value;
        return true;
    case TOPO_XML_IN:
        request->xml_in = value;
        return true;
    default:
        return tool_settings_take(&request->settings, id, value);
    }
}

int main(int argc, char **argv)
{
    tool_begin();
    topo_request_t request = {0};
    tool_args_t args = {.options = options_table, .argc = argc, .argv = argv, .at = 1};
    for (;;) {
        int id = tool_args_next(&args);
        bool wrong = false;
        if (topo_graph_take(&request.graph, id, args.value, &wrong)) {
            if (wrong) {
                return TOOL_USAGE;
            }
            continue;
        }
        if (id == TOOL_ARGS_END) {
            return tool_end(weft_topo_run(&request));
        }
        if (id == TOOL_ARGS_OPERAND) {
            return tool_usage("weft topo takes no name, got '%s'", args.value);
        }
        if (id == 'h') {
            weft_topo_print_help();
            return tool_end(TOOL_OK);
        }
        if (id == TOOL_ARGS_ERROR || !weft_topo_take(&request, id, args.value)) {
            return TOOL_USAGE;
        }
    }
}
