/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which way the unique id takes, by the environment and by option. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/id_exchange.h"
#include "core/boot/unique_id.h"
#include "core/os/os.h"
#include "tests/support/launcher_environment.h"
#include "tests/support/unit.h"

#define TORCHRUN                                                                                   \
    "RANK=1", "WORLD_SIZE=4", "TORCHELASTIC_RUN_ID=x", "MASTER_ADDR=a", "MASTER_PORT=29500",       \
        "TORCHELASTIC_USE_AGENT_STORE=True"
enum { AUTO, ID, PMI, PMIX, TCP, FOLDER };

/* Asks in the environment that is set. */
static weft_status_t choose(int64_t option, const char *folder, const char **name_p)
{
    char why[256] = "";
    const weft_id_exchange_t *way = NULL;
    weft_launcher_t launcher = {.size = sizeof launcher};
    weft_boot_settings_t settings = {.exchange = option, .rendezvous = folder};
    assert_int_equal(weft_launcher_detect(&launcher), WEFT_OK);
    weft_id_exchange_job_t job = {.launcher = &launcher, .settings = &settings};
    weft_status_t status = weft_id_exchange_choose(&job, why, sizeof why, &way);
    *name_p = way != NULL ? way->name : "none";
    assert_true(status != WEFT_OK || why[0] != '\0');
    return status;
}

static void assert_way(int64_t option, const char *folder, const char *wanted)
{
    const char *name;
    if (choose(option, folder, &name) != WEFT_OK || strcmp(name, wanted) != 0) {
        fail_msg("%s, wanted %s: %s", name, wanted, weft_error_record()->text);
    }
}

static void assert_refused(int64_t option, weft_status_t status, const char *says)
{
    const char *name;
    if (choose(option, "", &name) != status || strstr(weft_error_record()->text, says) == NULL) {
        fail_msg("%s: %s", name, weft_error_record()->text);
    }
}

static void the_order_is_given_pmi_tcp_folder(void **unused)
{
    (void)unused;
    launcher_environment("PMI_RANK=1", "PMI_SIZE=4", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=4",
                         "PMI_FD=7", "WEFT_UNIQUE_ID=00", NULL);
    assert_way(AUTO, "", "id");
    unsetenv("WEFT_UNIQUE_ID");
    assert_way(AUTO, "/x", "pmi");
    assert_way(FOLDER, "", "folder");
    unsetenv("PMI_FD");
    assert_way(AUTO, "", "folder");
    launcher_environment(TORCHRUN, "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2", NULL);
    assert_way(AUTO, "/x", "tcp");
    assert_way(AUTO, "", "tcp");
    launcher_environment(TORCHRUN, "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4", NULL);
    assert_way(AUTO, "", "folder");
    assert_way(TCP, "", "tcp");
    for (size_t i = 0; i < 3; i++) {
        setenv("MASTER_ADDR", i == 0 ? "" : "a", 1);
        setenv("MASTER_PORT", i == 0 ? "1" : i == 1 ? "0" : "65536", 1);
        assert_refused(TCP, WEFT_ERR_CONFIG,
                       "MASTER_ADDR and MASTER_PORT are not a host and a port");
    }
}

static void a_way_that_is_named_and_closed_says_what_is_open(void **unused)
{
    (void)unused;
    launcher_environment("PMI_RANK=1", "PMI_SIZE=4", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=4",
                         "PMI_FD=7", NULL);
    assert_refused(ID, WEFT_ERR_CONFIG, "WEFT_UNIQUE_ID is not set; open here: pmi, folder");
    assert_refused(PMIX, WEFT_ERR_CONFIG, "PMIX_NAMESPACE is not set");
    assert_refused(TCP, WEFT_ERR_CONFIG, "the launcher is not torchrun");
    setenv("PMI_RANK", "1", 1);
    setenv("PMI_FD", "x", 1);
    assert_refused(PMI, WEFT_ERR_CONFIG, "are not two numbers; open here: folder");
    launcher_environment("WEFT_RANK=0", "WEFT_NRANKS=2", "PMI_FD=7", "PMI_RANK=1", "PMI_SIZE=4",
                         NULL);
    assert_refused(PMI, WEFT_ERR_CONFIG,
                   "the server of PMI_FD counts PMI_SIZE = 4 ranks; no other way is open");
}

