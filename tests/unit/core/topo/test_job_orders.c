/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rings and chains through a job: channels of each host in turn, odd hosts backwards, hosts of
 * several kinds. */
#include "tests/unit/core/topo/hosts.h"

#include "core/plan/topo_view.h"
#include "core/topo/job_orders.h"

static void hosts_of_several_kinds_settle_on_what_carries_most(void **state)
{
    (void)state;
    static const struct {
        weft_job_graph_t graphs[3];
        uint32_t expected;
    } cases[] = {
        {{{8, 50}}, 8},
        {{{0, 0}, {0, 0}}, 0},
        {{{8, 50}, {0, 0}}, 8},           /* one tells nothing */
        {{{8, 50}, {4, 50}}, 4},          /* 200 either way: fewer will do */
        {{{8, 25}, {4, 50}}, 8},          /* each of four is run twice */
        {{{8, 50}, {6, 50}}, 6},          /* 300 with six, 200 with eight */
        {{{2, 25}, {1, 100}}, 2},         /* one is run twice */
        {{{4, 25}, {3, 40}, {6, 20}}, 4}, /* 3 carry 60, 4 carry 80, 6 carry 75 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(weft_job_settle(cases[i].graphs, 3), cases[i].expected);
    }
    static const weft_job_graph_t unknown[] = {{3, 0}};
    assert_int_equal(weft_job_settle(unknown, 1), 1);
}

static void open_orders(weft_job_t *job, weft_topo_view_t *view, const uint32_t *host, uint32_t n,
                        uint32_t nhosts, const char *const *machines, uint32_t count)
{
    weft_topo_view_t near;
    open_job_on(job, host, n, nhosts, machines, count);
    assert_int_equal(weft_topo_view_init(&near, &job->topo, NULL, n), WEFT_OK);
    assert_int_equal(weft_job_make_orders(job, &near.topo), WEFT_OK);
    weft_topo_view_fini(&near);
    assert_int_equal(weft_topo_view_init(view, &job->topo, NULL, n), WEFT_OK);
}

static void expect_order(const uint32_t *order, const uint32_t *position, uint32_t n)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < n; i++) {
        assert_in_range(order[i], 0, n - 1);
        assert_int_equal(position[order[i]], i);
        seen |= UINT64_C(1) << order[i];
    }
    assert_true(seen == (n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1));
}

/* Ranks dealt to four hosts in turn, one a GPU: every other host runs a ring backwards. */
static void channels_of_equal_hosts_are_the_searched_ones(void **state)
{
    (void)state;
    static const char *const machines[] = {"hgx-h100"};
    uint32_t host[32];
    for (uint32_t i = 0; i < 32; i++) {
        host[i] = i % 4;
    }
    weft_job_t job;
    weft_topo_view_t view;
    open_orders(&job, &view, host, 32, 4, machines, 1);
    assert_int_equal(view.topo.nrings, 8);
    assert_int_equal(view.topo.nchains, 8);
    const weft_job_kind_t *kind = job.kinds[0];
    for (uint32_t c = 0; c < 8; c++) {
        expect_order(view.topo.ring[c], view.topo.ring_position[c], 32);
        expect_order(view.topo.chain[c], view.topo.chain_position[c], 32);
        for (uint32_t i = 0; i < 32; i++) {
            uint32_t at = i / 8, gpu = i % 8;
            uint32_t place = at % 2 == 0 ? gpu : 7 - gpu;
            assert_int_equal(view.topo.ring[c][i], 4 * weft_job_kind_ring(kind, c)[2 + place] + at);
            assert_int_equal(view.topo.chain[c][i], 4 * weft_job_kind_tree(kind, c)[2 + gpu] + at);
        }
        /* What leaves a host by a NIC enters the next by the same one. */
        assert_true(weft_job_kind_ring(kind, c)[0] != weft_job_kind_ring(kind, c)[1]);
    }
    weft_topo_view_fini(&view);
    weft_job_fini(&job);
}

/* A ring leaves a host by the NIC by which it enters the next, and all NICs are used; the last host
 * of an odd number closes the ring from rail to rail. A tree has one NIC. */
static void a_hop_between_hosts_has_one_nic_at_both_ends(void **state)
{
    (void)state;
    static const char *const machines[] = {"hgx-h100"};
    uint32_t host[32], used = 0;
    for (uint32_t i = 0; i < 32; i++) {
        host[i] = i / 8;
    }
    weft_job_t job;
    weft_topo_view_t view;
    open_orders(&job, &view, host, 32, 4, machines, 1);
    for (uint32_t c = 0; c < 8; c++) {
        const uint32_t *ring = view.topo.ring[c];
        for (uint32_t i = 7; i < 32; i += 8) {
            const char *out = weft_job_nic(&job, ring[i], true, c, true);
            const char *in = weft_job_nic(&job, ring[(i + 1) % 32], true, c, false);
            assert_non_null(out);
            assert_string_equal(out, in);
            assert_memory_equal(out, "mlx5_", 5);
            used |= 1u << (out[5] - '0');
        }
        assert_ptr_equal(weft_job_nic(&job, 0, false, c, true),
                         weft_job_nic(&job, 0, false, c, false));
    }
    assert_int_equal(used, 255);
    weft_topo_view_fini(&view);
    weft_job_fini(&job);
}

static void hosts_of_several_kinds_share_rings(void **state)
{
    (void)state;
    static const char *const machines[] = {"hgx-h100", "cpu-2s", "cloud-vm"};
    uint32_t host[20];
    for (uint32_t i = 0; i < 20; i++) {
        host[i] = i < 8 ? 0 : i < 12 ? 1 : i < 14 ? 2 : 0;
    }
    weft_job_t job;
    weft_topo_view_t view;
    open_orders(&job, &view, host, 20, 3, machines, 3);
    assert_int_equal(job.nkinds, 3);
    for (uint32_t c = 0; c < view.topo.nrings; c++) {
        expect_order(view.topo.ring[c], view.topo.ring_position[c], 20);
    }
    weft_topo_view_fini(&view);
    weft_job_fini(&job);
}

/* One rank each host: nothing to order. Some GPUs only: the same orders without the others. */
static void some_ranks_have_what_is_left_of_the_rings(void **state)
{
    (void)state;
    static const char *const machines[] = {"hgx-h100"};
    static const uint32_t alone[] = {0, 8, 16}, some[] = {10, 1, 9, 14, 2, 6, 17};
    uint32_t host[24];
    for (uint32_t i = 0; i < 24; i++) {
        host[i] = i / 8;
    }
    weft_job_t job;
    weft_topo_view_t view, part;
    open_orders(&job, &view, host, 24, 3, machines, 1);
    assert_int_equal(weft_topo_view_init(&part, &view.topo, alone, 3), WEFT_OK);
    assert_int_equal(part.topo.nrings, 0);
    assert_int_equal(part.topo.nchains, 0);
    weft_topo_view_fini(&part);
    assert_int_equal(weft_topo_view_init(&part, &view.topo, some, 7), WEFT_OK);
    assert_true(part.topo.nrings > 1);
    for (uint32_t c = 0; c < part.topo.nrings; c++) {
        expect_order(part.topo.ring[c], part.topo.ring_position[c], 7);
        for (uint32_t i = 1; i < 7; i++) {
            uint32_t a = some[part.topo.ring[c][i - 1]], b = some[part.topo.ring[c][i]];
            if (host[a] == host[b]) {
                assert_true(view.topo.ring_position[c][a] < view.topo.ring_position[c][b]);
            }
        }
    }
    assert_int_equal(part.topo.device[0], 2);
    weft_topo_view_fini(&part);
    weft_topo_view_fini(&view);
    weft_job_fini(&job);
}

static void what_is_known_is_part_of_the_hash(void **state)
{
    (void)state;
    static const char *const machines[] = {"hgx-h100", "dgx-a100"};
    uint32_t host[16];
    for (uint32_t i = 0; i < 16; i++) {
        host[i] = i / 8;
    }
    uint64_t hashes[2];
    for (uint32_t i = 0; i < 2; i++) {
        weft_job_t job;
        weft_topo_view_t view;
        open_orders(&job, &view, host, 16, 2, machines + i, 1);
        hashes[i] = weft_topo_view_hash(&view.topo, 16);
        weft_algo_topo_t less = view.topo;
        less.nrings = 0;
        assert_true(weft_topo_view_hash(&less, 16) != hashes[i]);
        less = view.topo;
        less.kinds = NULL;
        assert_true(weft_topo_view_hash(&less, 16) != hashes[i]);
        weft_topo_view_fini(&view);
        weft_job_fini(&job);
    }
    assert_true(hashes[0] != hashes[1]);
}

/* 1,024 hosts of eight GPUs, or of two kinds. The bar is a second with the search; this is the part
 * that grows with the hosts, on whatever machine, with sanitizers. */
static void a_job_of_a_thousand_hosts_is_ordered(void **state)
{
    (void)state;
    enum { HOSTS = 1024, N = 8 * HOSTS };
    static weft_job_word_t words[N];
    static uint32_t host[N];
    static const char *names[HOSTS];
    weft_job_rank_t *told = weft_os_alloc(N * sizeof *told, 0);
    weft_job_t job;
    weft_topo_view_t near;
    for (uint32_t i = 0; i < N; i++) {
        host[i] = i / 8;
        names[host[i]] = "";
        told[i] = (weft_job_rank_t){.node = 0, .gpu = WEFT_JOB_NONE, .cpus = 1};
        words[i] = (weft_job_word_t){.kind = 1 + host[i] % 2};
    }
    assert_int_equal(weft_job_init(&job, told, host, N, HOSTS), WEFT_OK);
    assert_int_equal(weft_job_take_words(&job, words), WEFT_OK);
    job.kinds[0] = describe("hgx-h100");
    job.kinds[1] = describe("dgx-a100");
    assert_int_equal(weft_job_find_devices(&job, words), WEFT_OK);
    assert_int_equal(weft_job_make_levels(&job, NULL, names), WEFT_OK);
    assert_int_equal(weft_topo_view_init(&near, &job.topo, NULL, N), WEFT_OK);
    assert_int_equal(weft_job_make_orders(&job, &near.topo), WEFT_OK);
    assert_int_equal(job.topo.nrings, 8);
    weft_topo_view_fini(&near);
    weft_job_fini(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_of_several_kinds_settle_on_what_carries_most),
        cmocka_unit_test(channels_of_equal_hosts_are_the_searched_ones),
        cmocka_unit_test(a_hop_between_hosts_has_one_nic_at_both_ends),
        cmocka_unit_test(hosts_of_several_kinds_share_rings),
        cmocka_unit_test(some_ranks_have_what_is_left_of_the_rings),
        cmocka_unit_test(what_is_known_is_part_of_the_hash),
        cmocka_unit_test(a_job_of_a_thousand_hosts_is_ordered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
