/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What joined flight records say, in words: who died, who is late, who called something else, who
 * waits for whom. */
#ifndef WEFT_TOOLS_FLIGHT_STORY_H
#define WEFT_TOOLS_FLIGHT_STORY_H

#include <stdio.h>

#include "tools/flight_jobs.h"

/* `now`: on the clock of the job; 0: the records are of the past. */
void flight_story(const flight_job_t *job, uint64_t now, FILE *out);

/* Returns the moment on the clock of the job: as a rank sees it that has the clock of the caller;
 * as the time of day, where the caller is in another time namespace than all of them. */
uint64_t flight_now(const flight_job_t *job);

#endif
