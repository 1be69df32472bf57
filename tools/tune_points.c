/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See tune_points.h. */
#include "tools/tune_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/coll.h"
#include "core/base/error.h"
#include "core/os/os.h"
#include "tools/values.h"

#define TUNE_ROUNDS_MAX 64
#define TUNE_CALLS_MAX 4096

bool tune_serves(weft_coll_t coll)
{
    return !weft_coll_has_vectors(coll) && coll != WEFT_SEND_RECV && coll != WEFT_BARRIER;
}

uint64_t tune_room(uint64_t bytes, uint32_t nranks)
{
    return (bytes + 64) * nranks;
}

static weft_status_t tune_points_call(const tune_rank_t *rank, weft_comm_t *comm, weft_coll_t coll,
                                      uint64_t count)
{
    weft_dtype_t dtype = rank->request->dtype;
    switch (coll) {
    case WEFT_ALL_REDUCE:
        return weft_all_reduce(rank->send, rank->recv, count, dtype, WEFT_SUM, comm, NULL);
    case WEFT_REDUCE_SCATTER:
        return weft_reduce_scatter(rank->send, rank->recv, count, dtype, WEFT_SUM, comm, NULL);
    case WEFT_ALL_GATHER:
        return weft_all_gather(rank->send, rank->recv, count, dtype, comm, NULL);
    case WEFT_BROADCAST:
        return weft_broadcast(rank->send, rank->recv, count, dtype, 0, comm, NULL);
    case WEFT_REDUCE:
        return weft_reduce(rank->send, rank->recv, count, dtype, WEFT_SUM, 0, comm, NULL);
    case WEFT_ALL_TO_ALL:
        return weft_all_to_all(rank->send, rank->recv, count, dtype, comm, NULL);
    case WEFT_GATHER:
        return weft_gather(rank->send, rank->recv, count, dtype, 0, comm, NULL);
    case WEFT_SCATTER:
        return weft_scatter(rank->send, rank->recv, count, dtype, 0, comm, NULL);
    default:
        return weft_fail(WEFT_ERR_UNSUPPORTED, 0, "%s is not tuned", weft_coll_name(coll));
    }
}

/* Joins a communicator in which one algorithm is forced. */
static weft_status_t tune_points_join(tune_rank_t *rank, tune_candidate_t *candidate)
{
    char forced[TUNE_NAME_MAX + 16];
    weft_unique_id_t id;
    tool_settings_t settings = rank->request->settings;
    snprintf(forced, sizeof forced, "plan.algo=%s", candidate->algo);
    if (!tool_settings_take(&settings, TOOL_OPT_SET, forced)) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "no room for one more --set: %s", forced);
    }
    weft_comm_options_t options = tool_settings_options(&settings);
    memset(&id, 0, sizeof id);
    weft_status_t status = rank->rank == 0 ? weft_unique_id_create(&id, &options) : WEFT_OK;
    if (status == WEFT_OK) {
        status = weft_broadcast(&id, &id, sizeof id, WEFT_UINT8, 0, rank->comm, NULL);
    }
    return status != WEFT_OK
               ? status
               : weft_comm_init_rank(&candidate->comm, rank->nranks, &id, rank->rank, &options);
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
    for (uint32_t i = 0; i < rank->count; i++) {
        if (rank->candidates[i].comm != NULL) {
            weft_comm_destroy(rank->candidates[i].comm);
        }
    }
}

/* Seconds of `calls` calls in a row, of the slowest rank. */
static weft_status_t tune_points_time(const tune_rank_t *rank, weft_comm_t *comm, weft_coll_t coll,
                                      uint64_t count, uint32_t calls, double *seconds_p)
{
    weft_status_t status = weft_barrier(rank->comm, NULL);
    uint64_t begin = weft_os_clock_ns();
    for (uint32_t i = 0; i < calls && status == WEFT_OK; i++) {
        status = tune_points_call(rank, comm, coll, count);
    }
    double mine = (double)(weft_os_clock_ns() - begin) * 1e-9;
    if (status == WEFT_OK) {
        status = weft_all_reduce(&mine, seconds_p, 1, WEFT_FP64, WEFT_MAX, rank->comm, NULL);
    }
    return status;
}

