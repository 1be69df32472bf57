/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See tune_fit.h. The model is a maximum of sums, so there is no closed solution: one figure after
 * the other is moved by a factor as long as that makes the mean error less (coordinate search; R.
 * Hooke and T. Jeeves, 1961). The error of a time is the logarithm of its ratio to the measured
 * one, of which outliers count no more than others. */
#include "tools/tune_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/coll.h"
#include "core/base/error.h"
#include "core/comm/select_price.h"

#define FIT_FIGURES (WEFT_LEVELS * 6 + 5)
#define FIT_ROUNDS 12 /* with one factor */
#define FIT_PULL                                                                                   \
    0.002 /* of a figure to what was measured alone: those that no time depends on stay */
#define FIT_CACHE 4194304.0 /* bytes of caches to begin with */

/* A measured time with all that its price depends on. */
typedef struct fit_point {
    weft_priced_t priced;
    weft_tuner_choice_t tuner;
    uint64_t bytes;
    double seconds;
    bool reduces;
} fit_point_t;

typedef struct fit {
    fit_point_t *points;
    size_t count;
    weft_cost_model_t model; /* its γ is that of sums */
    double copy;             /* γ of copies */
    double *figures[FIT_FIGURES];
    double alone[FIT_FIGURES]; /* what they were */
    uint32_t nfigures;
} fit_t;

/* o is a part of α, however far the search has moved them apart. */
static weft_cost_model_t fit_model(const fit_t *fit)
{
    weft_cost_model_t model = fit->model;
    for (uint32_t l = 0; l < WEFT_LEVELS; l++) {
        weft_cost_edge_t *edge = &model.level[l];
        edge->overhead = edge->overhead < edge->alpha ? edge->overhead : edge->alpha;
    }
    return model;
}

static double fit_price(const fit_t *fit, fit_point_t *point)
{
    const weft_tuner_call_t call = {.size = sizeof call, .bytes = point->bytes};
    const weft_tuner_candidate_t candidate = {
        .size = sizeof candidate, .core = &point->priced, .channels = point->tuner.channels};
    point->priced.model = fit_model(fit);
    if (!point->reduces) {
        point->priced.model.gamma = fit->copy;
    }
    return weft_price_call(&call, &candidate, point->tuner.slices, point->tuner.slice_bytes);
}

static double fit_error(const fit_t *fit)
{
    double sum = 0, pull = 0;
    for (size_t i = 0; i < fit->count; i++) {
        sum += fabs(log(fit_price(fit, &fit->points[i]) / fit->points[i].seconds));
    }
    for (uint32_t i = 0; i < fit->nfigures; i++) {
        pull += fabs(log(*fit->figures[i] / fit->alone[i]));
    }
    return sum / (double)fit->count + FIT_PULL * pull;
}

static void fit_add(fit_t *fit, double *figure)
{
    if (*figure > 0) {
        fit->alone[fit->nfigures] = *figure;
        fit->figures[fit->nfigures++] = figure;
    }
}

/* Returns the error with the figure moved up or down, if that is less; else as it was. */
static double fit_move(const fit_t *fit, double *figure, double factor, double least)
{
    const double before = *figure, tries[] = {before * factor, before / factor};
    for (size_t i = 0; i < 2; i++) {
        *figure = tries[i];
        double error = fit_error(fit);
        if (error < least) {
            return error;
        }
    }
    *figure = before;
    return least;
}

static void fit_search(fit_t *fit)
{
    static const double factors[] = {4, 2, 1.4, 1.2, 1.1, 1.05};
    double least = fit_error(fit);
    for (size_t f = 0; f < sizeof factors / sizeof factors[0]; f++) {
        double before = INFINITY;
        for (uint32_t round = 0; round < FIT_ROUNDS && least < before * 0.9995; round++) {
            before = least;
            for (uint32_t i = 0; i < fit->nfigures; i++) {
                least = fit_move(fit, fit->figures[i], factors[f], least);
            }
        }
    }
}

/* The communicator in which the algorithm is forced, or NULL. */
static weft_comm_t *fit_comm(const tune_rank_t *rank, const char *algo)
{
    for (uint32_t i = 0; i < rank->count; i++) {
        if (strcmp(rank->candidates[i].algo, algo) == 0) {
            return rank->candidates[i].comms[0];
        }
    }
    return NULL;
}

