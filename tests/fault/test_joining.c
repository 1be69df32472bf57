/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that fail while they join: the others are told who, and why, long before init_timeout. */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/weft.h>

#include "tests/support/denied.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#define RANKS 4u
#define BAD 2u
/* The join of the others would wait a minute. How long it really takes is a matter of milliseconds,
 * on an idle machine. */
#define INIT_TIMEOUT "boot.init_timeout=60"
#define SOON_S 10.0

typedef struct joiner {
    const weft_unique_id_t *id;
    uint32_t rank;
    const char *extra;  /* a setting of the rank that fails */
    unsigned denied[2]; /* calls that the system lets it not make; 0: none */
    unsigned cause;     /* the errno of these */
    bool no_filters;    /* this system cannot deny calls */
    weft_status_t status;
    weft_error_t error;
    double took;
    pthread_t thread;
} joiner_t;

static void *joiner_main(void *arg)
{
    joiner_t *joiner = arg;
    weft_comm_t *comm = NULL;
    const char *settings[] = {INIT_TIMEOUT, "core.net=net-shm", joiner->extra};
    weft_comm_options_t options = {.size = sizeof options,
                                   .config = "/dev/null",
                                   .settings = settings,
                                   .settings_count = joiner->extra != NULL ? 3 : 2};
    double start = ranks_now();
    /* As limits of the process do, but for this thread alone. */
    for (int i = 0; i < 2 && joiner->denied[i] != 0; i++) {
        joiner->no_filters |= !denied_call(joiner->denied[i], joiner->cause);
    }
    joiner->status = weft_comm_init_rank(&comm, RANKS, joiner->id, joiner->rank, &options);
    joiner->took = ranks_now() - start;
    joiner->error.size = sizeof joiner->error;
    weft_last_error(&joiner->error);
    if (joiner->status == WEFT_OK) {
        weft_comm_destroy(comm);
    }
    return NULL;
}

/* One rank cannot join. All fail with `status`, those others with a text that names it and has
 * `words`, which are in its own error, too. */
static void one_fails_and_all_are_told(joiner_t bad, weft_status_t status, const char *words)
{
    weft_unique_id_t id;
    joiner_t joiners[RANKS];
    const char *settings[] = {INIT_TIMEOUT};
    weft_comm_options_t options = {
        .size = sizeof options, .config = "/dev/null", .settings = settings, .settings_count = 1};
    char who[32];
    snprintf(who, sizeof who, "rank %u of host", BAD);
    assert_int_equal(weft_unique_id_create(&id, &options), WEFT_OK);
    for (uint32_t r = 0; r < RANKS; r++) {
        joiners[r] = r == BAD ? bad : (joiner_t){.extra = NULL};
        joiners[r].id = &id;
        joiners[r].rank = r;
        assert_int_equal(pthread_create(&joiners[r].thread, NULL, joiner_main, &joiners[r]), 0);
    }
    for (uint32_t r = 0; r < RANKS; r++) {
        pthread_join(joiners[r].thread, NULL);
    }
    if (joiners[BAD].no_filters) {
        skip();
    }
    for (uint32_t r = 0; r < RANKS; r++) {
        const joiner_t *joiner = &joiners[r];
        if (joiner->status != status || strstr(joiner->error.text, words) == NULL ||
            (r != BAD && (strstr(joiner->error.text, who) == NULL ||
                          joiner->error.peer != (int32_t)BAD || joiner->error.peer_pid <= 0))) {
            fail_msg("rank %u: %s: %s", r, weft_status_name(joiner->status), joiner->error.text);
        }
        if (joiner->took > SOON_S) {
            fail_msg("rank %u was told after %.1f s", r, joiner->took);
        }
    }
}

static void a_plugin_that_one_rank_does_not_find_is_named_on_all(void **unused)
{
    (void)unused;
    one_fails_and_all_are_told((joiner_t){.extra = "core.algo=algo-nowhere"}, WEFT_ERR_PLUGIN,
                               "algo-nowhere");
}

static void a_key_that_one_rank_does_not_know_is_named_on_all(void **unused)
{
    (void)unused;
    one_fails_and_all_are_told((joiner_t){.extra = "core.nett=net-shm"}, WEFT_ERR_CONFIG, "nett");
}

static void an_interface_that_one_rank_does_not_have_is_named_on_all(void **unused)
{
    (void)unused;
    one_fails_and_all_are_told((joiner_t){.extra = "boot.interface==nowhere9"}, WEFT_ERR_CONFIG,
                               "nowhere9");
}

static void a_plugin_of_another_kind_on_one_rank_is_named_on_all(void **unused)
{
    (void)unused;
    one_fails_and_all_are_told((joiner_t){.extra = "core.tuner=algo-tree"}, WEFT_ERR_PLUGIN,
                               "algo-tree");
}

