/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strangers at the bootstrap port while ranks join: they get nothing, and change nothing. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../support/crowd.h"
#include "../../../support/foreign_hello.h"
#include "core/boot/auth.h"
#include "core/boot/join_request.h"
#include "core/boot/connector.h"
#include "core/boot/control_listener.h"
#include "core/boot/fixed_id.h"
#include "core/boot/id_create.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

static weft_id_t opened(const crowd_t *crowd)
{
    weft_id_t id;
    assert_int_equal(weft_id_decode(&crowd->id, &id), WEFT_OK);
    return id;
}

/* A blocking connection to the root; −1 when it is refused. */
static int knock(uint16_t port)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct timeval limit = {.tv_sec = 10};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
        close(fd);
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
}

/* What a stranger hears until the connection ends: number of bytes; −1 if it does not end. */
static int hear(int fd)
{
    char bytes[256];
    int total = 0;
    for (;;) {
        ssize_t got = recv(fd, bytes, sizeof bytes, 0);
        if (got == 0 || (got < 0 && errno == ECONNRESET)) {
            return total;
        }
        if (got < 0) {
            return -1;
        }
        total += (int)got;
    }
}

typedef struct attack {
    uint16_t port;
    uint8_t recorded[WEFT_AUTH_HELLO]; /* a good hello that was overheard */
    _Atomic uint32_t stop;
    uint32_t knocks;
} attack_t;

static void one_attack(attack_t *attack, int fd, unsigned *seed)
{
    static const char http[] = "GET / HTTP/1.1\r\nHost: root\r\n\r\n";
    uint8_t bytes[400];
    ssize_t sent = 0;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)rand_r(seed);
    }
    switch (rand_r(seed) % 6) {
    case 0:
        sent = send(fd, bytes, 1 + (size_t)rand_r(seed) % sizeof bytes, MSG_NOSIGNAL);
        break;
    case 1:
        sent = send(fd, http, sizeof http - 1, MSG_NOSIGNAL);
        break;
    case 2:
        sent = send(fd, attack->recorded, (size_t)rand_r(seed) % WEFT_AUTH_HELLO, MSG_NOSIGNAL);
        break;
    case 3:
        /* The whole hello, and rubbish in place of the proof. */
        sent = send(fd, attack->recorded, WEFT_AUTH_HELLO, MSG_NOSIGNAL);
        sent += send(fd, bytes, WEFT_AUTH_PROOF, MSG_NOSIGNAL);
        break;
    case 4:
        /* The right magic, then rubbish. */
        memcpy(bytes, attack->recorded, 12);
        sent = send(fd, bytes, WEFT_AUTH_HELLO, MSG_NOSIGNAL);
        break;
    default:
        break; /* connect and close */
    }
    (void)sent;
}

static void *attack_run(void *arg)
{
    attack_t *attack = arg;
    unsigned seed = 7;
    while (atomic_load(&attack->stop) == 0) {
        int fd = knock(attack->port);
        if (fd >= 0) {
            one_attack(attack, fd, &seed);
            close(fd);
            attack->knocks++;
        }
    }
    return NULL;
}

static void assert_joined(const crowd_t *crowd, double seconds)
{
    for (uint32_t r = 0; r < crowd->count; r++) {
        if (crowd->members[r].status != WEFT_OK) {
            fail_msg("rank %u: %s", r, crowd->members[r].error.text);
        }
        assert_true((double)crowd->members[r].took_ns < seconds * 1e9);
    }
}

static void a_join_under_a_storm_of_strangers_succeeds(void **unused)
{
    (void)unused;
    uint32_t knocks = 0;
    for (int round = 0; round < 5; round++) {
        crowd_t crowd;
        uint8_t key[32], label[WEFT_AUTH_LABEL];
        weft_auth_state_t state;
        pthread_t thread;
        crowd_init(&crowd, 8);
        weft_id_t id = opened(&crowd);
        attack_t attack = {.port = id.addrs[0].port};
        weft_id_key(&id, WEFT_PURPOSE_ROOT, key);
        weft_auth_label_make(label, WEFT_PURPOSE_ROOT, 3);
        weft_auth_client_begin(key, &state, label, attack.recorded);
        assert_int_equal(pthread_create(&thread, NULL, attack_run, &attack), 0);
        crowd_run(&crowd);
        atomic_store(&attack.stop, 1);
        pthread_join(thread, NULL);
        assert_joined(&crowd, 10);
        knocks += attack.knocks;
    }
    assert_true(knocks > 5);
    print_message("%u hostile connections\n", knocks);
}

