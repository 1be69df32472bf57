/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The JSON of `weft perf`: format version 3 of nccl-tests, with weft's own keys added. */
#include "tools/perf_json.h"

#include <math.h>

#include "core/base/coll.h"
#include "tools/json.h"
#include "tools/perf_job.h"
#include "tools/perf_names.h"
#include "tools/perf_place.h"
#include "tools/perf_rate.h"

static void perf_json_put_config(json_t *json, const perf_report_t *report,
                                 const perf_identity_t *ranks)
{
    const perf_options_t *o = report->options;
    json_open(json, "config", '{');
    json_integer(json, "nprocesses", o->processes);
    json_integer(json, "nthreads", o->threads);
    json_integer(json, "ngpus", o->gpus);
    json_unsigned(json, "minimum_bytes", o->sizes.min_bytes);
    json_unsigned(json, "maximum_bytes", o->sizes.max_bytes);
    if (o->sizes.step_factor > 1) {
        json_real(json, "step_factor", o->sizes.step_factor);
    } else {
        json_unsigned(json, "step_bytes", o->sizes.step_bytes);
    }
    json_integer(json, "warmup_iters", o->loop.warmup_iters);
    json_integer(json, "iterations", o->loop.iters);
    json_integer(json, "aggregated_iterations", o->loop.agg_iters);
    json_integer(json, "validation", o->check);
    json_integer(json, "graph", o->loop.graphs);
    json_integer(json, "blocking_collectives", o->loop.blocking);
    json_bool(json, "per_iter_timing", o->loop.per_iter != 0);
    json_integer(json, "per_iter_skip", o->loop.per_iter_skip);
    json_bool(json, "stats", o->loop.stats);
    json_string(json, "pattern", perf_pattern_name(&o->pattern));
    json_unsigned(json, "pattern_seed", o->pattern.seed);
    json_bool(json, "parallel_init", o->parallel_init != 0);
    json_open(json, "devices", '[');
    for (uint32_t r = 0; r < report->nranks; r++) {
        json_open(json, NULL, '{');
        json_unsigned(json, "rank", r);
        json_integer(json, "group", 0);
        json_integer(json, "pid", ranks[r].pid);
        json_string(json, "hostname", ranks[r].host);
        json_unsigned(json, "device", ranks[r].device);
        json_string(json, "device_hex", ranks[r].pci);
        json_string(json, "device_info", ranks[r].name);
        json_unsigned(json, "sharers", perf_place_sharers(ranks, report->nranks, &ranks[r]));
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

void perf_json_begin(json_t *json, const perf_report_t *report, const perf_identity_t *ranks)
{
    const perf_options_t *o = report->options;
    json_open(json, NULL, '{');
    json_integer(json, "version", 3);
    json_string(json, "start_time", report->start);
    json_open(json, "args", '[');
    for (int i = 0; i < o->argc; i++) {
        json_string(json, NULL, o->argv[i]);
    }
    json_close(json, ']');
    json_open(json, "env", '{');
    json_close(json, '}');
    json_string(json, "nccl_version", "");
    json_string(json, "weft_version", weft_version());
    perf_json_put_config(json, report, ranks);
    json_open(json, "results", '[');
}

static void perf_json_put_spread(json_t *json, const char *key, const perf_spread_t *spread)
{
    json_open(json, key, '{');
    json_real(json, "min", spread->min * 1e6);
    json_real(json, "p50", spread->p50 * 1e6);
    json_real(json, "p90", spread->p90 * 1e6);
    json_real(json, "p99", spread->p99 * 1e6);
    json_real(json, "max", spread->max * 1e6);
    json_real(json, "stddev", spread->deviation * 1e6);
    json_real(json, "cv", spread->mean > 0 ? spread->deviation / spread->mean : 0);
    json_close(json, '}');
}

static void perf_json_put_sample(json_t *json, const char *key, const perf_options_t *o,
                                 uint32_t nranks, const perf_case_t *test,
                                 const perf_sample_t *sample)
{
    json_open(json, key, '{');
    json_real(json, o->output.cpu_time != 0 ? "cpu_time" : "time",
              sample->absent ? NAN : sample->time * 1e6);
    if (sample->device_time >= 0 && !sample->absent) {
        json_real(json, "device_time", sample->device_time * 1e6);
    }
    json_real(json, "alg_bw", sample->absent ? NAN : perf_algbw(test, sample->time));
    json_real(json, "bus_bw", sample->absent ? NAN : perf_busbw(test, nranks, sample->time));
    if (sample->wrong >= 0) {
        json_real(json, "nwrong", sample->wrong);
    } else {
        json_string(json, "nwrong", "N/A");
    }
    if (o->loop.per_iter != 0 && !sample->absent) {
        perf_json_put_spread(json, "per_iter", &sample->own);
    }
    if (o->loop.stats && !sample->absent) {
        perf_json_put_spread(json, "stats", &sample->slowest);
    }
    json_close(json, '}');
}

void perf_json_row(json_t *json, const perf_options_t *options, uint32_t nranks,
                   const perf_case_t *test, const perf_sample_t *out, const perf_sample_t *in)
{
    bool barrier = test->coll == WEFT_BARRIER;
    json_open(json, NULL, '{');
    json_string(json, "collective", weft_coll_name(test->coll));
    json_unsigned(json, "size", test->size);
    json_unsigned(json, "count", test->count);
    json_string(json, "type", barrier ? "none" : weft_dtype_name(test->dtype));
    json_string(json, "redop", perf_op_text(test->coll, test->op));
    json_integer(json, "root", weft_coll_is_rooted(test->coll) ? (int64_t)test->root : -1);
    if (test->model >= 0) {
        json_real(json, "model", test->model * 1e6);
    }
    perf_json_put_sample(json, "out_of_place", options, nranks, test, out);
    perf_json_put_sample(json, "in_place", options, nranks, test, in);
    json_integer(json, "actual_iterations", options->loop.iters);
    json_string(json, "experiment_name", "");
    json_close(json, '}');
    fflush(json->out);
}

void perf_json_end(json_t *json, const perf_report_t *report, const perf_rank_t *rank,
                   const char *error)
{
    char now[32];
    json_close(json, ']');
    json_open(json, "skipped", '[');
    for (int c = 0; c < WEFT_COLL_COUNT; c++) {
        if (report->support->unserved[c][0] != '\0') {
            json_open(json, NULL, '{');
            json_string(json, "collective", weft_coll_name((weft_coll_t)c));
            json_string(json, "why", report->support->unserved[c]);
            json_close(json, '}');
        }
    }
    json_close(json, ']');
    json_open(json, "out_of_bounds", '{');
    json_real(json, "count", report->all.wrong);
    json_bool(json, "okay", !(report->all.wrong > 0));
    json_close(json, '}');
    json_open(json, "average_bus_bandwidth", '{');
    json_real(json, "bandwidth", perf_total_average(&report->all));
    json_bool(json, "okay", perf_report_bandwidth_ok(report));
    json_close(json, '}');
    if (rank->held.nranks > 0) {
        holdings_summary_json(&rank->held, json, "memory");
    }
    json_open(json, "errors", '[');
    if (error != NULL && error[0] != '\0') {
        json_string(json, NULL, error);
    }
    json_close(json, ']');
    perf_timestamp(now, sizeof now);
    json_string(json, "end_time", now);
    json_close(json, '}');
}
