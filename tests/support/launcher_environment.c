/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Variables of launchers. */
#include "tests/support/launcher_environment.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
                                    "SLURM_NODEID",
                                    "SLURM_STEP_TASKS_PER_NODE",
                                    "PMI_FD",
                                    "PMIX_RANK",
                                    "PMIX_SERVER_URI4",
                                    "PMI_ID",
                                    "PRTE_LAUNCHED",
                                    "TORCHELASTIC_USE_AGENT_STORE",
                                    "JOB_COMPLETION_INDEX",
                                    "WEFT_RANK",
                                    "WEFT_NRANKS",
                                    "WEFT_LOCAL_RANK",
                                    "WEFT_LOCAL_NRANKS",
                                    "WEFT_BOOT_EXCHANGE",
                                    "WEFT_UNIQUE_ID",
                                    "XDG_RUNTIME_DIR"};

/* Clears all, then sets "NAME=value" strings up to NULL. */
void launcher_environment(const char *first, ...)
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
