/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that dies while the ranks are joining is named soon; one whose connection only breaks is
 * waited for. */
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/boot/auth.h"
#include "core/boot/boot.h"
#include "core/boot/claim.h"
#include "core/boot/connector.h"
#include "core/boot/control_listener.h"
#include "core/boot/unique_id.h"
#include "core/os/os.h"
#include "tests/support/crowd.h"
#include "tests/support/unit.h"

static void report_rank_2(void *arg)
{
    const crowd_t *crowd = arg;
    weft_claim_report_death(&crowd->id, 3, 2, 4711);
}

/* Its starter says so; nobody waits for the deadline, whichever comes first. */
static void a_rank_whose_starter_reports_its_death_is_named_at_once(void **unused)
{
    (void)unused;
    for (uint32_t reported_before = 0; reported_before < 2; reported_before++) {
        crowd_t crowd;
        weft_os_thread_t *starter = NULL;
        crowd_init(&crowd, 2);
        crowd.settings.init_timeout = 60;
        assert_int_equal(weft_boot_id_create(&crowd.settings, &crowd.id), WEFT_OK);
        for (uint32_t i = 0; i < 2; i++) {
            crowd.members[i].nranks = 3;
        }
        if (reported_before == 1) {
            report_rank_2(&crowd);
        } else {
            assert_int_equal(weft_os_thread_start("starter", report_rank_2, &crowd, &starter),
                             WEFT_OK);
        }
        crowd_run(&crowd);
        weft_os_thread_join(starter);
        crowd_assert_all_fail(&crowd, WEFT_ERR_PEER_DEAD,
                              "pid 4711, died while the ranks were joining", 10);
        assert_int_equal(crowd.members[0].error.peer, 2);
    }
}

/* What a rank has sent when it dies. */
typedef enum last_word { HELLO, HELLO_AND_ALIVE, PROOF } last_word_t;

/* Connects to the root as `rank`, and ends when it has said so much. */
static void say_and_end(const crowd_t *crowd, uint32_t rank, last_word_t last)
{
    weft_id_t id;
    weft_auth_state_t state;
    weft_connector_t connector;
    uint8_t key[32], label[WEFT_AUTH_LABEL], hello[WEFT_AUTH_HELLO + 1];
    uint64_t until = weft_os_clock_ns() + 20 * WEFT_NS_PER_S;
    size_t bytes = WEFT_AUTH_HELLO + (last == HELLO_AND_ALIVE);
    int fd, error;
    assert_int_equal(weft_id_decode(&crowd->id, &id), WEFT_OK);
    weft_id_key(&id, WEFT_PURPOSE_ROOT, key);
    weft_auth_label_make(label, WEFT_PURPOSE_ROOT, rank);
    if (last == PROOF) {
        weft_connector_begin(&connector, key, label, id.addrs, id.count, until);
        assert_int_equal(weft_connector_run(&connector), WEFT_OK);
        fd = connector.fd;
    } else {
        assert_int_equal(weft_os_connect(&id.addrs[0], &fd), WEFT_OK);
        struct pollfd entry = {.fd = fd, .events = POLLOUT};
        assert_int_equal(weft_os_poll(&entry, 1, until), 1);
        assert_int_equal(weft_auth_client_begin(key, &state, label, hello), WEFT_OK);
        hello[WEFT_AUTH_HELLO] = WEFT_CONNECTOR_ALIVE;
        assert_int_equal(weft_os_send(fd, hello, bytes, &error), bytes);
    }
    weft_os_close(fd);
    weft_id_wipe(&id);
}

/* Before anybody else has come, so that the root does not even know how many ranks there are. */
static void a_rank_that_dies_after_its_first_message_is_named(void **unused)
{
    (void)unused;
    static const last_word_t lasts[] = {HELLO, PROOF};
    for (size_t i = 0; i < sizeof lasts / sizeof *lasts; i++) {
        crowd_t crowd;
        crowd_init(&crowd, 2);
        crowd.settings.init_timeout = 60;
        assert_int_equal(weft_boot_id_create(&crowd.settings, &crowd.id), WEFT_OK);
        crowd.members[0].nranks = crowd.members[1].nranks = 3;
        say_and_end(&crowd, 2, lasts[i]);
        crowd_run(&crowd);
        crowd_assert_all_fail(&crowd, WEFT_ERR_PEER_DEAD,
                              "rank 2 died while the ranks were joining", 10);
        assert_int_equal(crowd.members[0].error.peer, 2);
    }
}

static weft_status_t nothing(member_t *m)
{
    return m->boot != NULL ? WEFT_OK : WEFT_ERR_INTERNAL;
}

