/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who may speak on PMI_FD, and when. The socket belongs to the process: weft shares it with an MPI
 * library that may be there too. Hydra takes "init" as often as it is sent. Slurm takes it once,
 * and stops answering at a second one; so weft leaves it to an MPI library, and begins itself only
 * where none can come after it. "finalize" ends it for all: MPI_Finalize says it, else weft when
 * the process exits. Hydra kills the other ranks if a process ends without. */
#include "core/boot/id_exchange_pmi.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/claim_round.h"
#include "core/boot/launcher.h"
#include "core/boot/mpi_library.h"
#include "core/boot/pmi_wire.h"
#include "core/config/env.h"
#include "core/os/os_fork.h"

/* A server answers this by itself, however slow the other ranks are. */
#define ANSWER_NS (20 * WEFT_NS_PER_S)
/* A process that exits does not wait longer for it. */
#define GOODBYE_NS WEFT_NS_PER_S

/* The conversation of this process. */
typedef struct conversation {
    weft_os_process_mutex_t lock;
    bool begun, broken;
    uint32_t generation; /* process that began */
    int fd;
    uint32_t exchanges; /* every rank counts the same, so that names are new */
} conversation_t;

static conversation_t conversation;

static void id_exchange_pmi_at_exit(void)
{
    weft_mpi_library_t mpi = weft_mpi_library();
    weft_pmi_wire_t wire = {
        .fd = conversation.fd, .launcher = "", .until = WEFT_NEVER, .answer_ns = GOODBYE_NS};
    if (conversation.begun && !conversation.broken &&
        conversation.generation == weft_os_fork_generation() && mpi != WEFT_MPI_RUNS &&
        mpi != WEFT_MPI_ENDED) {
        weft_pmi_end(&wire);
    }
}

static bool id_exchange_pmi_applies(const weft_id_exchange_job_t *job, char *why, size_t bytes)
{
    uint64_t fd, size;
    if (weft_env("PMI_FD") == NULL) {
        snprintf(why, bytes, "PMI_FD is not set");
        return false;
    }
    if (!weft_env_number("PMI_FD", &fd) || fd > INT_MAX || !weft_env_number("PMI_SIZE", &size)) {
        snprintf(why, bytes, "PMI_FD and PMI_SIZE are not two numbers");
        return false;
    }
    if (weft_launcher_is_elastic(job->launcher)) {
        snprintf(why, bytes, "PMI_FD is that of another launcher: torchrun's agent stands between");
        return false;
    }
    if (strcmp(job->launcher->name, "openmpi") == 0) {
        snprintf(why, bytes, "PMI_FD is that of another launcher: Open MPI's mpirun has none");
        return false;
    }
    if (size != job->launcher->nranks) {
        snprintf(why, bytes, "the server of PMI_FD counts PMI_SIZE = %llu ranks",
                 (unsigned long long)size);
        return false;
    }
    /* Ranks may be others than PMI's: keys belong to all. */
    snprintf(why, bytes, "PMI_FD = %llu", (unsigned long long)fd);
    return true;
}

static weft_status_t id_exchange_pmi_begin(weft_pmi_wire_t *wire)
{
    weft_mpi_library_t mpi = weft_mpi_library();
    bool once = strcmp(wire->launcher, "slurm") == 0;
    if (conversation.broken) {
        return weft_fail(WEFT_ERR_STATE, 0,
                         "the conversation with the PMI server of %s failed before",
                         wire->launcher);
    }
    if (mpi == WEFT_MPI_ENDED) {
        return weft_fail(WEFT_ERR_STATE, 0,
                         "MPI_Finalize has ended the conversation with the PMI server of %s: make "
                         "communicators before it, or set boot.exchange",
                         wire->launcher);
    }
    if (conversation.begun || (once && mpi == WEFT_MPI_RUNS)) {
        return WEFT_OK;
    }
    if (once && mpi == WEFT_MPI_IDLE) {
        return weft_fail(WEFT_ERR_UNSUPPORTED, 0,
                         "Slurm's PMI server takes one \"init\" per process, and this one has an "
                         "MPI library: call MPI_Init before weft, or start with srun --mpi=pmix, "
                         "or set boot.exchange");
    }
    weft_status_t status = weft_pmi_begin(wire);
    conversation.begun = status == WEFT_OK;
    conversation.fd = wire->fd;
    conversation.generation = weft_os_fork_generation();
    if (status == WEFT_OK && atexit(id_exchange_pmi_at_exit) != 0) {
        status = weft_fail(WEFT_ERR_RESOURCE, 0, "no room for a function that runs at exit");
    }
    conversation.broken = status != WEFT_OK;
    return status;
}

static weft_status_t id_exchange_pmi_carry(const weft_id_exchange_job_t *job, weft_unique_id_t *id)
{
    uint64_t fd = 0;
    char key[32];
    (void)weft_env_number("PMI_FD", &fd);
    weft_pmi_wire_t wire = {.fd = (int)fd,
                            .launcher = job->launcher->name,
                            .until = job->until,
                            .answer_ns = ANSWER_NS};
    weft_os_process_lock(&conversation.lock);
    snprintf(key, sizeof key, "weft-id-%u", conversation.exchanges++);
    weft_status_t status = id_exchange_pmi_begin(&wire);
    if (status == WEFT_OK) {
        status = weft_pmi_carry(&wire, key, job->launcher->rank == 0, id);
        conversation.broken = status != WEFT_OK;
    }
    weft_os_process_unlock(&conversation.lock);
    return status;
}

static weft_status_t id_exchange_pmi_run(const weft_id_exchange_job_t *job, weft_unique_id_t *id)
{
    weft_status_t status = id_exchange_pmi_carry(job, id);
    return status == WEFT_OK
               ? weft_claim_round(id, job->launcher->rank, job->launcher->nranks, job->until)
               : status;
}

const weft_id_exchange_t weft_id_exchange_pmi = {
    .name = "pmi", .applies = id_exchange_pmi_applies, .exchange = id_exchange_pmi_run};
