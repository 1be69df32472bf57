/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Launchers: what their variables say, and the exchange of a unique id among their processes.
 * Implements weft_launcher_detect() and weft_launcher_exchange_id() of weft.h. */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include <weft/weft.h>

#include "core/base/error.h"
#include "core/boot/join_request.h"
#include "core/boot/rendezvous.h"
#include "core/config/env.h"
#include "core/os/os.h"
#include "core/os/os_folder.h"

/* Lists of variables; the first one that is set counts. They end with NULL. */
#define NAMES 4
typedef const char *const names_t[NAMES];

typedef struct launcher {
    const char *name;
    names_t rank, nranks, local_rank, local_ranks;
    names_t job; /* variables that together name the job */
    /* The process above all local ranks, where variables do not suffice. */
    const char *proxy;
} launcher_t;

/* In order of precedence: the innermost launcher of usual nestings comes first. */
static const launcher_t launchers[] = {
    {.name = "openmpi",
     .rank = {"OMPI_COMM_WORLD_RANK"},
     .nranks = {"OMPI_COMM_WORLD_SIZE"},
     .local_rank = {"OMPI_COMM_WORLD_LOCAL_RANK"},
     .local_ranks = {"OMPI_COMM_WORLD_LOCAL_SIZE"},
     .job = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri"}},
    {.name = "hydra",
     .rank = {"PMI_RANK"},
     .nranks = {"PMI_SIZE"},
     .local_rank = {"MPI_LOCALRANKID"},
     .local_ranks = {"MPI_LOCALNRANKS"},
     .job = {"PMI_JOBID"},
     .proxy = "hydra_pmi_proxy"},
    {.name = "torchrun",
     .rank = {"RANK"},
     .nranks = {"WORLD_SIZE"},
     .local_rank = {"LOCAL_RANK"},
     .local_ranks = {"LOCAL_WORLD_SIZE"},
     .job = {"TORCHELASTIC_RUN_ID", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT"}},
    {.name = "slurm",
     .rank = {"SLURM_PROCID"},
     .nranks = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"},
     .local_rank = {"SLURM_LOCALID"},
     .local_ranks = {"SLURM_NTASKS_PER_NODE"},
     .job = {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}},
};
#define LAUNCHERS (sizeof launchers / sizeof *launchers)

static const char *launcher_variable(const char *const *names)
{
    for (uint32_t i = 0; i < NAMES && names[i] != NULL; i++) {
        if (weft_env(names[i]) != NULL) {
            return names[i];
        }
    }
    return NULL;
}

static weft_status_t launcher_number(const char *name, uint32_t most, uint32_t *value)
{
    uint64_t found;
    if (!weft_env_number(name, &found) || found > most) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "environment: %s = \"%s\" is no number from 0 to %u",
                         name, weft_env(name), most);
    }
    *value = (uint32_t)found;
    return WEFT_OK;
}

/* The shell of a batch job has a rank and a number of tasks, but is no task. */
static bool launcher_is_batch_shell(const launcher_t *launcher)
{
    return strcmp(launcher->name, "slurm") == 0 && weft_env("SLURM_JOB_ID") != NULL &&
           weft_env("SLURM_STEP_ID") == NULL;
}

static bool launcher_is_present(const launcher_t *launcher)
{
    return launcher_variable(launcher->rank) != NULL &&
           launcher_variable(launcher->nranks) != NULL && !launcher_is_batch_shell(launcher);
}

static weft_status_t launcher_contradiction(const char *a, uint32_t x, const char *b, uint32_t y)
{
    return weft_fail(WEFT_ERR_CONFIG, 0, "environment: %s = %u contradicts %s = %u", a, x, b, y);
}

static weft_status_t launcher_read_local(const launcher_t *launcher, weft_launcher_t *out)
{
    const char *rank = launcher_variable(launcher->local_rank);
    const char *ranks = launcher_variable(launcher->local_ranks);
    weft_status_t status = WEFT_OK;
    if (rank != NULL) {
        status = launcher_number(rank, WEFT_RANKS_MOST, &out->local_rank);
    }
    if (status == WEFT_OK && ranks != NULL) {
        status = launcher_number(ranks, WEFT_RANKS_MOST, &out->local_ranks);
    }
    if (status != WEFT_OK) {
        return status;
    }
    if (out->local_ranks == 0 && strcmp(launcher->name, "slurm") == 0) {
        uint64_t nodes;
        out->local_ranks = weft_env_number("SLURM_NNODES", &nodes) && nodes == 1 ? out->nranks : 0;
    }
    if (out->local_ranks > out->nranks) {
        return launcher_contradiction(ranks, out->local_ranks, launcher_variable(launcher->nranks),
                                      out->nranks);
    }
    if (rank != NULL && out->local_ranks > 0 && out->local_rank >= out->local_ranks) {
        return launcher_contradiction(rank, out->local_rank, ranks != NULL ? ranks : "SLURM_NNODES",
                                      out->local_ranks);
    }
    return WEFT_OK;
}

static weft_status_t launcher_read(const launcher_t *launcher, weft_launcher_t *out)
{
    const char *rank = launcher_variable(launcher->rank),
               *nranks = launcher_variable(launcher->nranks);
    memset(out, 0, sizeof *out);
    out->size = sizeof *out;
    snprintf(out->name, sizeof out->name, "%s", launcher->name);
    weft_status_t status = launcher_number(rank, WEFT_RANKS_MOST, &out->rank);
    if (status == WEFT_OK) {
        status = launcher_number(nranks, WEFT_RANKS_MOST, &out->nranks);
    }
    if (status != WEFT_OK) {
        return status;
    }
    if (out->rank >= out->nranks) {
        return launcher_contradiction(rank, out->rank, nranks, out->nranks);
    }
    return launcher_read_local(launcher, out);
}

/* Another launcher whose variables are set must say the same, except where one starts the other: an
 * elastic agent under mpirun, or any of them inside a Slurm job. */
static weft_status_t launcher_compare(const launcher_t *chosen, const weft_launcher_t *out)
{
    for (size_t i = 0; i < LAUNCHERS; i++) {
        weft_launcher_t other;
        const launcher_t *launcher = &launchers[i];
        if (launcher == chosen || !launcher_is_present(launcher) ||
            strcmp(launcher->name, "slurm") == 0 || weft_env("TORCHELASTIC_RUN_ID") != NULL) {
            continue;
        }
        weft_status_t status = launcher_read(launcher, &other);
        if (status != WEFT_OK) {
            return status;
        }
        if (other.rank != out->rank) {
            return launcher_contradiction(launcher_variable(chosen->rank), out->rank,
                                          launcher_variable(launcher->rank), other.rank);
        }
        if (other.nranks != out->nranks) {
            return launcher_contradiction(launcher_variable(chosen->nranks), out->nranks,
                                          launcher_variable(launcher->nranks), other.nranks);
        }
    }
    return WEFT_OK;
}

static const launcher_t *launcher_choose(void)
{
    if (weft_env("TORCHELASTIC_RUN_ID") != NULL && launcher_is_present(&launchers[2])) {
        return &launchers[2];
    }
    for (size_t i = 0; i < LAUNCHERS; i++) {
        if (launcher_is_present(&launchers[i])) {
            return &launchers[i];
        }
    }
    return NULL;
}

weft_status_t weft_launcher_detect(weft_launcher_t *launcher)
{
    if (launcher == NULL || launcher->size < sizeof *launcher) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "weft_launcher_detect: launcher is NULL or its size is not set");
    }
    weft_launcher_t found = {.size = sizeof found, .name = "none", .nranks = 1, .local_ranks = 1};
    const launcher_t *chosen = launcher_choose();
    weft_status_t status = WEFT_OK;
    if (chosen != NULL) {
        status = launcher_read(chosen, &found);
    }
    if (status == WEFT_OK && chosen != NULL) {
        status = launcher_compare(chosen, &found);
    }
    if (status == WEFT_OK) {
        found.size = launcher->size;
        *launcher = found;
    }
    return status;
}

