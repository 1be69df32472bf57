/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Views of jobs and of some of their ranks: numbers of groups, levels that tell something, the
 * order in which neighbours are near. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/topo_view.h"
#include "tests/support/unit.h"

#define RANKS_MAX 64u
#define LEVELS_MAX 4u

/* A job as texts: one letter per rank, its group on that level. */
typedef struct job {
    weft_algo_topo_t topo;
    uint32_t groups[LEVELS_MAX][RANKS_MAX];
    const uint32_t *group[LEVELS_MAX];
    uint32_t ngroups[LEVELS_MAX];
    uint32_t n;
} job_t;

static void job_init(job_t *job, const char *const *levels, uint32_t nlevels, uint32_t host_level)
{
    *job = (job_t){.n = (uint32_t)strlen(levels[0])};
    for (uint32_t level = 0; level < nlevels; level++) {
        for (uint32_t rank = 0; rank < job->n; rank++) {
            uint32_t group = (uint32_t)(levels[level][rank] - 'a');
            job->groups[level][rank] = group;
            job->ngroups[level] = group + 1 > job->ngroups[level] ? group + 1 : job->ngroups[level];
        }
        job->group[level] = job->groups[level];
    }
    job->topo = (weft_algo_topo_t){.size = sizeof job->topo,
                                   .nhosts = job->ngroups[host_level],
                                   .host = job->group[host_level],
                                   .nlevels = nlevels,
                                   .host_level = host_level,
                                   .ngroups = job->ngroups,
                                   .group = job->group};
}

static void expect_groups(const weft_topo_view_t *view, uint32_t level, const char *groups)
{
    uint32_t most = 0;
    for (uint32_t rank = 0; rank < view->nranks; rank++) {
        uint32_t group = (uint32_t)(groups[rank] - 'a');
        assert_int_equal(view->topo.group[level][rank], group);
        most = group + 1 > most ? group + 1 : most;
    }
    assert_int_equal(view->topo.ngroups[level], most);
}

static void expect_order(const weft_topo_view_t *view, const uint32_t *order)
{
    for (uint32_t i = 0; i < view->nranks; i++) {
        assert_int_equal(weft_algo_topo_rank(&view->topo, i), order[i]);
        assert_int_equal(weft_algo_topo_position(&view->topo, order[i]), i);
    }
}

static void hosts_are_the_only_level_where_nothing_else_is_known(void **state)
{
    (void)state;
    static const uint32_t host[] = {5, 2, 5, 0, 2, 5};
    weft_algo_topo_t from = {.size = sizeof from, .nhosts = 6, .host = host};
    weft_topo_view_t view;
    assert_int_equal(weft_topo_view_init(&view, &from, NULL, 6), WEFT_OK);
    assert_int_equal(view.topo.nlevels, 1);
    assert_int_equal(view.topo.host_level, 0);
    assert_int_equal(view.topo.nhosts, 3);
    expect_groups(&view, 0, "abacba");
    assert_ptr_equal(view.topo.host, view.topo.group[0]);
    expect_order(&view, (uint32_t[]){0, 2, 5, 1, 4, 3});
    assert_null(view.topo.rails);
    weft_topo_view_fini(&view);
}

static void a_view_without_hosts_is_one_host_in_rank_order(void **state)
{
    (void)state;
    weft_algo_topo_t from = {.size = sizeof from, .nhosts = 1};
    weft_topo_view_t view;
    assert_int_equal(weft_topo_view_init(&view, &from, NULL, 5), WEFT_OK);
    assert_int_equal(view.topo.nhosts, 1);
    expect_groups(&view, 0, "aaaaa");
    assert_null(view.topo.order);
    assert_null(view.topo.position);
    weft_topo_view_fini(&view);
}

static void levels_are_kept_and_the_order_goes_from_outside_in(void **state)
{
    (void)state;
    static const char *const levels[] = {"abababab", "acbdacbd"};
    job_t job;
    weft_topo_view_t view;
    job_init(&job, levels, 2, 1);
    assert_int_equal(weft_topo_view_init(&view, &job.topo, NULL, 8), WEFT_OK);
    assert_int_equal(view.topo.nlevels, 2);
    assert_int_equal(view.topo.host_level, 1);
    expect_groups(&view, 0, "abababab");
    expect_groups(&view, 1, "abcdabcd");
    expect_order(&view, (uint32_t[]){0, 4, 2, 6, 1, 5, 3, 7});
    assert_int_equal(weft_algo_topo_distance(&view.topo, 3, 3), 0);
    assert_int_equal(weft_algo_topo_distance(&view.topo, 0, 4), 1);
    assert_int_equal(weft_algo_topo_distance(&view.topo, 0, 2), 2);
    assert_int_equal(weft_algo_topo_distance(&view.topo, 0, 1), 3);
    weft_topo_view_fini(&view);
}

static void levels_that_tell_nothing_are_left_out_but_the_hosts_stay(void **state)
{
    (void)state;
    static const struct {
        const char *levels[3];
        uint32_t host_level, nlevels, new_host_level;
    } cases[] = {
        {{"aaaa", "aabb", "aabb"}, 1, 1, 0}, /* one rack; islands are hosts */
        {{"aabb", "aabb", "abcd"}, 1, 1, 0}, /* racks are hosts; each rank is an island */
        {{"aaaa", "aaaa", "aaaa"}, 1, 1, 0}, /* all the same */
        {{"aabb", "abcd", "abcd"}, 1, 2, 1}, /* each rank is alone on its host */
        {{"aaaa", "aaaa", "aabb"}, 1, 2, 0}, /* islands of one host */
        {{"aabb", "aabb", "aacc"}, 2, 1, 0}, /* hosts come after levels that are equal */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        job_t job;
        weft_topo_view_t view;
        job_init(&job, cases[i].levels, 3, cases[i].host_level);
        assert_int_equal(weft_topo_view_init(&view, &job.topo, NULL, 4), WEFT_OK);
        assert_int_equal(view.topo.nlevels, cases[i].nlevels);
        assert_int_equal(view.topo.host_level, cases[i].new_host_level);
        assert_ptr_equal(view.topo.host, view.topo.group[view.topo.host_level]);
        weft_topo_view_fini(&view);
    }
}

