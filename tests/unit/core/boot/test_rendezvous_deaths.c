/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who is named when a rank dies in the exchange of unique ids through a folder, or while it joins
 * with the id. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/boot/auth.h"
#include "core/boot/connector.h"
#include "core/boot/join.h"
#include "core/boot/join_request.h"
#include "core/boot/unique_id.h"
#include "core/os/os.h"
#include "core/os/os_folder.h"
#include "tests/support/launcher_environment.h"
#include "tests/support/rendezvous_job.h"
#include "tests/support/unit.h"

/* Where the victim ends. */
typedef enum stage { BEFORE_NOTE, CLAIMED, EXCHANGED, PROVED, REGISTERED } stage_t;

/* Goes so far and waits to be killed. */
static void victim_go(stage_t stage, uint32_t rank, uint32_t nranks, rendezvous_shared_t *shared)
{
    weft_launcher_t launcher = rendezvous_launcher(rank, nranks);
    weft_unique_id_t bytes = {{0}};
    weft_id_t id;
    if (rank == 0 && weft_unique_id_create(&bytes, NULL) != WEFT_OK) {
        _exit(9);
    }
    weft_status_t status = weft_launcher_exchange_id(&launcher, &bytes, NULL);
    if (status != WEFT_OK || stage < EXCHANGED || weft_id_decode(&bytes, &id) != WEFT_OK) {
        _exit(8);
    }
    if (stage >= PROVED) {
        uint8_t key[32], label[WEFT_AUTH_LABEL];
        weft_connector_t connector;
        weft_id_key(&id, WEFT_PURPOSE_ROOT, key);
        weft_auth_label_make(label, WEFT_PURPOSE_ROOT, rank);
        weft_connector_begin(&connector, key, label, id.addrs, id.count, weft_os_deadline(5));
        if (weft_connector_run(&connector) != WEFT_OK) {
            _exit(7);
        }
        uint8_t message[WEFT_WIRE_HEADER + WEFT_WIRE_JOIN_REQUEST];
        weft_join_request_t request;
        weft_frame_t frame = {.type = WEFT_FRAME_JOIN,
                              .bytes = WEFT_WIRE_JOIN_REQUEST,
                              .from = rank,
                              .comm_id = weft_id_comm(&id)};
        weft_join_request_make(&request, rank, nranks, "=lo", 4711);
        weft_frame_encode(&frame, message);
        weft_join_request_encode(&request, message + WEFT_WIRE_HEADER);
        if (stage == REGISTERED &&
            send(connector.fd, message, sizeof message, 0) != (ssize_t)sizeof message) {
            _exit(6);
        }
    }
    atomic_store(&shared->done, 1);
    pause();
}

/* Exits with 0 if the whole join failed because of rank `victim`. */
static int survivor_go(uint32_t rank, uint32_t nranks, uint32_t victim, rendezvous_shared_t *shared)
{
    weft_launcher_t launcher = rendezvous_launcher(rank, nranks);
    weft_unique_id_t id = {{0}};
    weft_boot_t *boot = NULL;
    weft_boot_settings_t settings = {
        .init_timeout = 15, .connect_timeout = 5, .heartbeat = 0.1, .interface = "=lo"};
    alarm(30);
    if (rank == 0 && weft_unique_id_create(&id, NULL) != WEFT_OK) {
        return 3;
    }
    weft_status_t status = weft_launcher_exchange_id(&launcher, &id, NULL);
    if (status == WEFT_OK) {
        status = weft_boot_join(&settings, nranks, &id, rank, &boot);
    }
    (void)shared;
    weft_error_t *error = weft_error_record();
    if (status != WEFT_ERR_PEER_DEAD || error->peer != (int32_t)victim) {
        fprintf(stderr, "rank %u: %s, culprit %d: %s\n", rank, weft_status_name(status),
                error->peer, error->text);
        return 1;
    }
    return 0;
}

static double cpu_share(void)
{
    double load = 0;
    return getloadavg(&load, 1) == 1 && load > 2 ? load / 2 : 1;
}

/* Three of four ranks come; the victim is killed at the stage. The others name it soon, and nothing
 * is left. A victim before the note dies before rank 0 comes; one after the claim while rank 3 is
 * missing. */
