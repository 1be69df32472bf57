/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See schedule.h. */
#include "schedule.h"

size_t direct_schedule_words(uint32_t n)
{
    return 3 * (size_t)n;
}

static uint32_t schedule_common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint32_t schedule_host_of(const weft_algo_topo_t *topo, uint32_t rank)
{
    return topo->host != NULL ? topo->host[rank] : 0;
}

/* Ranks of each host, then the first place of each. Returns the size of a group. */
static uint32_t schedule_count_hosts(const weft_algo_topo_t *topo, uint32_t n, uint32_t *first)
{
    uint32_t group = topo->nhosts > 1 ? DIRECT_GROUP_MAX : 0, position = 0;
    for (uint32_t host = 0; host < topo->nhosts; host++) {
        first[host] = 0;
    }
    for (uint32_t rank = 0; rank < n; rank++) {
        first[schedule_host_of(topo, rank)]++;
    }
    for (uint32_t host = 0; host < topo->nhosts; host++) {
        uint32_t ranks = first[host];
        group = schedule_common_divisor(group, ranks);
        first[host] = position;
        position += ranks;
    }
    return group;
}

void direct_schedule_init(direct_schedule_t *schedule, const weft_algo_topo_t *topo, uint32_t n,
                          uint32_t *memory)
{
    uint32_t *first = memory + 2 * (size_t)n;
    uint32_t group = schedule_count_hosts(topo, n, first);
    *schedule = (direct_schedule_t){
        .n = n, .group = group, .groups = n / group, .rank_at = memory, .position_of = memory + n};
    for (uint32_t rank = 0; rank < n; rank++) {
        uint32_t position = first[schedule_host_of(topo, rank)]++;
        schedule->rank_at[position] = rank;
        schedule->position_of[rank] = position;
    }
}

static uint32_t schedule_power_of_two(uint32_t at_least)
{
    uint32_t power = 1;
    while (power < at_least) {
        power *= 2;
    }
    return power;
}

int direct_round_next(const direct_schedule_t *schedule, direct_round_t *round)
{
    uint32_t residues = schedule_power_of_two(schedule->groups);
    if (++round->positions < schedule->group) {
        return 1;
    }
    round->positions = 0;
    do {
        round->step++;
        round->groups = (round->groups + round->step) % residues;
    } while (round->step < residues && round->groups >= schedule->groups);
    return round->step < residues;
}

static uint32_t schedule_rank_at(const direct_schedule_t *schedule, uint32_t group,
                                 uint32_t position)
{
    return schedule
        ->rank_at[group % schedule->groups * schedule->group + position % schedule->group];
}

uint32_t direct_target(const direct_schedule_t *schedule, const direct_round_t *round,
                       uint32_t rank)
{
    uint32_t position = schedule->position_of[rank];
    return schedule_rank_at(schedule, position / schedule->group + round->groups,
                            position % schedule->group + round->positions);
}

uint32_t direct_source(const direct_schedule_t *schedule, const direct_round_t *round,
                       uint32_t rank)
{
    uint32_t position = schedule->position_of[rank];
    return schedule_rank_at(schedule, position / schedule->group + schedule->groups - round->groups,
                            position % schedule->group + schedule->group - round->positions);
}
