/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flight records drawn. */
#include "tools/flight_plot.h"

#include <inttypes.h>

#include "core/base/coll.h"
#include "tools/json.h"
#include "tools/svg.h"

/* JSON ----------------------------------------------------------------------------------------- */

static void plot_put_name(json_t *json, const char *kind, uint32_t rank, uint32_t thread,
                          const char *name)
{
    json_open(json, NULL, '{');
    json_string(json, "ph", "M");
    json_string(json, "name", kind);
    json_unsigned(json, "pid", rank);
    json_unsigned(json, "tid", thread);
    json_open(json, "args", '{');
    json_string(json, "name", name);
    json_close(json, '}');
    json_close(json, '}');
}

/* When the operation ended: an open one reaches to `end`. */
static uint64_t plot_end(const flight_rank_t *rank, const weft_flight_entry_t *entry, uint64_t end)
{
    uint64_t ended = flight_at(rank, entry->ended);
    return ended != 0 ? ended : flight_is_open(entry) ? end : 0;
}

static bool plot_is_timed(const weft_flight_entry_t *entry)
{
    return entry->state != WEFT_FLIGHT_FREE && entry->called != 0 &&
           (entry->ended >= entry->called || flight_is_open(entry));
}

static void plot_put_event(json_t *json, const flight_rank_t *rank,
                           const weft_flight_entry_t *entry, uint32_t thread,
                           const uint64_t span[2])
{
    char text[160];
    uint64_t called = flight_at(rank, entry->called), ended = plot_end(rank, entry, span[1]);
    flight_text(entry, text, sizeof text);
    json_open(json, NULL, '{');
    json_string(json, "ph", "X");
    json_string(json, "name", text);
    json_string(json, "cat", weft_coll_table[entry->coll].name);
    json_unsigned(json, "pid", rank->source->record->header.rank);
    json_unsigned(json, "tid", thread);
    json_real(json, "ts", (double)(called - span[0]) / 1e3);
    json_real(json, "dur", (double)(ended > called ? ended - called : 0) / 1e3);
    json_open(json, "args", '{');
    json_unsigned(json, "sequence", entry->sequence);
    json_string(json, "status",
                flight_is_open(entry) ? "open" : weft_status_name((weft_status_t)entry->status));
    json_integer(json, "waited_for", entry->peer);
    json_close(json, '}');
    json_close(json, '}');
}

/* First call and last end of the timed operations. */
static void plot_span(const flight_job_t *job, uint64_t span[2])
{
    for (uint32_t i = 0; i < job->found; i++) {
        const flight_rank_t *rank = &job->rank[i];
        for (uint32_t k = 0; k < WEFT_FLIGHT_PLACES; k++) {
            const weft_flight_entry_t *entry = &rank->comm->entry[k];
            if (plot_is_timed(entry)) {
                uint64_t called = flight_at(rank, entry->called);
                uint64_t ended = flight_at(rank, entry->ended);
                ended = ended > called ? ended : called;
                span[0] = called < span[0] ? called : span[0];
                span[1] = ended > span[1] ? ended : span[1];
            }
        }
        uint64_t failed = flight_at(rank, rank->comm->failed);
        span[1] = failed > span[1] ? failed : span[1];
    }
}

static void plot_put_job(json_t *json, const flight_job_t *job, uint32_t thread,
                         const uint64_t span[2])
{
    char name[160];
    for (uint32_t i = 0; i < job->found; i++) {
        const flight_rank_t *rank = &job->rank[i];
        const weft_flight_header_t *header = &rank->source->record->header;
        snprintf(name, sizeof name, "rank %u (process %d on %s)", header->rank, header->pid,
                 header->host);
        plot_put_name(json, "process_name", header->rank, thread, name);
        snprintf(name, sizeof name, "%s (%016" PRIx64 "), rank %u of %u", rank->comm->name, job->id,
                 rank->comm->rank, job->nranks);
        plot_put_name(json, "thread_name", header->rank, thread, name);
        for (uint32_t k = 0; k < WEFT_FLIGHT_PLACES; k++) {
            if (plot_is_timed(&rank->comm->entry[k])) {
                plot_put_event(json, rank, &rank->comm->entry[k], thread, span);
            }
        }
    }
}

void flight_put_json(const flight_jobs_t *jobs, FILE *out)
{
    json_t json = {.out = out, .first = true};
    uint64_t span[2] = {UINT64_MAX, 0};
    for (uint32_t i = 0; i < jobs->count; i++) {
        plot_span(&jobs->job[i], span);
    }
    json_open(&json, NULL, '{');
    json_string(&json, "displayTimeUnit", "ms");
    json_open(&json, "traceEvents", '[');
    for (uint32_t i = 0; i < jobs->count; i++) {
        plot_put_job(&json, &jobs->job[i], i, span);
    }
    json_close(&json, ']');
    json_close(&json, '}');
    fputc('\n', out);
}

/* SVG ------------------------------------------------------------------------------------------ */

#define LEFT 90.0
#define WIDTH 1100.0
#define TOP 64.0
#define ROW 22.0