/* mpirun or srun starts one agent of torchrun on each host: its server counts agents, and its rank
 * 0 is an agent, of which the first worker has the rank. */
static void servers_above_torchruns_agent_are_not_asked(void **unused)
{
    (void)unused;
    launcher_environment(TORCHRUN, "PMI_RANK=1", "PMI_SIZE=4", "PMI_FD=7", "PMIX_RANK=1",
                         "PMIX_NAMESPACE=x", "PMIX_SERVER_URI4=x", "LOCAL_WORLD_SIZE=1", NULL);
    assert_way(AUTO, "", "tcp");
    assert_refused(PMI, WEFT_ERR_CONFIG, "torchrun's agent stands between");
    assert_refused(PMIX, WEFT_ERR_CONFIG, "torchrun's agent stands between");
    /* These variables by hand are of the ranks that srun has started. */
    launcher_environment("RANK=1", "WORLD_SIZE=4", "PMI_RANK=1", "PMI_SIZE=4", "PMI_FD=7", NULL);
    assert_way(AUTO, "", "pmi");
    /* mpirun of Open MPI on one node of srun --mpi=pmi2. */
    launcher_environment("OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=4", "SLURM_STEP_ID=0",
                         "PMI_RANK=1", "PMI_SIZE=4", "PMI_FD=7", "PMIX_NAMESPACE=x", NULL);
    assert_refused(PMI, WEFT_ERR_CONFIG, "Open MPI's mpirun has none");
}

/* Workers of a starter on each host, and ranks in another order than Slurm's: whether a server is
 * of use is seen alike on all ranks. */
static void servers_are_of_use_to_all_ranks_or_to_none(void **unused)
{
    static const char *const ranks[] = {"RANK=0", "RANK=1"};
    (void)unused;
    for (size_t i = 0; i < 2; i++) {
        launcher_environment(ranks[i], "WORLD_SIZE=4", "SLURM_JOB_ID=9", "SLURM_STEP_ID=0",
                             "SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=2", "PMIX_RANK=0",
                             "PMIX_NAMESPACE=slurm.pmix.9.0", "PMIX_SERVER_URI4=x", NULL);
        assert_refused(PMIX, WEFT_ERR_CONFIG,
                       "the server of PMIX_NAMESPACE counts SLURM_STEP_NUM_TASKS = 2 ranks");
        launcher_environment(ranks[i], "WORLD_SIZE=4", "SLURM_JOB_ID=9", "SLURM_STEP_ID=0",
                             "SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=4", "PMI_FD=7", "PMI_RANK=0",
                             "PMI_SIZE=4", NULL);
        assert_way(AUTO, "", "pmi");
        launcher_environment("PMI_RANK=0", "PMI_SIZE=2", "PMI_FD=7", "WEFT_RANK=0", "WEFT_NRANKS=4",
                             NULL);
        assert_refused(PMI, WEFT_ERR_CONFIG, "the server of PMI_FD counts PMI_SIZE = 2 ranks");
    }
    /* Ranks of an mpirun whose daemons srun has started, on one host of two: the server is not
     * Slurm's. */
    launcher_environment("WEFT_RANK=1", "WEFT_NRANKS=4", "SLURM_JOB_ID=9", "SLURM_STEP_ID=0",
                         "SLURM_STEP_NUM_TASKS=1", "PMIX_RANK=1", "PMIX_NAMESPACE=prterun-h-1@1",
                         "PMIX_SERVER_URI4=x", NULL);
    assert_way(AUTO, "", "pmix");
}

