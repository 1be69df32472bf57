/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See tune_race.h. */
#include "tools/tune_race.h"

#include <math.h>
#include <stdlib.h>

#define TUNE_RACE_HOPELESS 5.0 /* times the best: two rounds are enough */
#define TUNE_RACE_BEHIND 1.5   /* times the best: three rounds are enough */
#define TUNE_RACE_ROUNDS 3
#define TUNE_RACE_TICK 1e-12 /* seconds: no time is 0 */

void tune_race_take(tune_race_t *race, uint32_t candidate, double seconds)
{
    tune_rounds_t *run = &race->runs[candidate];
    run->seconds[run->count++] = seconds + TUNE_RACE_TICK;
}

/* Rounds so far: who is not out was in all. */
static uint32_t tune_race_rounds(const tune_race_t *race)
{
    uint32_t rounds = 0;
    for (uint32_t i = 0; i < race->count; i++) {
        rounds = race->runs[i].count > rounds ? race->runs[i].count : rounds;
    }
    return rounds;
}

void tune_race_end_round(tune_race_t *race)
{
    uint32_t rounds = tune_race_rounds(race);
    double best = INFINITY;
    for (uint32_t i = 0; i < race->count; i++) {
        const tune_rounds_t *run = &race->runs[i];
        best = run->out ? best : fmin(best, run->seconds[rounds - 1]);
    }
    for (uint32_t i = 0; i < race->count; i++) {
        tune_rounds_t *run = &race->runs[i];
        if (!run->out) {
            double times = run->seconds[rounds - 1] / best;
            run->nearest = rounds == 1 ? times : fmin(run->nearest, times);
            run->out = (rounds > 1 && run->nearest > TUNE_RACE_HOPELESS) ||
                       (rounds >= TUNE_RACE_ROUNDS && run->nearest > TUNE_RACE_BEHIND);
        }
    }
}

/* The geometric mean of the times of a round, of those that were in all rounds. */
static double tune_race_pace(const tune_race_t *race, uint32_t rounds, uint32_t round)
{
    double sum = 0;
    uint32_t number = 0;
    for (uint32_t i = 0; i < race->count; i++) {
        if (race->runs[i].count == rounds) {
            sum += log(race->runs[i].seconds[round]);
            number++;
        }
    }
    return exp(sum / number);
}

static int tune_race_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double tune_race_middle_of(double *values, uint32_t count)
{
    const uint32_t quarter = count / 4, middle = count - 2 * quarter;
    double sum = 0;
    qsort(values, count, sizeof *values, tune_race_compare);
    for (uint32_t i = quarter; i < quarter + middle; i++) {
        sum += values[i];
    }
    return sum / (double)middle;
}

/* The middle, and the order statistics that hold the median with 95 %, by the binomial distribution
 * with its normal approximation. */
static void tune_race_middle(double *values, uint32_t count, tune_result_t *result)
{
    const double half = 0.98 * sqrt((double)count);
    int32_t low = (int32_t)floor((double)count / 2 - half);
    low = low < 0 ? 0 : low;
    result->seconds = tune_race_middle_of(values, count);
    result->low = values[low];
    result->high = values[count - 1 - (uint32_t)low];
}

void tune_race_judge(tune_race_t *race, tune_result_t *results)
{
    double paces[TUNE_ROUNDS_MAX];
    uint32_t rounds = tune_race_rounds(race);
    tune_result_t pace;
    for (uint32_t round = 0; round < rounds; round++) {
        paces[round] = tune_race_pace(race, rounds, round);
    }
    for (uint32_t i = 0; i < race->count; i++) {
        tune_rounds_t *run = &race->runs[i];
        for (uint32_t round = 0; round < run->count; round++) {
            run->seconds[round] /= paces[round];
        }
        tune_race_middle(run->seconds, run->count, &results[i]);
    }
    tune_race_middle(paces, rounds, &pace);
    for (uint32_t i = 0; i < race->count; i++) {
        results[i].seconds *= pace.seconds;
        results[i].low *= pace.seconds;
        results[i].high *= pace.seconds;
    }
}
