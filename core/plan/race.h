/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Races between the streams of one rank, by vector clocks. A stream is a lane, or one member of a
 * PAR. Private to core/plan. */
#ifndef WEFT_PLAN_RACE_H
#define WEFT_PLAN_RACE_H

#include "core/plan/run_state.h"

/* Gives clocks to each rank with several lanes. They see what orders its lanes inside the rank; a
 * rank where that is not enough is marked in race.marks. ERR_RESOURCE. */
weft_status_t weft_race_init_local(weft_run_t *run);
/* Gives clocks that travel through queues to ranks with `mark`, from *next_p on and as many as
 * memory allows, and moves *next_p past them. Accesses that these do not order are a finding: RACE.
 * ERR_RESOURCE. */
weft_status_t weft_race_init_exact(weft_run_t *run, uint8_t mark, uint32_t *next_p);
void weft_race_fini(weft_run_t *run);

/* A PAR begins, a PAR has ended. */
void weft_race_fork(weft_run_t *run, const weft_run_lane_t *lane);
void weft_race_join(weft_run_t *run, const weft_run_lane_t *lane);
/* The lane has waited for `after`; its instruction `pc` has ended; lanes of the mask have met. */
void weft_race_wait(weft_run_t *run, const weft_run_lane_t *lane, const weft_after_t *after);
void weft_race_end(weft_run_t *run, const weft_run_lane_t *lane, uint32_t pc);
void weft_race_barrier(weft_run_t *run, const weft_run_lane_t *lane, uint64_t mask);
/* A slice begins to move, has moved. */
void weft_race_begin_step(weft_run_t *run, const weft_run_lane_t *lane,
                          const weft_run_member_t *member);
void weft_race_end_step(weft_run_t *run, const weft_run_lane_t *lane,
                        const weft_run_member_t *member);
/* Between them: a cell of OUT or TMP is read, */
void weft_race_read(weft_run_t *run, const weft_run_lane_t *lane, const weft_run_member_t *member,
                    uint64_t cell);
/* … a chunk of IN is read, */
void weft_race_read_own(weft_run_t *run, const weft_run_lane_t *lane,
                        const weft_run_member_t *member, uint32_t chunk);
/* … a cell of OUT is read that is IN in place, */
void weft_race_read_input(weft_run_t *run, const weft_run_lane_t *lane,
                          const weft_run_member_t *member, uint64_t cell);
/* … a cell is written. */
void weft_race_write(weft_run_t *run, const weft_run_lane_t *lane, const weft_run_member_t *member,
                     uint64_t cell, uint64_t value);

#endif