static weft_status_t fit_collect(const tune_rank_t *rank, const tune_results_t *results, fit_t *fit)
{
    weft_dtype_t dtype = rank->request->dtype;
    for (size_t i = 0; i < results->count; i++) {
        const tune_result_t *result = &results->list[i];
        weft_args_t args = {.coll = result->coll,
                            .dtype = dtype,
                            .op = WEFT_SUM,
                            .count = result->bytes / weft_dtype_size(dtype)};
        weft_comm_t *comm = fit_comm(rank, result->algo);
        weft_select_choice_t choice;
        if (comm == NULL || !(result->seconds > 0)) {
            continue; /* of another configuration */
        }
        weft_status_t status = weft_comm_why(comm, &args, &choice);
        if (status != WEFT_OK) {
            return status;
        }
        fit->points[fit->count++] = (fit_point_t){.priced = choice.priced,
                                                  .tuner = choice.tuner,
                                                  .bytes = result->bytes,
                                                  .seconds = result->seconds,
                                                  .reduces = weft_coll_reduces(result->coll)};
    }
    return WEFT_OK;
}

/* Begins with what was measured alone, and with what the configuration says of busy cores. */
static void fit_begin(const tune_rank_t *rank, const tune_figures_t *figures, fit_t *fit)
{
    bool crowded = figures->cores < rank->figures.crowd;
    fit->model = rank->figures.model;
    fit->model.gamma = figures->gamma[rank->request->dtype];
    fit->copy = figures->gamma[WEFT_FIGURES_COPY];
    fit->model.memory = fit->copy > fit->model.gamma ? 2 * fit->copy : 2 * fit->model.gamma;
    fit->model.cache = FIT_CACHE;
    for (uint32_t l = 0; l < WEFT_LEVELS; l++) {
        weft_cost_edge_t *edge = &fit->model.level[l];
        weft_cost_busy_t *busy = &fit->model.busy[l];
        if (figures->level[l].alpha > 0) {
            *edge = figures->level[l];
            busy->slice = busy->slice > 2 * edge->overhead ? busy->slice : 2 * edge->overhead;
            busy->beta = 2 * edge->beta;
            fit_add(fit, &edge->alpha);
            fit_add(fit, &edge->beta);
            fit_add(fit, &edge->overhead);
        }
        if (figures->level[l].alpha > 0 && crowded) {
            fit_add(fit, &busy->turn);
            fit_add(fit, &busy->slice);
            fit_add(fit, &busy->beta);
        }
    }
    /* One edge alone is as fast as the wire, if nobody shares it. */
    fit->model.wire = figures->level[WEFT_LEVEL_BETWEEN].alpha > 0
                          ? fit->model.level[WEFT_LEVEL_BETWEEN].beta
                          : 0;
    fit_add(fit, &fit->model.wire);
    fit_add(fit, &fit->model.gamma);
    fit_add(fit, &fit->copy);
    fit_add(fit, &fit->model.memory);
    fit_add(fit, &fit->model.cache);
    for (size_t i = 0; i < fit->count; i++) {
        fit->points[i].priced.crowd.cores = figures->cores;
    }
}

/* Types that were not measured in calls keep their ratio to the one that was. */
static void fit_end(const tune_rank_t *rank, const fit_t *fit, tune_figures_t *figures)
{
    double ratio = fit->model.gamma / figures->gamma[rank->request->dtype];
    for (uint32_t i = 0; i < WEFT_DTYPE_COUNT; i++) {
        figures->gamma[i] *= ratio;
    }
    figures->gamma[WEFT_FIGURES_COPY] = fit->copy;
    figures->gamma[WEFT_FIGURES_MEMORY] = fit->model.memory;
    figures->cache = fit->model.cache;
    figures->wire = fit->model.wire;
    for (uint32_t l = 0; l < WEFT_LEVELS; l++) {
        if (figures->level[l].alpha > 0) {
            figures->level[l] = fit_model(fit).level[l];
            figures->busy[l] = fit->model.busy[l];
        }
    }
}

static void fit_take_times(const fit_t *fit, const tune_rank_t *rank, tune_results_t *results)
{
    size_t at = 0;
    for (size_t i = 0; i < results->count; i++) {
        tune_result_t *result = &results->list[i];
        if (fit_comm(rank, result->algo) != NULL && result->seconds > 0) {
            result->model = fit_price(fit, &fit->points[at++]);
        }
    }
}

weft_status_t tune_fit(tune_rank_t *rank, tune_figures_t *figures, tune_results_t *results)
{
    fit_t fit = {.points = calloc(results->count + 1, sizeof *fit.points)};
    if (fit.points == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for %zu results", results->count);
    }
    weft_status_t status = fit_collect(rank, results, &fit);
    if (status == WEFT_OK && fit.count > 0) {
        fit_begin(rank, figures, &fit);
        fit_search(&fit);
        fit_end(rank, &fit, figures);
        fit_take_times(&fit, rank, results);
    }
    free(fit.points);
    return status;
}
