/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exchanges over the tree, the agreement check, and failures in the middle of them. */
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../../support/crowd.h"
#include "core/boot/agreement.h"
#include "core/boot/boot_state.h"
#include "core/boot/exchange.h"
#include "core/boot/health.h"
#include "core/boot/tree_link.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

static weft_status_t gather_a_round(member_t *m, uint32_t round, size_t bytes)
{
    uint8_t *mine = malloc(bytes + 1), *all = malloc(bytes * m->nranks + 1);
    memset(mine, (int)(m->rank * 7 + round), bytes);
    weft_status_t status = weft_boot_all_gather(m->boot, "a test", mine, bytes, all);
    for (size_t k = 0; status == WEFT_OK && k < bytes * m->nranks; k++) {
        if (all[k] != (uint8_t)(k / bytes * 7 + round)) {
            status = WEFT_ERR_INTERNAL;
        }
    }
    free(mine);
    free(all);
    return status;
}

static weft_status_t gather_some_sizes(member_t *m)
{
    static const size_t sizes[] = {0, 1, 8, 1000, 300000};
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; status == WEFT_OK && i < sizeof sizes / sizeof *sizes; i++) {
        status = gather_a_round(m, i, sizes[i]);
    }
    return status;
}

static void all_gather_puts_every_ranks_bytes_in_rank_order(void **unused)
{
    (void)unused;
    static const uint32_t sizes[] = {1, 2, 3, 6, 8, 13};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        crowd_t crowd;
        crowd_init(&crowd, sizes[i]);
        crowd.settings.init_timeout = 60;
        crowd.act = gather_some_sizes;
        crowd_run(&crowd);
        crowd_assert_all(&crowd, WEFT_OK);
    }
}

typedef struct extremes {
    uint32_t low, high, count;
    uint8_t rest[500];
} extremes_t;

static void combine_extremes(void *into, const void *from)
{
    extremes_t *a = into;
    const extremes_t *b = from;
    a->low = b->low < a->low ? b->low : a->low;
    a->high = b->high > a->high ? b->high : a->high;
    a->count += b->count;
}

static weft_status_t reduce_extremes(member_t *m)
{
    extremes_t all = {.low = m->rank + 10, .high = m->rank * 3, .count = 1};
    weft_status_t status =
        weft_boot_all_reduce(m->boot, "a test", &all, sizeof all, combine_extremes);
    bool right = all.low == 10 && all.high == (m->nranks - 1) * 3 && all.count == m->nranks;
    return status == WEFT_OK && !right ? WEFT_ERR_INTERNAL : status;
}

static void all_reduce_combines_every_rank_once(void **unused)
{
    (void)unused;
    static const uint32_t sizes[] = {1, 2, 3, 6, 8, 13};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        crowd_t crowd;
        crowd_play(&crowd, sizes[i], reduce_extremes);
        crowd_assert_all(&crowd, WEFT_OK);
    }
}

static weft_status_t reduce_of_other_size(member_t *m)
{
    extremes_t all = {.low = 0};
    return weft_boot_all_reduce(m->boot, "a test", &all, m->rank == 5 ? 12 : 16, combine_extremes);
}

static void a_rank_that_combines_another_size_is_named_on_all(void **unused)
{
    (void)unused;
    crowd_t crowd;
    crowd_play(&crowd, 8, reduce_of_other_size);
    for (uint32_t r = 0; r < 8; r++) {
        assert_int_equal(crowd.members[r].status, WEFT_ERR_PROTO);
        assert_int_equal(crowd.members[r].error.peer, 5);
    }
}

static weft_status_t reduce_too_much(member_t *m)
{
    static uint8_t all[WEFT_BOOT_REDUCE_MOST + 1];
    return weft_boot_all_reduce(m->boot, "a test", all, sizeof all, combine_extremes);
}

static void more_than_can_be_combined_is_refused(void **unused)
{
    (void)unused;
    crowd_t crowd;
    crowd_play(&crowd, 2, reduce_too_much);
    crowd_assert_all(&crowd, WEFT_ERR_ARG);
}

