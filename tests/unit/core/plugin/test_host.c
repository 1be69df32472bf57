/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The services that plugins get. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/plugin/host.h"
#include "tests/support/unit.h"

static weft_host_key_t host_key;
static weft_host_core_t host_core = {.name = "net-sample", .key = &host_key};
static weft_host_t sample_host;

static int fresh(void **state)
{
    (void)state;
    memset(&host_key, 0, sizeof host_key);
    weft_host_fill(&sample_host, &host_core);
    return 0;
}

static void error_is_recorded_with_the_plugin(void **state)
{
    const weft_host_t *host = &sample_host;
    (void)state;
    assert_int_equal(host->set_error(host, WEFT_ERR_LINK, ECONNREFUSED, "connect to %s", "there"),
                     WEFT_ERR_LINK);
    const weft_error_t *error = weft_error_record();
    assert_int_equal(error->status, WEFT_ERR_LINK);
    assert_int_equal(error->os_errno, ECONNREFUSED);
    assert_string_equal(error->transport, "net-sample");
    assert_string_equal(error->text, "connect to there: Connection refused");
}

static void memory_is_zeroed_and_aligned(void **state)
{
    const weft_host_t *host = &sample_host;
    static const char zero[100];
    (void)state;
    for (size_t align = 0; align <= 4096; align = align == 0 ? 8 : align * 2) {
        char *memory = host->alloc(host, sizeof zero, align);
        assert_non_null(memory);
        assert_memory_equal(memory, zero, sizeof zero);
        assert_int_equal((uintptr_t)memory % (align > 0 ? align : 8), 0);
        host->free(host, memory);
    }
    host->free(host, NULL);
}

static void log_line_has_the_name_of_the_plugin(void **state)
{
    const weft_host_t *host = &sample_host;
    int ends[2], kept = dup(STDERR_FILENO);
    char line[200] = "";
    (void)state;
    assert_int_equal(host->log_level, (uint32_t)weft_log_level());
    assert_int_equal(pipe(ends), 0);
    assert_true(kept >= 0 && dup2(ends[1], STDERR_FILENO) >= 0);
    host->log(host, WEFT_LOG_WARN, "port %d is busy", 7);
    host->log(host, WEFT_LOG_TRACE, "not printed");
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    close(ends[1]);
    ssize_t bytes = read(ends[0], line, sizeof line - 1);
    assert_true(bytes > 0);
    assert_non_null(strstr(line, "warn net-sample: port 7 is busy\n"));
    assert_null(strstr(line, "not printed"));
    close(ends[0]);
    close(kept);
}

static void clock_never_goes_back(void **state)
{
    const weft_host_t *host = &sample_host;
    (void)state;
    uint64_t before = host->clock_ns(host);
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t now = host->clock_ns(host);
        assert_true(now >= before);
        before = now;
    }
    assert_true(before > 0);
}

static void random_bytes_differ(void **state)
{
    const weft_host_t *host = &sample_host;
    uint8_t a[32] = {0}, b[32] = {0};
    (void)state;
    assert_int_equal(host->random(host, a, sizeof a), WEFT_OK);
    assert_int_equal(host->random(host, b, sizeof b), WEFT_OK);
    assert_memory_not_equal(a, b, sizeof a);
}

static void add_one(void *arg)
{
    *(int *)arg += 1;
}

static void thread_runs_and_is_joined(void **state)
{
    const weft_host_t *host = &sample_host;
    weft_host_thread_t *thread = NULL;
    int count = 41;
    (void)state;
    assert_int_equal(host->thread_start(host, "sample", add_one, &count, &thread), WEFT_OK);
    host->thread_join(host, thread);
    assert_int_equal(count, 42);
    host->thread_join(host, NULL);
}

static void unknown_service_is_null(void **state)
{
    const weft_host_t *host = &sample_host;
    const uint8_t key[32] = {1};
    (void)state;
    weft_host_key_set(&host_key, key);
    assert_null(host->get_service(host, "weft.auth/2"));
    assert_null(host->get_service(host, ""));
}

/* One handshake with this host's key on one side and `other` on the other; true if both agree. */
static bool handshake(const uint8_t other[32], uint8_t told[WEFT_AUTH_LABEL])
{
    static weft_host_key_t peer_key;
    static weft_host_core_t peer_core = {.name = "net-sample", .key = &peer_key};
    static weft_host_t peer;
    const uint8_t label[WEFT_AUTH_LABEL] = "rank 3";
    uint8_t hello[WEFT_AUTH_HELLO], reply[WEFT_AUTH_REPLY], proof[WEFT_AUTH_PROOF];
    weft_auth_state_t client, server;
    weft_host_fill(&peer, &peer_core);
    weft_host_key_set(&peer_key, other);
    const weft_auth_service_t *a = sample_host.get_service(&sample_host, WEFT_SERVICE_AUTH);
    const weft_auth_service_t *b = peer.get_service(&peer, WEFT_SERVICE_AUTH);
    assert_non_null(a);
    assert_int_equal(a->size, sizeof(weft_auth_service_t));
    if (a->client_begin(&sample_host, &client, label, hello) != WEFT_OK ||
        b->server_reply(&peer, &server, hello, reply) != WEFT_OK ||
        a->client_finish(&sample_host, &client, reply, proof) != WEFT_OK) {
        return false;
    }
    return b->server_check(&peer, &server, proof, told) == WEFT_OK;
}

static void auth_service_uses_the_key_of_the_registry(void **state)
{
    const weft_host_t *host = &sample_host;
    uint8_t key[32], other[32], told[WEFT_AUTH_LABEL] = {0};
    (void)state;
    memset(key, 7, sizeof key);
    memset(other, 8, sizeof other);
    assert_null(host->get_service(host, WEFT_SERVICE_AUTH));
    weft_host_key_set(&host_key, key);
    assert_true(handshake(key, told));
    assert_string_equal((const char *)told, "rank 3");
    assert_false(handshake(other, told));
}

#define TEST(name) cmocka_unit_test_setup(name, fresh)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(error_is_recorded_with_the_plugin),
        TEST(memory_is_zeroed_and_aligned),
        TEST(log_line_has_the_name_of_the_plugin),
        TEST(clock_never_goes_back),
        TEST(random_bytes_differ),
        TEST(thread_runs_and_is_joined),
        TEST(unknown_service_is_null),
        TEST(auth_service_uses_the_key_of_the_registry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