static void *come_late(void *arg)
{
    member_t *m = arg;
    weft_os_sleep_ns(WEFT_NS_PER_S);
    m->status = weft_boot_join(&m->crowd->settings, m->nranks, &m->crowd->id, m->rank, &m->boot);
    return NULL;
}

/* It has given up one attempt, and its next one comes later than a dead rank would be named. */
static void a_rank_that_says_that_it_lives_is_waited_for(void **unused)
{
    (void)unused;
    crowd_t crowd;
    pthread_t thread;
    crowd_init(&crowd, 2);
    member_t late = {.crowd = &crowd, .rank = 2, .nranks = 3};
    crowd.members[0].nranks = crowd.members[1].nranks = 3;
    crowd.act = nothing;
    say_and_end(&crowd, 2, HELLO_AND_ALIVE);
    assert_int_equal(pthread_create(&thread, NULL, come_late, &late), 0);
    crowd_run(&crowd);
    pthread_join(thread, NULL);
    weft_boot_leave(late.boot);
    assert_int_equal(late.status, WEFT_OK);
    crowd_assert_all(&crowd, WEFT_OK);
}

static void *complete(void *arg)
{
    member_t *m = arg;
    weft_join_t *join = m->crowd->arg;
    m->status = weft_join_complete(join, &m->boot);
    return NULL;
}

static void a_recorded_hello_of_a_rank_that_has_come_does_no_harm(void **unused)
{
    (void)unused;
    crowd_t crowd;
    pthread_t thread;
    weft_join_t *join = NULL;
    crowd_init(&crowd, 2);
    member_t first = {.crowd = &crowd, .rank = 2, .nranks = 3};
    crowd.members[0].nranks = crowd.members[1].nranks = 3;
    assert_int_equal(weft_join_begin(&crowd.settings, 3, &crowd.id, 2, &join), WEFT_OK);
    crowd.arg = join;
    for (int i = 0; i < 3; i++) {
        say_and_end(&crowd, 2, HELLO);
    }
    weft_os_sleep_ns(WEFT_NS_PER_S);
    assert_int_equal(pthread_create(&thread, NULL, complete, &first), 0);
    crowd_run(&crowd);
    pthread_join(thread, NULL);
    weft_boot_leave(first.boot);
    assert_int_equal(first.status, WEFT_OK);
    crowd_assert_all(&crowd, WEFT_OK);
}

/* Resets the connection of this process to the root, as from the middle of the network, and looks
 * at no further descriptor: the joining thread may have connected again by then. The call
 * goes past the C library: ThreadSanitizer would take it for a use of a descriptor that the joining
 * thread may have closed and opened again by the time connect returns. */
static void break_connection(const crowd_t *crowd)
{
    weft_id_t id;
    bool broken = false;
    assert_int_equal(weft_id_decode(&crowd->id, &id), WEFT_OK);
    for (int fd = 3; fd < 256 && !broken; fd++) {
        struct sockaddr_in6 peer = {.sin6_family = AF_UNSPEC};
        socklen_t bytes = sizeof peer;
        const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
        if (getpeername(fd, (struct sockaddr *)&peer, &bytes) == 0 &&
            ntohs(peer.sin6_port) == id.addrs[0].port) {
            assert_int_equal(syscall(SYS_connect, fd, &nobody, sizeof nobody), 0);
            broken = true;
        }
    }
    assert_true(broken);
    weft_id_wipe(&id);
}

/* Once before the root has looked at the request, and once while it waits for the others. */
static void a_rank_whose_connection_to_the_root_breaks_comes_again(void **unused)
{
    (void)unused;
    for (int later = 0; later < 2; later++) {
        crowd_t crowd;
        pthread_t thread;
        weft_join_t *join = NULL;
        crowd_init(&crowd, 2);
        crowd.settings.init_timeout = 20;
        member_t first = {.crowd = &crowd, .rank = 2, .nranks = 3};
        crowd.members[0].nranks = crowd.members[1].nranks = 3;
        assert_int_equal(weft_join_begin(&crowd.settings, 3, &crowd.id, 2, &join), WEFT_OK);
        crowd.arg = join;
        if (later == 0) {
            break_connection(&crowd);
        }
        assert_int_equal(pthread_create(&thread, NULL, complete, &first), 0);
        if (later == 1) {
            weft_os_sleep_ns(WEFT_NS_PER_S / 10);
            break_connection(&crowd);
            weft_os_sleep_ns(WEFT_NS_PER_S); /* longer than the root waits for who is lost */
        }
        crowd_run(&crowd);
        pthread_join(thread, NULL);
        weft_boot_leave(first.boot);
        assert_int_equal(first.status, WEFT_OK);
        assert_int_equal(crowd.members[0].status, WEFT_OK);
        assert_int_equal(crowd.members[1].status, WEFT_OK);
    }
}

