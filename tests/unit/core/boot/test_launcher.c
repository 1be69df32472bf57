/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What launchers' variables mean. */
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/launcher.h"
#include "tests/support/heard.h"
#include "tests/support/launcher_environment.h"
#include "tests/support/secure.h"
#include "tests/support/unit.h"

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
    assert_says(weft_error_record()->text, variable);
}

static void every_launcher_is_recognised(void **unused)
{
    (void)unused;
    launcher_environment(NULL);
    assert_found("none", 0, 1, 0, 1);
    launcher_environment("OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=8",
                         "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=4", NULL);
    assert_found("openmpi", 3, 8, 1, 4);
    launcher_environment("PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2",
                         NULL);
    assert_found("hydra", 1, 2, 1, 2);
    launcher_environment("RANK=5", "WORLD_SIZE=6", "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=3", NULL);
    assert_found("torchrun", 5, 6, 2, 3);
    launcher_environment("SLURM_PROCID=2", "SLURM_NTASKS=4", "SLURM_LOCALID=2", "SLURM_NNODES=1",
                         "SLURM_JOB_ID=9", "SLURM_STEP_ID=0", NULL);
    assert_found("slurm", 2, 4, 2, 4);
    launcher_environment("SLURM_PROCID=2", "SLURM_NTASKS=4", "SLURM_LOCALID=0", NULL);
    assert_found("slurm", 2, 4, 0, 0);
    launcher_environment("WEFT_RANK=2", "WEFT_NRANKS=4", "RANK=7", "WORLD_SIZE=9", NULL);
    assert_found("environment", 2, 4, 0, 0);
    launcher_environment("WEFT_RANK=2", "WEFT_NRANKS=4", "WEFT_LOCAL_RANK=1", "WEFT_LOCAL_NRANKS=2",
                         NULL);
    assert_found("environment", 2, 4, 1, 2);
}

/* The list of all nodes tells how many ranks this one has. */
static void slurm_tells_the_ranks_of_each_node(void **unused)
{
    static const struct {
        const char *list, *node;
        uint32_t ranks;
    } cases[] = {
        {"SLURM_STEP_TASKS_PER_NODE=2(x2)", "SLURM_NODEID=0", 2},
        {"SLURM_STEP_TASKS_PER_NODE=2(x2)", "SLURM_NODEID=1", 2},
        {"SLURM_STEP_TASKS_PER_NODE=1,3", "SLURM_NODEID=1", 3},
        {"SLURM_STEP_TASKS_PER_NODE=1(x2),2", "SLURM_NODEID=2", 2},
        {"SLURM_STEP_TASKS_PER_NODE=4", "SLURM_NODEID=0", 4},
        /* Rubbish is no list: not known. */
        {"SLURM_STEP_TASKS_PER_NODE=2(x2)", "SLURM_NODEID=2", 0},
        {"SLURM_STEP_TASKS_PER_NODE=", "SLURM_NODEID=0", 0},
        {"SLURM_STEP_TASKS_PER_NODE=x", "SLURM_NODEID=0", 0},
        {"SLURM_STEP_TASKS_PER_NODE=(x3)", "SLURM_NODEID=0", 0},
        {"SLURM_STEP_TASKS_PER_NODE=2(x0)", "SLURM_NODEID=0", 0},
        {"SLURM_STEP_TASKS_PER_NODE=99999999999999999999", "SLURM_NODEID=0", 0},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        launcher_environment("SLURM_PROCID=0", "SLURM_NTASKS=4", "SLURM_LOCALID=0",
                             "SLURM_STEP_ID=0", "SLURM_NNODES=2", cases[i].list, cases[i].node,
                             NULL);
        assert_found("slurm", 0, 4, 0, cases[i].ranks);
    }
}

static void pmi_of_slurm_is_not_taken_for_hydra(void **unused)
{
    (void)unused;
    launcher_environment("PMI_RANK=3", "PMI_SIZE=4", "SLURM_PROCID=3", "SLURM_NTASKS=4",
                         "SLURM_LOCALID=1", "SLURM_STEP_ID=0", "SLURM_JOB_ID=9",
                         "SLURM_STEP_TASKS_PER_NODE=2(x2)", "SLURM_NODEID=1", NULL);
    assert_found("slurm", 3, 4, 1, 2);
    /* Hydra in an allocation of Slurm. */
    launcher_environment("PMI_RANK=3", "PMI_SIZE=4", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2",
                         "SLURM_PROCID=1", "SLURM_NTASKS=2", "SLURM_STEP_ID=0", NULL);
    assert_found("hydra", 3, 4, 1, 2);
}

