/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See halving_steps.h. */
#include "halving_steps.h"

halving_job_t halving_job(uint32_t n)
{
    halving_job_t job = {.n = n, .units = 1};
    while (job.units <= n / 2) {
        job.units *= 2;
        job.steps++;
    }
    job.pairs = n - job.units;
    return job;
}

uint32_t halving_unit(const halving_job_t *job, uint32_t rank)
{
    return rank < 2 * job->pairs ? rank / 2 : rank - job->pairs;
}

uint32_t halving_first(const halving_job_t *job, uint32_t unit)
{
    return unit < job->pairs ? 2 * unit : unit + job->pairs;
}

uint32_t halving_second(const halving_job_t *job, uint32_t unit)
{
    return unit < job->pairs ? 2 * unit + 1 : job->n;
}

/* Invariant: before step i `position` holds a range of 2^p / 2^i units that its partners of the
 * steps to come hold too; the bit that tells it from its partner says which half it keeps. */
static halving_step_t halving_steps_halve(const halving_job_t *job, uint32_t position, uint32_t i,
                                          int near)
{
    halving_step_t step = {.cnt = job->units};
    for (uint32_t j = 0; j <= i; j++) {
        uint32_t bit = UINT32_C(1) << (near ? j : job->steps - 1 - j);
        uint32_t start = step.keep;
        step.cnt /= 2;
        step.peer = position ^ bit;
        step.keep = (position & bit) != 0 ? start + step.cnt : start;
        step.give = (position & bit) != 0 ? start : start + step.cnt;
    }
    return step;
}

halving_step_t halving_near(const halving_job_t *job, uint32_t position, uint32_t i)
{
    return halving_steps_halve(job, position, i, 1);
}

halving_step_t halving_far(const halving_job_t *job, uint32_t position, uint32_t i)
{
    return halving_steps_halve(job, position, i, 0);
}
