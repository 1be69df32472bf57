/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The exchange of unique ids through a folder, one after the other, and notes that are not of this
 * job. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/boot/unique_id.h"
#include "core/os/os.h"
#include "core/os/os_folder.h"
#include "tests/support/launcher_environment.h"
#include "tests/support/rendezvous_job.h"
#include "tests/support/unit.h"

static void ids_reach_all_ranks_one_exchange_after_the_other(void **unused)
{
    (void)unused;
    enum { N = 4 };
    pid_t pids[N];
    rendezvous_shared_t *shared = rendezvous_shared_make();
    launcher_environment("PMIX_NAMESPACE=1234", NULL);
    for (uint32_t r = 0; r < N; r++) {
        pids[r] = fork();
        if (pids[r] == 0) {
            _exit(rendezvous_exchange_as(shared, r, N, 5));
        }
    }
    for (uint32_t r = 0; r < N; r++) {
        int how;
        waitpid(pids[r], &how, 0);
        assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    }
    assert_int_equal(rendezvous_files_left(), 0);
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

static int exchange_shifted_as(rendezvous_shared_t *shared, uint32_t rank)
{
    int how = 1;
    pid_t next = shift_clock() ? fork() : -1;
    if (next == 0) {
        _exit(rendezvous_exchange_as(shared, rank, 2, 2));
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
        rendezvous_shared_t *shared = rendezvous_shared_make();
        pid_t pids[2];
        for (uint32_t r = 0; r < 2; r++) {
            if ((pids[r] = fork()) == 0) {
                _exit(r == shifted ? exchange_shifted_as(shared, r)
                                   : rendezvous_exchange_as(shared, r, 2, 2));
            }
        }
        for (uint32_t r = 0; r < 2; r++) {
            int how;
            assert_int_equal(waitpid(pids[r], &how, 0), pids[r]);
            assert_int_equal(how, 0);
        }
        munmap(shared, sizeof *shared);
    }
    assert_int_equal(rendezvous_files_left(), 0);
}

static void a_note_of_a_dead_writer_is_not_taken(void **unused)
{
    (void)unused;
    int how;
    rendezvous_shared_t *shared = rendezvous_shared_make();
    launcher_environment("PMIX_NAMESPACE=77", NULL);
    rendezvous_leave_a_dead_note();
    assert_int_equal(rendezvous_files_left(), 1);
    pid_t other = fork();
    if (other == 0) {
        _exit(rendezvous_exchange_as(shared, 1, 2, 1));
    }
    /* Time enough to take the stale note, were it taken. */
    weft_os_sleep_ns(100 * WEFT_NS_PER_MS);
    assert_int_equal(rendezvous_exchange_as(shared, 0, 2, 1), 0);
    alarm(50);
    waitpid(other, &how, 0);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_int_equal(rendezvous_files_left(), 0);
    munmap(shared, sizeof *shared);
}

static void rank_0_sweeps_what_dead_jobs_left(void **unused)
{
    (void)unused;
    int how;
    rendezvous_shared_t *shared = rendezvous_shared_make();
    launcher_environment("PMIX_NAMESPACE=old", NULL);
    rendezvous_leave_a_dead_note();
    assert_int_equal(rendezvous_files_left(), 1);
    launcher_environment("PMIX_NAMESPACE=new", NULL);
    pid_t other = fork();
    if (other == 0) {
        _exit(rendezvous_exchange_as(shared, 1, 2, 1));
    }
    assert_int_equal(rendezvous_exchange_as(shared, 0, 2, 1), 0);
    alarm(50);
    waitpid(other, &how, 0);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_int_equal(rendezvous_files_left(), 0);
    munmap(shared, sizeof *shared);
}

/* Rank 1 of 2 waits for the id 0.3 s at most. */
static weft_status_t rank_1_exchanges(void)
{
    weft_unique_id_t id = {{0}};
    weft_launcher_t launcher = rendezvous_launcher(1, 2);
    const char *settings[] = {"boot.init_timeout=0.3"};
    weft_comm_options_t options = {
        .size = sizeof options, .settings = settings, .settings_count = 1};
    return weft_launcher_exchange_id(&launcher, &id, &options);
}

/* The note may be an older job's, so the rank waits; whose it is stands in the error. */
static void a_note_that_may_be_ours_is_named_at_the_deadline(void **unused)
{
    (void)unused;
    launcher_environment("PMIX_NAMESPACE=older", NULL);
    rendezvous_leave_a_dead_note();
    assert_int_equal(rendezvous_files_left(), 1);
    weft_os_sleep_ns(50 * WEFT_NS_PER_MS);
    pid_t late = fork(); /* started after the writer of the note */
    if (late == 0) {
        weft_status_t status = rank_1_exchanges();
        const char *text = weft_error_record()->text;
        bool right = status == WEFT_ERR_TIMEOUT && strstr(text, "which has ended") != NULL;
        fprintf(stderr, "%s", right ? "" : text);
        _exit(!right);
    }
    int how;
    alarm(50);
    waitpid(late, &how, 0);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    rendezvous_remove_files();
}

/* For a process of its own: gets the id as that rank, and tells why it cannot. */
static int exchange(const weft_launcher_t *launcher, const weft_comm_options_t *options)
{
    weft_unique_id_t id;
    weft_status_t status = weft_launcher_exchange_id(launcher, &id, options);
    fprintf(stderr, "%s", status == WEFT_OK ? "" : weft_error_record()->text);
    return status != WEFT_OK;
}

/* An hour between the clocks of the hosts of ranks 0 and 1 is no matter. */
static void an_id_of_another_clock_is_taken(void **unused)
{
    (void)unused;
    int how;
    weft_id_t opened;
    weft_unique_id_t id = {{0}};
    weft_launcher_t launchers[] = {rendezvous_launcher(0, 2), rendezvous_launcher(1, 2)};
    const char *settings[] = {"boot.init_timeout=10"};
    weft_comm_options_t options = {
        .size = sizeof options, .settings = settings, .settings_count = 1};
    launcher_environment("PMIX_NAMESPACE=clocks", NULL);
    pid_t other = fork();
    alarm(50);
    if (other == 0) {
        _exit(exchange(&launchers[1], &options));
    }
    assert_int_equal(weft_unique_id_create(&id, &options), WEFT_OK);
    assert_int_equal(weft_id_decode(&id, &opened), WEFT_OK);
    opened.created -= 3600;
    weft_id_encode(&opened, &id);
    assert_int_equal(weft_launcher_exchange_id(&launchers[0], &id, &options), WEFT_OK);
    waitpid(other, &how, 0);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_int_equal(rendezvous_files_left(), 0);
}

/* For a process of its own: rank 1 of 2, which comes when the note of rank 0 seems to be an hour
 * old. */
static int come_an_hour_later(const weft_comm_options_t *options)
{
    char path[512];
    uint8_t bytes[2048];
    weft_launcher_t launcher = rendezvous_launcher(1, 2);
    const time_t then = time(NULL) - 3600;
    const struct timespec before[2] = {{.tv_sec = then}, {.tv_sec = then}};
    (void)rendezvous_keep_file(path, bytes, sizeof bytes);
    return utimensat(AT_FDCWD, path, before, 0) != 0 || exchange(&launcher, options);
}

/* As by a clock that is set forward while the ranks of a host start. */
static void an_id_from_before_the_clock_was_set_is_taken(void **unused)
{
    (void)unused;
    int how;
    weft_unique_id_t id = {{0}};
    weft_launcher_t launcher = rendezvous_launcher(0, 2);
    const char *settings[] = {"boot.init_timeout=10"};
    weft_comm_options_t options = {
        .size = sizeof options, .settings = settings, .settings_count = 1};
    launcher_environment("PMIX_NAMESPACE=set", NULL);
    pid_t other = fork();
    alarm(50);
    if (other == 0) {
        _exit(come_an_hour_later(&options));
    }
    assert_int_equal(weft_unique_id_create(&id, &options), WEFT_OK);
    assert_int_equal(weft_launcher_exchange_id(&launcher, &id, &options), WEFT_OK);
    waitpid(other, &how, 0);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_int_equal(rendezvous_files_left(), 0);
}

/* A killed rank 0 left it, in the second `written`. Nobody here sees whether a process of another
 * host has ended. */
static void leave_a_note_of_another_host(time_t written)
{
    char path[512];
    uint8_t bytes[2048];
    const struct timespec times[2] = {{.tv_sec = written}, {.tv_sec = written}};
    rendezvous_leave_a_dead_note();
    size_t size = rendezvous_keep_file(path, bytes, sizeof bytes);
    bytes[WEFT_UNIQUE_ID_BYTES + 16] ^= 1; /* the writer's host */
    assert_int_equal(weft_os_private_write(path, bytes, size), WEFT_OK);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* The job was killed, and is started again under its name. Rank 1 comes before the new rank 0. */
static void a_note_of_another_host_whose_root_is_gone_is_not_taken(void **unused)
{
    (void)unused;
    int how;
    weft_unique_id_t id = {{0}};
    weft_launcher_t zero = rendezvous_launcher(0, 2), one = rendezvous_launcher(1, 2);
    const char *settings[] = {"boot.init_timeout=20"};
    weft_comm_options_t options = {
        .size = sizeof options, .settings = settings, .settings_count = 1};
    launcher_environment("PMIX_NAMESPACE=again", NULL);
    leave_a_note_of_another_host(time(NULL) - 5);
    pid_t other = fork();
    alarm(50);
    if (other == 0) {
        _exit(exchange(&one, &options));
    }
    weft_os_sleep_ns(WEFT_NS_PER_S / 2);
    assert_int_equal(weft_unique_id_create(&id, &options), WEFT_OK);
    assert_int_equal(weft_launcher_exchange_id(&zero, &id, &options), WEFT_OK);
    waitpid(other, &how, 0);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_int_equal(rendezvous_files_left(), 0);
}

static void a_note_of_another_host_that_is_too_old_is_named_at_the_deadline(void **unused)
{
    (void)unused;
    launcher_environment("PMIX_NAMESPACE=elsewhere", NULL);
    leave_a_note_of_another_host(1000000000);
    alarm(50);
    assert_int_equal(rank_1_exchanges(), WEFT_ERR_TIMEOUT);
    assert_says(weft_error_record()->text, " s before this rank came");
    rendezvous_remove_files();
}

/* Rank 0 lives, and its host has no address but the loopback. */
static void an_id_that_leads_to_the_loopback_of_another_host_says_so(void **unused)
{
    (void)unused;
    launcher_environment("PMIX_NAMESPACE=loopback", "WEFT_BOOT_INTERFACE=lo", NULL);
    alarm(50);
    leave_a_note_of_another_host(time(NULL));
    assert_int_equal(rank_1_exchanges(), WEFT_ERR_STATE);
    assert_says(weft_error_record()->text, "on another host and the id leads to the loopback");
    rendezvous_remove_files();
}

/* The others may look in another one: XDG_RUNTIME_DIR may differ. */
static void rank_0_that_waits_in_vain_names_its_folder(void **unused)
{
    (void)unused;
    weft_unique_id_t id;
    weft_launcher_t launcher = rendezvous_launcher(0, 2);
    const char *settings[] = {"boot.init_timeout=0.3"};
    weft_comm_options_t options = {
        .size = sizeof options, .settings = settings, .settings_count = 1};
    char words[160];
    launcher_environment("PMIX_NAMESPACE=invain", NULL);
    alarm(50);
    assert_int_equal(weft_unique_id_create(&id, &options), WEFT_OK);
    assert_int_equal(weft_launcher_exchange_id(&launcher, &id, &options), WEFT_ERR_TIMEOUT);
    snprintf(words, sizeof words, "; rank 0 meets the others in %s", rendezvous_folder());
    assert_says(weft_error_record()->text, words);
    rendezvous_remove_files();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_reach_all_ranks_one_exchange_after_the_other),
        cmocka_unit_test(ranks_of_two_time_namespaces_do_not_take_each_other_for_dead),
        cmocka_unit_test(a_note_of_a_dead_writer_is_not_taken),
        cmocka_unit_test(rank_0_sweeps_what_dead_jobs_left),
        cmocka_unit_test(a_note_that_may_be_ours_is_named_at_the_deadline),
        cmocka_unit_test(an_id_of_another_clock_is_taken),
        cmocka_unit_test(an_id_from_before_the_clock_was_set_is_taken),
        cmocka_unit_test(a_note_of_another_host_whose_root_is_gone_is_not_taken),
        cmocka_unit_test(a_note_of_another_host_that_is_too_old_is_named_at_the_deadline),
        cmocka_unit_test(an_id_that_leads_to_the_loopback_of_another_host_says_so),
        cmocka_unit_test(rank_0_that_waits_in_vain_names_its_folder),
    };
    alarm(50);
    return cmocka_run_group_tests(tests, rendezvous_make_folder, rendezvous_remove_folder);
}