static void launchers_inside_launchers_are_told_apart(void **unused)
{
    (void)unused;
    launcher_environment("OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "SLURM_PROCID=0",
                         "SLURM_NTASKS=1", NULL);
    assert_found("openmpi", 1, 2, 0, 0);
    launcher_environment("OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "RANK=5",
                         "WORLD_SIZE=8", "TORCHELASTIC_RUN_ID=x", NULL);
    assert_found("torchrun", 5, 8, 0, 0);
    launcher_environment("SLURM_PROCID=0", "SLURM_NTASKS=4", "SLURM_JOB_ID=9", NULL);
    assert_found("none", 0, 1, 0, 1);
}

static void pods_of_an_indexed_job_have_their_number(void **unused)
{
    (void)unused;
    launcher_environment("JOB_COMPLETION_INDEX=2", "WEFT_NRANKS=3", NULL);
    assert_found("environment", 2, 3, 0, 0);
    launcher_environment("JOB_COMPLETION_INDEX=2", "WEFT_RANK=1", "WEFT_NRANKS=3", NULL);
    assert_found("environment", 1, 3, 0, 0);
    /* Jobs of one pod each, or of another launcher. */
    launcher_environment("JOB_COMPLETION_INDEX=2", NULL);
    heard_begin();
    assert_found("none", 0, 1, 0, 1);
    assert_found("none", 0, 1, 0, 1);
    assert_int_equal(heard_count(heard_end(), "WEFT_NRANKS is not set"), 1);
    launcher_environment("JOB_COMPLETION_INDEX=2", "RANK=5", "WORLD_SIZE=8", NULL);
    assert_found("torchrun", 5, 8, 0, 0);
    launcher_environment("JOB_COMPLETION_INDEX=3", "WEFT_NRANKS=3", NULL);
    assert_contradiction("JOB_COMPLETION_INDEX = 3");
}

/* Every process would be rank 0 of 1, and exit with 0. */
static void whoever_has_an_id_is_not_alone(void **unused)
{
    (void)unused;
    launcher_environment("WEFT_UNIQUE_ID=00", NULL);
    assert_contradiction("set WEFT_RANK and WEFT_NRANKS");
    launcher_environment("JOB_COMPLETION_INDEX=2", "WEFT_UNIQUE_ID=00", NULL);
    assert_contradiction("set WEFT_NRANKS");
    launcher_environment("RANK=2", "WEFT_UNIQUE_ID=00", NULL);
    assert_contradiction("WEFT_UNIQUE_ID is set");
    launcher_environment("RANK=2", "WORLD_SIZE=3", "WEFT_UNIQUE_ID=00", NULL);
    assert_found("torchrun", 2, 3, 0, 0);
}

static void prterun_alone_says_too_little(void **unused)
{
    (void)unused;
    launcher_environment("PMIX_RANK=1", "PMIX_NAMESPACE=x", "PRTE_LAUNCHED=1", NULL);
    assert_contradiction("prterun --personality ompi");
    launcher_environment("PMIX_RANK=1", "PRTE_LAUNCHED=1", "OMPI_COMM_WORLD_RANK=1",
                         "OMPI_COMM_WORLD_SIZE=2", NULL);
    assert_found("openmpi", 1, 2, 0, 0);
    launcher_environment("PMIX_RANK=1", "PRTE_LAUNCHED=1", "WEFT_RANK=1", "WEFT_NRANKS=3", NULL);
    assert_found("environment", 1, 3, 0, 0);
}

/* Every process that has one would be rank 0 of 1. A shell may well know how many ranks its jobs
 * have. */
