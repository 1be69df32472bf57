/* SPDX-License-Identifier: BSD-3-Clause
 *
 * torchrun's store against servers that are right, and that answer rubbish: a thread that
 * listens. */
#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/boot/torch_store.h"
#include "core/os/os.h"
#include "tests/support/heard.h"
#include "tests/support/unit.h"

enum { VALUE_BYTES = 128, PING_AT = 6, PING_BYTES = 4 };

/* Sends `bytes` after the greeting, whose ping it answers if `greets`, and closes or reads on. */
typedef struct server {
    int listener;
    bool greets, closes;
    const uint8_t *answer;
    size_t bytes;
} server_t;

static void *serve(void *arg)
{
    const server_t *server = arg;
    uint8_t greeting[PING_AT + PING_BYTES], rest[256];
    int fd = accept(server->listener, NULL, NULL);
    bool all = recv(fd, greeting, sizeof greeting, MSG_WAITALL) == (ssize_t)sizeof greeting;
    if (all && server->greets) {
        (void)!send(fd, greeting + PING_AT, PING_BYTES, MSG_NOSIGNAL);
    }
    if (server->bytes > 0) {
        (void)!send(fd, server->answer, server->bytes, MSG_NOSIGNAL);
    }
    if (server->closes) {
        shutdown(fd, SHUT_WR);
    }
    while (recv(fd, rest, sizeof rest, 0) > 0) {
    }
    close(fd);
    return NULL;
}

/* Opens the store, and gets the value. */
static weft_status_t talk(server_t *server, uint64_t ns, uint8_t value[VALUE_BYTES])
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof addr;
    pthread_t thread;
    weft_torch_store_t store;
    server->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(listen(server->listener, 1), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&addr, &length), 0);
    pthread_create(&thread, NULL, serve, server);
    weft_status_t status =
        weft_torch_store_open(&store, "127.0.0.1", ntohs(addr.sin_port), weft_os_clock_ns() + ns);
    if (status == WEFT_OK) {
        status = weft_torch_store_get(&store, "weft/id/0/0", value, VALUE_BYTES);
    }
    weft_torch_store_close(&store);
    pthread_join(thread, NULL);
    close(server->listener);
    return status;
}

/* The end of a wait, the length, and the value. */
static size_t good_answer(uint8_t answer[1 + 8 + VALUE_BYTES])
{
    uint64_t length = VALUE_BYTES;
    answer[0] = 0;
    memcpy(answer + 1, &length, sizeof length);
    memset(answer + 1 + sizeof length, 0x5a, VALUE_BYTES);
    return 1 + sizeof length + VALUE_BYTES;
}

static void expect(server_t *server, weft_status_t wanted, const char *says)
{
    uint8_t value[VALUE_BYTES];
    weft_status_t status = talk(server, 300 * WEFT_NS_PER_MS, value);
    if (status != wanted || strstr(weft_error_record()->text, says) == NULL) {
        fail_msg("%s: %s", weft_status_name(status), weft_error_record()->text);
    }
}

static void a_value_comes_from_a_store_that_is_right(void **unused)
{
    uint8_t answer[1 + 8 + VALUE_BYTES], value[VALUE_BYTES];
    (void)unused;
    server_t server = {.greets = true, .answer = answer, .bytes = good_answer(answer)};
    assert_int_equal(talk(&server, 30 * WEFT_NS_PER_S, value), WEFT_OK);
    assert_memory_equal(value, answer + 9, VALUE_BYTES);
}

static void wrong_stores_are_named(void **unused)
{
    uint8_t answer[1 + 8 + VALUE_BYTES];
    size_t bytes = good_answer(answer);
    (void)unused;
    expect(&(server_t){.closes = true}, WEFT_ERR_LINK, "127.0.0.1:");
    expect(&(server_t){.answer = (const uint8_t *)"HTTP/1.1 400", .bytes = 12}, WEFT_ERR_PROTO,
           "answers a ping with something else");
    expect(&(server_t){.greets = false}, WEFT_ERR_TIMEOUT, "did not answer a ping");
    expect(&(server_t){.greets = true}, WEFT_ERR_TIMEOUT, "did not get the unique id from rank 0");
    answer[0] = 1;
    expect(&(server_t){.greets = true, .answer = answer, .bytes = bytes}, WEFT_ERR_PROTO,
           "ends a wait with something else");
    answer[0] = 0;
    answer[8] = 0x7f; /* a length of more than any memory */
    expect(&(server_t){.greets = true, .answer = answer, .bytes = bytes}, WEFT_ERR_PROTO,
           "of another length");
}

/* Why it is not reached is said after 5 s, and at the end; not what the thread has failed with
 * before. */
static void a_store_that_is_not_there_is_told(void **unused)
{
    weft_torch_store_t store;
    (void)unused;
    (void)weft_fail(WEFT_ERR_ARG, 0, "something else");
    heard_begin();
    const uint64_t until = weft_os_clock_ns() + 5200 * WEFT_NS_PER_MS;
    assert_int_equal(weft_torch_store_open(&store, "127.0.0.1", 1, until), WEFT_ERR_TIMEOUT);
    assert_int_equal(heard_count(heard_end(), "nobody listens at 127.0.0.1:1, where torchrun "
                                              "serves its store; tried until init_timeout: cannot "
                                              "connect: Connection refused"),
                     1);
    assert_non_null(strstr(weft_error_record()->text, "cannot connect: Connection refused"));
    weft_torch_store_close(&store);
}

/* Each round depends on its number only. */
static void no_answer_does_harm(void **unused)
{
    enum { ROUNDS = 300 };
    (void)unused;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint8_t answer[1 + 8 + VALUE_BYTES], value[VALUE_BYTES];
        size_t bytes = good_answer(answer);
        uint32_t state = round * 2654435761U + 1;
        for (uint32_t change = round % 4; change > 0; change--) {
            state = state * 1664525U + 1013904223U;
            answer[(state >> 8) % (change == 1 ? 9 : bytes)] = (uint8_t)(state >> 24);
        }
        bytes = round % 5 == 0 ? (state >> 8) % bytes : bytes;
        server_t server = {
            .greets = round % 7 != 0, .closes = true, .answer = answer, .bytes = bytes};
        weft_status_t status = talk(&server, 5 * WEFT_NS_PER_S, value);
        if (status != WEFT_OK && strstr(weft_error_record()->text, "127.0.0.1:") == NULL) {
            fail_msg("round %u: %s: %s", round, weft_status_name(status),
                     weft_error_record()->text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_comes_from_a_store_that_is_right),
        cmocka_unit_test(wrong_stores_are_named),
        cmocka_unit_test(a_store_that_is_not_there_is_told),
        cmocka_unit_test(no_answer_does_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