static void five_hundred_slow_strangers_do_not_delay_a_join(void **unused)
{
    (void)unused;
    enum { SLOW = 500 };
    static int slow[SLOW];
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    setrlimit(RLIMIT_NOFILE, &limit);
    crowd_t crowd;
    crowd_init(&crowd, 8);
    weft_id_t id = opened(&crowd);
    for (int i = 0; i < SLOW; i++) {
        slow[i] = knock(id.addrs[0].port);
        assert_true(slow[i] >= 0);
        ssize_t sent = send(slow[i], "W", 1, MSG_NOSIGNAL);
        (void)sent;
    }
    crowd_run(&crowd);
    assert_joined(&crowd, 5);
    for (int i = 0; i < SLOW; i++) {
        close(slow[i]);
    }
}

static void strangers_hear_nothing_and_are_closed(void **unused)
{
    (void)unused;
    crowd_t crowd;
    crowd_init(&crowd, 2);
    uint16_t port = opened(&crowd).addrs[0].port;
    uint8_t bytes[WEFT_AUTH_HELLO] = "GET / HTTP/1.1\r\n";
    uint64_t start = weft_os_clock_ns();
    int whole = knock(port), half = knock(port), silent = knock(port);
    assert_true(send(whole, bytes, sizeof bytes, MSG_NOSIGNAL) == sizeof bytes);
    assert_true(send(half, bytes, 60, MSG_NOSIGNAL) == 60);
    assert_int_equal(hear(whole), 0);
    assert_true(weft_os_clock_ns() - start < WEFT_NS_PER_S);
    assert_int_equal(hear(half), 0);
    assert_int_equal(hear(silent), 0);
    assert_true(weft_os_clock_ns() - start < 5 * WEFT_NS_PER_S);
    close(whole);
    close(half);
    close(silent);
    crowd_run(&crowd);
    assert_joined(&crowd, 10);
}

/* Somebody who holds the id, so that the handshake succeeds, but then breaks the protocol. */
static int enter_as(const weft_id_t *id, uint32_t rank)
{
    uint8_t key[32], label[WEFT_AUTH_LABEL];
    weft_connector_t connector;
    weft_id_key(id, WEFT_PURPOSE_ROOT, key);
    weft_auth_label_make(label, WEFT_PURPOSE_ROOT, rank);
    weft_connector_begin(&connector, key, label, id->addrs, id->count, weft_os_deadline(5));
    assert_int_equal(weft_connector_run(&connector), WEFT_OK);
    return connector.fd;
}

/* The root's answer to a bad registration. */
static void hear_what_is_bad(int fd, const char *field)
{
    uint8_t message[WEFT_WIRE_MOST];
    char words[64];
    const char *why;
    weft_error_t error;
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&entry, 1, 5000), 1);
    assert_int_equal(recv(fd, message, sizeof message, MSG_WAITALL), sizeof message);
    assert_int_equal(weft_error_decode(message + WEFT_WIRE_HEADER, 3, &error, &why), WEFT_OK);
    assert_int_equal(error.status, WEFT_ERR_PROTO);
    snprintf(words, sizeof words, "rank 1 sent a first frame with a bad %s", field);
    assert_string_equal(error.text, words);
    assert_int_equal(poll(&entry, 1, 5000), 1);
    assert_int_equal(hear(fd), 0);
}

