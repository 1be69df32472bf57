/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Joining with a unique id: all sizes, and every way in which requests can contradict each
 * other. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "core/base/error.h"
#include "core/boot/boot.h"
#include "core/boot/exchange.h"
#include "core/boot/root_table.h"
#include "core/boot/unique_id.h"
#include "core/os/os.h"
#include "tests/support/crowd.h"
#include "tests/support/holdings.h"
#include "tests/support/unit.h"

/* The root cannot watch the connections of ranks that join. */
static atomic_bool root_cannot_watch;
int __real_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);

int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
    if (operation == EPOLL_CTL_ADD && event->data.u64 >> 32 == WEFT_ROOT_JOIN &&
        atomic_load(&root_cannot_watch)) {
        errno = ENOSPC;
        return -1;
    }
    return __real_epoll_ctl(epoll, operation, fd, event);
}

static weft_status_t check_peers(member_t *m)
{
    const weft_boot_peer_t *peers = weft_boot_peers(m->boot);
    char name[64];
    weft_os_host_name(name, sizeof name);
    for (uint32_t i = 0; i < m->nranks; i++) {
        if (peers[i].pid != weft_os_pid() || peers[i].host != 0 ||
            strcmp(peers[i].host_name, name) != 0) {
            return WEFT_ERR_INTERNAL;
        }
    }
    return weft_boot_hosts(m->boot) == 1 ? WEFT_OK : WEFT_ERR_INTERNAL;
}

static void ranks_of_every_number_join_and_know_each_other(void **unused)
{
    (void)unused;
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 16};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        crowd_t crowd;
        crowd_play(&crowd, sizes[i], check_peers);
        crowd_assert_all(&crowd, WEFT_OK);
    }
}

static weft_status_t keep_identity(member_t *m)
{
    uint64_t *ids = m->crowd->arg;
    ids[m->rank * 2] = weft_boot_comm_id(m->boot);
    memcpy(&ids[m->rank * 2 + 1], weft_boot_key(m->boot), sizeof *ids);
    return WEFT_OK;
}

static void number_and_key_are_equal_on_all_ranks_and_differ_between_ids(void **unused)
{
    (void)unused;
    uint64_t first[8], second[8];
    crowd_t crowd;
    crowd_init(&crowd, 4);
    crowd.act = keep_identity;
    crowd.arg = first;
    crowd_run(&crowd);
    crowd_init(&crowd, 4);
    crowd.act = keep_identity;
    crowd.arg = second;
    crowd_run(&crowd);
    for (int r = 0; r < 4; r++) {
        assert_true(first[2 * r] == first[0] && first[2 * r + 1] == first[1]);
        assert_true(second[2 * r] == second[0] && second[2 * r + 1] == second[1]);
    }
    assert_true(first[0] != 0 && first[0] != second[0] && first[1] != second[1]);
}

static void a_rank_claimed_twice_is_told_to_all_with_both_claimants(void **unused)
{
    (void)unused;
    crowd_t crowd;
    char words[64];
    crowd_init(&crowd, 4);
    crowd.members[3].rank = 1;
    crowd_run(&crowd);
    crowd_assert_all_fail(&crowd, WEFT_ERR_ARG, "rank 1 is claimed twice", 5);
    snprintf(words, sizeof words, "pid %d, and by host", weft_os_pid());
    crowd_assert_all_fail(&crowd, WEFT_ERR_ARG, words, 5);
}

static void ranks_that_disagree_about_their_number_are_told_both(void **unused)
{
    (void)unused;
    crowd_t crowd;
    crowd_init(&crowd, 4);
    crowd.members[2].nranks = 7;
    crowd_run(&crowd);
    crowd_assert_all_fail(&crowd, WEFT_ERR_ARG, "disagree about their number", 5);
    crowd_assert_all_fail(&crowd, WEFT_ERR_ARG, "says 7", 5);
    crowd_assert_all_fail(&crowd, WEFT_ERR_ARG, "says 4", 5);
}

static void the_host_of_the_root_is_named_where_it_cannot_go_on(void **unused)
{
    (void)unused;
    char words[160], name[64];
    crowd_t crowd;
    crowd_init(&crowd, 3);
    weft_os_host_name(name, sizeof name);
    snprintf(words, sizeof words, "host %s, pid %d, which made the unique id: cannot watch", name,
             weft_os_pid());
    atomic_store(&root_cannot_watch, true);
    crowd_run(&crowd);
    atomic_store(&root_cannot_watch, false);
    crowd_assert_all_fail(&crowd, WEFT_ERR_RESOURCE, words, 5);
}

