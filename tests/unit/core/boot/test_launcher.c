/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What launchers' variables mean, and the exchange of unique ids through a folder. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/error.h"
#include "core/boot/unique_id.h"
#include "core/os/os.h"

static const char *const names[] = {"OMPI_COMM_WORLD_RANK",
                                    "OMPI_COMM_WORLD_SIZE",
                                    "OMPI_COMM_WORLD_LOCAL_RANK",
                                    "OMPI_COMM_WORLD_LOCAL_SIZE",
                                    "PMIX_NAMESPACE",
                                    "OMPI_MCA_ess_base_jobid",
                                    "OMPI_MCA_orte_hnp_uri",
                                    "PMI_RANK",
                                    "PMI_SIZE",
                                    "MPI_LOCALRANKID",
                                    "MPI_LOCALNRANKS",
                                    "PMI_JOBID",
                                    "RANK",
                                    "WORLD_SIZE",
                                    "LOCAL_RANK",
                                    "LOCAL_WORLD_SIZE",
                                    "TORCHELASTIC_RUN_ID",
                                    "MASTER_PORT",
                                    "MASTER_ADDR",
                                    "TORCHELASTIC_RESTART_COUNT",
                                    "SLURM_PROCID",
                                    "SLURM_STEP_NUM_TASKS",
                                    "SLURM_NTASKS",
                                    "SLURM_NPROCS",
                                    "SLURM_LOCALID",
                                    "SLURM_NTASKS_PER_NODE",
                                    "SLURM_JOB_ID",
                                    "SLURM_STEP_ID",
                                    "SLURM_RESTART_COUNT",
                                    "SLURM_NNODES",
                                    "WEFT_UNIQUE_ID",
                                    "XDG_RUNTIME_DIR"};

/* Clears all, then sets "NAME=value" strings up to NULL. */
static void environment(const char *first, ...)
{
    va_list args;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unsetenv(names[i]);
    }
    va_start(args, first);
    for (const char *text = first; text != NULL; text = va_arg(args, const char *)) {
        char name[64];
        const char *equals = strchr(text, '=');
        snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
        setenv(name, equals + 1, 1);
    }
    va_end(args);
}

static void assert_found(const char *name, uint32_t rank, uint32_t nranks, uint32_t local_rank,
                         uint32_t local_ranks)
{
    weft_launcher_t found = {.size = sizeof found};
    assert_int_equal(weft_launcher_detect(&found), WEFT_OK);
    assert_string_equal(found.name, name);
    assert_int_equal(found.rank, rank);
    assert_int_equal(found.nranks, nranks);
    assert_int_equal(found.local_rank, local_rank);
    assert_int_equal(found.local_ranks, local_ranks);
}

static void assert_contradiction(const char *variable)
{
    weft_launcher_t found = {.size = sizeof found, .rank = 77};
    assert_int_equal(weft_launcher_detect(&found), WEFT_ERR_CONFIG);
    assert_int_equal(found.rank, 77);
    if (strstr(weft_error_record()->text, variable) == NULL) {
        fail_msg("%s", weft_error_record()->text);
    }
}

static void every_launcher_is_recognised(void **unused)
{
    (void)unused;
    environment(NULL);
    assert_found("none", 0, 1, 0, 1);
    environment("OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_LOCAL_RANK=1",
                "OMPI_COMM_WORLD_LOCAL_SIZE=4", NULL);
    assert_found("openmpi", 3, 8, 1, 4);
    environment("PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2", NULL);
    assert_found("hydra", 1, 2, 1, 2);
    environment("RANK=5", "WORLD_SIZE=6", "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=3", NULL);
    assert_found("torchrun", 5, 6, 2, 3);
    environment("SLURM_PROCID=2", "SLURM_NTASKS=4", "SLURM_LOCALID=2", "SLURM_NNODES=1",
                "SLURM_JOB_ID=9", "SLURM_STEP_ID=0", NULL);
    assert_found("slurm", 2, 4, 2, 4);
    environment("SLURM_PROCID=2", "SLURM_NTASKS=4", "SLURM_LOCALID=0", NULL);
    assert_found("slurm", 2, 4, 0, 0);
}

static void launchers_inside_launchers_are_told_apart(void **unused)
{
    (void)unused;
    environment("OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "SLURM_PROCID=0",
                "SLURM_NTASKS=1", NULL);
    assert_found("openmpi", 1, 2, 0, 0);
    environment("OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "RANK=5", "WORLD_SIZE=8",
                "TORCHELASTIC_RUN_ID=x", NULL);
    assert_found("torchrun", 5, 8, 0, 0);
    environment("SLURM_PROCID=0", "SLURM_NTASKS=4", "SLURM_JOB_ID=9", NULL);
    assert_found("none", 0, 1, 0, 1);
}

