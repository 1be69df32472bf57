/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that sleeps goes on when what it waits for is here, and not only when its sleep is
 * over. */
#include <stdatomic.h>
#include <stdlib.h>

#include <weft/completion.h>
#include <weft/one_sided.h>

#include "core/os/os.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

/* A sleep lasts a millisecond where nothing ends it. A call of ranks that sleep may take SOON_US
 * longer than the same call of ranks that yield: how long its handshakes take is a matter of the
 * machine and of the build. One short round will do, as the machine may be busy. */
enum { ROUNDS = 300, YIELDING_ROUNDS = 30, LATE_MS = 3, SOON_US = 700 };

typedef weft_status_t (*wakes_call_t)(weft_comm_t *comm, uint32_t rank, uint32_t *value);

typedef struct wakes {
    wakes_call_t call;
    bool connects; /* each round has a communicator of its own, whose first call this is */
    uint32_t rounds;
    uint64_t soon;           /* a round that took less ends them, in nanoseconds */
    uint64_t best;           /* the shortest round of rank 0 */
    _Atomic uint64_t called; /* by rank 1, in nanoseconds */
} wakes_t;

static weft_status_t pass_a_message(weft_comm_t *comm, uint32_t rank, uint32_t *value)
{
    return rank == 1 ? weft_send(value, 1, WEFT_UINT32, 0, comm, NULL)
                     : weft_recv(value, 1, WEFT_UINT32, 1, comm, NULL);
}

static weft_status_t pass_to_any(weft_comm_t *comm, uint32_t rank, uint32_t *value)
{
    return rank == 1 ? weft_send(value, 1, WEFT_UINT32, 0, comm, NULL)
                     : weft_recv(value, 1, WEFT_UINT32, WEFT_ANY_RANK, comm, NULL);
}

static weft_status_t pass_to_all(weft_comm_t *comm, uint32_t rank, uint32_t *value)
{
    (void)rank;
    return weft_broadcast(value, value, 1, WEFT_UINT32, 1, comm, NULL);
}

static weft_status_t reduce_among_all(weft_comm_t *comm, uint32_t rank, uint32_t *value)
{
    (void)rank;
    return weft_all_reduce(value, value, 1, WEFT_UINT32, WEFT_MAX, comm, NULL);
}

static int wait_once(weft_comm_t *comm, uint32_t rank, uint32_t round, wakes_t *wakes)
{
    uint32_t value = rank == 1 ? round + 1 : 0;
    int wrong = 0;
    if (rank == 1) {
        weft_os_sleep_ns(LATE_MS * WEFT_NS_PER_MS);
        atomic_store(&wakes->called, weft_os_clock_ns());
    }
    NEED(wakes->call(comm, rank, &value) == WEFT_OK && value == round + 1);
    return wrong;
}

/* As wait_once(), and takes the time on return. */
static int wait_in(weft_comm_t *comm, uint32_t rank, uint32_t round, wakes_t *wakes,
                   uint64_t *back_p)
{
    weft_comm_t *own = comm;
    int wrong = 0;
    if (wakes->connects) {
        NEED(weft_comm_dup(comm, &own) == WEFT_OK);
    }
    wrong += wait_once(own, rank, round, wakes);
    *back_p = weft_os_clock_ns();
    if (wakes->connects) {
        NEED(weft_comm_destroy(own) == WEFT_OK);
    }
    return wrong;
}

/* Rank 1 is late in each round. */
static int wait_for_the_late_one(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    wakes_t *wakes = arg;
    uint64_t best = UINT64_MAX;
    uint32_t slow = 1;
    int wrong = 0;
    (void)n;
    for (uint32_t i = 0; i < wakes->rounds && slow != 0; i++) {
        uint64_t back = 0;
        NEED(wait_in(comm, rank, i, wakes, &back) == 0);
        uint64_t took = back - atomic_load(&wakes->called);
        best = i > 0 && took < best ? took : best; /* the first call connects */
        slow = best >= wakes->soon;
        NEED(weft_broadcast(&slow, &slow, 1, WEFT_UINT32, 0, comm, NULL) == WEFT_OK);
    }
    if (rank == 0) {
        wakes->best = best;
    }
    return wrong;
}

/* Who naps looks every millisecond after some time: then one round in four is short, by chance.
 * Most of some so many in a row have to be. */
enum { LATER_MS = 20, SOON_LATER_US = 300, SOON_ANY_US = 80, ROUNDS_LATER = 20, PUTS = 64 };