/* Names the process `name` above us, with its start time, or the parent if there is none. */
static void launcher_ancestor(const char *name, char *text, size_t bytes)
{
    char found[16] = "";
    int32_t pid = weft_os_parent_pid(), parent = 0;
    uint64_t started = 0;
    for (int depth = 0; name != NULL && depth < 16 && pid > 1; depth++) {
        if (!weft_os_process(pid, &started, &parent, found) || strcmp(found, name) == 0) {
            break;
        }
        pid = parent;
    }
    if (name == NULL || strcmp(found, name) != 0) {
        pid = weft_os_parent_pid();
        (void)weft_os_process(pid, &started, &parent, found);
    }
    snprintf(text, bytes, "process %d of %" PRIu64, (int)pid, started);
}

/* Makes a text that is the same for all processes of the job, and different for all others. */
static weft_status_t launcher_name_job(const launcher_t *from, const weft_launcher_t *launcher,
                                       char *text, size_t bytes)
{
    int used = snprintf(text, bytes, "%s %u", launcher->name, launcher->nranks);
    size_t at = (size_t)used;
    bool named = false;
    for (uint32_t i = 0; i < NAMES && from->job[i] != NULL; i++) {
        const char *value = weft_env(from->job[i]);
        if (value != NULL && at < bytes) {
            used = snprintf(text + at, bytes - at, "\n%s=%s", from->job[i], value);
            at += (size_t)used;
            named = true;
        }
    }
    if (at >= bytes) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "environment: the variables of %s are too long",
                         launcher->name);
    }
    if (named) {
        return WEFT_OK;
    }
    if (launcher->local_ranks != 0 && launcher->local_ranks < launcher->nranks) {
        return weft_fail(WEFT_ERR_UNSUPPORTED, 0,
                         "%s gives no name to this job on several hosts; pass a unique id in "
                         "WEFT_UNIQUE_ID, or set %s to the same text on all ranks",
                         launcher->name, from->job[0]);
    }
    text[at++] = '\n';
    launcher_ancestor(from->proxy, text + at, bytes - at);
    return WEFT_OK;
}