static void variables_that_contradict_each_other_are_named(void **unused)
{
    (void)unused;
    environment("OMPI_COMM_WORLD_RANK=8", "OMPI_COMM_WORLD_SIZE=8", NULL);
    assert_contradiction("OMPI_COMM_WORLD_RANK = 8");
    environment("PMI_RANK=0", "PMI_SIZE=0", NULL);
    assert_contradiction("PMI_SIZE = 0");
    environment("RANK=x", "WORLD_SIZE=2", NULL);
    assert_contradiction("RANK = \"x\"");
    environment("RANK=-1", "WORLD_SIZE=2", NULL);
    assert_contradiction("RANK = \"-1\"");
    environment("RANK=0", "WORLD_SIZE=2", "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=2", NULL);
    assert_contradiction("LOCAL_RANK = 2");
    environment("RANK=0", "WORLD_SIZE=2", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=3", NULL);
    assert_contradiction("LOCAL_WORLD_SIZE = 3");
    environment("RANK=0", "WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", NULL);
    assert_contradiction("RANK = 0");
    environment("PMI_RANK=1", "PMI_SIZE=3", "OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2",
                NULL);
    assert_contradiction("PMI_SIZE = 3");
}

static void detect_refuses_a_structure_without_size(void **unused)
{
    (void)unused;
    weft_launcher_t found = {0};
    assert_int_equal(weft_launcher_detect(&found), WEFT_ERR_ARG);
    assert_int_equal(weft_launcher_detect(NULL), WEFT_ERR_ARG);
}

static void make_id(weft_unique_id_t *out, uint8_t seed)
{
    weft_id_t id = {.created = (uint32_t)weft_os_wall_s(), .life = 60, .count = 1};
    id.addrs[0] = (weft_os_addr_t){.family = 4, .port = 9, .bytes = {127, 0, 0, 1}};
    memset(id.secret, seed, sizeof id.secret);
    memset(id.nonce, seed, sizeof id.nonce);
    weft_id_encode(&id, out);
}

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/weft-test-XXXXXX");
    setenv("WEFT_BOOT_RENDEZVOUS", folder, 1);
    return mkdtemp(folder) == NULL || setenv("WEFT_BOOT_RENDEZVOUS", folder, 1) != 0;
}

/* Files left anywhere in the folder of the rendezvous. */
static uint32_t files_left(void)
{
    char path[128];
    uint32_t count = 0;
    snprintf(path, sizeof path, "%s/weft-%u", folder, geteuid());
    DIR *dir = opendir(path);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        count += e->d_name[0] != '.';
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

static int remove_folder(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/weft-%u", folder, geteuid());
    rmdir(path);
    return rmdir(folder);
}

/* Ranks as processes: each does `times` exchanges and exits with 0 if all ids were right. */
static int exchange_as(uint32_t rank, uint32_t nranks, int times)
{
    weft_launcher_t launcher = {.size = sizeof launcher,
                                .name = "openmpi",
                                .rank = rank,
                                .nranks = nranks,
                                .local_rank = rank,
                                .local_ranks = nranks};
    alarm(20);
    for (int i = 0; i < times; i++) {
        weft_unique_id_t right, id;
        make_id(&right, (uint8_t)(i + 1));
        memset(&id, 0, sizeof id);
        if (rank == 0) {
            id = right;
        }
        weft_status_t status = weft_launcher_exchange_id(&launcher, &id, NULL);
        if (status != WEFT_OK) {
            fprintf(stderr, "rank %u: %s\n", rank, weft_error_record()->text);
            return 1;
        }
        /* The creation time may differ by a second. */
        if (memcmp(id.bytes + 12, right.bytes + 12, 100) != 0) {
            fprintf(stderr, "rank %u: a wrong id\n", rank);
            return 2;
        }
    }
    return 0;
}

static void ids_reach_all_ranks_one_exchange_after_the_other(void **unused)
{
    (void)unused;
    enum { N = 4 };
    pid_t pids[N];
    environment("PMIX_NAMESPACE=1234", NULL);
    for (uint32_t r = 0; r < N; r++) {
        pids[r] = fork();
        if (pids[r] == 0) {
            _exit(exchange_as(r, N, 5));
        }
    }
    for (uint32_t r = 0; r < N; r++) {
        int how;
        waitpid(pids[r], &how, 0);
        assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    }
    assert_int_equal(files_left(), 0);
}

static void a_note_of_a_dead_writer_is_not_taken(void **unused)
{
    (void)unused;
    int how;
    environment("PMIX_NAMESPACE=77", NULL);
    pid_t dead = fork();
    if (dead == 0) {
        /* Waits for a second rank that never comes, and is killed meanwhile. */
        weft_launcher_t l = {.size = sizeof l, .name = "openmpi", .nranks = 2, .local_ranks = 2};
        weft_unique_id_t id;
        make_id(&id, 99);
        _exit(weft_launcher_exchange_id(&l, &id, NULL) == WEFT_OK);
    }
    while (files_left() == 0) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    kill(dead, SIGKILL);
    waitpid(dead, &how, 0);
    pid_t other = fork();
    if (other == 0) {
        _exit(exchange_as(1, 2, 1));
    }
    /* Time enough to take the stale note, were it taken. */
    weft_os_sleep_ns(100 * WEFT_NS_PER_MS);
    assert_int_equal(exchange_as(0, 2, 1), 0);
    waitpid(other, &how, 0);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_int_equal(files_left(), 0);
}

static void a_folder_open_to_others_is_refused(void **unused)
{
    (void)unused;
    char path[128];
    weft_unique_id_t id;
    weft_launcher_t l = {.size = sizeof l, .name = "openmpi", .nranks = 2, .local_ranks = 2};
    environment("PMIX_NAMESPACE=1", NULL);
    make_id(&id, 1);
    snprintf(path, sizeof path, "%s/weft-%u", folder, geteuid());
    mkdir(path, 0700);
    assert_int_equal(chmod(path, 0770), 0);
    assert_int_equal(weft_launcher_exchange_id(&l, &id, NULL), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "private folder"));
    chmod(path, 0700);
}