/* A call in which rank 0 waits for what rank 1 called late. */
typedef struct later {
    weft_status_t (*call)(weft_comm_t *comm, struct later *later, uint32_t rank, uint64_t *value);
    uint32_t soon_us;   /* if not 0, in place of SOON_LATER_US */
    weft_comm_t *other; /* another communicator of the same ranks */
    weft_completion_queue_t *queue;
    weft_window_t *window;
} later_t;

/* Reduces in the background, and waits without helping. */
static weft_status_t reduce_behind(weft_comm_t *comm, later_t *later, uint32_t rank,
                                   uint64_t *value)
{
    weft_call_t call = {.size = sizeof call, .queue = later->queue};
    weft_completion_t end = {.status = WEFT_OK};
    uint32_t count = 0;
    weft_status_t status = weft_all_reduce(value, value, 1, WEFT_UINT64, WEFT_MAX, comm, &call);
    (void)rank;
    while (status == WEFT_OK && count == 0) {
        status = weft_completion_queue_wait(later->queue, &end, 1, &count, 60);
    }
    return status == WEFT_OK ? end.status : status;
}

/* The second message of a group is late because the first one is. */
static weft_status_t receive_from_two(weft_comm_t *comm, later_t *later, uint32_t rank,
                                      uint64_t *value)
{
    uint64_t copy = *value;
    (void)later;
    if (rank == 2) {
        weft_status_t status = weft_recv(value, 1, WEFT_UINT64, 1, comm, NULL);
        return status == WEFT_OK ? weft_send(value, 1, WEFT_UINT64, 0, comm, NULL) : status;
    }
    if (rank == 1) {
        weft_status_t status = weft_send(value, 1, WEFT_UINT64, 2, comm, NULL);
        return status == WEFT_OK ? weft_send(value, 1, WEFT_UINT64, 0, comm, NULL) : status;
    }
    weft_group_start();
    weft_recv(value, 1, WEFT_UINT64, 1, comm, NULL);
    weft_recv(&copy, 1, WEFT_UINT64, 2, comm, NULL);
    return weft_group_end();
}

/* Rank 2 does not send, which rank 0 cannot know. It makes no call in that communicator, and
 * accepts a connection there all the same. */
static weft_status_t receive_from_any(weft_comm_t *comm, later_t *later, uint32_t rank,
                                      uint64_t *value)
{
    (void)comm;
    return rank == 0   ? weft_recv(value, 1, WEFT_UINT64, WEFT_ANY_RANK, later->other, NULL)
           : rank == 1 ? weft_send(value, 1, WEFT_UINT64, 0, later->other, NULL)
                       : WEFT_OK;
}

/* A group over two communicators. */
static weft_status_t receive_over_two(weft_comm_t *comm, later_t *later, uint32_t rank,
                                      uint64_t *value)
{
    uint64_t copy = *value;
    if (rank == 2) {
        *value = 1;
        return WEFT_OK;
    }
    weft_group_start();
    if (rank == 1) {
        weft_send(value, 1, WEFT_UINT64, 0, comm, NULL);
        weft_send(&copy, 1, WEFT_UINT64, 0, later->other, NULL);
    } else {
        weft_recv(value, 1, WEFT_UINT64, 1, comm, NULL);
        weft_recv(&copy, 1, WEFT_UINT64, 1, later->other, NULL);
    }
    return weft_group_end();
}

/* More puts than there are slots, while their target waits for another rank, which waits for the
 * last one. */
static weft_status_t receive_beside_puts(weft_comm_t *comm, later_t *later, uint32_t rank,
                                         uint64_t *value)
{
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; rank == 1 && i < PUTS && status == WEFT_OK; i++) {
        status = weft_put_signal(value, 1, WEFT_UINT64, 0, later->window, 0, comm, NULL);
    }
    if (status == WEFT_OK && rank != 1) {
        status = weft_recv(value, 1, WEFT_UINT64, rank == 0 ? 2 : 1, comm, NULL);
    }
    if (status == WEFT_OK) {
        status = rank == 0 ? weft_wait_signal(1, PUTS, comm, NULL)
                           : weft_send(value, 1, WEFT_UINT64, rank == 1 ? 2 : 0, comm, NULL);
    }
    return status;
}

