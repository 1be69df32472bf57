/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The keys by which ranks ask torchrun's store for the unique id. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/boot/id_exchange_tcp.h"
#include "core/os/os.h"
#include "tests/support/launcher_environment.h"
#include "tests/support/unit.h"

enum { PING_AT = 6, PING_BYTES = 4 };

/* What a client of the store says after its greeting, until it closes. */
typedef struct server {
    int listener;
    char said[512];
    size_t bytes;
} server_t;

static void *serve(void *arg)
{
    server_t *server = arg;
    char greeting[PING_AT + PING_BYTES];
    int fd = accept(server->listener, NULL, NULL);
    ssize_t got = recv(fd, greeting, sizeof greeting, MSG_WAITALL);
    if (got == (ssize_t)sizeof greeting) {
        (void)!send(fd, greeting + PING_AT, PING_BYTES, MSG_NOSIGNAL);
    }
    while (got > 0 && server->bytes < sizeof server->said) {
        got = recv(fd, server->said + server->bytes, sizeof server->said - server->bytes, 0);
        server->bytes += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    return NULL;
}

static weft_status_t exchange(uint16_t port)
{
    char text[16];
    weft_unique_id_t id = {.bytes = {0}};
    const weft_launcher_t launcher = {
        .size = sizeof launcher, .name = "torchrun", .rank = 1, .nranks = 2};
    const weft_boot_settings_t settings = {.exchange = 0};
    const weft_id_exchange_job_t job = {.launcher = &launcher,
                                        .settings = &settings,
                                        .until = weft_os_clock_ns() + WEFT_NS_PER_S / 2};
    snprintf(text, sizeof text, "%u", port);
    assert_int_equal(setenv("MASTER_PORT", text, 1), 0);
    return weft_id_exchange_tcp.exchange(&job, &id);
}

/* The other ranks have counted it, and ask with the next key. */
static void an_exchange_that_failed_on_this_rank_counts(void **unused)
{
    static server_t server;
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof addr;
    pthread_t thread;
    (void)unused;
    launcher_environment("RANK=1", "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", NULL);
    assert_int_equal(exchange(1), WEFT_ERR_TIMEOUT); /* nobody listens there */
    server.listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server.listener, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(listen(server.listener, 1), 0);
    assert_int_equal(getsockname(server.listener, (struct sockaddr *)&addr, &length), 0);
    assert_int_equal(pthread_create(&thread, NULL, serve, &server), 0);
    assert_int_equal(exchange(ntohs(addr.sin_port)), WEFT_ERR_TIMEOUT); /* it tells nothing */
    pthread_join(thread, NULL);
    close(server.listener);
    assert_non_null(memmem(server.said, server.bytes, "weft/id/0/1", strlen("weft/id/0/1")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exchange_that_failed_on_this_rank_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
