/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The exchange of unique ids through a folder, and who is named when a rank dies in it. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/error.h"
#include "core/boot/auth.h"
#include "core/boot/connector.h"
#include "core/boot/join.h"
#include "core/boot/join_request.h"
#include "core/boot/unique_id.h"
#include "core/os/os.h"
#include "core/os/os_folder.h"
#include "tests/support/launcher_environment.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/weft-test-XXXXXX");
    setenv("WEFT_BOOT_RENDEZVOUS", folder, 1);
    return mkdtemp(folder) == NULL || setenv("WEFT_BOOT_RENDEZVOUS", folder, 1) != 0;
}

/* Files in the folder of the rendezvous; with `notes` only those that are a note as a whole. */
static uint32_t files_count(bool notes)
{
    char path[128];
    uint32_t count = 0;
    snprintf(path, sizeof path, "%s/weft-%u", folder, geteuid());
    DIR *dir = opendir(path);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        count += e->d_name[0] != '.' && (!notes || strchr(e->d_name, '.') == NULL);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

static uint32_t files_left(void)
{
    return files_count(false);
}

static uint32_t notes_left(void)
{
    return files_count(true);
}

static void remove_files(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/weft-%u", folder, geteuid());
    DIR *dir = opendir(path);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        snprintf(path, sizeof path, "%s/weft-%u/%.255s", folder, geteuid(), e->d_name);
        (void)unlink(path);
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

static int remove_folder(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/weft-%u", folder, geteuid());
    rmdir(path);
    return rmdir(folder);
}

/* In memory that the processes share: the ids in the order of the exchanges, and who is done. */
typedef struct shared {
    weft_unique_id_t ids[8];
    _Atomic uint32_t done;
} shared_t;

static shared_t *shared_make(void)
{
    shared_t *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    return shared;
}

static weft_launcher_t launcher_of(uint32_t rank, uint32_t nranks)
{
    return (weft_launcher_t){.size = sizeof(weft_launcher_t),
                             .name = "openmpi",
                             .rank = rank,
                             .nranks = nranks,
                             .local_rank = rank,
                             .local_ranks = nranks};
}

/* Ranks as processes: each does `times` exchanges and exits with 0 if all ids were right. */
static int exchange_as(shared_t *shared, uint32_t rank, uint32_t nranks, uint32_t times)
{
    weft_launcher_t launcher = launcher_of(rank, nranks);
    alarm(20);
    for (uint32_t i = 0; i < times; i++) {
        weft_unique_id_t id;
        memset(&id, 0, sizeof id);
        if (rank == 0) {
            if (weft_unique_id_create(&id, NULL) != WEFT_OK) {
                return 3;
            }
            shared->ids[i] = id;
        }
        weft_status_t status = weft_launcher_exchange_id(&launcher, &id, NULL);
        if (status != WEFT_OK) {
            fprintf(stderr, "rank %u: %s\n", rank, weft_error_record()->text);
            return 1;
        }
        /* All but the mark that rank 0 made it, and the checksum. */
        if (memcmp(id.bytes + 4, shared->ids[i].bytes + 4, 116) != 0) {
            fprintf(stderr, "rank %u: a wrong id\n", rank);
            return 2;
        }
    }
    /* The root of the id is in the process of rank 0. */
    for (atomic_fetch_add(&shared->done, 1); rank == 0 && atomic_load(&shared->done) < nranks;) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    return 0;
}

static void ids_reach_all_ranks_one_exchange_after_the_other(void **unused)
{
    (void)unused;
    enum { N = 4 };
    pid_t pids[N];
    shared_t *shared = shared_make();
    launcher_environment("PMIX_NAMESPACE=1234", NULL);
    for (uint32_t r = 0; r < N; r++) {
        pids[r] = fork();
        if (pids[r] == 0) {
            _exit(exchange_as(shared, r, N, 5));
        }
    }
    for (uint32_t r = 0; r < N; r++) {
        int how;
        waitpid(pids[r], &how, 0);
        assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    }
    assert_int_equal(files_left(), 0);
    munmap(shared, sizeof *shared);
}

/* The processes that the caller starts from now on read other start times than ours. */
static bool shift_clock(void)
{
#ifdef CLONE_NEWTIME
    static const char offsets[] = "boottime 1000000 0";
    int fd = unshare(CLONE_NEWTIME) == 0 ? open("/proc/self/timens_offsets", O_WRONLY) : -1;
    bool shifted = fd >= 0 && write(fd, offsets, sizeof offsets - 1) == sizeof offsets - 1;
    (void)close(fd);
    return shifted;
#else
    return false;
#endif
}

static bool shifting_is_allowed(void)
{
    int how = 1;
    pid_t trial = fork();
    if (trial == 0) {
        _exit(!shift_clock());
    }
    assert_int_equal(waitpid(trial, &how, 0), trial);
    return how == 0;
}

static int exchange_shifted_as(shared_t *shared, uint32_t rank)
{
    int how = 1;
    pid_t next = shift_clock() ? fork() : -1;
    if (next == 0) {
        _exit(exchange_as(shared, rank, 2, 2));
    }
    (void)waitpid(next, &how, 0);
    return how != 0;
}

/* They see each other's pids, and start times that are not theirs. */
static void ranks_of_two_time_namespaces_do_not_take_each_other_for_dead(void **unused)
{
    (void)unused;
    if (!shifting_is_allowed()) {
        print_message("may not make a time namespace\n");
        skip();
    }
    launcher_environment("PMIX_NAMESPACE=2345", NULL);
    for (uint32_t shifted = 0; shifted < 2; shifted++) {
        shared_t *shared = shared_make();
        pid_t pids[2];
        for (uint32_t r = 0; r < 2; r++) {
            if ((pids[r] = fork()) == 0) {
                _exit(r == shifted ? exchange_shifted_as(shared, r) : exchange_as(shared, r, 2, 2));
            }
        }
        for (uint32_t r = 0; r < 2; r++) {
            int how;
            assert_int_equal(waitpid(pids[r], &how, 0), pids[r]);
            assert_int_equal(how, 0);
        }
        munmap(shared, sizeof *shared);
    }
    assert_int_equal(files_left(), 0);
}

/* A rank 0 of an older job, whose launcher was another process: waits for a rank that never comes,
 * and is killed. */
static void leave_a_dead_note(void)
{
    int how;
    pid_t launcher = fork();
    if (launcher == 0) {
        pid_t dead = fork();
        if (dead == 0) {
            weft_launcher_t l = launcher_of(0, 2);
            weft_unique_id_t id;
            _exit(weft_unique_id_create(&id, NULL) == WEFT_OK &&
                  weft_launcher_exchange_id(&l, &id, NULL) == WEFT_OK);
        }
        while (notes_left() == 0 && waitpid(dead, &how, WNOHANG) == 0) {
            weft_os_sleep_ns(WEFT_NS_PER_MS);
        }
        kill(dead, SIGKILL);
        waitpid(dead, &how, 0);
        _exit(0);
    }
    waitpid(launcher, &how, 0);
}

static void a_note_of_a_dead_writer_is_not_taken(void **unused)
{
    (void)unused;
    int how;
    shared_t *shared = shared_make();
    launcher_environment("PMIX_NAMESPACE=77", NULL);
    leave_a_dead_note();
    assert_int_equal(files_left(), 1);
    pid_t other = fork();
    if (other == 0) {
        _exit(exchange_as(shared, 1, 2, 1));
    }
    /* Time enough to take the stale note, were it taken. */
    weft_os_sleep_ns(100 * WEFT_NS_PER_MS);
    assert_int_equal(exchange_as(shared, 0, 2, 1), 0);
    alarm(50);
    waitpid(other, &how, 0);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_int_equal(files_left(), 0);
    munmap(shared, sizeof *shared);
}

static void rank_0_sweeps_what_dead_jobs_left(void **unused)
{
    (void)unused;
    int how;
    shared_t *shared = shared_make();
    launcher_environment("PMIX_NAMESPACE=old", NULL);
    leave_a_dead_note();
    assert_int_equal(files_left(), 1);
    launcher_environment("PMIX_NAMESPACE=new", NULL);
    pid_t other = fork();
    if (other == 0) {
        _exit(exchange_as(shared, 1, 2, 1));
    }
    assert_int_equal(exchange_as(shared, 0, 2, 1), 0);
    alarm(50);
    waitpid(other, &how, 0);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_int_equal(files_left(), 0);
    munmap(shared, sizeof *shared);
}

/* Where the victim ends. */
typedef enum stage { BEFORE_NOTE, CLAIMED, EXCHANGED, PROVED, REGISTERED } stage_t;

/* Goes so far and waits to be killed. */
static void victim_go(stage_t stage, uint32_t rank, uint32_t nranks, shared_t *shared)
{
    weft_launcher_t launcher = launcher_of(rank, nranks);
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
static int survivor_go(uint32_t rank, uint32_t nranks, uint32_t victim, shared_t *shared)
{
    weft_launcher_t launcher = launcher_of(rank, nranks);
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
    shared_t *shared = shared_make();
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
    while (weft_os_clock_ns() < late &&
           (all ? atomic_load(&shared->done) == 0 : files_left() < (stage == BEFORE_NOTE))) {
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
    assert_int_equal(files_left(), stage <= CLAIMED);
    remove_files();
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

/* Rank 3 was started with the others, begins to wait a second after the victim died, and names it too.
 * Then the others try again with this process as rank 0, and the verdict that they heard does not stop
 * them. */
static void a_rank_that_comes_long_after_a_death_names_it(void **unused)
{
    (void)unused;
    for (uint32_t victim = 0; victim < 3; victim += 2) {
        int how;
        pid_t pids[4];
        shared_t *shared = shared_make();
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
                      (victim == 2 && exchange_as(shared, r == 0 ? 2 : r, 4, 1) != 0));
            }
        }
        weft_os_sleep_ns(500 * WEFT_NS_PER_MS);
        kill(pids[victim], SIGKILL);
        weft_os_sleep_ns(1000 * WEFT_NS_PER_MS);
        assert_int_equal(files_left(), victim == 0 ? 1 : 3); /* two wait again */
        atomic_store(&shared->done, 1);
        weft_os_sleep_ns(500 * WEFT_NS_PER_MS);
        atomic_store(&shared->done, 0);
        assert_true(victim == 0 || exchange_as(shared, 0, 4, 1) == 0);
        alarm(50);
        for (uint32_t r = 0; r < 4; r++) {
            waitpid(pids[r], &how, 0);
            assert_true(r == victim || (WIFEXITED(how) && WEXITSTATUS(how) == 0));
        }
        assert_int_equal(files_left(), victim == 0);
        remove_files();
        munmap(shared, sizeof *shared);
    }
}

/* Of another parent, so only the times of their starts tell that rank 0 is of our job; nobody else has
 * seen it. */
static void rank_0_that_was_started_after_us_and_died_unseen_is_named(void **unused)
{
    (void)unused;
    int how;
    shared_t *shared = shared_make();
    launcher_environment("PMIX_NAMESPACE=younger", NULL);
    pid_t waiting = fork();
    if (waiting == 0) {
        _exit(survivor_go(1, 2, 0, shared));
    }
    while (files_left() == 0) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    weft_os_sleep_ns(50 * WEFT_NS_PER_MS); /* some ticks */
    kill(waiting, SIGSTOP);
    leave_a_dead_note();
    kill(waiting, SIGCONT);
    alarm(50);
    waitpid(waiting, &how, 0);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    remove_files();
    munmap(shared, sizeof *shared);
}

/* The note may be an older job's, so the rank waits; whose it is stands in the error. */
static void a_note_that_may_be_ours_is_named_at_the_deadline(void **unused)
{
    (void)unused;
    weft_unique_id_t id = {{0}};
    weft_launcher_t launcher = launcher_of(1, 2);
    const char *settings[] = {"boot.init_timeout=0.3"};
    weft_comm_options_t options = {
        .size = sizeof options, .settings = settings, .settings_count = 1};
    launcher_environment("PMIX_NAMESPACE=older", NULL);
    leave_a_dead_note();
    assert_int_equal(files_left(), 1);
    weft_os_sleep_ns(50 * WEFT_NS_PER_MS);
    pid_t late = fork(); /* started after the writer of the note */
    if (late == 0) {
        weft_status_t status = weft_launcher_exchange_id(&launcher, &id, &options);
        const char *text = weft_error_record()->text;
        bool right = status == WEFT_ERR_TIMEOUT && strstr(text, "which has ended") != NULL;
        fprintf(stderr, "%s", right ? "" : text);
        _exit(!right);
    }
    int how;
    alarm(50);
    waitpid(late, &how, 0);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    remove_files();
}

/* Waits for the only file in the folder and copies it. Returns its size. */
static size_t keep_file(char path[512], uint8_t *bytes, size_t most)
{
    while (files_left() == 0) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    char of[128];
    snprintf(of, sizeof of, "%s/weft-%u", folder, geteuid());
    DIR *dir = opendir(of);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] != '.') {
            snprintf(path, 512, "%s/%.255s", of, e->d_name);
        }
    }
    closedir(dir);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, most, file);
    fclose(file);
    return size;
}