static weft_status_t receive_from_rank_0(member_t *m)
{
    char text[64] = "";
    size_t bytes = 0;
    if (m->rank == 0) {
        bytes = (size_t)snprintf(text, sizeof text, "from rank 0");
    }
    weft_status_t status = weft_boot_broadcast(m->boot, "a test", text, sizeof text, &bytes);
    if (status == WEFT_OK) {
        status = bytes == 11 && memcmp(text, "from rank 0", 11) == 0 ? WEFT_OK : WEFT_ERR_INTERNAL;
    }
    return status;
}

static void broadcast_carries_bytes_and_length_of_rank_0(void **unused)
{
    (void)unused;
    crowd_t crowd;
    crowd_play(&crowd, 7, receive_from_rank_0);
    crowd_assert_all(&crowd, WEFT_OK);
}

static weft_status_t gather_of_other_size(member_t *m)
{
    uint8_t mine[16] = {0}, all[16 * 8];
    return weft_boot_all_gather(m->boot, "a test", mine, m->rank == 5 ? 16 : 8, all);
}

static void a_rank_with_another_size_is_named_on_all(void **unused)
{
    (void)unused;
    crowd_t crowd;
    crowd_play(&crowd, 8, gather_of_other_size);
    for (uint32_t r = 0; r < 8; r++) {
        const member_t *m = &crowd.members[r];
        assert_int_equal(m->status, WEFT_ERR_PROTO);
        assert_int_equal(m->error.peer, 5);
        assert_non_null(strstr(m->error.text, "bad length"));
    }
}

static const char *const texts[] = {
    "a=1\nb=2\nc=3\n", /* rank 0 */
    "a=1\nb=5\nc=3\n", /* another value */
    "a=1\nc=3\n",      /* a key is missing */
    "a=1\nb=2\nc=3\nd=4\n", "a=1\nc=3\nb=2\n",
};
static const char *const words[] = {
    "",
    "differ in b: rank 3 of host",
    "differ in b: rank 3 of host",
    "differ in d: rank 3 of host",
    "another order",
};
static const char *const values[] = {
    "", "has \"5\", rank 0 of host", "has nothing, rank 0 of host", "has \"4\", rank 0 of host", "",
};

static weft_status_t agree_or_not(member_t *m)
{
    const size_t *which = m->crowd->arg;
    return weft_boot_agree(m->boot, texts[m->rank >= 3 ? *which : 0]);
}

static void ranks_that_agree_go_on(void **unused)
{
    (void)unused;
    size_t which = 0;
    crowd_t crowd;
    crowd_init(&crowd, 5);
    crowd.act = agree_or_not;
    crowd.arg = &which;
    crowd_run(&crowd);
    crowd_assert_all(&crowd, WEFT_OK);
}

static void every_kind_of_difference_is_told_to_all_in_the_same_words(void **unused)
{
    (void)unused;
    for (size_t which = 1; which < sizeof texts / sizeof *texts; which++) {
        crowd_t crowd;
        crowd_init(&crowd, 5);
        crowd.act = agree_or_not;
        crowd.arg = &which;
        crowd_run(&crowd);
        for (uint32_t r = 0; r < 5; r++) {
            const member_t *m = &crowd.members[r];
            assert_int_equal(m->status, WEFT_ERR_MISMATCH);
            assert_int_equal(m->error.peer, 3);
            assert_string_equal(m->error.text, crowd.members[0].error.text);
            if (strstr(m->error.text, words[which]) == NULL ||
                strstr(m->error.text, values[which]) == NULL) {
                fail_msg("%s", m->error.text);
            }
        }
    }
}

static weft_status_t one_gives_up(member_t *m)
{
    uint8_t all[8];
    uint8_t mine = 1;
    if (m->rank == 6) {
        weft_boot_leave(m->boot);
        m->boot = NULL;
        return WEFT_OK;
    }
    return weft_boot_all_gather(m->boot, "a test", &mine, 1, all);
}

static void a_rank_that_gives_up_is_named_on_all(void **unused)
{
    (void)unused;
    crowd_t crowd;
    crowd_play(&crowd, 8, one_gives_up);
    crowd_assert_named(&crowd, 6, WEFT_ERR_PEER_LEFT, 5);
}