static void a_bad_registration_is_told_and_the_join_goes_on(void **unused)
{
    (void)unused;
    crowd_t crowd;
    crowd_init(&crowd, 3);
    weft_id_t id = opened(&crowd);
    weft_join_request_t request;
    assert_int_equal(weft_join_request_make(&request, 1, 3, "=lo", 4711), WEFT_OK);
    static const char *const fields[] = {"type", "length",       "length",  "length",
                                         "rank", "communicator", "address", "process"};
    for (size_t field = 0; field < 8; field++) {
        uint8_t message[WEFT_WIRE_HEADER + WEFT_WIRE_JOIN_REQUEST];
        weft_frame_t frame = {.type = WEFT_FRAME_JOIN,
                              .bytes = WEFT_WIRE_JOIN_REQUEST,
                              .from = 1,
                              .comm_id = weft_id_comm(&id)};
        frame.type = field == 0 ? 99 : field == 1 ? WEFT_FRAME_READY : frame.type;
        frame.bytes = field == 2 ? UINT32_MAX : field == 3 ? 0 : frame.bytes;
        frame.from = field == 4 ? 2 : frame.from;
        frame.comm_id ^= field == 5;
        weft_frame_encode(&frame, message);
        weft_join_request_encode(&request, message + WEFT_WIRE_HEADER);
        message[WEFT_WIRE_HEADER + 96] = field == 6 ? 9 : message[WEFT_WIRE_HEADER + 96];
        memset(message + WEFT_WIRE_HEADER + 8, field == 7 ? 0xff : 0, field == 7 ? 4 : 0);
        int fd = enter_as(&id, 1);
        assert_true(send(fd, message, sizeof message, MSG_NOSIGNAL) == sizeof message);
        hear_what_is_bad(fd, fields[field]);
        close(fd);
    }
    crowd_run(&crowd);
    assert_joined(&crowd, 10);
}

/* Of three ranks the last one says this, and nothing better: the others hear `words`. It lives, so
 * that nobody shall say that it died. */
static void assert_blamed(crowd_t *crowd, const weft_id_t *id, const uint8_t *message, size_t bytes,
                          const char *words)
{
    int fd = enter_as(id, 2);
    assert_true(send(fd, message, bytes, MSG_NOSIGNAL) == (ssize_t)bytes);
    crowd_run(crowd);
    close(fd);
    crowd_assert_all_fail(crowd, WEFT_ERR_PROTO, words, 10);
    assert_int_equal(crowd->members[0].error.peer, 2);
}

static weft_id_t opened_for_three(crowd_t *crowd)
{
    crowd_init(crowd, 2);
    crowd->settings.init_timeout = 60;
    crowd->members[0].nranks = crowd->members[1].nranks = 3;
    return opened(crowd);
}

static void a_rank_of_a_bad_registration_is_missed_soon(void **unused)
{
    (void)unused;
    crowd_t crowd;
    const weft_id_t id = opened_for_three(&crowd);
    uint8_t message[WEFT_WIRE_HEADER + WEFT_WIRE_JOIN_REQUEST] = {0};
    weft_frame_t frame = {.type = WEFT_FRAME_READY, .from = 2, .comm_id = weft_id_comm(&id)};
    weft_frame_encode(&frame, message);
    assert_blamed(&crowd, &id, message, sizeof message, "rank 2 sent a frame with a bad type");
}

static void a_rank_that_says_something_else_while_others_join_is_named(void **unused)
{
    (void)unused;
    crowd_t crowd;
    const weft_id_t id = opened_for_three(&crowd);
    weft_join_request_t request;
    uint8_t message[2 * WEFT_WIRE_HEADER + WEFT_WIRE_JOIN_REQUEST];
    weft_frame_t frame = {.type = WEFT_FRAME_JOIN,
                          .bytes = WEFT_WIRE_JOIN_REQUEST,
                          .from = 2,
                          .comm_id = weft_id_comm(&id)};
    assert_int_equal(weft_join_request_make(&request, 2, 3, "=lo", 4711), WEFT_OK);
    weft_frame_encode(&frame, message);
    weft_join_request_encode(&request, message + WEFT_WIRE_HEADER);
    frame.type = WEFT_FRAME_BEAT;
    frame.bytes = 0;
    weft_frame_encode(&frame, message + WEFT_WIRE_HEADER + WEFT_WIRE_JOIN_REQUEST);
    assert_blamed(&crowd, &id, message, sizeof message, "sent a frame with a bad type or number");
}