static int wait_later_in(weft_comm_t *comm, uint32_t rank, later_t *later)
{
    const uint64_t limit = (later->soon_us != 0 ? later->soon_us : SOON_LATER_US) * UINT64_C(1000);
    uint32_t soon = 0, few = 1;
    int wrong = 0;
    /* Who waits for a link of its own accepts others. The links of what ends a round are made
     * here. */
    NEED(weft_broadcast(&few, &few, 1, WEFT_UINT32, 0, comm, NULL) == WEFT_OK);
    for (uint32_t i = 0; i < ROUNDS && few != 0 && wrong == 0; i++) {
        uint64_t called = 0;
        if (rank == 1) {
            weft_os_sleep_ns(LATER_MS * WEFT_NS_PER_MS);
            called = weft_os_clock_ns();
        }
        NEED(later->call(comm, later, rank, &called) == WEFT_OK);
        NEED(rank != 0 || called != 0);
        uint64_t took = weft_os_clock_ns() - called;
        soon = (i % ROUNDS_LATER == 0 ? 0 : soon) + (took < limit);
        few = soon * 5 < ROUNDS_LATER * 3;
        NEED(weft_broadcast(&few, &few, 1, WEFT_UINT32, 0, comm, NULL) == WEFT_OK);
    }
    NEED(few == 0);
    return wrong;
}

/* Rank 1 is late in each round, until most were short. Ranks are processes: threads would share one
 * that progresses. */
static int wait_later(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static uint64_t memory;
    later_t later = *(const later_t *)arg;
    int wrong = 0;
    (void)n;
    NEED(weft_comm_dup(comm, &later.other) == WEFT_OK);
    NEED(weft_completion_queue_create(&later.queue) == WEFT_OK);
    NEED(weft_window_register_local(comm, &memory, sizeof memory, &later.window) == WEFT_OK);
    wrong += wait_later_in(comm, rank, &later);
    NEED(weft_window_deregister(comm, later.window) == WEFT_OK);
    NEED(weft_completion_queue_destroy(later.queue) == WEFT_OK);
    NEED(weft_comm_destroy(later.other) == WEFT_OK);
    return wrong;
}

static void run_later(const char *net, uint32_t ranks, const later_t *later)
{
    const char *const settings[] = {net};
    later_t copy = *later;
    ranks_job_t job = {.nranks = ranks,
                       .settings = settings,
                       .settings_count = 1,
                       .work = wait_later,
                       .arg = &copy};
#ifdef __SANITIZE_THREAD__
    skip(); /* it lets no process start threads that was forked beside one */
#endif
    assert_int_equal(ranks_run_processes(&job, 120, -1), 0);
}

/* Else ranks nap. */
static void need_sleeps_on_several_words(void)
{
    _Atomic uint32_t words[2] = {0, 0};
    const weft_os_futex_t list[] = {{&words[0], 1}, {&words[1], 1}};
    if (!weft_os_futex_wait_any(list, 2, 0)) {
        print_message("skipped: this system cannot wait for several words (Linux before 5.16)\n");
        skip();
    }
}

static void run_later_in_memory(uint32_t ranks, const later_t *later)
{
    need_sleeps_on_several_words();
    run_later("core.net=net-shm", ranks, later);
}

static void a_message_over_tcp_wakes_the_progress_thread(void **state)
{
    (void)state;
    run_later("core.net=net-socket", 2, &(later_t){.call = reduce_behind});
}

static void a_slice_in_shared_memory_wakes_the_progress_thread(void **state)
{
    (void)state;
    run_later_in_memory(2, &(later_t){.call = reduce_behind});
}

static void one_of_several_messages_in_shared_memory_ends_a_sleep(void **state)
{
    (void)state;
    run_later_in_memory(3, &(later_t){.call = receive_from_two});
}

static void a_message_of_any_rank_in_shared_memory_ends_a_sleep(void **state)
{
    (void)state;
    run_later_in_memory(3, &(later_t){.call = receive_from_any, .soon_us = SOON_ANY_US});
}

static void a_message_in_one_of_several_communicators_ends_a_sleep(void **state)
{
    (void)state;
    run_later_in_memory(3, &(later_t){.call = receive_over_two});
}

/* One rank waits for rank 1 until another one has sent its first message to it, which it receives
 * later: were it left to connect, it would do so STUCK_MS late. The lower one of the two makes the
 * connection. */
enum { STUCK_MS = 200, CONNECTED_MS = 50, FIRST_ROUNDS = 20 };

typedef struct first {
    uint32_t sender, waiter;
    bool behind;  /* the waiter leaves that to its progress thread */
    bool apart;   /* the first message is in a communicator that the waiter is in no call of */
    bool gathers; /* it is that of a collective */
} first_t;