static weft_status_t one_does_not_come(member_t *m)
{
    uint8_t all[8];
    uint8_t mine = 1;
    if (m->rank == 3) {
        weft_os_sleep_ns(3 * WEFT_NS_PER_S);
        return WEFT_OK;
    }
    return weft_boot_all_gather(m->boot, "a test", &mine, 1, all);
}

static void a_rank_that_does_not_take_part_is_named_by_all_at_the_deadline(void **unused)
{
    (void)unused;
    crowd_t crowd;
    crowd_init(&crowd, 8);
    crowd.settings.init_timeout = 1.5;
    crowd.act = one_does_not_come;
    crowd_run(&crowd);
    crowd_assert_named(&crowd, 3, WEFT_ERR_TIMEOUT, 60);
}

/* Connections that break ----------------------------------------------------------------------- */

#define BREAKS 5u /* fewer than one connection may have */
#define ROUNDS 60u

static void *break_some(void *arg)
{
    bool *flags = arg; /* all have joined; nothing breaks any more */
    uint32_t broken = 0;
    unsigned int seed = 5;
    while (!__atomic_load_n(&flags[0], __ATOMIC_ACQUIRE)) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    for (int tries = 0; broken < BREAKS && tries < 100000; tries++) {
        int fd = 3 + rand_r(&seed) % 200;
        struct sockaddr_in6 peer = {.sin6_family = AF_UNSPEC};
        socklen_t bytes = sizeof peer;
        const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
        /* Past the C library: ThreadSanitizer would see a use of a descriptor that its thread
         * closes. */
        if (syscall(SYS_getpeername, fd, &peer, &bytes) == 0 && peer.sin6_family != AF_UNIX) {
            broken += syscall(SYS_connect, fd, &nobody, sizeof nobody) == 0;
            weft_os_sleep_ns(2 * WEFT_NS_PER_MS);
        }
    }
    __atomic_store_n(&flags[1], true, __ATOMIC_RELEASE);
    return NULL;
}

static weft_status_t broadcast_a_round(member_t *m, uint32_t round)
{
    uint32_t word = m->rank == 0 ? round : UINT32_MAX;
    size_t bytes = sizeof word;
    weft_status_t status = weft_boot_broadcast(m->boot, "a test", &word, sizeof word, &bytes);
    return status == WEFT_OK && word != round ? WEFT_ERR_INTERNAL : status;
}

/* A frame that is lost or taken twice is another number, or another step. */
static weft_status_t exchange_while_connections_break(member_t *m)
{
    bool *flags = m->crowd->arg;
    weft_status_t status = gather_a_round(m, 0, 1); /* all have joined */
    if (m->rank == 0) {
        __atomic_store_n(&flags[0], true, __ATOMIC_RELEASE);
    }
    for (uint32_t round = 0; status == WEFT_OK && round < ROUNDS; round++) {
        status = round % 4 == 0   ? gather_a_round(m, round, 40000)
                 : round % 4 == 1 ? reduce_extremes(m)
                 : round % 4 == 2 ? broadcast_a_round(m, round)
                                  : gather_a_round(m, round, 8);
    }
    while (m->rank == 0 && !__atomic_load_n(&flags[1], __ATOMIC_ACQUIRE)) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    /* Whoever is done, and has no health channel, sends nothing again: no last frame may be
     * lost. */
    return status == WEFT_OK ? gather_a_round(m, ROUNDS, 8) : status;
}

static void connections_that_break_are_made_again_and_every_frame_is_taken_once(void **unused)
{
    (void)unused;
    for (uint32_t nranks = 2; nranks <= 8; nranks += 3) {
        bool flags[2] = {false, false};
        crowd_t crowd;
        pthread_t thread;
        crowd_init(&crowd, nranks);
        crowd.settings.init_timeout = 60;
        crowd.act = exchange_while_connections_break;
        crowd.arg = flags;
        assert_int_equal(pthread_create(&thread, NULL, break_some, flags), 0);
        crowd_run(&crowd);
        __atomic_store_n(&flags[0], true, __ATOMIC_RELEASE);
        pthread_join(thread, NULL);
        crowd_assert_all(&crowd, WEFT_OK);
    }
}

static void break_parent(const member_t *m)
{
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    (void)connect(m->boot->links[WEFT_TREE_PARENT].fd, &nobody, sizeof nobody);
}