/* A rank of another build comes first: it hears of the root's version, and the others of its. */
static void a_rank_of_another_version_ends_the_join_for_all(void **unused)
{
    (void)unused;
    crowd_t crowd;
    uint8_t key[32], label[WEFT_AUTH_LABEL], hello[WEFT_AUTH_HELLO], reply[WEFT_AUTH_REPLY];
    uint8_t refusal[WEFT_AUTH_REPLY];
    weft_auth_state_t state;
    char ours[32];
    crowd_init(&crowd, 3);
    weft_id_t id = opened(&crowd);
    weft_id_key(&id, WEFT_PURPOSE_ROOT, key);
    weft_auth_label_make(label, WEFT_PURPOSE_ROOT, 2);
    weft_auth_client_begin(key, &state, label, hello);
    foreign_hello(key, 77, 77, hello);
    foreign_refusal(key, WEFT_WIRE_VERSION, hello, refusal);
    int fd = knock(id.addrs[0].port);
    assert_true(send(fd, hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello);
    assert_true(recv(fd, reply, sizeof reply, MSG_WAITALL) == sizeof reply);
    assert_memory_equal(reply, refusal, sizeof reply);
    close(fd);
    crowd_run(&crowd);
    snprintf(ours, sizeof ours, "version %d;", WEFT_WIRE_VERSION);
    for (uint32_t r = 0; r < crowd.count; r++) {
        const char *text = crowd.members[r].error.text;
        assert_int_equal(crowd.members[r].status, WEFT_ERR_PROTO);
        assert_non_null(strstr(text, "rank 2 cannot join"));
        assert_non_null(strstr(text, "version 77 of"));
        assert_non_null(strstr(text, ours));
        assert_true(crowd.members[r].took_ns < 2 * WEFT_NS_PER_S);
    }
}

typedef struct acceptor_77 {
    int listener;
    uint8_t key[32];
} acceptor_77_t;

static void *refuse(void *arg)
{
    const acceptor_77_t *acceptor = arg;
    uint8_t hello[WEFT_AUTH_HELLO], reply[WEFT_AUTH_REPLY];
    int fd = accept(acceptor->listener, NULL, NULL);
    if (recv(fd, hello, sizeof hello, MSG_WAITALL) == sizeof hello) {
        foreign_refusal(acceptor->key, 77, hello, reply);
        ssize_t sent = send(fd, reply, sizeof reply, MSG_NOSIGNAL);
        (void)sent;
    }
    close(fd);
    return NULL;
}

static void a_rank_that_a_root_of_another_version_refuses_says_both(void **unused)
{
    (void)unused;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof at;
    acceptor_77_t acceptor = {.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    pthread_t thread;
    char ours[48];
    weft_id_t id = {.count = 1, .secret = {7}};
    weft_unique_id_t unique;
    weft_boot_t *boot = NULL;
    const weft_boot_settings_t settings = {.init_timeout = 10, .interface = "=lo"};
    assert_int_equal(bind(acceptor.listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(acceptor.listener, 4), 0);
    assert_int_equal(getsockname(acceptor.listener, (struct sockaddr *)&at, &bytes), 0);
    id.addrs[0] =
        (weft_os_addr_t){.family = 4, .port = ntohs(at.sin_port), .bytes = {127, 0, 0, 1}};
    weft_id_key(&id, WEFT_PURPOSE_ROOT, acceptor.key);
    weft_id_encode(&id, &unique);
    assert_int_equal(pthread_create(&thread, NULL, refuse, &acceptor), 0);
    uint64_t start = weft_os_clock_ns();
    assert_int_equal(weft_boot_join(&settings, 2, &unique, 1, &boot), WEFT_ERR_PROTO);
    assert_true(weft_os_clock_ns() - start < 2 * WEFT_NS_PER_S);
    snprintf(ours, sizeof ours, "this side version %d;", WEFT_WIRE_VERSION);
    assert_non_null(strstr(weft_error_record()->text, "the acceptor speaks version 77 of"));
    assert_non_null(strstr(weft_error_record()->text, ours));
    pthread_join(thread, NULL);
    close(acceptor.listener);
}

/* Whoever asks whether a rank lives knocks at its port. */
static void a_child_does_not_listen_for_its_parent(void **unused)
{
    static const uint8_t key[32] = {1};
    weft_control_listener_t listener = {.port = 0};
    int ends[2], status = 1;
    char byte;
    (void)unused;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(weft_control_listener_open(&listener, "test", key), WEFT_OK);
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1); /* until the parent closes its end */
    }
    int before = knock(listener.port);
    assert_true(before >= 0);
    close(before);
    weft_control_listener_close(&listener);
    uint64_t until = weft_os_clock_ns() + 10 * WEFT_NS_PER_S;
    int after = knock(listener.port);
    while (after >= 0 && weft_os_clock_ns() < until) { /* the child may not have run yet */
        close(after);
        weft_os_sleep_ns(WEFT_NS_PER_MS);
        after = knock(listener.port);
    }
    assert_int_equal(after, -1);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Finds two ports that are free one after the other, takes the first, and gives out the range. */
static weft_port_range_t take_half_a_range(int *taken)
{
    for (;;) {
        uint16_t first = 0, next;
        int fd = -1;
        assert_int_equal(weft_os_listen(1, taken, &first), WEFT_OK);
        next = first == UINT16_MAX ? first : (uint16_t)(first + 1);
        if (weft_os_listen(1, &fd, &next) == WEFT_OK) {
            weft_os_close(fd);
            return (weft_port_range_t){first, next};
        }
        weft_os_close(*taken);
    }
}

static void a_listener_keeps_to_its_range(void **unused)
{
    static const uint8_t key[32] = {1};
    int taken = -1;
    weft_port_range_t ports = take_half_a_range(&taken);
    weft_control_listener_t listener = {.ports = ports}, second = {.ports = ports};
    (void)unused;
    assert_int_equal(weft_control_listener_open(&listener, "test", key), WEFT_OK);
    assert_int_equal(listener.port, ports.last);
    assert_int_equal(weft_control_listener_open(&second, "test", key), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "boot.port_range"));
    weft_control_listener_close(&second);
    weft_control_listener_close(&listener);
    weft_os_close(taken);
}

static void be_given_a_fixed_id(uint16_t port)
{
    weft_unique_id_t id;
    char at[32], hex[WEFT_ID_HEX];
    snprintf(at, sizeof at, "127.0.0.1:%u", port);
    assert_int_equal(weft_fixed_id_make(at, &id), WEFT_OK);
    weft_id_to_hex(&id, hex);
    assert_int_equal(setenv("WEFT_UNIQUE_ID", hex, 1), 0);
}

/* Rank 0 will listen on the port of a fixed id: others take it where there is no other. */
static void a_listener_leaves_the_port_of_the_id_to_rank_0(void **unused)
{
    static const uint8_t key[32] = {1};
    int taken = -1;
    const weft_port_range_t ports = take_half_a_range(&taken);
    (void)unused;
    weft_os_close(taken);
    be_given_a_fixed_id(ports.first);
    for (int i = 0; i < 20; i++) {
        weft_control_listener_t listener = {.ports = ports};
        assert_int_equal(weft_control_listener_open(&listener, "test", key), WEFT_OK);
        assert_int_equal(listener.port, ports.last);
        weft_control_listener_close(&listener);
    }
    be_given_a_fixed_id(ports.last);
    weft_control_listener_t first = {.ports = ports}, second = {.ports = ports};
    assert_int_equal(weft_control_listener_open(&first, "test", key), WEFT_OK);
    assert_int_equal(weft_control_listener_open(&second, "test", key), WEFT_OK);
    assert_int_equal(first.port, ports.first);
    assert_int_equal(second.port, ports.last);
    weft_control_listener_close(&first);
    weft_control_listener_close(&second);
    assert_int_equal(unsetenv("WEFT_UNIQUE_ID"), 0);
}

/* The maker of an id and each rank. */
static void ranks_that_join_keep_to_the_range(void **unused)
{
    static const weft_boot_settings_t any = {.init_timeout = 20, .interface = "=lo"};
    int taken = -1;
    weft_boot_settings_t settings = any;
    weft_unique_id_t unique;
    weft_id_t id;
    weft_boot_t *boot = NULL;
    (void)unused;
    settings.ports = take_half_a_range(&taken);
    assert_int_equal(weft_boot_id_create(&settings, &unique), WEFT_OK);
    assert_int_equal(weft_id_decode(&unique, &id), WEFT_OK);
    assert_int_equal(id.addrs[0].port, settings.ports.last);
    assert_int_equal(weft_boot_join(&settings, 2, &unique, 0, &boot), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "boot.port_range"));
    weft_os_close(taken);
}

