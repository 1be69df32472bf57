/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ids with a fixed address: their text, and joins of threads that use one. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "core/base/error.h"
#include "core/boot/boot.h"
#include "core/boot/fixed_id.h"
#include "core/boot/join.h"
#include "core/os/os.h"
#include "core/os/os_socket.h"
#include "tests/support/denied.h"
#include "tests/support/heard.h"
#include "tests/support/unit.h"

#define RANKS 3
#define USES 3

static const weft_boot_settings_t defaults = {
    .init_timeout = 20, .connect_timeout = 5, .heartbeat = 0.1, .interface = "=lo"};

/* A port on which nobody listens now. */
static uint16_t free_port(void)
{
    int fd = -1;
    uint16_t port = 0;
    assert_int_equal(weft_os_listen(1, &fd, &port), WEFT_OK);
    weft_os_close(fd);
    return port;
}

static weft_unique_id_t make_at(const char *host, uint16_t port)
{
    char at[80];
    weft_unique_id_t id;
    snprintf(at, sizeof at, "%s:%u", host, port);
    assert_int_equal(weft_fixed_id_make(at, &id), WEFT_OK);
    return id;
}

static void an_address_is_kept_as_it_was_written(void **unused)
{
    static const struct {
        const char *at, *host;
        uint16_t port;
    } right[] = {{"node7:4711", "node7", 4711},
                 {"10.0.0.1:1", "10.0.0.1", 1},
                 {"[fd00::1]:65535", "fd00::1", 65535},
                 {"job-0.svc.cluster.local:80", "job-0.svc.cluster.local", 80}};
    (void)unused;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        weft_unique_id_t bytes;
        weft_id_t id;
        assert_int_equal(weft_fixed_id_make(right[i].at, &bytes), WEFT_OK);
        assert_int_equal(weft_id_decode(&bytes, &id), WEFT_OK);
        assert_string_equal(id.host, right[i].host);
        assert_int_equal(id.port, right[i].port);
        assert_false(weft_id_expired(&id));
    }
}

static void what_is_no_address_is_refused(void **unused)
{
    static const char *const wrong[] = {
        "node7",       "node7:",
        ":4711",       "node7:0",
        "node7:65536", "node7:99999999999999999999",
        "node7:47x",   "fd00::1:4711",
        "[]:4711",     "two words:4711",
        "[fe80::1]:1", "[fe80::1%lo]:4711",
        "node7:-1",    "a-name-of-58-characters-is-one-too-long-for-the-room-there-is:1"};
    weft_unique_id_t id;
    (void)unused;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (weft_fixed_id_make(wrong[i], &id) != WEFT_ERR_ARG ||
            strstr(weft_error_record()->text, "HOST:PORT") == NULL) {
            fail_msg("%s: %s", wrong[i], weft_error_record()->text);
        }
    }
}

static void a_link_local_address_is_refused_with_the_reason(void **unused)
{
    weft_unique_id_t id;
    (void)unused;
    assert_int_equal(weft_fixed_id_make("[fe80::42%eth7]:4711", &id), WEFT_ERR_ARG);
    assert_string_equal(weft_error_record()->text,
                        "\"[fe80::42%eth7]:4711\": a link-local address means nothing on another "
                        "host; expected HOST:PORT");
    assert_int_equal(weft_fixed_id_make("[fd00::42]:4711", &id), WEFT_OK);
}

typedef struct job {
    weft_unique_id_t id;
    weft_boot_settings_t settings;
    weft_status_t status[RANKS];
    char text[RANKS][512];
    uint64_t comm_ids[RANKS][USES];
    double late[RANKS]; /* seconds after which a rank comes */
    bool no_loopback;   /* rank 0 can connect to nobody */
    uint32_t come;      /* ranks below it come */
    _Atomic uint32_t joined;
} job_t;

typedef struct thread {
    job_t *job;
    uint32_t rank;
} thread_t;

static weft_status_t join_once(job_t *job, uint32_t rank, uint64_t *comm_id)
{
    weft_unique_id_t opened;
    weft_boot_t *boot = NULL;
    weft_status_t status = weft_fixed_id_open(&job->settings, RANKS, rank, &job->id, &opened);
    if (status == WEFT_OK) {
        status = weft_boot_join(&job->settings, RANKS, &opened, rank, &boot);
    }
    if (status == WEFT_OK) {
        *comm_id = weft_boot_comm_id(boot);
        /* Nobody leaves while another one is still joining. */
        uint32_t all = (atomic_fetch_add(&job->joined, 1) / RANKS + 1) * RANKS;
        uint64_t until = weft_os_deadline(10);
        while (atomic_load(&job->joined) < all && weft_os_clock_ns() < until) {
            weft_os_sleep_ns(WEFT_NS_PER_MS);
        }
        weft_boot_leave(boot);
    }
    return status;
}