static void a_rank_whose_connection_breaks_and_that_does_not_come_is_named(void **unused)
{
    (void)unused;
    crowd_t crowd;
    weft_join_t *join = NULL;
    crowd_init(&crowd, 2);
    crowd.settings.init_timeout = 60;
    crowd.members[0].nranks = crowd.members[1].nranks = 3;
    assert_int_equal(weft_join_begin(&crowd.settings, 3, &crowd.id, 2, &join), WEFT_OK);
    weft_os_sleep_ns(WEFT_NS_PER_S / 10);
    break_connection(&crowd);
    crowd_run(&crowd);
    crowd_assert_all_fail(&crowd, WEFT_ERR_PEER_DEAD, "died while the ranks were joining", 10);
    assert_int_equal(crowd.members[0].error.peer, 2);
    weft_join_abandon(join);
}

/* Joins as rank 2 of 3, and is killed when the root has welcomed it. */
static void join_and_be_killed(const crowd_t *crowd)
{
    weft_join_t *join = NULL;
    if (weft_join_begin(&crowd->settings, 3, &crowd->id, 2, &join) == WEFT_OK) {
        weft_os_sleep_ns(WEFT_NS_PER_S / 5);
    }
    (void)raise(SIGKILL);
}

/* The next processes that the caller starts are out of sight for all others. False: that is not
 * allowed. */
static bool hide(void)
{
    return unshare(CLONE_NEWPID) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0;
}

static bool hiding_is_allowed(void)
{
    int how = 1;
    pid_t trial = fork();
    if (trial == 0) {
        _exit(!hide());
    }
    assert_int_equal(waitpid(trial, &how, 0), trial);
    return how == 0;
}

/* In another namespace of pids. Its first process does not die of its own signals, so it is the
 * second. */
static void join_out_of_sight_and_be_killed(const crowd_t *crowd)
{
    int how;
    pid_t next = hide() ? fork() : -1;
    if (next == 0) {
        next = fork();
        if (next == 0) {
            join_and_be_killed(crowd);
        }
    }
    (void)waitpid(next, &how, 0);
    _exit(0);
}

/* Its process ends, where the others can see it or not. */
static void assert_is_named_soon(bool seen)
{
    crowd_t crowd;
    int how;
    crowd_init(&crowd, 2);
    crowd.members[0].nranks = crowd.members[1].nranks = 3;
    pid_t killed = fork();
    if (killed == 0) {
        if (seen) {
            join_and_be_killed(&crowd);
        }
        join_out_of_sight_and_be_killed(&crowd);
    }
    crowd_run(&crowd);
    crowd_assert_all_fail(&crowd, WEFT_ERR_PEER_DEAD, "died", 2);
    assert_int_equal(crowd.members[0].error.peer, 2);
    assert_int_equal(waitpid(killed, &how, 0), killed);
    print_message("%s: named after %.0f ms, 200 ms of which it lived\n", seen ? "seen" : "hidden",
                  (double)crowd.members[1].took_ns / 1e6);
}

/* A rank that is killed with bytes that it has not read ends by a reset. */
static void a_rank_that_is_killed_and_ends_by_a_reset_is_named_soon(void **unused)
{
    (void)unused;
    assert_is_named_soon(true);
}

/* On another host, or in another container: nobody listens where it did. */
static void so_is_one_whose_process_cannot_be_seen(void **unused)
{
    (void)unused;
    if (!hiding_is_allowed()) {
        print_message("SKIPPED: this user may not make a namespace of pids\n");
        skip();
    }
    assert_is_named_soon(false);
}

static void send_header(int fd, const crowd_t *crowd, uint32_t type, const uint8_t *payload,
                        uint32_t bytes)
{
    uint8_t message[WEFT_WIRE_MOST];
    int error;
    weft_id_t id;
    assert_int_equal(weft_id_decode(&crowd->id, &id), WEFT_OK);
    weft_frame_t frame = {.type = type, .bytes = bytes, .from = 2, .comm_id = weft_id_comm(&id)};
    weft_frame_encode(&frame, message);
    if (bytes > 0) {
        memcpy(message + WEFT_WIRE_HEADER, payload, bytes);
    }
    assert_true(weft_os_send_all(fd, message, WEFT_WIRE_HEADER + bytes, &error));
    weft_id_wipe(&id);
}

