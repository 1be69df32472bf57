/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See tune_points.h. */
#include "tools/tune_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/coll.h"
#include "core/base/error.h"
#include "tools/tune_clock.h"
#include "tools/tune_race.h"
#include "tools/tune_time.h"
#include "tools/values.h"

#define TUNE_CALLS_LEAST 4
#define TUNE_CALLS_MAX 4096
#define TUNE_VARIES 16384u /* bytes from which slices can be cut */

bool tune_serves(weft_coll_t coll)
{
    return !weft_coll_has_vectors(coll) && coll != WEFT_SEND_RECV && coll != WEFT_BARRIER;
}

uint64_t tune_room(const tune_request_t *request, uint32_t nranks)
{
    const uint64_t least = UINT64_C(1) << 20; /* what measuring an edge needs */
    uint64_t blocks = 1;
    for (int coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        if (request->colls[coll] && coll != WEFT_ALL_REDUCE && coll != WEFT_REDUCE &&
            coll != WEFT_BROADCAST) {
            blocks = nranks;
        }
    }
    return (request->last + 64) * blocks > least ? (request->last + 64) * blocks : least;
}

static weft_status_t tune_points_join_one(const tune_rank_t *rank,
                                          const weft_comm_options_t *options, weft_comm_t **comm_p)
{
    weft_unique_id_t id;
    memset(&id, 0, sizeof id);
    weft_status_t status = rank->rank == 0 ? weft_unique_id_create(&id, options) : WEFT_OK;
    if (status == WEFT_OK) {
        status = weft_broadcast(&id, &id, sizeof id, WEFT_UINT8, 0, rank->comm, NULL);
    }
    return status != WEFT_OK ? status
                             : weft_comm_init_rank(comm_p, rank->nranks, &id, rank->rank, options);
}

/* Joins communicators in which one algorithm is forced. */
static weft_status_t tune_points_join(tune_rank_t *rank, tune_candidate_t *candidate)
{
    char forced[TUNE_NAME_MAX + 16], rule[TUNE_NAME_MAX + 32];
    tool_settings_t settings = rank->request->settings;
    size_t name = strcspn(candidate->algo, ",");
    snprintf(forced, sizeof forced, "plan.algo=%.*s", (int)name, candidate->algo);
    snprintf(rule, sizeof rule, "tuner.rule=any: %s", candidate->algo);
    if (!tool_settings_take(&settings, TOOL_OPT_SET, forced) ||
        (candidate->algo[name] == ',' && !tool_settings_take(&settings, TOOL_OPT_SET, rule))) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "no room for one more --set: %s", forced);
    }
    weft_comm_options_t options = tool_settings_options(&settings);
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < TUNE_COMMS && status == WEFT_OK; i++) {
        status = tune_points_join_one(rank, &options, &candidate->comms[i]);
    }
    return status;
}

weft_status_t tune_candidates_open(tune_rank_t *rank)
{
    const char *names[TUNE_CANDIDATES_MAX];
    weft_status_t status = weft_comm_algos(rank->comm, names, &rank->count);
    for (uint32_t i = 0; i < rank->count && status == WEFT_OK; i++) {
        snprintf(rank->candidates[i].algo, TUNE_NAME_MAX, "%s", names[i]);
        status = tune_points_join(rank, &rank->candidates[i]);
    }
    return status;
}

void tune_candidates_close(tune_rank_t *rank)
{
    for (uint32_t i = 0; i < rank->count * TUNE_COMMS; i++) {
        weft_comm_t *comm = rank->candidates[i / TUNE_COMMS].comms[i % TUNE_COMMS];
        if (comm != NULL) {
            weft_comm_destroy(comm);
        }
    }
}

/* A candidate at one size while it is measured. */
typedef struct tune_run {
    tune_candidate_t *candidate;
    double fastest; /* seconds of a call so far */
} tune_run_t;

/* As many calls as fill the time of one measurement, but not one alone, which has all of what comes
 * behind a barrier. */
static uint32_t tune_points_calls(const tune_rank_t *rank, const tune_run_t *run)
{
    const double calls = rank->request->budget / (run->fastest + 1e-9);
    const double least = run->fastest < rank->request->budget ? TUNE_CALLS_LEAST : 1;
    return (uint32_t)fmin(fmax(calls, least), TUNE_CALLS_MAX);
}