/* Both children of rank 0 lose their connections. Child 2 asks again for what rank 0 is about to
 * send it, while rank 0 waits for child 1, to which it sends first. */
static weft_status_t ask_again_in_advance(member_t *m)
{
    weft_status_t status = gather_a_round(m, 0, 1); /* all have joined */
    if (m->rank > 0) {
        break_parent(m);
    }
    weft_os_sleep_ns(m->rank == 1 ? WEFT_NS_PER_S / 2 : m->rank == 0 ? WEFT_NS_PER_S / 10 : 0);
    for (uint32_t round = 1; status == WEFT_OK && round < 4; round++) {
        status = broadcast_a_round(m, round);
    }
    return status;
}

static void what_a_child_asked_for_in_advance_is_sent_once(void **unused)
{
    (void)unused;
    crowd_t crowd;
    crowd_play(&crowd, 3, ask_again_in_advance);
    crowd_assert_all(&crowd, WEFT_OK);
}

/* A frame of the exchange before, which is right in all else. */
static weft_status_t send_an_old_frame(member_t *m)
{
    weft_boot_t *boot = m->boot;
    weft_tree_record_t *record;
    extremes_t all = {.count = 1};
    if (m->rank == 0) {
        return weft_boot_all_reduce(boot, "a test", &all, sizeof all, combine_extremes);
    }
    boot->sequence--;
    weft_status_t status =
        weft_tree_record_make(boot, WEFT_FRAME_GATHER, sizeof all, sizeof all, &record);
    boot->sequence++;
    if (status != WEFT_OK) {
        return status;
    }
    memcpy(record->payload, &all, sizeof all);
    boot->links[WEFT_TREE_PARENT].sent = 0; /* else it is known to have been sent */
    return weft_tree_link_send(boot, &boot->links[WEFT_TREE_PARENT], "a test", record,
                               weft_os_deadline(10));
}

static void a_frame_of_another_exchange_is_not_taken(void **unused)
{
    (void)unused;
    crowd_t crowd;
    crowd_play(&crowd, 2, send_an_old_frame);
    if (crowd.members[0].status != WEFT_ERR_PROTO || crowd.members[0].error.peer != 1) {
        fail_msg("%s", crowd.members[0].error.text);
    }
    assert_non_null(strstr(crowd.members[0].error.text, "bad step number"));
}

static void answer_a_knock(weft_control_listener_t *listener)
{
    uint64_t until = weft_os_deadline(5);
    uint8_t label[WEFT_AUTH_LABEL];
    int fd = -1;
    while (fd < 0 && weft_os_clock_ns() < until) {
        struct pollfd entry;
        uint64_t wake = until;
        weft_control_listener_prepare(listener, &entry, &wake);
        assert_true(weft_os_poll(&entry, 1, wake) >= 0);
        (void)weft_control_listener_poll(listener, &entry, &fd, label);
    }
    assert_true(fd >= 0);
    weft_os_close(fd);
}

/* As a process that is killed with bytes that it has not read: its connections are reset, and
 * nobody listens. With an argument it dies only when its parent has seen that it listens. */
