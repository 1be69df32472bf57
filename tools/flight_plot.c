/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flight records drawn. */
#include "tools/flight_plot.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/base/coll.h"
#include "core/os/os.h"
#include "tools/json.h"
#include "tools/svg.h"
#include "tools/tool.h"

/* The records, of which each is a process, in the order of their ranks. */
typedef struct plot_processes {
    const flight_source_t **source;
    size_t count;
    uint64_t stride; /* more than any rank */
} plot_processes_t;

/* What is drawn, on the clock of the job. */
typedef struct plot_span {
    uint64_t first; /* call */
    uint64_t seen;  /* the last moment that a record has */
    uint64_t last;  /* the same, or now */
} plot_span_t;

/* JSON ----------------------------------------------------------------------------------------- */

static void plot_put_name(json_t *json, const char *kind, uint64_t process, uint32_t thread,
                          const char *name)
{
    json_open(json, NULL, '{');
    json_string(json, "ph", "M");
    json_string(json, "name", kind);
    json_unsigned(json, "pid", process);
    json_unsigned(json, "tid", thread);
    json_open(json, "args", '{');
    json_string(json, "name", name);
    json_close(json, '}');
    json_close(json, '}');
}

/* When the operation ended. An open one goes on until now, if its process does. */
static uint64_t plot_end(const flight_rank_t *rank, const weft_flight_entry_t *entry,
                         const plot_span_t *span)
{
    uint64_t ended = flight_at(rank, entry->ended);
    uint64_t open = rank->source->alive ? span->last : span->seen;
    return ended != 0 ? ended : flight_is_open(entry) ? open : 0;
}

static bool plot_is_timed(const weft_flight_entry_t *entry)
{
    return entry->state != WEFT_FLIGHT_FREE && entry->called != 0 &&
           (entry->ended >= entry->called || flight_is_open(entry));
}

static void plot_put_event(json_t *json, const flight_rank_t *rank,
                           const weft_flight_entry_t *entry, uint64_t process, uint32_t thread,
                           const plot_span_t *span)
{
    char text[160];
    uint64_t called = flight_at(rank, entry->called), ended = plot_end(rank, entry, span);
    flight_text(entry, text, sizeof text);
    json_open(json, NULL, '{');
    json_string(json, "ph", "X");
    json_string(json, "name", text);
    json_string(json, "cat", weft_coll_table[entry->coll].name);
    json_unsigned(json, "pid", process);
    json_unsigned(json, "tid", thread);
    json_microseconds(json, "ts", called - span->first);
    json_microseconds(json, "dur", ended > called ? ended - called : 0);
    json_open(json, "args", '{');
    json_unsigned(json, "sequence", entry->sequence);
    json_string(json, "status",
                flight_is_open(entry) ? "open" : weft_status_name((weft_status_t)entry->status));
    json_integer(json, "waited_for", entry->peer);
    json_close(json, '}');
    json_close(json, '}');
}

/* First call and last end of the timed operations; or `now`, if one is open. */
static void plot_widen(const flight_job_t *job, uint64_t now, plot_span_t *span)
{
    for (uint32_t i = 0; i < job->found; i++) {
        const flight_rank_t *rank = &job->rank[i];
        for (uint32_t k = 0; k < WEFT_FLIGHT_PLACES; k++) {
            const weft_flight_entry_t *entry = &rank->comm->entry[k];
            if (plot_is_timed(entry)) {
                uint64_t called = flight_at(rank, entry->called);
                uint64_t ended = flight_at(rank, entry->ended);
                ended = ended > called ? ended : called;
                bool lasts = flight_is_open(entry) && rank->source->alive;
                span->first = called < span->first ? called : span->first;
                span->seen = ended > span->seen ? ended : span->seen;
                span->last = lasts && now > span->last ? now : span->last;
            }
        }
        uint64_t failed = flight_at(rank, rank->comm->failed);
        span->seen = failed > span->seen ? failed : span->seen;
    }
    span->last = span->seen > span->last ? span->seen : span->last;
}

/* Records in the order of their ranks. */
static int plot_compare(const void *a, const void *b)
{
    const flight_source_t *one = *(const flight_source_t *const *)a;
    const flight_source_t *two = *(const flight_source_t *const *)b;
    const uint32_t ranks[2] = {one->record->header.rank, two->record->header.rank};
    return ranks[0] != ranks[1] ? (ranks[0] < ranks[1] ? -1 : 1) : (one > two) - (one < two);
}

static plot_processes_t plot_processes_make(const flight_jobs_t *jobs)
{
    plot_processes_t all = {.count = 0};
    size_t found = 0;
    for (uint32_t i = 0; i < jobs->count; i++) {
        found += jobs->job[i].found;
    }
    all.source = weft_os_alloc(found * sizeof(const flight_source_t *) + 1, 0);
    if (all.source == NULL) {
        fprintf(stderr, "weft: no memory for %zu records\n", found);
        exit(TOOL_INTERNAL);
    }
    for (uint32_t i = 0; i < jobs->count; i++) {
        for (uint32_t k = 0; k < jobs->job[i].found; k++) {
            all.source[all.count++] = jobs->job[i].rank[k].source;
        }
    }
    qsort(all.source, all.count, sizeof(const flight_source_t *), plot_compare);
    size_t kept = 0;
    for (size_t i = 0; i < all.count; i++) {
        if (kept == 0 || all.source[kept - 1] != all.source[i]) {
            all.source[kept++] = all.source[i];
        }
    }
    all.count = kept;
    all.stride = kept > 0 ? (uint64_t)all.source[kept - 1]->record->header.rank + 1 : 1;
    return all;
}