/* Makes the plan and its connections in every communicator. */
static weft_status_t tune_points_prepare(const tune_rank_t *rank, const weft_args_t *args,
                                         tune_run_t *run)
{
    weft_status_t status = WEFT_OK;
    run->fastest = INFINITY;
    for (uint32_t i = 0; i < 2 * TUNE_COMMS && status == WEFT_OK; i++) {
        double seconds = 0;
        weft_comm_t *comm = run->candidate->comms[i % TUNE_COMMS];
        status = tune_time(rank, comm, args, 2, &seconds);
        run->fastest = fmin(run->fastest, seconds);
        if (i + 1 >= TUNE_COMMS && run->fastest > 10 * rank->request->budget) {
            break;
        }
    }
    return status;
}

/* What is measured at one size. */
typedef struct tune_field {
    tune_run_t runs[TUNE_CANDIDATES_MAX];
    tune_race_t race;
    tune_result_t *results;
    uint32_t count;
} tune_field_t;

/* Adds a candidate if it serves the call, with the model's time. */
static void tune_points_add(const weft_args_t *args, const weft_select_choice_t *choice,
                            tune_candidate_t *candidate, tune_field_t *field)
{
    weft_select_choice_t forced;
    if (field->count == TUNE_CANDIDATES_MAX ||
        weft_comm_why(candidate->comms[0], args, &forced) != WEFT_OK) {
        return; /* the same on all ranks */
    }
    tune_result_t *result = &field->results[field->count];
    *result = (tune_result_t){.coll = args->coll,
                              .bytes = args->count * weft_dtype_size(args->dtype),
                              .model = forced.seconds,
                              .chosen = strcmp(choice->algo, candidate->algo) == 0};
    memcpy(result->algo, candidate->algo, sizeof result->algo);
    field->runs[field->count++] = (tune_run_t){.candidate = candidate};
}

static weft_status_t tune_points_list(tune_rank_t *rank, const weft_args_t *args,
                                      tune_field_t *field)
{
    weft_select_choice_t choice;
    weft_status_t status = weft_comm_why(rank->comm, args, &choice);
    for (uint32_t i = 0; i < rank->count && status == WEFT_OK; i++) {
        if (strchr(rank->candidates[i].algo, ',') == NULL) {
            tune_points_add(args, &choice, &rank->candidates[i], field);
        }
    }
    return status;
}

/* The candidate of that name, which may have to be made; *candidate_p stays NULL if there is no
 * room. */
static weft_status_t tune_points_find(tune_rank_t *rank, const char *name,
                                      tune_candidate_t **candidate_p)
{
    uint32_t i = 0;
    weft_status_t status = WEFT_OK;
    while (i < rank->count && strcmp(rank->candidates[i].algo, name) != 0) {
        i++;
    }
    if (i == TUNE_CANDIDATES_MAX) {
        return WEFT_OK;
    }
    if (i == rank->count) {
        snprintf(rank->candidates[i].algo, TUNE_NAME_MAX, "%s", name);
        rank->count++;
        status = tune_points_join(rank, &rank->candidates[i]);
    }
    *candidate_p = &rank->candidates[i];
    return status;
}

/* The best algorithm in other slices and on fewer channels; it begins the list, so that all of them
 * are measured at the same time. */
static weft_status_t tune_points_list_variants(tune_rank_t *rank, const weft_args_t *args,
                                               tune_candidate_t *best, tune_field_t *field)
{
    static const struct {
        const char *how;
        uint32_t channels; /* that this makes sense from; 0: any */
    } variants[] = {
        {"slices=1,slice_bytes=8K", 0},
        {"slices=1,slice_bytes=32K", 0},
        {"slices=2,slice_bytes=16K", 0},
        {"slices=2,slice_bytes=64K", 0},
        {"slices=4,slice_bytes=32K", 0},
        {"slices=4,slice_bytes=128K", 0},
        {"channels=1", 2},
        {"channels=2", 3},
        {"channels=4", 5},
    };
    weft_select_choice_t choice;
    weft_status_t status = weft_comm_why(rank->comm, args, &choice);
    if (status == WEFT_OK) {
        tune_points_add(args, &choice, best, field);
    }
    for (size_t i = 0; i < sizeof variants / sizeof variants[0] && status == WEFT_OK; i++) {
        char name[TUNE_NAME_MAX];
        tune_candidate_t *candidate = NULL;
        if (variants[i].channels > rank->figures.channels) {
            continue;
        }
        snprintf(name, sizeof name, "%.30s,%s", best->algo, variants[i].how);
        status = tune_points_find(rank, name, &candidate);
        if (status == WEFT_OK && candidate != NULL) {
            tune_points_add(args, &choice, candidate, field);
        }
    }
    return status;
}