static void kill_at(stage_t stage, uint32_t victim)
{
    enum { N = 4 };
    pid_t pids[N];
    rendezvous_shared_t *shared = rendezvous_shared_make();
    bool all = stage >= EXCHANGED;
    for (uint32_t r = 0; r < N; r++) {
        pids[r] = -1;
    }
    for (uint32_t i = 0; i < N; i++) {
        uint32_t r = (i + victim) % N;
        if (r == victim ? (pids[r] = fork()) == 0 : false) {
            victim_go(stage, r, N, shared);
        }
        if (r != victim && (all || r != 3) && !(stage == BEFORE_NOTE && r == 0) &&
            (pids[r] = fork()) == 0) {
            _exit(survivor_go(r, N, victim, shared));
        }
    }
    uint64_t late = weft_os_clock_ns() + 10 * WEFT_NS_PER_S;
    while (weft_os_clock_ns() < late && (all ? atomic_load(&shared->done) == 0
                                             : rendezvous_files_left() < (stage == BEFORE_NOTE))) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    /* What cannot be seen from outside: the last frame arrives, or the other waits are written. */
    weft_os_sleep_ns(300 * WEFT_NS_PER_MS);
    kill(pids[victim], SIGKILL);
    uint64_t start = weft_os_clock_ns();
    if (stage == BEFORE_NOTE && (pids[0] = fork()) == 0) {
        _exit(survivor_go(0, N, victim, shared));
    }
    for (uint32_t r = 0; r < N; r++) {
        int how = 0;
        if (pids[r] > 0) {
            waitpid(pids[r], &how, 0);
            assert_true(r == victim || (WIFEXITED(how) && WEXITSTATUS(how) == 0));
        }
    }
    double took = (double)(weft_os_clock_ns() - start) / 1e9;
    print_message("stage %d, rank %u: named after %.3f s\n", (int)stage, victim, took);
    assert_true(took < 1.0 * cpu_share());
    /* A verdict for rank 3, which never comes. */
    assert_int_equal(rendezvous_files_left(), stage <= CLAIMED);
    rendezvous_remove_files();
    munmap(shared, sizeof *shared);
}

static void kill_at_all_stages(stage_t first, uint32_t victim)
{
    for (int stage = (int)first; stage <= REGISTERED; stage++) {
        char job[64];
        snprintf(job, sizeof job, "PMIX_NAMESPACE=kill%u-%d", victim, stage);
        launcher_environment(job, NULL);
        kill_at((stage_t)stage, victim);
    }
}

static void a_rank_that_dies_at_any_stage_is_named_by_all(void **unused)
{
    (void)unused;
    kill_at_all_stages(BEFORE_NOTE, 2);
}

static void rank_0_that_dies_at_any_stage_is_named_by_all(void **unused)
{
    (void)unused;
    kill_at_all_stages(CLAIMED, 0);
}

/* Rank 3 was started with the others, begins to wait a second after the victim died, and names it
 * too. Then the others try again with this process as rank 0, and the verdict that they heard does
 * not stop them. */
static void a_rank_that_comes_long_after_a_death_names_it(void **unused)
{
    (void)unused;
    for (uint32_t victim = 0; victim < 3; victim += 2) {
        int how;
        pid_t pids[4];
        rendezvous_shared_t *shared = rendezvous_shared_make();
        launcher_environment(victim == 0 ? "PMIX_NAMESPACE=late0" : "PMIX_NAMESPACE=late2", NULL);
        for (uint32_t r = 0; r < 4; r++) {
            if ((pids[r] = fork()) == 0 && r == victim) {
                victim_go(CLAIMED, r, 4, shared);
            } else if (pids[r] == 0) {
                alarm(20);
                while (r == 3 && atomic_load(&shared->done) == 0) {
                    weft_os_sleep_ns(WEFT_NS_PER_MS);
                }
                uint64_t began = weft_os_clock_ns();
                int wrong = survivor_go(r, 4, victim, shared);
                double took = (double)(weft_os_clock_ns() - began) / 1e9;
                _exit(wrong || (r == 3 && took > cpu_share()) ||
                      (victim == 2 && rendezvous_exchange_as(shared, r == 0 ? 2 : r, 4, 1) != 0));
            }
        }
        weft_os_sleep_ns(500 * WEFT_NS_PER_MS);
        kill(pids[victim], SIGKILL);
        weft_os_sleep_ns(1000 * WEFT_NS_PER_MS);
        assert_int_equal(rendezvous_files_left(), victim == 0 ? 1 : 3); /* two wait again */
        atomic_store(&shared->done, 1);
        weft_os_sleep_ns(500 * WEFT_NS_PER_MS);
        atomic_store(&shared->done, 0);
        assert_true(victim == 0 || rendezvous_exchange_as(shared, 0, 4, 1) == 0);
        alarm(50);
        for (uint32_t r = 0; r < 4; r++) {
            waitpid(pids[r], &how, 0);
            assert_true(r == victim || (WIFEXITED(how) && WEXITSTATUS(how) == 0));
        }
        assert_int_equal(rendezvous_files_left(), victim == 0);
        rendezvous_remove_files();
        munmap(shared, sizeof *shared);
    }
}

/* Of another parent, so only the times of their starts tell that rank 0 is of our job; nobody else
 * has seen it. */