static void a_range_of_ports_that_is_used_up_on_one_rank_is_named_on_all(void **unused)
{
    (void)unused;
    int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in6 at = {.sin6_family = AF_INET6};
    socklen_t bytes = sizeof at;
    char range[48];
    if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(listener, 1) != 0 || getsockname(listener, (struct sockaddr *)&at, &bytes) != 0) {
        skip(); /* no IPv6 */
    }
    snprintf(range, sizeof range, "boot.port_range=%u", ntohs(at.sin6_port));
    one_fails_and_all_are_told((joiner_t){.extra = range}, WEFT_ERR_CONFIG, "all ports of boot.");
    close(listener);
}

/* After the join the others would hear of a death, in a call, and not why. */
static void a_thread_that_one_rank_may_not_start_is_named_on_all(void **unused)
{
    (void)unused;
    one_fails_and_all_are_told((joiner_t){.denied = {SYS_clone, SYS_clone3}, .cause = EAGAIN},
                               WEFT_ERR_RESOURCE, "cannot start thread weft-health");
}

/* It has no listener then, at which the others could look whether it lives. */
static void a_descriptor_that_one_rank_lacks_is_named_on_all(void **unused)
{
    (void)unused;
    one_fails_and_all_are_told((joiner_t){.denied = {SYS_epoll_create1}, .cause = EMFILE},
                               WEFT_ERR_RESOURCE, "cannot watch the listening sockets");
    one_fails_and_all_are_told((joiner_t){.denied = {SYS_listen}, .cause = EMFILE},
                               WEFT_ERR_RESOURCE, "cannot listen on a TCP port");
}

/* Programs without standard descriptors, in processes of their own: what they print must not go to
 * a connection. */
static void close_standard(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        close(fd);
    }
}

/* /dev/null, or nothing. */
static bool standard_is_harmless(bool opened)
{
    bool harmless = true;
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        struct stat info;
        harmless = harmless && (fstat(fd, &info) == 0 ? S_ISCHR(info.st_mode) : !opened);
    }
    return harmless;
}

static int join_without_descriptors(const char *net)
{
    weft_unique_id_t id;
    weft_comm_t *comm = NULL;
    (void)net;
    close_standard();
    if (weft_unique_id_create(&id, NULL) != WEFT_OK ||
        weft_comm_init_rank(&comm, 1, &id, 0, NULL) != WEFT_OK) {
        return 1;
    }
    if (!standard_is_harmless(true)) {
        return 2;
    }
    return weft_comm_destroy(comm) == WEFT_OK ? 0 : 3;
}

static pthread_barrier_t closing;

/* Descriptors are made by a first call, by memory that others read, and for events. */
static int use_without_descriptors(weft_comm_t *comm, uint32_t rank, uint32_t nranks, void *arg)
{
    int wrong = 0, fd;
    uint32_t sum = 0;
    void *memory = NULL;
    (void)arg;
    pthread_barrier_wait(&closing);
    if (rank == 0) {
        close_standard();
    }
    pthread_barrier_wait(&closing);
    wrong += weft_mem_alloc(comm, 1 << 20, &memory) != WEFT_OK;
    wrong += weft_comm_error_fd(comm, &fd) != WEFT_OK;
    wrong += weft_all_reduce(&rank, &sum, 1, WEFT_UINT32, WEFT_SUM, comm, NULL) != WEFT_OK;
    wrong += sum != nranks * (nranks - 1) / 2;
    wrong += !standard_is_harmless(false);
    wrong += weft_mem_free(comm, memory) != WEFT_OK;
    return wrong;
}

static int close_after_joining(const char *net)
{
    const ranks_job_t job = {.nranks = 2, RANKS_SET(net), .work = use_without_descriptors};
    return pthread_barrier_init(&closing, NULL, 2) != 0 ? 1 : ranks_run_threads(&job);
}

static void succeeds_in_a_child(int (*program)(const char *net), const char *net)
{
    int code = -1;
    const pid_t child = fork();
    if (child == 0) {
        _exit(program(net));
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
}

static void closed_standard_descriptors_become_no_connections(void **state)
{
    (void)state;
    succeeds_in_a_child(join_without_descriptors, NULL);
}

static void those_that_are_closed_later_do_not_either(void **state)
{
    (void)state;
    succeeds_in_a_child(close_after_joining, "core.net=net-shm");
    succeeds_in_a_child(close_after_joining, "core.net=net-socket");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: they fork, and the others have had threads. */
        cmocka_unit_test(closed_standard_descriptors_become_no_connections),
        cmocka_unit_test(those_that_are_closed_later_do_not_either),
        cmocka_unit_test(a_plugin_that_one_rank_does_not_find_is_named_on_all),
        cmocka_unit_test(a_key_that_one_rank_does_not_know_is_named_on_all),
        cmocka_unit_test(an_interface_that_one_rank_does_not_have_is_named_on_all),
        cmocka_unit_test(a_plugin_of_another_kind_on_one_rank_is_named_on_all),
        cmocka_unit_test(a_range_of_ports_that_is_used_up_on_one_rank_is_named_on_all),
        cmocka_unit_test(a_thread_that_one_rank_may_not_start_is_named_on_all),
        cmocka_unit_test(a_descriptor_that_one_rank_lacks_is_named_on_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