static void some_ranks_are_a_job_of_their_own(void **state)
{
    (void)state;
    static const char *const levels[] = {"aaaabbbb", "aabbccdd", "abccdefg"};
    static const uint32_t some[] = {7, 2, 6, 3, 1}, rails[] = {1, 2, 3, 4};
    job_t job;
    weft_topo_view_t view, again;
    job_init(&job, levels, 3, 1);
    job.topo.rails = rails;
    assert_int_equal(weft_topo_view_init(&view, &job.topo, some, 5), WEFT_OK);
    assert_int_equal(view.topo.nlevels, 3);
    expect_groups(&view, 0, "ababb");
    expect_groups(&view, 1, "ababc");
    expect_groups(&view, 2, "abcbd");
    expect_order(&view, (uint32_t[]){0, 2, 1, 3, 4});
    assert_memory_equal(view.topo.rails, ((uint32_t[]){4, 2, 1}), sizeof(uint32_t[3]));
    /* A part of a part is the part of the whole. */
    assert_int_equal(weft_topo_view_init(&again, &view.topo, (uint32_t[]){3, 1, 0}, 3), WEFT_OK);
    assert_int_equal(again.topo.nlevels, 1);
    expect_groups(&again, 0, "aab");
    assert_memory_equal(again.topo.rails, ((uint32_t[]){2, 4}), sizeof(uint32_t[2]));
    weft_topo_view_fini(&again);
    weft_topo_view_fini(&view);
}

static void what_an_algorithm_can_see_changes_the_hash(void **state)
{
    (void)state;
    static const char *const levels[] = {"aaaabbbb", "aabbccdd", "abccdefg"};
    static const char *const other[] = {"aaaabbbb", "aabbccdd", "abcdeffg"};
    static const uint32_t rails[] = {1, 2, 3, 4};
    uint64_t hashes[4];
    for (uint32_t i = 0; i < 4; i++) {
        job_t job;
        weft_topo_view_t view;
        job_init(&job, i == 1 ? other : levels, i == 2 ? 2 : 3, 1);
        job.topo.rails = i == 3 ? rails : NULL;
        assert_int_equal(weft_topo_view_init(&view, &job.topo, NULL, 8), WEFT_OK);
        hashes[i] = weft_topo_view_hash(&view.topo, 8);
        weft_topo_view_fini(&view);
        for (uint32_t k = 0; k < i; k++) {
            assert_true(hashes[i] != hashes[k]);
        }
    }
}

/* As a plugin does that was built before levels. */
static void who_sees_the_old_fields_only_sees_them_as_before(void **state)
{
    (void)state;
    static const uint32_t host[] = {0, 1, 0, 1};
    weft_algo_topo_t old = {.size = 24, .nhosts = 2, .host = host, .nlevels = 77};
    assert_false(weft_algo_topo_has_levels(&old));
    assert_int_equal(weft_algo_topo_rank(&old, 3), 3);
    assert_int_equal(weft_algo_topo_distance(&old, 0, 1), 2);
    assert_int_equal(weft_algo_topo_distance(&old, 0, 2), 1);
    weft_topo_view_t view;
    assert_int_equal(weft_topo_view_init(&view, &old, NULL, 4), WEFT_OK);
    assert_int_equal(view.topo.nlevels, 1);
    weft_topo_view_fini(&view);
}

/* Any job: groups of each level are together in the order, and the order is stable. */
static void in_any_job_groups_are_together(void **state)
{
    (void)state;
    srand(7);
    for (uint32_t round = 0; round < 300; round++) {
        uint32_t host[RANKS_MAX], n = 1 + (uint32_t)rand() % RANKS_MAX, nhosts = 1 + n / 3;
        for (uint32_t rank = 0; rank < n; rank++) {
            host[rank] = (uint32_t)rand() % nhosts;
        }
        weft_algo_topo_t from = {.size = sizeof from, .nhosts = nhosts, .host = host};
        weft_topo_view_t view;
        assert_int_equal(weft_topo_view_init(&view, &from, NULL, n), WEFT_OK);
        uint32_t changes = 0;
        for (uint32_t i = 1; i < n; i++) {
            uint32_t a = weft_algo_topo_rank(&view.topo, i - 1);
            uint32_t b = weft_algo_topo_rank(&view.topo, i);
            changes += host[a] != host[b];
            assert_true(host[a] != host[b] || a < b);
        }
        assert_int_equal(changes, view.topo.nhosts - 1);
        weft_topo_view_fini(&view);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_the_only_level_where_nothing_else_is_known),
        cmocka_unit_test(a_view_without_hosts_is_one_host_in_rank_order),
        cmocka_unit_test(levels_are_kept_and_the_order_goes_from_outside_in),
        cmocka_unit_test(levels_that_tell_nothing_are_left_out_but_the_hosts_stay),
        cmocka_unit_test(some_ranks_are_a_job_of_their_own),
        cmocka_unit_test(what_an_algorithm_can_see_changes_the_hash),
        cmocka_unit_test(who_sees_the_old_fields_only_sees_them_as_before),
        cmocka_unit_test(in_any_job_groups_are_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