static double plot_x(uint64_t at, const uint64_t span[2])
{
    double all = span[1] > span[0] ? (double)(span[1] - span[0]) : 1;
    return LEFT + (double)(at - span[0]) / all * (WIDTH - LEFT - 16);
}

static void plot_put_bar(svg_t *svg, const flight_rank_t *rank, const weft_flight_entry_t *entry,
                         double y, const uint64_t span[2])
{
    char text[160];
    svg_colour_t colour = svg_hue(entry->coll, WEFT_COLL_COUNT);
    bool open = flight_is_open(entry), failed = !open && entry->status != WEFT_OK;
    uint64_t called = flight_at(rank, entry->called), ended = plot_end(rank, entry, span[1]);
    double x = plot_x(called, span), w = plot_x(ended, span) - x;
    flight_text(entry, text, sizeof text);
    svg_begin(svg, "rank %u: operation %" PRIu64 ", %s: %.3f ms%s", rank->comm->rank,
              entry->sequence, text, (double)(ended - called) / 1e6,
              open     ? ", open"
              : failed ? ", failed"
                       : "");
    svg_rect(svg, (svg_box_t){.x = x, .y = y + 3, .w = w < 1 ? 1 : w, .h = ROW - 6, .round = 2},
             &(svg_paint_t){.fill = colour.text,
                            .stroke = open || failed ? SVG_INK : NULL,
                            .dash = open ? "3 2" : NULL,
                            .opacity = 0.9});
    svg_end(svg);
}

static void plot_put_rank(svg_t *svg, const flight_rank_t *rank, double y, const uint64_t span[2])
{
    svg_text(svg, (svg_point_t){.x = LEFT - 8, .y = y + ROW - 7},
             &(svg_font_t){.size = 12, .anchor = 'e'}, "rank %u", rank->comm->rank);
    svg_line(svg, (svg_point_t){.x = LEFT, .y = y + ROW}, (svg_point_t){.x = WIDTH, .y = y + ROW},
             &(svg_paint_t){.stroke = SVG_FAINT});
    for (uint32_t k = 0; k < WEFT_FLIGHT_PLACES; k++) {
        if (plot_is_timed(&rank->comm->entry[k])) {
            plot_put_bar(svg, rank, &rank->comm->entry[k], y, span);
        }
    }
    if (rank->comm->failed != 0) {
        double x = plot_x(flight_at(rank, rank->comm->failed), span);
        svg_line(svg, (svg_point_t){.x = x, .y = y}, (svg_point_t){.x = x, .y = y + ROW},
                 &(svg_paint_t){.stroke = "#c0392b", .width = 2});
    }
}

/* The collectives that occur, with their colours. */
static void plot_put_legend(svg_t *svg, const flight_job_t *job)
{
    double x = LEFT;
    for (uint32_t c = 0; c < WEFT_COLL_COUNT; c++) {
        bool there = false;
        for (uint32_t i = 0; i < job->found; i++) {
            for (uint32_t k = 0; k < WEFT_FLIGHT_PLACES; k++) {
                const weft_flight_entry_t *entry = &job->rank[i].comm->entry[k];
                there = there || (plot_is_timed(entry) && entry->coll == c);
            }
        }
        if (there) {
            svg_rect(svg, (svg_box_t){.x = x, .y = 38, .w = 12, .h = 12, .round = 2},
                     &(svg_paint_t){.fill = svg_hue(c, WEFT_COLL_COUNT).text});
            svg_text(svg, (svg_point_t){.x = x + 17, .y = 48}, &(svg_font_t){.size = 12}, "%s",
                     weft_coll_table[c].name);
            x += 34 + svg_width(weft_coll_table[c].name, 12);
        }
    }
}

void flight_put_svg(const flight_job_t *job, FILE *out)
{
    svg_t svg;
    uint64_t span[2] = {UINT64_MAX, 0};
    plot_span(job, span);
    if (span[0] > span[1]) {
        span[0] = span[1] = 0;
    }
    double height = TOP + ROW * job->found + 34;
    svg_open(&svg, out, WIDTH, height, "flight record");
    svg_text(&svg, (svg_point_t){.x = LEFT, .y = 24}, &(svg_font_t){.size = 14, .bold = true},
             "%s (%016" PRIx64 "), %u ranks: the last %.3f ms", job->rank[0].comm->name, job->id,
             job->nranks, (double)(span[1] - span[0]) / 1e6);
    plot_put_legend(&svg, job);
    for (uint32_t i = 0; i < job->found; i++) {
        plot_put_rank(&svg, &job->rank[i], TOP + ROW * i, span);
    }
    for (uint32_t i = 0; i <= 4; i++) {
        double at = (double)(span[1] - span[0]) * i / 4;
        svg_text(&svg, (svg_point_t){.x = LEFT + (WIDTH - LEFT - 16) * i / 4, .y = height - 12},
                 &(svg_font_t){.size = 11,
                               .anchor = i == 0   ? 's'
                                         : i == 4 ? 'e'
                                                  : 'm',
                               .fill = SVG_GREY},
                 "%.3g ms", at / 1e6);
    }
    svg_close(&svg);
}