/* A candidate at one size while it is measured. */
typedef struct tune_run {
    tune_candidate_t *candidate;
    uint32_t calls;
    double seconds[TUNE_ROUNDS_MAX]; /* of one call */
} tune_run_t;

/* As many calls as fill the time of one measurement. */
static weft_status_t tune_points_prepare(const tune_rank_t *rank, tune_run_t *run, weft_coll_t coll,
                                         uint64_t count)
{
    double first = 0, once = 0;
    weft_comm_t *comm = run->candidate->comm;
    weft_status_t status = tune_points_time(rank, comm, coll, count, 2, &first);
    if (status == WEFT_OK) {
        status = tune_points_time(rank, comm, coll, count, 2, &once);
    }
    double calls = rank->request->budget / (once / 2 + 1e-9);
    run->calls = calls < 1 ? 1 : calls > TUNE_CALLS_MAX ? TUNE_CALLS_MAX : (uint32_t)calls;
    return status;
}

static int tune_points_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The median, and the order statistics around it that hold it with 95 %, by the binomial
 * distribution with its normal approximation. */
static void tune_points_median(double *seconds, uint32_t rounds, tune_result_t *result)
{
    qsort(seconds, rounds, sizeof *seconds, tune_points_compare);
    double half = 0.98 * sqrt((double)rounds);
    int32_t low = (int32_t)floor((double)rounds / 2 - half);
    low = low < 0 ? 0 : low;
    result->median =
        rounds % 2 != 0 ? seconds[rounds / 2] : (seconds[rounds / 2 - 1] + seconds[rounds / 2]) / 2;
    result->low = seconds[low];
    result->high = seconds[rounds - 1 - (uint32_t)low];
}

/* Candidates that serve the call, with the model's time. */
static weft_status_t tune_points_list(tune_rank_t *rank, const weft_args_t *args, tune_run_t *runs,
                                      tune_result_t *results, uint32_t *count_p)
{
    weft_select_choice_t choice;
    weft_status_t status = weft_comm_why(rank->comm, args, &choice);
    *count_p = 0;
    for (uint32_t i = 0; i < rank->count && status == WEFT_OK; i++) {
        weft_select_choice_t forced;
        tune_candidate_t *candidate = &rank->candidates[i];
        if (weft_comm_why(candidate->comm, args, &forced) != WEFT_OK) {
            continue; /* the same on all ranks */
        }
        tune_result_t *result = &results[*count_p];
        *result = (tune_result_t){.coll = args->coll,
                                  .bytes = args->count * weft_dtype_size(args->dtype),
                                  .model = forced.seconds,
                                  .chosen = strcmp(choice.algo, candidate->algo) == 0};
        memcpy(result->algo, candidate->algo, sizeof result->algo);
        runs[(*count_p)++] = (tune_run_t){.candidate = candidate};
    }
    return status;
}

weft_status_t tune_point(tune_rank_t *rank, weft_coll_t coll, uint64_t bytes,
                         tune_result_t results[TUNE_CANDIDATES_MAX], uint32_t *count_p)
{
    tune_run_t runs[TUNE_CANDIDATES_MAX];
    uint32_t rounds = (uint32_t)rank->request->rounds;
    weft_args_t args = {.coll = coll, .dtype = rank->request->dtype, .op = WEFT_SUM};
    args.count = bytes / weft_dtype_size(args.dtype);
    args.count = args.count > 0 ? args.count : 1;
    weft_status_t status = tune_points_list(rank, &args, runs, results, count_p);
    for (uint32_t i = 0; i < *count_p && status == WEFT_OK; i++) {
        status = tune_points_prepare(rank, &runs[i], coll, args.count);
    }
    for (uint32_t round = 0; round < rounds && status == WEFT_OK; round++) {
        for (uint32_t i = 0; i < *count_p && status == WEFT_OK; i++) {
            double *seconds = &runs[i].seconds[round];
            status = tune_points_time(rank, runs[i].candidate->comm, coll, args.count,
                                      runs[i].calls, seconds);
            *seconds /= runs[i].calls;
        }
    }
    for (uint32_t i = 0; i < *count_p && status == WEFT_OK; i++) {
        tune_points_median(runs[i].seconds, rounds, &results[i]);
    }
    return status;
}