static weft_status_t launcher_id_from_hex(const char *hex, weft_unique_id_t *id)
{
    weft_unique_id_t found;
    weft_id_t opened;
    size_t bytes = 0;
    if (sodium_hex2bin(found.bytes, sizeof found.bytes, hex, strlen(hex), NULL, &bytes, NULL) !=
            0 ||
        bytes != sizeof found.bytes) {
        return weft_fail(WEFT_ERR_CONFIG, 0,
                         "environment: WEFT_UNIQUE_ID is not %zu hexadecimal digits",
                         2 * sizeof found.bytes);
    }
    weft_status_t status = weft_id_decode(&found, &opened);
    weft_id_wipe(&opened);
    if (status == WEFT_OK) {
        *id = found;
    }
    return status;
}

static weft_status_t launcher_rendezvous(const weft_launcher_t *launcher,
                                         const weft_boot_settings_t *settings, weft_unique_id_t *id)
{
    char job[1024];
    const launcher_t *from = NULL;
    for (size_t i = 0; i < LAUNCHERS; i++) {
        from = strcmp(launchers[i].name, launcher->name) == 0 ? &launchers[i] : from;
    }
    if (from == NULL) {
        return weft_fail(WEFT_ERR_UNSUPPORTED, 0,
                         "%u ranks without a known launcher: pass a unique id in WEFT_UNIQUE_ID",
                         launcher->nranks);
    }
    if (launcher->local_ranks != 0 && launcher->local_ranks < launcher->nranks &&
        settings->rendezvous[0] == '\0') {
        return weft_fail(WEFT_ERR_UNSUPPORTED, 0,
                         "%u of %u ranks are on this host: set boot.rendezvous to a folder that "
                         "all hosts share, or pass a unique id in WEFT_UNIQUE_ID",
                         launcher->local_ranks, launcher->nranks);
    }
    weft_status_t status = launcher_name_job(from, launcher, job, sizeof job);
    if (status != WEFT_OK) {
        return status;
    }
    weft_rendezvous_t rendezvous = {
        .job = job, .rank = launcher->rank, .nranks = launcher->nranks, .settings = settings};
    return weft_rendezvous_exchange(&rendezvous, id);
}

weft_status_t weft_launcher_exchange_id(const weft_launcher_t *launcher, weft_unique_id_t *id,
                                        const weft_comm_options_t *options)
{
    weft_config_t *config = NULL;
    weft_settings_t settings = {0};
    if (launcher == NULL || id == NULL || launcher->size < sizeof *launcher) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "weft_launcher_exchange_id: launcher or id is NULL, or size is not set");
    }
    if (launcher->nranks == 0 || launcher->rank >= launcher->nranks) {
        return weft_fail(WEFT_ERR_ARG, 0, "weft_launcher_exchange_id: rank %u of %u",
                         launcher->rank, launcher->nranks);
    }
    const char *given = weft_env("WEFT_UNIQUE_ID");
    if (given != NULL) {
        return launcher_id_from_hex(given, id);
    }
    if (launcher->nranks == 1) {
        return WEFT_OK;
    }
    weft_status_t status = weft_config_load(options, &config);
    if (status == WEFT_OK) {
        status = weft_settings_read(config, &settings);
    }
    if (status == WEFT_OK) {
        status = launcher_rendezvous(launcher, &settings.boot, id);
    }
    weft_config_destroy(config);
    return status;
}