static void *rank_run(void *arg)
{
    thread_t *thread = arg;
    job_t *job = thread->job;
    uint32_t rank = thread->rank;
    weft_os_sleep_ns((uint64_t)(job->late[rank] * 1e9));
    if (rank == 0 && job->no_loopback) {
        job->no_loopback = denied_call(SYS_connect, ENETUNREACH);
    }
    for (uint32_t use = 0; use < USES && job->status[rank] == WEFT_OK; use++) {
        job->status[rank] = join_once(job, rank, &job->comm_ids[rank][use]);
    }
    snprintf(job->text[rank], sizeof job->text[rank], "%s", weft_error_record()->text);
    return NULL;
}

static void job_run(job_t *job)
{
    pthread_t threads[RANKS];
    thread_t args[RANKS];
    for (uint32_t r = 0; r < job->come; r++) {
        args[r] = (thread_t){.job = job, .rank = r};
        pthread_create(&threads[r], NULL, rank_run, &args[r]);
    }
    for (uint32_t r = 0; r < job->come; r++) {
        pthread_join(threads[r], NULL);
    }
}

static void ranks_join_in_any_order_and_again(void **unused)
{
    (void)unused;
    for (uint32_t last = 0; last < 2; last++) {
        job_t job = {.settings = defaults, .come = RANKS, .id = make_at("localhost", free_port())};
        job.late[last] = 0.3;
        job_run(&job);
        for (uint32_t r = 0; r < RANKS; r++) {
            if (job.status[r] != WEFT_OK) {
                fail_msg("rank %u: %s", r, job.text[r]);
            }
            for (uint32_t use = 0; use < USES; use++) {
                assert_true(job.comm_ids[r][use] == job.comm_ids[0][use]);
                assert_true(use == 0 || job.comm_ids[r][use] != job.comm_ids[r][use - 1]);
            }
        }
    }
}

static void ranks_that_do_not_come_are_named(void **unused)
{
    (void)unused;
    job_t job = {.settings = defaults, .come = 2, .id = make_at("127.0.0.1", free_port())};
    job.settings.init_timeout = 0.5;
    job_run(&job);
    for (uint32_t r = 0; r < 2; r++) {
        assert_int_equal(job.status[r], WEFT_ERR_TIMEOUT);
        if (strstr(job.text[r], "rank 2") == NULL) {
            fail_msg("rank %u: %s", r, job.text[r]);
        }
    }
}

/* As on a host that is up, where rank 0 takes a while to start: it refuses them again and again. */
static void ranks_find_a_rank_0_that_comes_late(void **unused)
{
    (void)unused;
    job_t job = {.settings = defaults,
                 .come = RANKS,
                 .late = {2.5, 0, 0},
                 .id = make_at("127.0.0.1", free_port())};
    job.settings.init_timeout = 10;
    job_run(&job);
    for (uint32_t r = 0; r < RANKS; r++) {
        if (job.status[r] != WEFT_OK) {
            fail_msg("rank %u: %s", r, job.text[r]);
        }
    }
}

static void a_rank_0_that_does_not_listen_is_named_with_its_address(void **unused)
{
    char at[80];
    uint16_t port = free_port();
    weft_boot_settings_t settings = defaults;
    weft_unique_id_t id = make_at("127.0.0.1", port), opened;
    (void)unused;
    settings.init_timeout = 1.5;
    snprintf(at, sizeof at, "nobody listens at 127.0.0.1:%u: Connection refused", port);
    assert_int_equal(weft_fixed_id_open(&settings, 2, 1, &id, &opened), WEFT_ERR_TIMEOUT);
    assert_non_null(strstr(weft_error_record()->text, at));
    settings.init_timeout = 0.3;
    id = make_at("no-such-host.invalid", port);
    assert_int_equal(weft_fixed_id_open(&settings, 2, 1, &id, &opened), WEFT_ERR_TIMEOUT);
    assert_non_null(strstr(weft_error_record()->text, "no-such-host.invalid"));
}