static weft_status_t one_dies_by_reset(member_t *m)
{
    static const struct linger now = {.l_onoff = 1};
    uint8_t all[8], mine = 1;
    if (m->rank != 3) {
        return weft_boot_all_gather(m->boot, "a test", &mine, 1, all);
    }
    weft_os_sleep_ns(WEFT_NS_PER_S / 10);
    if (m->crowd->arg == NULL) {
        weft_control_listener_close(&m->boot->listener);
    }
    for (uint32_t i = 0; i < WEFT_TREE_LINKS; i++) {
        if (m->boot->links[i].fd >= 0) {
            (void)setsockopt(m->boot->links[i].fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
            weft_os_close(m->boot->links[i].fd);
            m->boot->links[i].fd = -1;
        }
    }
    if (m->crowd->arg != NULL) {
        answer_a_knock(&m->boot->listener);
        weft_control_listener_close(&m->boot->listener);
    }
    m->boot->failed = true; /* it tells nobody */
    return WEFT_OK;
}

static void a_rank_that_dies_by_a_reset_is_named_at_once(void **unused)
{
    (void)unused;
    crowd_t crowd;
    crowd_play(&crowd, 8, one_dies_by_reset);
    crowd_assert_named(&crowd, 3, WEFT_ERR_PEER_DEAD, 5);
}

static void a_rank_that_dies_before_it_connects_again_is_named_soon(void **unused)
{
    (void)unused;
    crowd_t crowd;
    crowd_init(&crowd, 4);
    crowd.act = one_dies_by_reset;
    crowd.arg = &crowd;
    crowd_run(&crowd);
    crowd_assert_named(&crowd, 3, WEFT_ERR_PEER_DEAD, 5);
}

/* The last frame of the last exchange is lost, and rank 0 has gone on. */
static weft_status_t lose_the_last_frame(member_t *m)
{
    static const weft_health_callbacks_t none;
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    weft_tree_link_t *parent = &m->boot->links[WEFT_TREE_PARENT];
    weft_tree_record_t *record;
    extremes_t all = {.low = m->rank + 10, .high = m->rank * 3, .count = 1};
    weft_frame_t frame;
    const char *why;
    if (m->rank == 0) {
        weft_status_t status =
            weft_boot_all_reduce(m->boot, "a test", &all, sizeof all, combine_extremes);
        status = status == WEFT_OK ? weft_health_prepare(m->boot, &none, NULL) : status;
        return status == WEFT_OK ? weft_health_start(m->boot) : status;
    }
    uint64_t until = weft_os_deadline(10);
    weft_status_t status =
        weft_tree_record_make(m->boot, WEFT_FRAME_GATHER, sizeof all, sizeof all, &record);
    if (status == WEFT_OK) {
        memcpy(record->payload, &all, sizeof all);
        status = weft_tree_link_send(m->boot, parent, "a test", record, until);
    }
    weft_os_sleep_ns(WEFT_NS_PER_S / 5); /* rank 0 has answered, and left the exchange */
    (void)connect(parent->fd, &nobody, sizeof nobody);
    status = status != WEFT_OK
                 ? status
                 : weft_tree_link_next(m->boot, parent, "a test", until, &frame, &why);
    while (status == WEFT_AGAIN) {
        status = weft_tree_link_next(m->boot, parent, "a test", until, &frame, &why);
    }
    if (status == WEFT_OK) {
        status = weft_tree_link_recv(m->boot, parent, "a test", &all, sizeof all, until);
    }
    return status == WEFT_OK && (frame.type != WEFT_FRAME_SPREAD || all.count != 2)
               ? WEFT_ERR_INTERNAL
               : status;
}

static void a_rank_that_has_joined_repeats_what_another_has_lost(void **unused)
{
    (void)unused;
    crowd_t crowd;
    crowd_play(&crowd, 2, lose_the_last_frame);
    crowd_assert_all(&crowd, WEFT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_gather_puts_every_ranks_bytes_in_rank_order),
        cmocka_unit_test(all_reduce_combines_every_rank_once),
        cmocka_unit_test(a_rank_that_combines_another_size_is_named_on_all),
        cmocka_unit_test(more_than_can_be_combined_is_refused),
        cmocka_unit_test(broadcast_carries_bytes_and_length_of_rank_0),
        cmocka_unit_test(a_rank_with_another_size_is_named_on_all),
        cmocka_unit_test(ranks_that_agree_go_on),
        cmocka_unit_test(every_kind_of_difference_is_told_to_all_in_the_same_words),
        cmocka_unit_test(a_rank_that_gives_up_is_named_on_all),
        cmocka_unit_test(a_rank_that_does_not_take_part_is_named_by_all_at_the_deadline),
        cmocka_unit_test(connections_that_break_are_made_again_and_every_frame_is_taken_once),
        cmocka_unit_test(what_a_child_asked_for_in_advance_is_sent_once),
        cmocka_unit_test(a_frame_of_another_exchange_is_not_taken),
        cmocka_unit_test(a_rank_that_dies_by_a_reset_is_named_at_once),
        cmocka_unit_test(a_rank_that_dies_before_it_connects_again_is_named_soon),
        cmocka_unit_test(a_rank_that_has_joined_repeats_what_another_has_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
