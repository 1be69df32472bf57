/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times of `weft sim` as a table, as comma-separated values, as JSON. */
#include "tools/sim_table.h"

#include <math.h>

#include "core/base/plural.h"
#include "tools/json.h"
#include "tools/plan_price.h"
#include "tools/price_head.h"
#include "tools/sim_point.h"
#include "tools/tool.h"

typedef struct row {
    const sim_request_t *request;
    const sim_point_t *points; /* of this number of ranks */
    uint64_t size;
    uint32_t fastest; /* nspecs: none */
} row_t;

static uint32_t sim_table_fastest(const row_t *row)
{
    uint32_t best = row->request->nspecs;
    double least = INFINITY;
    for (uint32_t a = 0; a < row->request->nspecs; a++) {
        double t = sim_point_time(row->request, &row->points[a], row->size).seconds;
        if (t < least) {
            least = t;
            best = a;
        }
    }
    return best;
}

static void sim_table_put_head(const sim_request_t *request, const sim_point_t *points)
{
    printf("# %s over %u ranks, %lld to a host\n", weft_coll_name(request->coll), points[0].nranks,
           (long long)request->per_host);
    for (uint32_t a = 0; a < request->nspecs; a++) {
        const sim_point_t *p = &points[a];
        const weft_plan_survey_t *s = &p->survey;
        if (!p->served) {
            printf("# %-20s does not serve: %s\n", p->algo, p->why);
        } else if (s->verdict != WEFT_VERDICT_OK) {
            printf("# %-20s %s: %s%s\n", p->algo, weft_verdict_name(s->verdict), s->text,
                   s->verdict == WEFT_VERDICT_TOO_BIG ? "; priced by its busiest rank" : "");
        } else {
            printf(
                "# %-20s ok: %u step%s, %u of %lld slot%s used, %u port%s, %u class%s of ranks\n",
                p->algo, s->cost.chain, weft_plural(s->cost.chain), s->peak_slots,
                (long long)request->slots, weft_plural((uint64_t)request->slots), s->ports_max,
                weft_plural(s->ports_max), s->classes, s->classes == 1 ? "" : "es");
        }
    }
    printf("# %10s  %-20s %12s %10s %10s%s\n", "size", "algorithm", "time", "algbw", "busbw",
           request->price.path != WEFT_KERNEL_PATH_COUNT ? "  channels  protocol" : "");
    printf("# %10s  %-20s %12s %10s %10s\n", "(B)", "", "(us)", "(GB/s)", "(GB/s)");
}

static void sim_table_put_row(const row_t *row, uint32_t a, json_t *json)
{
    const sim_point_t *p = &row->points[a];
    const price_time_t time = sim_point_time(row->request, p, row->size);
    const bool devices = plan_path_is_given(&p->model.path);
    double t = time.seconds;
    double algbw = (double)row->size / t / 1e9;
    double busbw = algbw * price_bus_factor(p->coll, p->nranks);
    if (!isfinite(t)) {
        return;
    }
    if (row->request->form == SIM_TABLE) {
        printf("%12llu  %-20s %12.2f %10.3f %10.3f", (unsigned long long)row->size, p->algo,
               t * 1e6, algbw, busbw);
        if (devices) {
            printf(" %9u  %-8s", time.channels, time.travel);
        }
        printf("%s\n", a == row->fastest ? "  *" : "");
    } else if (row->request->form == SIM_CSV) {
        printf("%s,%u,%llu,\"%s\",%.9g,%.6g,%.6g,%d", weft_coll_name(p->coll), p->nranks,
               (unsigned long long)row->size, p->algo, t, algbw, busbw, a == row->fastest);
        if (devices) {
            printf(",%u,%s", time.channels, time.travel);
        }
        puts("");
    } else {
        json_open(json, NULL, '{');
        json_unsigned(json, "nranks", p->nranks);
        json_unsigned(json, "size", row->size);
        json_string(json, "algo", p->algo);
        json_real(json, "seconds", t);
        json_real(json, "algbw", algbw);
        json_real(json, "busbw", busbw);
        json_bool(json, "fastest", a == row->fastest);
        if (devices) {
            json_unsigned(json, "channels", time.channels);
            json_string(json, "protocol", time.travel);
        }
        json_close(json, '}');
    }
}

static void sim_table_put_ranks(const sim_request_t *request, const sim_point_t *points,
                                json_t *json)
{
    row_t row = {.request = request, .points = points};
    if (request->form == SIM_TABLE) {
        sim_table_put_head(request, points);
    }
    while (price_next_size(&request->price, &row.size)) {
        row.fastest = sim_table_fastest(&row);
        for (uint32_t a = 0; a < request->nspecs; a++) {
            sim_table_put_row(&row, a, json);
        }
    }
    if (request->form == SIM_TABLE) {
        puts("");
    }
}

static void sim_table_put_plans(const sim_request_t *request, const sim_point_t *points,
                                json_t *json)
{
    json_open(json, "plans", '[');
    for (uint32_t i = 0; i < request->nranks * request->nspecs; i++) {
        const sim_point_t *p = &points[i];
        json_open(json, NULL, '{');
        json_string(json, "algo", p->algo);
        json_unsigned(json, "nranks", p->nranks);
        json_bool(json, "serves", p->served);
        json_string(json, "verdict",
                    p->served ? weft_verdict_name(p->survey.verdict) : "unsupported");
        json_string(json, "text", p->served ? p->survey.text : p->why);
        json_unsigned(json, "steps", p->survey.cost.chain);
        json_unsigned(json, "peak_slots", p->survey.peak_slots);
        json_unsigned(json, "ports_most", p->survey.ports_max);
        json_unsigned(json, "words_most", p->survey.words_max);
        json_unsigned(json, "classes", p->survey.classes);
        json_unsigned(json, "emitted", p->survey.emitted);
        json_real(json, "survey_seconds", p->survey_seconds);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void sim_put_table(const sim_request_t *request, const sim_point_t *points)
{
    json_t json = {.out = stdout};
    if (request->form == SIM_CSV) {
        printf("collective,nranks,size,algorithm,seconds,algbw,busbw,fastest%s\n",
               request->price.path != WEFT_KERNEL_PATH_COUNT ? ",channels,protocol" : "");
    } else if (request->form == SIM_JSON) {
        json_open(&json, NULL, '{');
        json_string(&json, "collective", weft_coll_name(request->coll));
        json_integer(&json, "slots", request->slots);
        sim_table_put_plans(request, points, &json);
        json_open(&json, "times", '[');
    } else {
        for (uint32_t i = 0; i < request->nspecs; i++) {
            if (points[i].served) {
                price_head_print(&points[i].model, points[i].nhosts, "# ", "# ");
                break;
            }
        }
    }
    for (uint32_t i = 0; i < request->nranks; i++) {
        sim_table_put_ranks(request, &points[i * request->nspecs], &json);
    }
    if (request->form == SIM_JSON) {
        json_close(&json, ']');
        json_close(&json, '}');
    }
}
