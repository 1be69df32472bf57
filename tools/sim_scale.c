/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft sim --scale`: how the plans grow with the number of ranks. */
#include "tools/sim_scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "tools/json.h"
#include "tools/plan_source.h"
#include "tools/sim_point.h"
#include "tools/svg.h"
#include "tools/svg_plot.h"
#include "tools/tool.h"
#include "tools/whole_file.h"

typedef struct scale {
    const sim_request_t *request;
    char (*specs)[128];
    uint32_t nspecs;
    sim_point_t *points; /* [algorithm · nranks + number of ranks] */
} scale_t;

/* What was asked for, else the first of these that the algorithm serves on the most ranks. */
static weft_coll_t sim_scale_choose(const sim_request_t *request, const plan_source_t *source)
{
    static const weft_coll_t order[] = {WEFT_ALL_REDUCE, WEFT_ALL_GATHER, WEFT_ALL_TO_ALL,
                                        WEFT_BROADCAST, WEFT_GATHER};
    uint32_t ranks[2] = {request->ranks[request->nranks - 1], request->ranks[0]};
    for (size_t i = 0; request->coll == WEFT_COLL_COUNT && i < 2 * 5; i++) {
        weft_algo_call_t call = plan_source_call(source, order[i % 5], ranks[i / 5], 0);
        if (plan_source_supports(source, &call) == WEFT_OK) {
            return order[i % 5];
        }
    }
    return request->coll != WEFT_COLL_COUNT ? request->coll : WEFT_ALL_REDUCE;
}

typedef double (*figure_fn_t)(const sim_point_t *point);

/* The mean: the longest is that of the rank which was interrupted. */
static double sim_scale_get_emit(const sim_point_t *p)
{
    return p->survey.emitted > 0 ? p->survey.emit_seconds / p->survey.emitted : 0;
}
static double sim_scale_get_bytes(const sim_point_t *p)
{
    return (double)p->survey.bytes_max;
}
static double sim_scale_get_ports(const sim_point_t *p)
{
    return p->survey.ports_max;
}
static double sim_scale_get_survey(const sim_point_t *p)
{
    return p->survey_seconds;
}
static double sim_scale_get_verify(const sim_point_t *p)
{
    return p->verify_seconds;
}
static double sim_scale_get_steps(const sim_point_t *p)
{
    return p->survey.verdict == WEFT_VERDICT_OK ? p->survey.cost.chain : 0;
}

static void sim_scale_put_row(const scale_t *scale, const sim_point_t *p, const char *algo,
                              json_t *json)
{
    const weft_plan_survey_t *s = &p->survey;
    char verify[32] = "", steps[32] = "";
    if (s->verdict == WEFT_VERDICT_OK) {
        snprintf(steps, sizeof steps, "%u", s->cost.chain);
    }
    if (p->verify_seconds >= 0) {
        snprintf(verify, sizeof verify, "%.3f", p->verify_seconds * 1e3);
    }
    if (scale->request->form == SIM_JSON) {
        json_open(json, NULL, '{');
        json_string(json, "algo", algo);
        json_string(json, "collective", weft_coll_name(p->coll));
        json_unsigned(json, "nranks", p->nranks);
        json_string(json, "verdict", weft_verdict_name(s->verdict));
        json_real(json, "emit_seconds", sim_scale_get_emit(p));
        json_real(json, "emit_seconds_most", s->emit_seconds_max);
        json_unsigned(json, "words_most", s->words_max);
        json_unsigned(json, "bytes_most", s->bytes_max);
        json_unsigned(json, "ports_most", s->ports_max);
        json_unsigned(json, "moves_most", s->moves_max);
        json_unsigned(json, "steps", s->cost.chain);
        json_unsigned(json, "classes", s->classes);
        json_unsigned(json, "emitted", s->emitted);
        json_real(json, "survey_seconds", p->survey_seconds);
        json_real(json, "verify_seconds", p->verify_seconds >= 0 ? p->verify_seconds : NAN);
        json_close(json, '}');
    } else if (scale->request->form == SIM_CSV) {
        printf("\"%s\",%s,%u,%s,%.3f,%llu,%llu,%u,%llu,%s,%u,%u,%.3f,%s\n", algo,
               weft_coll_name(p->coll), p->nranks, weft_verdict_name(s->verdict),
               sim_scale_get_emit(p) * 1e6, (unsigned long long)s->words_max,
               (unsigned long long)s->bytes_max, s->ports_max, (unsigned long long)s->moves_max,
               steps, s->classes, s->emitted, p->survey_seconds * 1e3, verify);
    } else {
        printf("| %s | %s | %u | %s | %.1f | %llu | %llu | %u | %s | %u | %.2f | %s |\n", algo,
               weft_coll_name(p->coll), p->nranks, weft_verdict_name(s->verdict),
               sim_scale_get_emit(p) * 1e6, (unsigned long long)s->words_max,
               (unsigned long long)s->bytes_max, s->ports_max, steps, s->classes,
               p->survey_seconds * 1e3, verify);
    }
    fflush(stdout);
}

static void sim_scale_put_head(const scale_t *scale, json_t *json)
{
    if (scale->request->form == SIM_JSON) {
        json_open(json, NULL, '[');
    } else if (scale->request->form == SIM_CSV) {
        puts("algorithm,collective,nranks,verdict,emit_us,words,bytes,ports,moves,steps,classes,"
             "emitted,survey_ms,verify_ms");
    } else {
        puts("| algorithm | collective | ranks | verdict | emit, us a rank | words a rank | bytes "
             "a rank | ports | steps | classes | survey, ms | proof, ms |\n"
             "|---|---|---|---|---|---|---|---|---|---|---|---|");
    }
}

#define RANKS_A_HOST 4 /* for algorithms that need several */

static weft_status_t sim_scale_measure_point(const sim_request_t *request,
                                             const plan_source_t *source, weft_coll_t coll,
                                             uint32_t nranks, sim_point_t *point)
{
    weft_status_t status = sim_survey(request, source, coll, nranks, point);
    if (status == WEFT_OK && sim_point_good(point) && nranks <= request->verify_ranks) {
        status = sim_verify(request, source, point);
    }
    return status;
}

static int sim_scale_measure(scale_t *scale, uint32_t a, json_t *json)
{
    sim_request_t with_hosts = *scale->request;
    const sim_request_t *request = scale->request;
    plan_source_t source;
    int code = plan_source_open(&source, &request->settings, scale->specs[a], NULL, 0);
    if (code != TOOL_OK) {
        return code;
    }
    weft_coll_t coll = sim_scale_choose(request, &source);
    with_hosts.per_host = RANKS_A_HOST;
    for (uint32_t i = 0; i < request->nranks && code == TOOL_OK; i++) {
        sim_point_t *point = &scale->points[a * request->nranks + i];
        weft_status_t status =
            sim_scale_measure_point(request, &source, coll, request->ranks[i], point);
        if (status == WEFT_OK && !point->served && request->per_host == 1) {
            status = sim_scale_measure_point(&with_hosts, &source, coll, request->ranks[i], point);
        }
        point->algo = scale->specs[a];
        if (status != WEFT_OK) {
            code = tool_report(status);
        } else if (point->served) {
            sim_scale_put_row(scale, point, scale->specs[a], json);
        }
    }
    plan_source_close(&source);
    return code;
}

typedef struct panel {
    const char *title, *unit;
    plot_unit_t kind;
    figure_fn_t get;
} panel_t;

static void sim_scale_put_panel(const scale_t *scale, svg_t *svg, const panel_t *panel,
                                svg_box_t box)
{
    const sim_request_t *request = scale->request;
    double low = INFINITY, high = 0, x[SIM_RANKS_MAX], y[SIM_RANKS_MAX];
    for (uint32_t i = 0; i < scale->nspecs * request->nranks; i++) {
        double v = scale->points[i].served ? panel->get(&scale->points[i]) : 0;
        low = v > 0 && v < low ? v : low;
        high = v > high ? v : high;
    }
    if (!(high > 0)) {
        low = 1;
        high = 10;
    }
    uint32_t last = request->nranks - 1;
    plot_t plot = {.svg = svg,
                   .box = box,
                   .x = {"ranks", PLOT_RANKS, request->ranks[0] * 0.85,
                         (last > 0 ? request->ranks[last] : request->ranks[0] * 4) * 1.2},
                   .y = {panel->unit, panel->kind, low * 0.6, high * 1.7}};
    plot_axes(&plot, panel->title);
    for (uint32_t a = 0; a < scale->nspecs; a++) {
        svg_colour_t colour = svg_hue(a, scale->nspecs);
        plot_style_t style = {.colour = colour.text, .width = 1.9, .marks = true};
        for (uint32_t i = 0; i < request->nranks; i++) {
            const sim_point_t *p = &scale->points[a * request->nranks + i];
            x[i] = request->ranks[i];
            y[i] = p->served ? panel->get(p) : 0;
        }
        plot_line(&plot, x, y, request->nranks, &style);
    }
}

static void sim_scale_put_keys(const scale_t *scale, svg_t *svg)
{
    svg_font_t font = {.size = 12.5, .anchor = 's'};
    double x = 28, y = 68;
    for (uint32_t a = 0; a < scale->nspecs; a++) {
        svg_colour_t colour = svg_hue(a, scale->nspecs);
        svg_paint_t stroke = {.stroke = colour.text, .width = 5};
        char text[160];
        snprintf(text, sizeof text, "%s %s", scale->specs[a],
                 weft_coll_name(scale->points[a * scale->request->nranks].coll));
        if (x + 28 + svg_width(text, 12.5) > 1300) {
            x = 28;
            y += 21;
        }
        svg_line(svg, (svg_point_t){x, y - 4}, (svg_point_t){x + 22, y - 4}, &stroke);
        svg_text(svg, (svg_point_t){x + 28, y}, &font, "%s", text);
        x += 44 + svg_width(text, 12.5);
    }
}

static int sim_scale_put_figure(const scale_t *scale)
{
    static const panel_t panels[] = {
        {"emission of one rank", "", PLOT_SECONDS, sim_scale_get_emit},
        {"plan of one rank", "bytes", PLOT_BYTES, sim_scale_get_bytes},
        {"ports of one rank", "", PLOT_NUMBER, sim_scale_get_ports},
        {"longest chain", "moves", PLOT_NUMBER, sim_scale_get_steps},
        {"survey of all ranks", "", PLOT_SECONDS, sim_scale_get_survey},
        {"proof of all ranks", "", PLOT_SECONDS, sim_scale_get_verify},
    };
    whole_file_t file;
    svg_t svg;
    weft_status_t status = whole_file_open(&file, scale->request->svg);
    if (status != WEFT_OK) {
        return tool_report(status);
    }
    svg_open(&svg, file.out, 1330, 790, "plans over the number of ranks");
    svg_font_t large = {.size = 22, .anchor = 's', .bold = true};
    svg_text(&svg, (svg_point_t){28, 40}, &large, "How plans grow with the number of ranks");
    sim_scale_put_keys(scale, &svg);
    for (uint32_t i = 0; i < sizeof panels / sizeof panels[0]; i++) {
        uint32_t column = i % 3, row = i / 3;
        svg_box_t box = {78 + 430.0 * column, 146 + 325.0 * row, 345, 240, 0};
        sim_scale_put_panel(scale, &svg, &panels[i], box);
    }
    svg_close(&svg);
    status = whole_file_close(&file);
    return status == WEFT_OK ? TOOL_OK : tool_report(status);
}

int sim_scale(const sim_request_t *request)
{
    json_t json = {.out = stdout};
    scale_t scale = {.request = request, .nspecs = request->nspecs};
    scale.specs = calloc(SIM_ALGOS_MAX, sizeof *scale.specs);
    scale.points = calloc((size_t)SIM_ALGOS_MAX * SIM_RANKS_MAX, sizeof *scale.points);
    int code = TOOL_OK;
    if (scale.specs == NULL || scale.points == NULL) {
        code = tool_no_memory("the plans of all numbers of ranks");
    } else {
        memcpy(scale.specs, request->specs, sizeof request->specs);
        sim_scale_put_head(&scale, &json);
        for (uint32_t a = 0; a < scale.nspecs && code == TOOL_OK; a++) {
            code = sim_scale_measure(&scale, a, &json);
        }
        if (request->form == SIM_JSON) {
            json_close(&json, ']');
        }
        if (code == TOOL_OK && request->svg != NULL) {
            code = sim_scale_put_figure(&scale);
        }
    }
    free(scale.specs);
    free(scale.points);
    return code;
}