static void an_id_in_the_environment_is_taken_by_all(void **unused)
{
    (void)unused;
    weft_unique_id_t right, id = {{0}};
    char hex[2 * WEFT_UNIQUE_ID_BYTES + 1];
    weft_launcher_t l = {.size = sizeof l, .name = "none", .rank = 1, .nranks = 2};
    make_id(&right, 3);
    for (size_t i = 0; i < WEFT_UNIQUE_ID_BYTES; i++) {
        snprintf(hex + 2 * i, 3, "%02x", right.bytes[i]);
    }
    environment(NULL);
    assert_int_equal(weft_launcher_exchange_id(&l, &id, NULL), WEFT_ERR_UNSUPPORTED);
    setenv("WEFT_UNIQUE_ID", hex, 1);
    assert_int_equal(weft_launcher_exchange_id(&l, &id, NULL), WEFT_OK);
    assert_memory_equal(&id, &right, sizeof id);
    hex[9] ^= 1;
    setenv("WEFT_UNIQUE_ID", hex, 1);
    assert_int_not_equal(weft_launcher_exchange_id(&l, &id, NULL), WEFT_OK);
    hex[9] = '\0';
    setenv("WEFT_UNIQUE_ID", hex, 1);
    assert_int_equal(weft_launcher_exchange_id(&l, &id, NULL), WEFT_ERR_CONFIG);
    environment(NULL);
}

static void several_hosts_without_a_shared_folder_get_the_remedy(void **unused)
{
    (void)unused;
    weft_unique_id_t id;
    weft_launcher_t l = {.size = sizeof l, .name = "openmpi", .nranks = 4, .local_ranks = 2};
    make_id(&id, 1);
    environment("PMIX_NAMESPACE=1", NULL);
    unsetenv("WEFT_BOOT_RENDEZVOUS");
    assert_int_equal(weft_launcher_exchange_id(&l, &id, NULL), WEFT_ERR_UNSUPPORTED);
    assert_non_null(strstr(weft_error_record()->text, "boot.rendezvous"));
    setenv("WEFT_BOOT_RENDEZVOUS", folder, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_launcher_is_recognised),
        cmocka_unit_test(launchers_inside_launchers_are_told_apart),
        cmocka_unit_test(variables_that_contradict_each_other_are_named),
        cmocka_unit_test(detect_refuses_a_structure_without_size),
        cmocka_unit_test(ids_reach_all_ranks_one_exchange_after_the_other),
        cmocka_unit_test(a_note_of_a_dead_writer_is_not_taken),
        cmocka_unit_test(a_folder_open_to_others_is_refused),
        cmocka_unit_test(an_id_in_the_environment_is_taken_by_all),
        cmocka_unit_test(several_hosts_without_a_shared_folder_get_the_remedy),
    };
    alarm(50);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
