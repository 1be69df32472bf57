/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The schedule on many layouts: each round is a permutation of the job, and in n rounds each rank
 * meets each rank exactly once. */
#include <string.h>

#include "plugins/algo-direct/schedule.c"
#include "tests/support/unit.h"

#define RANKS_MAX 600

static uint32_t host[RANKS_MAX];
static uint32_t memory[3 * RANKS_MAX];

static direct_schedule_t schedule_of(uint32_t n, uint32_t nhosts)
{
    weft_algo_topo_t view = {.size = sizeof view, .nhosts = nhosts, .host = host};
    direct_schedule_t schedule;
    direct_schedule_init(&schedule, &view, n, memory);
    return schedule;
}

/* Hosts of each[0], each[1], … ranks, one after another; returns n. */
static uint32_t set_hosts(const uint32_t *each, uint32_t nhosts)
{
    uint32_t n = 0;
    for (uint32_t h = 0; h < nhosts; h++) {
        for (uint32_t i = 0; i < each[h]; i++) {
            host[n++] = h;
        }
    }
    return n;
}

static void check_round(const direct_schedule_t *schedule, const direct_round_t *round,
                        uint8_t met[RANKS_MAX][RANKS_MAX])
{
    uint8_t received[RANKS_MAX] = {0};
    for (uint32_t rank = 0; rank < schedule->n; rank++) {
        uint32_t target = direct_target(schedule, round, rank);
        assert_in_range(target, 0, schedule->n - 1);
        assert_int_equal(direct_source(schedule, round, target), rank);
        assert_int_equal(received[target]++, 0);
        assert_int_equal(met[rank][target]++, 0);
    }
}

static void check_schedule(const direct_schedule_t *schedule)
{
    static uint8_t met[RANKS_MAX][RANKS_MAX];
    direct_round_t round = {0};
    uint32_t rounds = 0;
    memset(met, 0, sizeof met);
    assert_int_equal(schedule->group * schedule->groups, schedule->n);
    do {
        check_round(schedule, &round, met);
        rounds++;
    } while (direct_round_next(schedule, &round));
    /* n rounds, and no pair twice: so each pair once. */
    assert_int_equal(rounds, schedule->n);
}

static void the_first_round_is_with_itself(void **state)
{
    (void)state;
    uint32_t n = set_hosts((const uint32_t[]){3, 3}, 2);
    direct_schedule_t schedule = schedule_of(n, 2);
    direct_round_t round = {0};
    for (uint32_t rank = 0; rank < n; rank++) {
        assert_int_equal(direct_target(&schedule, &round, rank), rank);
    }
}

static void every_pair_meets_once_with_equal_hosts(void **state)
{
    (void)state;
    for (uint32_t hosts = 1; hosts <= 33; hosts++) {
        for (uint32_t local = 1; local <= 17 && hosts * local <= RANKS_MAX; local++) {
            uint32_t each[33];
            for (uint32_t h = 0; h < hosts; h++) {
                each[h] = local;
            }
            uint32_t n = set_hosts(each, hosts);
            direct_schedule_t schedule = schedule_of(n, hosts);
            uint32_t group = hosts == 1 ? local : schedule_common_divisor(local, DIRECT_GROUP_MAX);
            assert_int_equal(schedule.group, group);
            check_schedule(&schedule);
        }
    }
}

static void every_pair_meets_once_with_unequal_hosts(void **state)
{
    (void)state;
    static const struct {
        uint32_t each[6], nhosts, group;
    } cases[] = {
        {{2, 3}, 2, 1},       {{4, 2, 6}, 3, 2},  {{1, 1, 5}, 3, 1},
        {{8, 16, 8}, 3, 8},   {{12, 4, 8}, 3, 4}, {{7, 7, 7, 6}, 4, 1},
        {{24, 8, 16}, 3, 8},  {{5, 5}, 2, 1},     {{6, 6, 6, 6, 6, 2}, 6, 2},
        {{32, 64, 32}, 3, 8}, {{1, 300}, 2, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t n = set_hosts(cases[i].each, cases[i].nhosts);
        direct_schedule_t schedule = schedule_of(n, cases[i].nhosts);
        assert_int_equal(schedule.group, cases[i].group);
        check_schedule(&schedule);
    }
}

static void ranks_that_alternate_between_hosts_are_sorted_by_host(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < 16; rank++) {
        host[rank] = rank % 2;
    }
    direct_schedule_t schedule = schedule_of(16, 2);
    assert_int_equal(schedule.group, 8);
    check_schedule(&schedule);
    direct_round_t round = {0};
    for (uint32_t i = 0; i < 8; i++) {
        for (uint32_t rank = 0; rank < 16; rank++) {
            assert_int_equal(host[direct_target(&schedule, &round, rank)], host[rank]);
        }
        direct_round_next(&schedule, &round);
    }
}

static void distances_are_the_triangular_numbers(void **state)
{
    (void)state;
    static const uint32_t eight[] = {0, 1, 3, 6, 2, 7, 5, 4};
    for (uint32_t rank = 0; rank < 8; rank++) {
        host[rank] = rank;
    }
    direct_schedule_t schedule = schedule_of(8, 8);
    direct_round_t round = {0};
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(direct_target(&schedule, &round, 0), eight[i]);
        assert_int_equal(direct_round_next(&schedule, &round), i < 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_round_is_with_itself),
        cmocka_unit_test(every_pair_meets_once_with_equal_hosts),
        cmocka_unit_test(every_pair_meets_once_with_unequal_hosts),
        cmocka_unit_test(ranks_that_alternate_between_hosts_are_sorted_by_host),
        cmocka_unit_test(distances_are_the_triangular_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