/* An hour between the clocks of the hosts of ranks 0 and 1 is no matter. */
static void an_id_of_another_clock_is_taken(void **unused)
{
    (void)unused;
    int how;
    weft_id_t opened;
    weft_unique_id_t id = {{0}};
    weft_launcher_t launchers[] = {launcher_of(0, 2), launcher_of(1, 2)};
    const char *settings[] = {"boot.init_timeout=10"};
    weft_comm_options_t options = {
        .size = sizeof options, .settings = settings, .settings_count = 1};
    launcher_environment("PMIX_NAMESPACE=clocks", NULL);
    pid_t other = fork();
    alarm(50);
    if (other == 0) {
        weft_status_t status = weft_launcher_exchange_id(&launchers[1], &id, &options);
        fprintf(stderr, "%s", status == WEFT_OK ? "" : weft_error_record()->text);
        _exit(status != WEFT_OK);
    }
    assert_int_equal(weft_unique_id_create(&id, &options), WEFT_OK);
    assert_int_equal(weft_id_decode(&id, &opened), WEFT_OK);
    opened.created -= 3600;
    weft_id_encode(&opened, &id);
    assert_int_equal(weft_launcher_exchange_id(&launchers[0], &id, &options), WEFT_OK);
    waitpid(other, &how, 0);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_int_equal(files_left(), 0);
}