static void rank_0_that_was_started_after_us_and_died_unseen_is_named(void **unused)
{
    (void)unused;
    int how;
    rendezvous_shared_t *shared = rendezvous_shared_make();
    launcher_environment("PMIX_NAMESPACE=younger", NULL);
    pid_t waiting = fork();
    if (waiting == 0) {
        _exit(survivor_go(1, 2, 0, shared));
    }
    while (rendezvous_files_left() == 0) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    weft_os_sleep_ns(50 * WEFT_NS_PER_MS); /* some ticks */
    kill(waiting, SIGSTOP);
    rendezvous_leave_a_dead_note();
    kill(waiting, SIGCONT);
    alarm(50);
    waitpid(waiting, &how, 0);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    rendezvous_remove_files();
    munmap(shared, sizeof *shared);
}

/* Rank 3 is started when the verdict is older than what it may take for its own. Rank 0 has
 * returned and its process goes on, so there is somebody to ask. */
static void a_rank_that_is_started_long_after_a_death_asks_the_root(void **unused)
{
    (void)unused;
    enum { VICTIM = 2 };
    int how;
    pid_t pids[4] = {-1, -1, -1, -1};
    rendezvous_shared_t *shared = rendezvous_shared_make();
    launcher_environment("PMIX_NAMESPACE=late3", NULL);
    for (uint32_t r = 0; r < 3; r++) {
        if ((pids[r] = fork()) == 0 && r == VICTIM) {
            victim_go(CLAIMED, r, 4, shared);
        } else if (pids[r] == 0) {
            int wrong = survivor_go(r, 4, VICTIM, shared);
            while (r == 0 && atomic_load(&shared->done) == 0) {
                weft_os_sleep_ns(WEFT_NS_PER_MS);
            }
            _exit(wrong);
        }
    }
    weft_os_sleep_ns(500 * WEFT_NS_PER_MS);
    kill(pids[VICTIM], SIGKILL);
    weft_os_sleep_ns(2600 * WEFT_NS_PER_MS);
    uint64_t began = weft_os_clock_ns();
    if ((pids[3] = fork()) == 0) {
        _exit(survivor_go(3, 4, VICTIM, shared));
    }
    alarm(50);
    waitpid(pids[3], &how, 0);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_true((double)(weft_os_clock_ns() - began) / 1e9 < 5 * cpu_share());
    atomic_store(&shared->done, 1);
    for (uint32_t r = 0; r < 3; r++) {
        waitpid(pids[r], &how, 0);
        assert_true(r == VICTIM || (WIFEXITED(how) && WEXITSTATUS(how) == 0));
    }
    rendezvous_remove_files();
    munmap(shared, sizeof *shared);
}

/* Rank 1 stops after its claim, its file lies there as if it had not removed it yet, and it is
 * killed. */
static void the_file_of_a_rank_that_dies_as_all_have_claimed_is_removed(void **unused)
{
    (void)unused;
    int how;
    char path[512];
    uint8_t bytes[2048];
    rendezvous_shared_t *shared = rendezvous_shared_make();
    launcher_environment("PMIX_NAMESPACE=claimed", NULL);
    pid_t other = fork();
    if (other == 0) {
        _exit(rendezvous_exchange_as(shared, 1, 3, 1));
    }
    size_t size = rendezvous_keep_file(path, bytes, sizeof bytes);
    pid_t zero = fork();
    if (zero == 0) {
        _exit(rendezvous_exchange_as(shared, 0, 3, 1));
    }
    while (rendezvous_files_left() > rendezvous_notes_left() || rendezvous_notes_left() == 0) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    /* Its file goes before its claim has come. The claim does not end before rank 2 is here. */
    weft_os_sleep_ns(WEFT_NS_PER_S);
    assert_int_equal(kill(other, SIGSTOP), 0);
    assert_int_equal(weft_os_private_write(path, bytes, size), WEFT_OK);
    atomic_fetch_add(&shared->done, 1);
    assert_int_equal(rendezvous_exchange_as(shared, 2, 3, 1), 0);
    alarm(50);
    kill(other, SIGKILL);
    waitpid(other, &how, 0);
    waitpid(zero, &how, 0);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_int_equal(rendezvous_files_left(), 0);
    munmap(shared, sizeof *shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_dies_at_any_stage_is_named_by_all),
        cmocka_unit_test(rank_0_that_dies_at_any_stage_is_named_by_all),
        cmocka_unit_test(the_file_of_a_rank_that_dies_as_all_have_claimed_is_removed),
        cmocka_unit_test(a_rank_that_comes_long_after_a_death_names_it),
        cmocka_unit_test(rank_0_that_was_started_after_us_and_died_unseen_is_named),
        cmocka_unit_test(a_rank_that_is_started_long_after_a_death_asks_the_root),
    };
    alarm(50);
    return cmocka_run_group_tests(tests, rendezvous_make_folder, rendezvous_remove_folder);
}
