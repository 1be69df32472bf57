/* SPDX-License-Identifier: BSD-3-Clause
 *
 * weft-topo, which `weft topo` becomes: options and outputs. */
#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "tools/args.h"
#include "tools/session.h"
#include "tools/tool.h"
#include "tools/topo/draw.h"
#include "tools/topo/machine.h"
#include "tools/topo/paths.h"
#include "tools/topo/print.h"
#include "tools/topo/topo.h"
#include "tools/topo/uses.h"
#include "tools/topo/write_json.h"
#include "tools/values.h"

enum { TOPO_SVG = 1, TOPO_XML, TOPO_XML_IN };

typedef struct topo_request {
    tool_settings_t settings;
    bool json;
    const char *svg, *xml, *xml_in; /* files; "-": stdout */
} topo_request_t;

static const tool_option_t options_table[] = {
    {0, "json", NULL, "print JSON", TOOL_OPT_JSON},
    {0, "svg", "FILE", "draw the machine; - = standard output", TOPO_SVG},
    {0, "xml", "FILE", "write the machine as XML of hwloc; - = standard output", TOPO_XML},
    {0, "xml-in", "FILE", "show the machine of such an XML, without what plugins say", TOPO_XML_IN},
    TOOL_OPTIONS_CONFIG,
    {'h', "help", NULL, "this text", 'h'},
    {0, NULL, NULL, NULL, 0},
};

static void weft_topo_print_help(void)
{
    printf("usage: weft topo [options]\n\n"
           "This machine: packages, NUMA nodes, caches, cores that this process may use, GPUs and\n"
           "NICs with their places, what the loaded plugins say of them, and the paths between\n"
           "them. One machine at a time: the machines of a job are not shown together yet.\n\n");
    tool_options_print(options_table, stdout);
    printf("\npaths, nearest first:\n");
    for (topo_path_t path = TOPO_NV; path <= TOPO_UNKNOWN; path++) {
        printf("  %-6s%s\n", topo_path_name(path), topo_path_help(path));
    }
}

static weft_status_t weft_topo_ask_plugins(topo_t *topo, const tool_settings_t *settings)
{
    tool_session_t session;
    weft_status_t status = tool_session_open(&session, settings);
    if (status == WEFT_OK) {
        status = topo_use_plugins(topo, &session);
        tool_session_close(&session);
    }
    return status;
}

static bool weft_topo_is_stdout(const char *file)
{
    return file != NULL && strcmp(file, "-") == 0;
}

static weft_status_t weft_topo_draw(const topo_t *topo, const char *file)
{
    FILE *out = weft_topo_is_stdout(file) ? stdout : fopen(file, "we");
    if (out == NULL) {
        return weft_fail(WEFT_ERR_SYSTEM, errno, "cannot write %s", file);
    }
    topo_draw(topo, out);
    bool good = !ferror(out);
    good = (out == stdout ? fflush(out) : fclose(out)) == 0 && good;
    return good ? WEFT_OK : weft_fail(WEFT_ERR_SYSTEM, errno, "cannot write %s", file);
}

static weft_status_t weft_topo_put_all(const topo_t *topo, const topo_request_t *request)
{
    weft_status_t status = WEFT_OK;
    if (request->svg != NULL) {
        status = weft_topo_draw(topo, request->svg);
    }
    if (status == WEFT_OK && request->xml != NULL) {
        status = topo_export(topo, request->xml);
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

static int weft_topo_run(const topo_request_t *request)
{
    topo_t topo;
    if (weft_topo_is_stdout(request->svg) + weft_topo_is_stdout(request->xml) + request->json > 1) {
        return tool_usage("one of --json, --svg - and --xml - can have standard output");
    }
    weft_status_t status = topo_open(&topo, request->xml_in);
    if (status != WEFT_OK) {
        return tool_report(status);
    }
    if (request->xml_in == NULL) {
        status = weft_topo_ask_plugins(&topo, &request->settings);
    }
    status = status == WEFT_OK ? weft_topo_put_all(&topo, request) : status;
    topo_close(&topo);
    return status == WEFT_OK ? TOOL_OK : tool_report(status);
}

int main(int argc, char **argv)
{
    topo_request_t request = {0};
    tool_args_t args = {.options = options_table, .argc = argc, .argv = argv, .at = 1};
    for (;;) {
        int id = tool_args_next(&args);
        switch (id) {
        case TOOL_ARGS_END:
            return weft_topo_run(&request);
        case TOOL_ARGS_ERROR:
            return TOOL_USAGE;
        case TOOL_ARGS_OPERAND:
            return tool_usage("weft topo takes no name, got '%s'", args.value);
        case TOOL_OPT_JSON:
            request.json = true;
            break;
        case TOPO_SVG:
            request.svg = args.value;
            break;
        case TOPO_XML:
            request.xml = args.value;
            break;
        case TOPO_XML_IN:
            request.xml_in = args.value;
            break;
        case 'h':
            weft_topo_print_help();
            return TOOL_OK;
        default:
            if (!tool_settings_take(&request.settings, id, args.value)) {
                return TOOL_USAGE;
            }
        }
    }
}