static void a_rank_needs_a_number_of_ranks(void **unused)
{
    (void)unused;
    launcher_environment("OMPI_COMM_WORLD_RANK=0", NULL);
    assert_contradiction("OMPI_COMM_WORLD_RANK = 0, and OMPI_COMM_WORLD_SIZE is not set");
    launcher_environment("RANK=1", "MASTER_ADDR=h", NULL);
    assert_contradiction("RANK = 1, and WORLD_SIZE is not set: set it, or unset RANK");
    launcher_environment("RANK=16", NULL); /* that of a matrix, for instance */
    assert_found("none", 0, 1, 0, 1);
    launcher_environment("SLURM_PROCID=1", "SLURM_STEP_ID=0", "SLURM_JOB_ID=9", NULL);
    assert_contradiction("SLURM_PROCID = 1, and SLURM_STEP_NUM_TASKS is not set");
    /* mpiexec -pmi-port of MPICH. */
    launcher_environment("PMI_ID=1", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2", NULL);
    assert_contradiction("PMI_ID = 1, and PMI_SIZE is not set");
    launcher_environment("WORLD_SIZE=4", "OMPI_COMM_WORLD_SIZE=4", "SLURM_NTASKS=4", NULL);
    assert_found("none", 0, 1, 0, 1);
    launcher_environment("RANK=genus", "SLURM_PROCID=0", "SLURM_JOB_ID=9", NULL);
    assert_found("none", 0, 1, 0, 1);
    launcher_environment("RANK=1", "SLURM_PROCID=1", "SLURM_NTASKS=2", "SLURM_STEP_ID=0", NULL);
    assert_found("slurm", 1, 2, 0, 0);
}

/* mpirun below `weft run -n 1`: as many jobs of one rank, each of which believes its results. */
static void one_rank_by_hand_below_another_launcher_is_told(void **unused)
{
    (void)unused;
    /* First those that are meant: agents that are jobs of their own, mpirun in each task, some of
     * all. */
    heard_begin();
    launcher_environment("RANK=0", "WORLD_SIZE=1", "TORCHELASTIC_RUN_ID=x", "SLURM_PROCID=1",
                         "SLURM_NTASKS=2", "SLURM_STEP_ID=0", NULL);
    assert_found("torchrun", 0, 1, 0, 0);
    launcher_environment("OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=1", "SLURM_PROCID=1",
                         "SLURM_NTASKS=2", "SLURM_STEP_ID=0", NULL);
    assert_found("openmpi", 0, 1, 0, 0);
    launcher_environment("WEFT_RANK=0", "WEFT_NRANKS=2", "PMI_RANK=1", "PMI_SIZE=4", NULL);
    assert_found("environment", 0, 2, 0, 0);
    assert_int_equal(heard_count(heard_end(), "does not"), 0);
    launcher_environment("WEFT_RANK=0", "WEFT_NRANKS=1", "PMI_RANK=1", "PMI_SIZE=2", NULL);
    heard_begin();
    assert_found("environment", 0, 1, 0, 0);
    assert_found("environment", 0, 1, 0, 0);
    assert_int_equal(heard_count(heard_end(), "WEFT_NRANKS = 1 counts, and PMI_SIZE = 2 does not"),
                     1);
}

/* RANK and WORLD_SIZE of a shell that runs srun. */
static void one_rank_of_torchs_variables_below_slurm_is_told(void **unused)
{
    (void)unused;
    launcher_environment("RANK=0", "WORLD_SIZE=1", "SLURM_PROCID=1", "SLURM_NTASKS=2",
                         "SLURM_STEP_ID=0", NULL);
    heard_begin();
    assert_found("torchrun", 0, 1, 0, 0);
    assert_found("torchrun", 0, 1, 0, 0);
    assert_int_equal(heard_count(heard_end(), "WORLD_SIZE = 1 counts, and SLURM_NTASKS = 2 does "
                                              "not"),
                     1);
}

static void variables_that_contradict_each_other_are_named(void **unused)
{
    (void)unused;
    launcher_environment("OMPI_COMM_WORLD_RANK=8", "OMPI_COMM_WORLD_SIZE=8", NULL);
    assert_contradiction("OMPI_COMM_WORLD_RANK = 8");
    launcher_environment("PMI_RANK=0", "PMI_SIZE=0", NULL);
    assert_contradiction("PMI_SIZE = 0");
    launcher_environment("RANK=x", "WORLD_SIZE=2", NULL);
    assert_contradiction("RANK = \"x\"");
    launcher_environment("RANK=-1", "WORLD_SIZE=2", NULL);
    assert_contradiction("RANK = \"-1\"");
    launcher_environment("RANK=0", "WORLD_SIZE=2", "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=2", NULL);
    assert_contradiction("LOCAL_RANK = 2");
    launcher_environment("RANK=0", "WORLD_SIZE=2", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=3", NULL);
    assert_contradiction("LOCAL_WORLD_SIZE = 3");
    launcher_environment("RANK=0", "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=0", NULL);
    assert_contradiction("LOCAL_WORLD_SIZE = 0 contradicts RANK = 0");
    launcher_environment("SLURM_PROCID=0", "SLURM_NTASKS=2", "SLURM_STEP_ID=0", "SLURM_NODEID=x",
                         "SLURM_STEP_TASKS_PER_NODE=1(x2)", NULL);
    assert_contradiction("SLURM_NODEID = \"x\"");
    launcher_environment("RANK=0", "WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=1",
                         "OMPI_COMM_WORLD_SIZE=2", NULL);
    assert_contradiction("RANK = 0");
    launcher_environment("WEFT_RANK=1", NULL);
    assert_contradiction("WEFT_NRANKS is not");
    launcher_environment("WEFT_NRANKS=1", NULL);
    assert_contradiction("WEFT_RANK is not");
    launcher_environment("WEFT_RANK=2", "WEFT_NRANKS=2", NULL);
    assert_contradiction("WEFT_RANK = 2");
    launcher_environment("PMI_RANK=1", "PMI_SIZE=3", "OMPI_COMM_WORLD_RANK=1",
                         "OMPI_COMM_WORLD_SIZE=2", NULL);
    assert_contradiction("PMI_SIZE = 3");
}

static void detect_refuses_a_structure_without_size(void **unused)
{
    (void)unused;
    weft_launcher_t found = {0};
    assert_int_equal(weft_launcher_detect(&found), WEFT_ERR_ARG);
    assert_int_equal(weft_launcher_detect(NULL), WEFT_ERR_ARG);
}

/* One shell starts two jobs: nothing tells their ranks apart. */
static void a_job_by_hand_needs_a_name(void **unused)
{
    char name[512];
    weft_launcher_t found = {.size = sizeof found};
    (void)unused;
    launcher_environment("RANK=0", "WORLD_SIZE=2", NULL);
    assert_int_equal(weft_launcher_detect(&found), WEFT_OK);
    assert_int_equal(weft_launcher_name_job(&found, name, sizeof name), WEFT_ERR_UNSUPPORTED);
    assert_non_null(strstr(weft_error_record()->text, "set MASTER_PORT"));
    launcher_environment("RANK=0", "WORLD_SIZE=2", "MASTER_PORT=4711", NULL);
    assert_int_equal(weft_launcher_name_job(&found, name, sizeof name), WEFT_OK);
    assert_non_null(strstr(name, "MASTER_PORT=4711"));
    /* One that has another number of ranks meets the others, which tell it. */
    char other[512];
    found.nranks = 3;
    assert_int_equal(weft_launcher_name_job(&found, other, sizeof other), WEFT_OK);
    assert_string_equal(other, name);
}

/* In a set-user-id program: 0, alone; 1, refused for a variable that it names; 2, anything else. */
static int secure_child(void)
{
    weft_launcher_t found = {.size = sizeof found};
    weft_status_t status = weft_launcher_detect(&found);
    if (status == WEFT_OK) {
        return strcmp(found.name, "none") == 0 && found.nranks == 1 ? 0 : 2;
    }
    const char *text = weft_error_record()->text;
    return status == WEFT_ERR_CONFIG && strstr(text, getenv("NAMED")) != NULL &&
                   strstr(text, "raised privileges") != NULL
               ? 1
               : 2;
}

static void a_set_user_id_program_is_no_job_of_its_own(void **unused)
{
    static const char *const jobs[] = {
        "WEFT_RANK=1 WEFT_NRANKS=3 NAMED=WEFT_RANK",
        "WEFT_UNIQUE_ID=00 NAMED=WEFT_UNIQUE_ID",
        "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3 NAMED=OMPI_COMM_WORLD_RANK",
        "PMI_RANK=1 PMI_SIZE=3 NAMED=PMI_RANK",
        "RANK=1 WORLD_SIZE=3 NAMED=RANK",
        "SLURM_PROCID=2 SLURM_NTASKS=4 NAMED=SLURM_PROCID",
    };
    (void)unused;
    launcher_environment(NULL);
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        assert_int_equal(secure_run(jobs[i]), 1);
    }
    /* No job: nothing, half a pair, the shell of a batch job. */
    assert_int_equal(secure_run("NAMED="), 0);
    assert_int_equal(secure_run("RANK=1"), 0);
    assert_int_equal(secure_run("SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_JOB_ID=9"), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--secure") == 0) {
        secure_exit(secure_child());
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_launcher_is_recognised),
        cmocka_unit_test(slurm_tells_the_ranks_of_each_node),
        cmocka_unit_test(pmi_of_slurm_is_not_taken_for_hydra),
        cmocka_unit_test(launchers_inside_launchers_are_told_apart),
        cmocka_unit_test(pods_of_an_indexed_job_have_their_number),
        cmocka_unit_test(whoever_has_an_id_is_not_alone),
        cmocka_unit_test(prterun_alone_says_too_little),
        cmocka_unit_test(a_rank_needs_a_number_of_ranks),
        cmocka_unit_test(one_rank_by_hand_below_another_launcher_is_told),
        cmocka_unit_test(one_rank_of_torchs_variables_below_slurm_is_told),
        cmocka_unit_test(a_job_by_hand_needs_a_name),
        cmocka_unit_test(variables_that_contradict_each_other_are_named),
        cmocka_unit_test(detect_refuses_a_structure_without_size),
        cmocka_unit_test(a_set_user_id_program_is_no_job_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