static void no_way_at_all_says_the_remedy(void **unused)
{
    (void)unused;
    launcher_environment("SLURM_PROCID=3", "SLURM_NTASKS=4", "SLURM_LOCALID=1", "SLURM_STEP_ID=0",
                         "SLURM_JOB_ID=9", "SLURM_NNODES=2", "SLURM_NODEID=1",
                         "SLURM_STEP_TASKS_PER_NODE=2(x2)", NULL);
    assert_refused(AUTO, WEFT_ERR_UNSUPPORTED, "srun --mpi=pmi2");
    assert_refused(AUTO, WEFT_ERR_UNSUPPORTED, "boot.rendezvous");
    assert_way(AUTO, "/shared", "folder");
    launcher_environment("WEFT_RANK=0", "WEFT_NRANKS=2", NULL);
    assert_refused(AUTO, WEFT_ERR_UNSUPPORTED, "weft id --at HOST:PORT");
    launcher_environment("RANK=1", "WORLD_SIZE=4", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1",
                         "MASTER_ADDR=a", "MASTER_PORT=29500", NULL);
    assert_refused(TCP, WEFT_ERR_CONFIG, "nobody listens there");
    /* A pod of a PyTorchJob. */
    launcher_environment("RANK=1", "WORLD_SIZE=4", "MASTER_ADDR=pod-0", "MASTER_PORT=29500", NULL);
    assert_refused(AUTO, WEFT_ERR_UNSUPPORTED, "rank 0 is on pod-0, LOCAL_WORLD_SIZE does not");
    assert_way(AUTO, "/shared", "folder");
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    assert_way(AUTO, "", "folder");
}

static void expect_no_id(const weft_launcher_t *launcher, const char *value, const char *says)
{
    weft_unique_id_t id;
    setenv("WEFT_UNIQUE_ID", value, 1);
    assert_int_equal(weft_launcher_exchange_id(launcher, &id, NULL), WEFT_ERR_CONFIG);
    assert_says(weft_error_record()->text, says);
}

static void an_id_in_the_environment_is_taken_by_all(void **unused)
{
    (void)unused;
    weft_unique_id_t right, id = {{0}};
    weft_id_t any = {.created = (uint32_t)weft_os_wall_s(), .life = 60, .count = 1};
    any.addrs[0] = (weft_os_addr_t){.family = 4, .port = 9, .bytes = {127, 0, 0, 1}};
    memset(any.secret, 3, sizeof any.secret);
    char hex[2 * WEFT_UNIQUE_ID_BYTES + 1];
    weft_launcher_t l = {.size = sizeof l, .name = "none", .rank = 1, .nranks = 2};
    weft_id_encode(&any, &right);
    for (size_t i = 0; i < WEFT_UNIQUE_ID_BYTES; i++) {
        snprintf(hex + 2 * i, 3, "%02x", right.bytes[i]);
    }
    launcher_environment(NULL);
    assert_int_equal(weft_launcher_exchange_id(&l, &id, NULL), WEFT_ERR_UNSUPPORTED);
    setenv("WEFT_UNIQUE_ID", hex, 1);
    assert_int_equal(weft_launcher_exchange_id(&l, &id, NULL), WEFT_OK);
    assert_memory_equal(&id, &right, sizeof id);
    /* A file with an id ends with a line end, and so does a Secret that is made of it. */
    char line[sizeof hex + 2];
    snprintf(line, sizeof line, "%s\r\n", hex);
    setenv("WEFT_UNIQUE_ID", line, 1);
    memset(&id, 0, sizeof id);
    assert_int_equal(weft_launcher_exchange_id(&l, &id, NULL), WEFT_OK);
    assert_memory_equal(&id, &right, sizeof id);
    hex[9] ^= 1;
    setenv("WEFT_UNIQUE_ID", hex, 1);
    assert_int_not_equal(weft_launcher_exchange_id(&l, &id, NULL), WEFT_OK);
    expect_no_id(&l, "", "it is empty");
    snprintf(line, sizeof line, "%s0", hex);
    expect_no_id(&l, line, "it has 257 characters");
    hex[9] = 'x';
    expect_no_id(&l, hex, "character 10 is none");
    hex[9] = '\0';
    expect_no_id(&l, hex, "it has 9 characters");
    snprintf(line, sizeof line, "\n%s", hex);
    expect_no_id(&l, line, "character 1 is none");
    launcher_environment(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_is_given_pmi_tcp_folder),
        cmocka_unit_test(a_way_that_is_named_and_closed_says_what_is_open),
        cmocka_unit_test(servers_above_torchruns_agent_are_not_asked),
        cmocka_unit_test(servers_are_of_use_to_all_ranks_or_to_none),
        cmocka_unit_test(no_way_at_all_says_the_remedy),
        cmocka_unit_test(an_id_in_the_environment_is_taken_by_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