static weft_status_t tune_points_run(const tune_rank_t *rank, const weft_args_t *args,
                                     tune_field_t *field, uint32_t which, uint32_t round)
{
    double seconds = 0;
    tune_run_t *run = &field->runs[which];
    weft_comm_t *comm = run->candidate->comms[round % TUNE_COMMS];
    uint32_t calls = tune_points_calls(rank, run);
    weft_status_t status = tune_time(rank, comm, args, calls, &seconds);
    tune_race_take(&field->race, which, seconds);
    run->fastest = fmin(run->fastest, seconds);
    return status;
}

/* Measures all of the field in turns. Each round begins with another one, so none always comes
 * behind the same. Times, and with them who is out, are equal on all ranks. */
static weft_status_t tune_points_measure(const tune_rank_t *rank, const weft_args_t *args,
                                         tune_field_t *field)
{
    uint32_t rounds = (uint32_t)rank->request->rounds;
    weft_status_t status = WEFT_OK;
    field->race.count = field->count;
    for (uint32_t i = 0; i < field->count && status == WEFT_OK; i++) {
        status = tune_points_prepare(rank, args, &field->runs[i]);
    }
    for (uint32_t round = 0; field->count > 0 && round < rounds && status == WEFT_OK; round++) {
        for (uint32_t i = 0; i < field->count && status == WEFT_OK; i++) {
            uint32_t which = (round + i) % field->count;
            status = field->race.runs[which].out ? WEFT_OK
                                                 : tune_points_run(rank, args, field, which, round);
        }
        tune_race_end_round(&field->race);
    }
    if (field->count > 0 && status == WEFT_OK) {
        tune_race_judge(&field->race, field->results);
    }
    return status;
}

/* Measures the best again, beside its variants. Times are equal on all ranks, and so is the
 * best. */
static weft_status_t tune_points_vary(tune_rank_t *rank, const weft_args_t *args,
                                      tune_field_t *field)
{
    uint32_t best = 0, plain = field->count;
    tune_field_t more = {.count = 0};
    for (uint32_t i = 0; i < plain; i++) {
        best = field->results[i].seconds < field->results[best].seconds ? i : best;
    }
    more.results = calloc(TUNE_CANDIDATES_MAX, sizeof *more.results);
    if (more.results == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for results");
    }
    weft_status_t status =
        tune_points_list_variants(rank, args, field->runs[best].candidate, &more);
    status = status != WEFT_OK ? status : tune_points_measure(rank, args, &more);
    for (uint32_t i = 0; i < more.count && status == WEFT_OK; i++) {
        uint32_t to = i == 0 ? best : field->count++;
        field->results[to] = more.results[i];
    }
    free(more.results);
    return status;
}

static weft_args_t tune_point_args(const tune_rank_t *rank, weft_coll_t coll, uint64_t bytes)
{
    weft_args_t args = {.coll = coll, .dtype = rank->request->dtype, .op = WEFT_SUM};
    args.count = bytes / weft_dtype_size(args.dtype);
    args.count = args.count > 0 ? args.count : 1;
    return args;
}

weft_status_t tune_point_list(tune_rank_t *rank, weft_coll_t coll, uint64_t bytes,
                              tune_result_t results[TUNE_CANDIDATES_MAX], uint32_t *count_p)
{
    tune_field_t field = {.results = results};
    const weft_args_t args = tune_point_args(rank, coll, bytes);
    weft_status_t status = tune_points_list(rank, &args, &field);
    *count_p = field.count;
    return status;
}

weft_status_t tune_point(tune_rank_t *rank, weft_coll_t coll, uint64_t bytes,
                         tune_result_t results[TUNE_CANDIDATES_MAX], uint32_t *count_p)
{
    tune_field_t field = {.results = results};
    const weft_args_t args = tune_point_args(rank, coll, bytes);
    weft_status_t status = weft_coll_is_rooted(coll) ? tune_clock_set(rank) : WEFT_OK;
    status = status != WEFT_OK ? status : tune_points_list(rank, &args, &field);
    status = status != WEFT_OK ? status : tune_points_measure(rank, &args, &field);
    if (status == WEFT_OK && rank->request->variants && field.count > 0 && bytes >= TUNE_VARIES) {
        status = tune_points_vary(rank, &args, &field);
    }
    *count_p = field.count;
    return status;
}