static weft_status_t wait_for_rank_1(weft_comm_t *comm, bool behind, uint64_t *value)
{
    weft_request_t *request = NULL;
    weft_call_t call = {.size = sizeof call, .request_p = &request};
    if (!behind) {
        return weft_recv(value, 1, WEFT_UINT64, 1, comm, NULL);
    }
    weft_status_t status = weft_recv(value, 1, WEFT_UINT64, 1, comm, &call);
    weft_os_sleep_ns(STUCK_MS * WEFT_NS_PER_MS);
    return status == WEFT_OK ? weft_request_wait(&request) : status;
}

static weft_status_t pass_first(weft_comm_t *comm, uint32_t rank, const first_t *first,
                                uint64_t *value)
{
    uint64_t all[3] = {0, 0, 0};
    weft_status_t status = WEFT_OK;
    if (first->gathers) {
        status = weft_gather(value, all, 1, WEFT_UINT64, first->waiter, comm, NULL);
        *value = all[first->sender];
    } else if (rank == first->sender) {
        status = weft_send(value, 1, WEFT_UINT64, first->waiter, comm, NULL);
    } else if (rank == first->waiter) {
        status = weft_recv(value, 1, WEFT_UINT64, first->sender, comm, NULL);
    }
    return status;
}

static int send_first(weft_comm_t *comm, weft_comm_t *other, uint32_t rank, const first_t *first,
                      uint64_t *took_p)
{
    weft_comm_t *in = first->apart ? other : comm;
    const uint32_t to = first->waiter, from = first->sender;
    uint64_t value = rank;
    int wrong = 0;
    /* Rank 1 has its link already. */
    NEED(rank != 1 || weft_send(&value, 1, WEFT_UINT64, to, comm, NULL) == WEFT_OK);
    NEED(rank != to || weft_recv(&value, 1, WEFT_UINT64, 1, comm, NULL) == WEFT_OK);
    if (rank == from) {
        weft_os_sleep_ns(LATER_MS * WEFT_NS_PER_MS);
        uint64_t called = weft_os_clock_ns();
        NEED(pass_first(in, rank, first, &value) == WEFT_OK);
        *took_p = weft_os_clock_ns() - called;
    } else if (rank == 1) {
        weft_os_sleep_ns(STUCK_MS * WEFT_NS_PER_MS);
        NEED(weft_send(&value, 1, WEFT_UINT64, to, comm, NULL) == WEFT_OK);
        NEED(pass_first(in, rank, first, &value) == WEFT_OK);
    } else {
        NEED(wait_for_rank_1(comm, first->behind, &value) == WEFT_OK && value == 1);
        value = rank;
        NEED(pass_first(in, rank, first, &value) == WEFT_OK && value == from);
    }
    return wrong;
}

/* Until one round was short. Each has communicators of its own. */
static int connect_to_one_that_waits(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const first_t *first = arg;
    uint32_t slow = 1;
    int wrong = 0;
    (void)n;
    for (uint32_t i = 0; i < FIRST_ROUNDS && slow != 0 && wrong == 0; i++) {
        weft_comm_t *own = NULL, *other = NULL;
        uint64_t took = 0;
        NEED(weft_comm_dup(comm, &own) == WEFT_OK && weft_comm_dup(comm, &other) == WEFT_OK);
        NEED(send_first(own, other, rank, first, &took) == 0);
        slow = took >= CONNECTED_MS * WEFT_NS_PER_MS;
        NEED(weft_broadcast(&slow, &slow, 1, WEFT_UINT32, first->sender, comm, NULL) == WEFT_OK);
        NEED(weft_comm_destroy(own) == WEFT_OK && weft_comm_destroy(other) == WEFT_OK);
    }
    NEED(slow == 0);
    return wrong;
}

/* Threads would share one that progresses. */
static void run_first(const char *net, const char *wait, bool processes)
{
    const char *const settings[] = {net, wait};
#ifdef __SANITIZE_THREAD__
    processes = false; /* as above */
#endif
    for (uint32_t i = 0; i < 10; i++) {
        first_t first = {.sender = (i & 1) != 0 ? 2 : 0,
                         .waiter = (i & 1) != 0 ? 0 : 2,
                         .behind = (i & 2) != 0,
                         .apart = (i & 4) != 0,
                         .gathers = i >= 8};
        ranks_job_t job = {.nranks = 3,
                           .settings = settings,
                           .settings_count = 2,
                           .work = connect_to_one_that_waits,
                           .arg = &first};
        if (processes) {
            assert_int_equal(ranks_run_processes(&job, 120, -1), 0);
        } else if (!first.behind) {
            assert_int_equal(ranks_run_threads(&job), 0);
        }
    }
}