/* Nobody here sees whether a process of another host has ended. */
static void a_note_of_another_host_that_is_too_old_is_named_at_the_deadline(void **unused)
{
    (void)unused;
    char path[512];
    uint8_t bytes[2048];
    weft_unique_id_t id = {{0}};
    weft_launcher_t launcher = launcher_of(1, 2);
    const char *settings[] = {"boot.init_timeout=0.3"};
    weft_comm_options_t options = {
        .size = sizeof options, .settings = settings, .settings_count = 1};
    const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    launcher_environment("PMIX_NAMESPACE=elsewhere", NULL);
    leave_a_dead_note();
    size_t size = keep_file(path, bytes, sizeof bytes);
    bytes[WEFT_UNIQUE_ID_BYTES + 16] ^= 1; /* the writer's host */
    assert_int_equal(weft_os_private_write(path, bytes, size), WEFT_OK);
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    alarm(50);
    assert_int_equal(weft_launcher_exchange_id(&launcher, &id, &options), WEFT_ERR_TIMEOUT);
    if (strstr(weft_error_record()->text, " s before this rank came") == NULL) {
        fail_msg("%s", weft_error_record()->text);
    }
    remove_files();
}

/* The others may look in another one: XDG_RUNTIME_DIR may differ. */
static void rank_0_that_waits_in_vain_names_its_folder(void **unused)
{
    (void)unused;
    weft_unique_id_t id;
    weft_launcher_t launcher = launcher_of(0, 2);
    const char *settings[] = {"boot.init_timeout=0.3"};
    weft_comm_options_t options = {
        .size = sizeof options, .settings = settings, .settings_count = 1};
    char words[160];
    launcher_environment("PMIX_NAMESPACE=invain", NULL);
    alarm(50);
    assert_int_equal(weft_unique_id_create(&id, &options), WEFT_OK);
    assert_int_equal(weft_launcher_exchange_id(&launcher, &id, &options), WEFT_ERR_TIMEOUT);
    snprintf(words, sizeof words, "; rank 0 meets the others in %s/weft-%u", folder, geteuid());
    if (strstr(weft_error_record()->text, words) == NULL) {
        fail_msg("%s", weft_error_record()->text);
    }
    remove_files();
}