/* Connects as rank 2. */
static int connect_to(const crowd_t *crowd, const char *purpose, const weft_os_addr_t *addrs,
                      uint32_t count)
{
    weft_id_t id;
    weft_connector_t connector;
    uint8_t key[32], label[WEFT_AUTH_LABEL];
    assert_int_equal(weft_id_decode(&crowd->id, &id), WEFT_OK);
    weft_id_key(&id, purpose, key);
    weft_auth_label_make(label, purpose, 2);
    weft_connector_begin(&connector, key, label, addrs != NULL ? addrs : id.addrs,
                         addrs != NULL ? count : id.count, weft_os_clock_ns() + 20 * WEFT_NS_PER_S);
    assert_int_equal(weft_connector_run(&connector), WEFT_OK);
    weft_id_wipe(&id);
    return connector.fd;
}

static void reset_and_close(int fd)
{
    static const struct linger now = {.l_onoff = 1};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
    weft_os_close(fd);
}

/* Rank 2 of 3, on another host as it says, up to its parent's first exchange. */
static void *join_and_be_reset(void *arg)
{
    const crowd_t *crowd = arg;
    uint8_t key[32], payload[WEFT_WIRE_HEADER + WEFT_WIRE_JOIN_REQUEST];
    weft_id_t id;
    weft_join_request_t mine, parent;
    weft_control_listener_t listener = {.open = false};
    const char *why;
    int error;
    assert_int_equal(weft_id_decode(&crowd->id, &id), WEFT_OK);
    weft_id_key(&id, WEFT_PURPOSE_TREE, key);
    assert_int_equal(weft_control_listener_open(&listener, "tree", key), WEFT_OK);
    assert_int_equal(weft_join_request_make(&mine, 2, 3, "=lo", listener.port), WEFT_OK);
    mine.host_id[0] ^= 1;
    weft_join_request_encode(&mine, payload);
    int root = connect_to(crowd, WEFT_PURPOSE_ROOT, NULL, 0);
    send_header(root, crowd, WEFT_FRAME_JOIN, payload, WEFT_WIRE_JOIN_REQUEST);
    struct pollfd entry = {.fd = root, .events = POLLIN};
    assert_int_equal(weft_os_poll(&entry, 1, weft_os_clock_ns() + 20 * WEFT_NS_PER_S), 1);
    weft_os_sleep_ns(WEFT_NS_PER_S / 100);
    assert_int_equal(weft_os_recv(root, payload, sizeof payload, &error), sizeof payload);
    assert_int_equal(weft_join_request_decode(payload + WEFT_WIRE_HEADER, &parent, &why), WEFT_OK);
    int tree = connect_to(crowd, WEFT_PURPOSE_TREE, parent.addrs, weft_join_request_addrs(&parent));
    send_header(root, crowd, WEFT_FRAME_READY, NULL, 0);
    weft_os_sleep_ns(WEFT_NS_PER_S / 5);
    weft_control_listener_close(&listener);
    reset_and_close(tree);
    reset_and_close(root);
    weft_id_wipe(&id);
    return NULL;
}

/* All that came has been welcomed, and the first exchange is under way: the root has ended. It has
 * told the parent which process its child is. */
static void so_is_one_that_ends_by_a_reset_in_the_first_exchange(void **unused)
{
    (void)unused;
    crowd_t crowd;
    pthread_t thread;
    crowd_init(&crowd, 2);
    crowd.members[0].nranks = crowd.members[1].nranks = 3;
    assert_int_equal(pthread_create(&thread, NULL, join_and_be_reset, &crowd), 0);
    crowd_run(&crowd);
    pthread_join(thread, NULL);
    crowd_assert_all_fail(&crowd, WEFT_ERR_PEER_DEAD, "died", 2);
    assert_int_equal(crowd.members[0].error.peer, 2);
    assert_int_equal(crowd.members[0].error.peer_pid, weft_os_pid());
    assert_string_not_equal(crowd.members[0].error.peer_host, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_whose_starter_reports_its_death_is_named_at_once),
        cmocka_unit_test(a_rank_that_dies_after_its_first_message_is_named),
        cmocka_unit_test(a_rank_that_says_that_it_lives_is_waited_for),
        cmocka_unit_test(a_recorded_hello_of_a_rank_that_has_come_does_no_harm),
        cmocka_unit_test(a_rank_whose_connection_to_the_root_breaks_comes_again),
        cmocka_unit_test(a_rank_whose_connection_breaks_and_that_does_not_come_is_named),
        cmocka_unit_test(a_rank_that_is_killed_and_ends_by_a_reset_is_named_soon),
        cmocka_unit_test(so_is_one_whose_process_cannot_be_seen),
        cmocka_unit_test(so_is_one_that_ends_by_a_reset_in_the_first_exchange),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