static void a_rank_out_of_range_is_refused_before_anything_is_sent(void **unused)
{
    (void)unused;
    crowd_t crowd;
    crowd_init(&crowd, 2);
    weft_boot_t *boot = NULL;
    assert_int_equal(weft_boot_join(&crowd.settings, 2, &crowd.id, 2, &boot), WEFT_ERR_ARG);
    assert_int_equal(weft_boot_join(&crowd.settings, 0, &crowd.id, 0, &boot), WEFT_ERR_ARG);
    assert_null(boot);
    crowd_run(&crowd);
    assert_int_equal(crowd.members[0].status, WEFT_OK);
}

static void a_rank_that_does_not_come_is_named_at_the_deadline(void **unused)
{
    (void)unused;
    crowd_t crowd;
    crowd_init(&crowd, 3);
    crowd.settings.init_timeout = 2;
    assert_int_equal(weft_boot_id_create(&crowd.settings, &crowd.id), WEFT_OK);
    for (uint32_t r = 0; r < 3; r++) {
        crowd.members[r].nranks = 7;
    }
    crowd.members[0].rank = 4;
    crowd_run(&crowd);
    crowd_assert_all_fail(&crowd, WEFT_ERR_TIMEOUT,
                          "4 of 7 ranks did not join before init_timeout: ranks 0, 3, 5-6", 10);
}

/* It has no process yet, as far as anybody knows. */
static void one_rank_that_does_not_come_is_named_without_a_process(void **unused)
{
    (void)unused;
    crowd_t crowd;
    crowd_init(&crowd, 2);
    crowd.settings.init_timeout = 2;
    assert_int_equal(weft_boot_id_create(&crowd.settings, &crowd.id), WEFT_OK);
    crowd.members[0].nranks = crowd.members[1].nranks = 3;
    crowd_run(&crowd);
    crowd_assert_all_fail(&crowd, WEFT_ERR_TIMEOUT, "1 of 3 ranks did not join", 10);
    for (uint32_t r = 0; r < 2; r++) {
        assert_int_equal(crowd.members[r].error.peer, 2);
        assert_int_equal(crowd.members[r].error.peer_pid, -1);
        assert_string_equal(crowd.members[r].error.peer_host, "");
    }
}

static void abandon(void *arg)
{
    const crowd_t *crowd = arg;
    weft_join_t *join = NULL;
    if (weft_join_begin(&crowd->settings, 3, &crowd->id, 2, &join) == WEFT_OK) {
        weft_fail(WEFT_ERR_PLUGIN, 0, "no plugin of that name");
        weft_join_abandon(join);
    }
}

static void a_join_that_is_abandoned_tells_all_the_reason(void **unused)
{
    (void)unused;
    crowd_t crowd;
    weft_os_thread_t *thread = NULL;
    crowd_init(&crowd, 2);
    crowd.settings.init_timeout = 60;
    assert_int_equal(weft_boot_id_create(&crowd.settings, &crowd.id), WEFT_OK);
    crowd.members[0].nranks = crowd.members[1].nranks = 3;
    assert_int_equal(weft_os_thread_start("abandon", abandon, &crowd, &thread), WEFT_OK);
    crowd_run(&crowd);
    weft_os_thread_join(thread);
    crowd_assert_all_fail(&crowd, WEFT_ERR_PLUGIN, "gave up: no plugin of that name", 10);
    crowd_assert_all_fail(&crowd, WEFT_ERR_PLUGIN, "rank 2 of host", 10);
    assert_int_equal(crowd.members[1].error.peer, 2);
}

static weft_status_t one_gives_up(member_t *m)
{
    uint8_t all[6], mine = 0;
    if (m->rank == 4) {
        weft_fail(WEFT_ERR_RESOURCE, 0, "a plugin has no memory");
        weft_boot_give_up(m->boot);
        return WEFT_ERR_RESOURCE;
    }
    return weft_boot_all_gather(m->boot, "a test", &mine, 1, all);
}