/* Rank 3 is started when the verdict is older than what it may take for its own. Rank 0 has returned
 * and its process goes on, so there is somebody to ask. */
static void a_rank_that_is_started_long_after_a_death_asks_the_root(void **unused)
{
    (void)unused;
    enum { VICTIM = 2 };
    int how;
    pid_t pids[4] = {-1, -1, -1, -1};
    shared_t *shared = shared_make();
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
    remove_files();
    munmap(shared, sizeof *shared);
}

/* Rank 1 stops after its claim, its file lies there as if it had not removed it yet, and it is killed. */
static void the_file_of_a_rank_that_dies_as_all_have_claimed_is_removed(void **unused)
{
    (void)unused;
    int how;
    char path[512];
    uint8_t bytes[2048];
    shared_t *shared = shared_make();
    launcher_environment("PMIX_NAMESPACE=claimed", NULL);
    pid_t other = fork();
    if (other == 0) {
        _exit(exchange_as(shared, 1, 3, 1));
    }
    size_t size = keep_file(path, bytes, sizeof bytes);
    pid_t zero = fork();
    if (zero == 0) {
        _exit(exchange_as(shared, 0, 3, 1));
    }
    while (files_left() > notes_left() || notes_left() == 0) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    /* Its file goes before its claim has come. The claim does not end before rank 2 is here. */
    weft_os_sleep_ns(WEFT_NS_PER_S);
    assert_int_equal(kill(other, SIGSTOP), 0);
    assert_int_equal(weft_os_private_write(path, bytes, size), WEFT_OK);
    atomic_fetch_add(&shared->done, 1);
    assert_int_equal(exchange_as(shared, 2, 3, 1), 0);
    alarm(50);
    kill(other, SIGKILL);
    waitpid(other, &how, 0);
    waitpid(zero, &how, 0);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_int_equal(files_left(), 0);
    munmap(shared, sizeof *shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_reach_all_ranks_one_exchange_after_the_other),
        cmocka_unit_test(ranks_of_two_time_namespaces_do_not_take_each_other_for_dead),
        cmocka_unit_test(a_note_of_a_dead_writer_is_not_taken),
        cmocka_unit_test(rank_0_sweeps_what_dead_jobs_left),
        cmocka_unit_test(a_rank_that_dies_at_any_stage_is_named_by_all),
        cmocka_unit_test(rank_0_that_dies_at_any_stage_is_named_by_all),
        cmocka_unit_test(the_file_of_a_rank_that_dies_as_all_have_claimed_is_removed),
        cmocka_unit_test(a_rank_that_comes_long_after_a_death_names_it),
        cmocka_unit_test(rank_0_that_was_started_after_us_and_died_unseen_is_named),
        cmocka_unit_test(a_note_that_may_be_ours_is_named_at_the_deadline),
        cmocka_unit_test(an_id_of_another_clock_is_taken),
        cmocka_unit_test(a_note_of_another_host_that_is_too_old_is_named_at_the_deadline),
        cmocka_unit_test(rank_0_that_waits_in_vain_names_its_folder),
        cmocka_unit_test(a_rank_that_is_started_long_after_a_death_asks_the_root),
    };
    alarm(50);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