static void who_waits_for_another_rank_accepts_connections_over_tcp(void **state)
{
    (void)state;
    run_first("core.net=net-socket", "exec.wait=auto", true);
}

static void who_waits_for_another_rank_accepts_connections_in_a_host(void **state)
{
    (void)state;
    run_first("core.net=net-shm", "exec.wait=auto", true);
    run_first("core.net=net-shm", "exec.wait=yield", true);
}

/* A message leaves its sender once there is a slot for it. All fake adapters are in one process. */
static void who_waits_for_another_rank_accepts_connections_of_adapters(void **state)
{
    (void)state;
    run_first("core.net=net-ib", "exec.wait=auto", false);
}

/* The time of the shortest round, in nanoseconds. */
static uint64_t run_rounds(const char *net, const char *wait, wakes_t *wakes)
{
    const char *const settings[] = {net, wait, "exec.spin=1us"};
    ranks_job_t job = {.nranks = 2,
                       .settings = settings,
                       .settings_count = 3,
                       .work = wait_for_the_late_one,
                       .arg = wakes};
    assert_int_equal(ranks_run_threads(&job), 0);
    return wakes->best;
}

static void run(const char *net, wakes_call_t call, bool connects)
{
    wakes_t yielding = {.call = call, .connects = connects, .rounds = YIELDING_ROUNDS};
    const uint64_t least = run_rounds(net, "exec.wait=yield", &yielding);
    wakes_t wakes = {.call = call,
                     .connects = connects,
                     .rounds = ROUNDS,
                     .soon = least + SOON_US * UINT64_C(1000)};
    const uint64_t took = run_rounds(net, "exec.wait=sleep", &wakes);
    if (took >= wakes.soon) {
        fail_msg(
            "over %s, a sleeping rank went on %.0f us after the late call, one that yields %.0f us",
            net, (double)took / 1e3, (double)least / 1e3);
    }
}

static void run_calls(const char *net, bool connects)
{
    static const wakes_call_t calls[] = {pass_a_message, pass_to_any, pass_to_all,
                                         reduce_among_all};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        run(net, calls[i], connects);
    }
}

static void a_message_over_tcp_ends_a_sleep(void **state)
{
    (void)state;
    run_calls("core.net=net-socket", false);
}

static void a_slice_in_shared_memory_ends_a_sleep(void **state)
{
    (void)state;
    run_calls("core.net=net-shm", false);
}

static void each_step_of_a_connection_over_tcp_ends_a_sleep(void **state)
{
    (void)state;
    run_calls("core.net=net-socket", true);
}

static void each_step_of_a_connection_in_a_host_ends_a_sleep(void **state)
{
    (void)state;
    run_calls("core.net=net-shm", true);
}

static void a_put_into_shared_memory_ends_a_sleep(void **state)
{
    (void)state;
    run_later_in_memory(3, &(later_t){.call = receive_beside_puts});
}

/* With an argument: what needs fake adapters (tests/fake-verbs). */
int main(int argc, char **argv)
{
    const struct CMUnitTest adapters[] = {
        cmocka_unit_test(who_waits_for_another_rank_accepts_connections_of_adapters),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_over_tcp_ends_a_sleep),
        cmocka_unit_test(a_slice_in_shared_memory_ends_a_sleep),
        cmocka_unit_test(each_step_of_a_connection_over_tcp_ends_a_sleep),
        cmocka_unit_test(each_step_of_a_connection_in_a_host_ends_a_sleep),
        cmocka_unit_test(a_message_over_tcp_wakes_the_progress_thread),
        cmocka_unit_test(a_slice_in_shared_memory_wakes_the_progress_thread),
        cmocka_unit_test(one_of_several_messages_in_shared_memory_ends_a_sleep),
        cmocka_unit_test(a_message_of_any_rank_in_shared_memory_ends_a_sleep),
        cmocka_unit_test(a_message_in_one_of_several_communicators_ends_a_sleep),
        cmocka_unit_test(who_waits_for_another_rank_accepts_connections_over_tcp),
        cmocka_unit_test(who_waits_for_another_rank_accepts_connections_in_a_host),
        cmocka_unit_test(a_put_into_shared_memory_ends_a_sleep),
    };
    (void)argv;
    return argc > 1 ? cmocka_run_group_tests(adapters, NULL, NULL)
                    : cmocka_run_group_tests(tests, NULL, NULL);
}