static void a_rank_that_gives_up_after_the_join_tells_all_the_reason(void **unused)
{
    (void)unused;
    crowd_t crowd;
    crowd_play(&crowd, 6, one_gives_up);
    for (uint32_t r = 0; r < 6; r++) {
        const member_t *m = &crowd.members[r];
        assert_int_equal(m->status, WEFT_ERR_RESOURCE);
        assert_non_null(strstr(m->error.text, "a plugin has no memory"));
        assert_true(r == 4 || m->error.peer == 4);
        assert_true(r == 4 || strstr(m->error.text, "rank 4 of host") != NULL);
    }
}

/* Who comes while the root ends may still reach it, and is told that the connection was closed. */
static void an_id_is_good_for_one_communicator(void **unused)
{
    (void)unused;
    const holdings_t before = holdings_now();
    for (uint32_t n = 1; n <= 2; n++) {
        crowd_t crowd;
        crowd_play(&crowd, n, NULL);
        assert_int_equal(crowd.members[0].status, WEFT_OK);
        (void)holdings_settled(before.fds, before.threads);
        crowd_run(&crowd);
        for (uint32_t r = 0; r < n; r++) {
            assert_int_equal(crowd.members[r].status, WEFT_ERR_STATE);
            assert_non_null(strstr(crowd.members[r].error.text, "stale unique id"));
        }
    }
}

static void a_root_ends_when_all_have_joined(void **unused)
{
    (void)unused;
    const holdings_t before = holdings_now();
    for (uint32_t n = 1; n <= 2; n++) {
        for (int i = 0; i < 10; i++) {
            crowd_t crowd;
            crowd_play(&crowd, n, NULL);
            assert_int_equal(crowd.members[0].status, WEFT_OK);
        }
        const holdings_t after = holdings_settled(before.fds, before.threads);
        assert_true(after.threads <= before.threads && after.fds <= before.fds);
    }
}

static void the_id_of_another_job_is_refused(void **unused)
{
    (void)unused;
    crowd_t crowd;
    weft_id_t id;
    weft_boot_t *boot = NULL;
    crowd_init(&crowd, 2);
    assert_int_equal(weft_id_decode(&crowd.id, &id), WEFT_OK);
    id.secret[5] ^= 1;
    weft_unique_id_t other;
    weft_id_encode(&id, &other);
    assert_int_equal(weft_boot_join(&crowd.settings, 2, &other, 1, &boot), WEFT_ERR_AUTH);
    assert_null(boot);
    crowd_run(&crowd);
    crowd_assert_all(&crowd, WEFT_OK);
}

/* Rank 0 spreads a table in which rank 1 has other bytes. */
static weft_status_t spread_another_table(member_t *m)
{
    uint8_t mine = 7, all[2] = {7, 8};
    size_t bytes = sizeof all;
    if (m->rank == 1) {
        return weft_boot_all_gather(m->boot, "a test", &mine, 1, all);
    }
    return weft_boot_broadcast(m->boot, "a test", all, sizeof all, &bytes);
}

static void a_table_with_other_bytes_of_this_rank_is_refused(void **unused)
{
    (void)unused;
    crowd_t crowd;
    crowd_play(&crowd, 2, spread_another_table);
    assert_int_equal(crowd.members[1].status, WEFT_ERR_PROTO);
    assert_int_equal(crowd.members[1].error.peer, 0);
    assert_non_null(strstr(crowd.members[1].error.text, "bad copy of rank 1's bytes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_with_other_bytes_of_this_rank_is_refused),
        cmocka_unit_test(ranks_of_every_number_join_and_know_each_other),
        cmocka_unit_test(number_and_key_are_equal_on_all_ranks_and_differ_between_ids),
        cmocka_unit_test(a_rank_claimed_twice_is_told_to_all_with_both_claimants),
        cmocka_unit_test(ranks_that_disagree_about_their_number_are_told_both),
        cmocka_unit_test(the_host_of_the_root_is_named_where_it_cannot_go_on),
        cmocka_unit_test(a_rank_out_of_range_is_refused_before_anything_is_sent),
        cmocka_unit_test(a_rank_that_does_not_come_is_named_at_the_deadline),
        cmocka_unit_test(one_rank_that_does_not_come_is_named_without_a_process),
        cmocka_unit_test(a_join_that_is_abandoned_tells_all_the_reason),
        cmocka_unit_test(a_rank_that_gives_up_after_the_join_tells_all_the_reason),
        cmocka_unit_test(an_id_is_good_for_one_communicator),
        cmocka_unit_test(a_root_ends_when_all_have_joined),
        cmocka_unit_test(the_id_of_another_job_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