/* The number of its rank, if no record before it has that. */
static uint64_t plot_process(const plot_processes_t *all, const flight_source_t *source)
{
    const flight_source_t **found =
        bsearch(&source, all->source, all->count, sizeof(const flight_source_t *), plot_compare);
    const uint32_t rank = source->record->header.rank;
    uint64_t before = 0;
    while (found - before > all->source &&
           found[-1 - (ptrdiff_t)before]->record->header.rank == rank) {
        before++;
    }
    return rank + all->stride * before;
}

static void plot_put_job(json_t *json, const plot_processes_t *all, const flight_job_t *job,
                         uint32_t thread, const plot_span_t *span)
{
    char name[160];
    for (uint32_t i = 0; i < job->found; i++) {
        const flight_rank_t *rank = &job->rank[i];
        const weft_flight_header_t *header = &rank->source->record->header;
        const uint64_t process = plot_process(all, rank->source);
        snprintf(name, sizeof name, "rank %u (process %d on %s)", header->rank, header->pid,
                 header->host);
        plot_put_name(json, "process_name", process, thread, name);
        snprintf(name, sizeof name, "%s (%016" PRIx64 "), rank %u of %u", flight_name(job, rank),
                 job->id, rank->comm->rank, job->nranks);
        plot_put_name(json, "thread_name", process, thread, name);
        for (uint32_t k = 0; k < WEFT_FLIGHT_PLACES; k++) {
            if (plot_is_timed(&rank->comm->entry[k])) {
                plot_put_event(json, rank, &rank->comm->entry[k], process, thread, span);
            }
        }
    }
}

void flight_put_json(const flight_jobs_t *jobs, const uint64_t *now, FILE *out)
{
    json_t json = {.out = out, .first = true};
    plot_processes_t all = plot_processes_make(jobs);
    plot_span_t span = {.first = UINT64_MAX};
    for (uint32_t i = 0; i < jobs->count; i++) {
        plot_widen(&jobs->job[i], now != NULL ? now[i] : 0, &span);
    }
    json_open(&json, NULL, '{');
    json_string(&json, "displayTimeUnit", "ms");
    json_open(&json, "traceEvents", '[');
    for (uint32_t i = 0; i < jobs->count; i++) {
        plot_put_job(&json, &all, &jobs->job[i], i, &span);
    }
    json_close(&json, ']');
    json_close(&json, '}');
    fputc('\n', out);
    weft_os_free(all.source);
}

/* SVG ------------------------------------------------------------------------------------------ */

#define LEFT 90.0
#define WIDTH 1100.0
#define TOP 64.0
#define ROW 22.0

static double plot_x(uint64_t at, const plot_span_t *span)
{
    double all = span->last > span->first ? (double)(span->last - span->first) : 1;
    return LEFT + (double)(at - span->first) / all * (WIDTH - LEFT - 16);
}

/* Milliseconds, or seconds where there are many. */
static const char *plot_time(double ns, bool exact, char text[32])
{
    if (ns >= 1e9) {
        snprintf(text, 32, "%.*f s", exact ? 3 : 2, ns / 1e9);
    } else {
        snprintf(text, 32, "%.*g ms", exact ? 6 : 3, ns / 1e6);
    }
    return text;
}

static void plot_put_bar(svg_t *svg, const flight_rank_t *rank, const weft_flight_entry_t *entry,
                         double y, const plot_span_t *span)
{
    char text[160];
    svg_colour_t colour = svg_hue(entry->coll, WEFT_COLL_COUNT);
    bool open = flight_is_open(entry), failed = !open && entry->status != WEFT_OK;
    uint64_t called = flight_at(rank, entry->called), ended = plot_end(rank, entry, span);
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

static void plot_put_rank(svg_t *svg, const flight_rank_t *rank, double y, const plot_span_t *span)
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

void flight_put_svg(const flight_job_t *job, uint64_t now, FILE *out)
{
    svg_t svg;
    char text[32];
    plot_span_t span = {.first = UINT64_MAX};
    plot_widen(job, now, &span);
    if (span.first > span.last) {
        span = (plot_span_t){.first = 0};
    }
    const double whole = (double)(span.last - span.first);
    double height = TOP + ROW * job->found + 34;
    svg_open(&svg, out, WIDTH, height, "flight record");
    svg_text(&svg, (svg_point_t){.x = LEFT, .y = 24}, &(svg_font_t){.size = 14, .bold = true},
             "%s (%016" PRIx64 "), %u ranks: the last %s", flight_name(job, &job->rank[0]), job->id,
             job->nranks, plot_time(whole, true, text));
    plot_put_legend(&svg, job);
    for (uint32_t i = 0; i < job->found; i++) {
        plot_put_rank(&svg, &job->rank[i], TOP + ROW * i, &span);
    }
    for (uint32_t i = 0; i <= 4; i++) {
        svg_text(&svg, (svg_point_t){.x = LEFT + (WIDTH - LEFT - 16) * i / 4, .y = height - 12},
                 &(svg_font_t){.size = 11,
                               .anchor = i == 0   ? 's'
                                         : i == 4 ? 'e'
                                                  : 'm',
                               .fill = SVG_GREY},
                 "%s", plot_time(whole * i / 4, false, text));
    }
    svg_close(&svg);
}