/* A listener whose queue is full drops who asks, as a firewall does. */
static void a_firewall_is_guessed_in_time(void **unused)
{
    int fd = -1, waiting[4];
    char at[40];
    uint16_t port = 0;
    weft_os_addr_t addr = {.family = 4, .bytes = {127, 0, 0, 1}};
    weft_boot_settings_t settings = defaults;
    weft_unique_id_t opened;
    (void)unused;
    settings.init_timeout = 2;
    assert_int_equal(weft_os_listen(0, &fd, &port), WEFT_OK);
    addr.port = port;
    for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++) {
        assert_int_equal(weft_os_connect(&addr, &waiting[i]), WEFT_OK);
    }
    weft_unique_id_t id = make_at("127.0.0.1", port);
    snprintf(at, sizeof at, "127.0.0.1:%u", port);
    heard_begin();
    weft_status_t status = weft_fixed_id_open(&settings, 2, 1, &id, &opened);
    const char *heard = heard_end();
    assert_int_equal(status, WEFT_ERR_TIMEOUT);
    assert_non_null(strstr(weft_error_record()->text, "rank 0 was not reached at 127.0.0.1"));
    assert_non_null(strstr(weft_error_record()->text, "firewall"));
    assert_int_equal(heard_count(heard, "rank 1 waits until init_timeout for rank 0"), 1);
    assert_true(heard_count(heard, at) > 0 && heard_count(heard, "firewall") == 1);
    for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++) {
        weft_os_close(waiting[i]);
    }
    weft_os_close(fd);
}

/* As without a loopback interface. The others hear it from the root. */
static void a_rank_0_that_does_not_reach_itself_says_why(void **unused)
{
    (void)unused;
    job_t job = {.settings = defaults,
                 .come = RANKS,
                 .no_loopback = true,
                 .late = {0, 0.5, 0.5}, /* so their deadlines are not before the root's */
                 .id = make_at("127.0.0.1", free_port())};
    job.settings.init_timeout = 4;
    heard_begin();
    job_run(&job);
    const char *heard = heard_end();
    if (!job.no_loopback) {
        skip(); /* this system has no filters of calls */
    }
    assert_int_equal(heard_count(heard, "rank 0 cannot connect to its own port"), 1);
    for (uint32_t r = 0; r < RANKS; r++) {
        if (job.status[r] != WEFT_ERR_TIMEOUT ||
            strstr(job.text[r], "rank 0 could not connect to its own port") == NULL ||
            strstr(job.text[r], "loopback") == NULL) {
            fail_msg("rank %u: %s: %s", r, weft_status_name(job.status[r]), job.text[r]);
        }
    }
}

static void a_port_that_is_taken_is_named(void **unused)
{
    int fd = -1;
    char says[40];
    uint16_t port = 0;
    weft_unique_id_t opened;
    weft_boot_settings_t settings = defaults;
    (void)unused;
    assert_int_equal(weft_os_listen(1, &fd, &port), WEFT_OK);
    weft_unique_id_t id = make_at("127.0.0.1", port);
    settings.init_timeout = 0.5;
    snprintf(says, sizeof says, "port %u", port);
    assert_int_equal(weft_fixed_id_open(&settings, 2, 0, &id, &opened), WEFT_ERR_RESOURCE);
    assert_non_null(strstr(weft_error_record()->text, says));
    weft_os_close(fd);
}

static void one_rank_needs_no_port(void **unused)
{
    weft_unique_id_t id = make_at("no-such-host.invalid", 1), opened;
    weft_boot_t *boot = NULL;
    (void)unused;
    assert_int_equal(weft_fixed_id_open(&defaults, 1, 0, &id, &opened), WEFT_OK);
    assert_int_equal(weft_boot_join(&defaults, 1, &opened, 0, &boot), WEFT_OK);
    weft_boot_leave(boot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_kept_as_it_was_written),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(a_link_local_address_is_refused_with_the_reason),
        cmocka_unit_test(ranks_join_in_any_order_and_again),
        cmocka_unit_test(ranks_that_do_not_come_are_named),
        cmocka_unit_test(ranks_find_a_rank_0_that_comes_late),
        cmocka_unit_test(a_rank_0_that_does_not_listen_is_named_with_its_address),
        cmocka_unit_test(a_firewall_is_guessed_in_time),
        cmocka_unit_test(a_rank_0_that_does_not_reach_itself_says_why),
        cmocka_unit_test(a_port_that_is_taken_is_named),
        cmocka_unit_test(one_rank_needs_no_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