/* Whether a child of fork() has the descriptor. */
static bool child_has(int fd)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        _exit(fcntl(fd, F_GETFD) != -1 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status == 0;
}

/* One who has not proved anything may be a rank that joins; its end is to be heard as that of any
 * other. A number that is free again is not the listener's. */
static void a_child_keeps_no_pending_peer(void **unused)
{
    static const uint8_t key[32] = {1};
    weft_control_listener_t listener = {.port = 0};
    uint8_t label[WEFT_AUTH_LABEL];
    int passed = -1, ends[2];
    (void)unused;
    assert_int_equal(weft_control_listener_open(&listener, "test", key), WEFT_OK);
    int listening = listener.acceptor.listening[0];
    int fd = knock(listener.port);
    assert_true(fd >= 0);
    uint64_t until = weft_os_clock_ns() + 10 * WEFT_NS_PER_S;
    while (listener.acceptor.pending == 0 && weft_os_clock_ns() < until) {
        struct pollfd entry = {.fd = listener.wait_fd, .events = POLLIN};
        assert_true(weft_os_poll(&entry, 1, until) > 0);
        assert_int_equal(weft_control_listener_poll(&listener, &entry, &passed, label), WEFT_AGAIN);
    }
    assert_int_equal(listener.acceptor.pending, 1);
    int pending = listener.acceptor.peers[0].fd;
    assert_false(child_has(pending));
    assert_false(child_has(listening));
    weft_control_listener_close(&listener);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[0], pending), pending);
    assert_int_equal(dup2(ends[0], listening), listening);
    assert_true(child_has(pending));
    assert_true(child_has(listening));
    for (int i = 0; i < 2; i++) {
        close(ends[i]);
    }
    close(pending);
    close(listening);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* Before any that leaves the thread of a root, which may take a number that is free for a
         * moment. */
        cmocka_unit_test(a_child_keeps_no_pending_peer),
        cmocka_unit_test(a_child_does_not_listen_for_its_parent),
        cmocka_unit_test(a_listener_keeps_to_its_range),
        cmocka_unit_test(a_listener_leaves_the_port_of_the_id_to_rank_0),
        cmocka_unit_test(ranks_that_join_keep_to_the_range),
        cmocka_unit_test(a_join_under_a_storm_of_strangers_succeeds),
        cmocka_unit_test(five_hundred_slow_strangers_do_not_delay_a_join),
        cmocka_unit_test(strangers_hear_nothing_and_are_closed),
        cmocka_unit_test(a_bad_registration_is_told_and_the_join_goes_on),
        cmocka_unit_test(a_rank_of_a_bad_registration_is_missed_soon),
        cmocka_unit_test(a_rank_that_says_something_else_while_others_join_is_named),
        cmocka_unit_test(a_rank_of_another_version_ends_the_join_for_all),
        cmocka_unit_test(a_rank_that_a_root_of_another_version_refuses_says_both),
    };
    alarm(55);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
