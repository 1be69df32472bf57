/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Launchers: what their variables say. Implements weft_launcher_detect() of weft.h. */
#include "core/boot/launcher.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/boot/join_request.h"
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
    const char *advice; /* how it carries the unique id; NULL: it does not */
} launcher_t;

/* In order of precedence: the innermost launcher of usual nestings comes first. */
static const launcher_t launchers[] = {
    /* An indexed Job of Kubernetes numbers its pods, and does not tell them how many they are. */
    {.name = "environment",
     .rank = {"WEFT_RANK", "JOB_COMPLETION_INDEX"},
     .nranks = {"WEFT_NRANKS"},
     .local_rank = {"WEFT_LOCAL_RANK"},
     .local_ranks = {"WEFT_LOCAL_NRANKS"}},
    {.name = "openmpi",
     .rank = {"OMPI_COMM_WORLD_RANK"},
     .nranks = {"OMPI_COMM_WORLD_SIZE"},
     .local_rank = {"OMPI_COMM_WORLD_LOCAL_RANK"},
     .local_ranks = {"OMPI_COMM_WORLD_LOCAL_SIZE"},
     .job = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri"},
     .advice = "Install libpmix.so.2 on all hosts, or show its folder in LD_LIBRARY_PATH"},
    {.name = "hydra",
     /* mpiexec -pmi-port numbers processes by PMI_ID, and does not tell them how many they are. */
     .rank = {"PMI_RANK", "PMI_ID"},
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
     .local_ranks = {"SLURM_STEP_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE"},
     .job = {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"},
     .advice = "Start it with srun --mpi=pmi2 or srun --mpi=pmix"},
};
#define LAUNCHERS (sizeof launchers / sizeof *launchers)

/* Once in a process: it may ask often. */
static atomic_bool launcher_warned, launcher_warned_of_hand[LAUNCHERS];

/* Reads a variable: weft_env() or weft_env_hidden(). */
typedef const char *launcher_look_t(const char *name);

static const char *launcher_find_variable(const char *const *names, launcher_look_t *look)
{
    for (uint32_t i = 0; i < NAMES && names[i] != NULL; i++) {
        if (look(names[i]) != NULL) {
            return names[i];
        }
    }
    return NULL;
}

static const char *launcher_variable(const char *const *names)
{
    return launcher_find_variable(names, weft_env);
}

static weft_status_t launcher_number(const char *name, uint32_t *value)
{
    uint64_t found;
    if (!weft_env_number(name, &found) || found > WEFT_RANKS_MOST) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "environment: %s = \"%s\" is no number from 0 to %u",
                         name, weft_env(name), WEFT_RANKS_MOST);
    }
    *value = (uint32_t)found;
    return WEFT_OK;
}

/* The shell of a batch job has a rank and a number of tasks, but is no task. */
static bool launcher_is_batch_shell(const launcher_t *launcher, launcher_look_t *look)
{
    return strcmp(launcher->name, "slurm") == 0 && look("SLURM_JOB_ID") != NULL &&
           look("SLURM_STEP_ID") == NULL;
}

/* srun --mpi=pmi2 gives rank and size by Hydra's names, but not the number of local ranks. */
static bool launcher_is_srun_as_hydra(const launcher_t *launcher, launcher_look_t *look)
{
    return strcmp(launcher->name, "hydra") == 0 && look("SLURM_STEP_ID") != NULL &&
           launcher_find_variable(launcher->local_ranks, look) == NULL;
}

static bool launcher_is_seen(const launcher_t *launcher, launcher_look_t *look)
{
    return launcher_find_variable(launcher->rank, look) != NULL &&
           launcher_find_variable(launcher->nranks, look) != NULL &&
           !launcher_is_batch_shell(launcher, look) && !launcher_is_srun_as_hydra(launcher, look);
}

static bool launcher_is_present(const launcher_t *launcher)
{
    return launcher_is_seen(launcher, weft_env);
}

static weft_status_t launcher_contradiction(const char *a, uint32_t x, const char *b, uint32_t y)
{
    return weft_fail(WEFT_ERR_CONFIG, 0, "environment: %s = %u contradicts %s = %u", a, x, b, y);
}

/* Reads entry `node` of a list such as "2(x3),1". Returns 0 if there is none. */
static uint32_t launcher_slurm_entry(const char *list, uint64_t node)
{
    while (*list >= '0' && *list <= '9') {
        uint64_t tasks = 0, nodes = 1;
        for (; *list >= '0' && *list <= '9' && tasks <= WEFT_RANKS_MOST; list++) {
            tasks = tasks * 10 + (uint64_t)(*list - '0');
        }
        if (strncmp(list, "(x", 2) == 0) {
            for (list += 2, nodes = 0; *list >= '0' && *list <= '9' && nodes <= WEFT_RANKS_MOST;
                 list++) {
                nodes = nodes * 10 + (uint64_t)(*list - '0');
            }
            list += *list == ')';
        }
        if (node < nodes) {
            return tasks <= WEFT_RANKS_MOST ? (uint32_t)tasks : 0;
        }
        node -= nodes;
        list += *list == ',';
    }
    return 0;
}

/* Slurm says the number of tasks of all nodes in one list, and their usual number only if it was
 * asked for it. */
static weft_status_t launcher_read_slurm(const char *variable, weft_launcher_t *out)
{
    uint32_t node = 0;
    uint64_t nodes = 0;
    if (weft_env("SLURM_NODEID") != NULL && launcher_number("SLURM_NODEID", &node) != WEFT_OK) {
        return WEFT_ERR_CONFIG;
    }
    if (variable != NULL && strcmp(variable, "SLURM_STEP_TASKS_PER_NODE") == 0) {
        out->local_ranks = launcher_slurm_entry(weft_env(variable), node);
    } else if (variable != NULL) {
        return launcher_number(variable, &out->local_ranks);
    }
    if (out->local_ranks == 0 && weft_env_number("SLURM_NNODES", &nodes) && nodes == 1) {
        out->local_ranks = out->nranks;
    }
    return WEFT_OK;
}

static weft_status_t launcher_read_local(const launcher_t *launcher, weft_launcher_t *out)
{
    const char *rank = launcher_variable(launcher->local_rank);
    const char *ranks = launcher_variable(launcher->local_ranks);
    weft_status_t status = WEFT_OK;
    if (rank != NULL) {
        status = launcher_number(rank, &out->local_rank);
    }
    if (status == WEFT_OK && strcmp(launcher->name, "slurm") == 0) {
        status = launcher_read_slurm(ranks, out);
    } else if (status == WEFT_OK && ranks != NULL) {
        status = launcher_number(ranks, &out->local_ranks);
        if (status == WEFT_OK && out->local_ranks == 0) { /* this rank is on this host */
            status = launcher_contradiction(ranks, 0, launcher_variable(launcher->rank), out->rank);
        }
    }
    if (status != WEFT_OK) {
        return status;
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
    weft_status_t status = launcher_number(rank, &out->rank);
    if (status == WEFT_OK) {
        status = launcher_number(nranks, &out->nranks);
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
 * elastic agent under mpirun, or any of them inside a Slurm job. Ranks that are given by hand are
 * what the user wants. */
static weft_status_t launcher_compare(const launcher_t *chosen, const weft_launcher_t *out)
{
    for (size_t i = 0; i < LAUNCHERS && chosen != &launchers[0]; i++) {
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

static const launcher_t *launcher_find(const char *name)
{
    for (size_t i = 0; i < LAUNCHERS; i++) {
        if (strcmp(launchers[i].name, name) == 0) {
            return &launchers[i];
        }
    }
    return NULL;
}

/* One rank by hand, or by RANK and WORLD_SIZE, where another launcher has started several
 * processes: the variables may well be those of a job or shell that has started the launcher. */
static void launcher_warn_of_hand(const launcher_t *chosen, const weft_launcher_t *out)
{
    const char *mine = launcher_variable(chosen->nranks);
    if (weft_launcher_is_elastic(out) ||
        (chosen != &launchers[0] && chosen != launcher_find("torchrun"))) {
        return;
    }
    for (const launcher_t *other = chosen + 1; other < launchers + LAUNCHERS; other++) {
        const char *theirs = launcher_variable(other->nranks);
        uint64_t ranks;
        if (out->nranks == 1 && launcher_is_present(other) && weft_env_number(theirs, &ranks) &&
            ranks > 1 && !atomic_exchange(&launcher_warned_of_hand[chosen - launchers], true)) {
            weft_log(WEFT_LOG_WARN, "boot",
                     "%s = 1 counts, and %s = %s does not: this process is a job of one rank; "
                     "unset %s and %s if they are left from outside",
                     mine, theirs, weft_env(theirs), launcher_variable(chosen->rank), mine);
        }
    }
}

static const launcher_t *launcher_choose(void)
{
    const launcher_t *torchrun = launcher_find("torchrun");
    if (weft_env("TORCHELASTIC_RUN_ID") != NULL && launcher_is_present(torchrun) &&
        !launcher_is_present(&launchers[0])) {
        return torchrun;
    }
    for (size_t i = 0; i < LAUNCHERS; i++) {
        if (launcher_is_present(&launchers[i])) {
            return &launchers[i];
        }
    }
    return NULL;
}

/* Whoever numbered this process has numbered others, too. The number of ranks alone is no sign:
 * shells have it for the jobs that they start. */
static weft_status_t launcher_check_lone_rank(void)
{
    for (size_t i = 1; i < LAUNCHERS; i++) {
        const launcher_t *launcher = &launchers[i];
        const char *rank = launcher_variable(launcher->rank);
        uint64_t number;
        /* RANK is a name of many things; with where rank 0 is, it is torch's. */
        if (strcmp(launcher->name, "torchrun") == 0 && weft_env("MASTER_ADDR") == NULL) {
            continue;
        }
        if (rank != NULL && weft_env_number(rank, &number) &&
            launcher_variable(launcher->nranks) == NULL &&
            !launcher_is_batch_shell(launcher, weft_env)) {
            return weft_fail(WEFT_ERR_CONFIG, 0,
                             "environment: %s = %s, and %s is not set: set it, or unset %s", rank,
                             weft_env(rank), launcher->nranks[0], rank);
        }
    }
    return WEFT_OK;
}

/* Signs of a job of which no variable says the number of ranks: every process would be rank 0 of 1,
 * and its results its own. prterun says a rank alone, unless it is told to speak as Open MPI. Pods
 * of an indexed Job may each be a job of their own, but whoever has an id shall meet others. */
static weft_status_t launcher_check_alone(void)
{
    const char *rank = weft_env("PMIX_RANK"), *pod = weft_env("JOB_COMPLETION_INDEX");
    if (rank != NULL && weft_env("PRTE_LAUNCHED") != NULL) {
        return weft_fail(WEFT_ERR_CONFIG, 0,
                         "environment: PMIX_RANK = %s, and no variable says the number of ranks: "
                         "start with prterun --personality ompi or mpirun, or set WEFT_RANK and "
                         "WEFT_NRANKS",
                         rank);
    }
    if (weft_env("WEFT_UNIQUE_ID") != NULL) {
        return weft_fail(WEFT_ERR_CONFIG, 0,
                         "environment: WEFT_UNIQUE_ID is set, and no variable says the number of "
                         "ranks: set %sWEFT_NRANKS",
                         pod != NULL ? "" : "WEFT_RANK and ");
    }
    if (pod != NULL && !atomic_exchange(&launcher_warned, true)) {
        weft_log(WEFT_LOG_WARN, "boot",
                 "JOB_COMPLETION_INDEX = %s, and WEFT_NRANKS is not set: this pod is a job of one "
                 "rank; a job of all pods needs WEFT_NRANKS and WEFT_UNIQUE_ID",
                 pod);
    }
    return launcher_check_lone_rank();
}

/* One of the two variables alone is a mistake that would make every process rank 0 of 1. */
static weft_status_t launcher_check_pair(void)
{
    const char *rank = weft_env("WEFT_RANK"), *nranks = weft_env("WEFT_NRANKS");
    bool numbered = rank == NULL && weft_env("JOB_COMPLETION_INDEX") != NULL;
    if ((rank == NULL) != (nranks == NULL) && !numbered) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "environment: %s is set, but %s is not",
                         rank != NULL ? "WEFT_RANK" : "WEFT_NRANKS",
                         rank != NULL ? "WEFT_NRANKS" : "WEFT_RANK");
    }
    return WEFT_OK;
}

/* A program with raised privileges reads no variable, and every process of a job would be rank 0
 * of 1, whose results are its own. */
static weft_status_t launcher_check_hidden(void)
{
    static names_t own = {"WEFT_RANK", "WEFT_NRANKS", "WEFT_UNIQUE_ID", "PRTE_LAUNCHED"};
    const char *name = launcher_find_variable(own, weft_env_hidden);
    for (size_t i = 0; i < LAUNCHERS && name == NULL; i++) {
        if (launcher_is_seen(&launchers[i], weft_env_hidden)) {
            name = launcher_find_variable(launchers[i].rank, weft_env_hidden);
        }
    }
    return name == NULL
               ? WEFT_OK
               : weft_fail(WEFT_ERR_CONFIG, 0,
                           "environment: %s is set, but a program with raised privileges "
                           "(set-user-id, file capabilities) does not believe the environment: "
                           "run it without them, or call weft_comm_init_rank() with an id and a "
                           "rank that the program itself carries to its processes",
                           name);
}

weft_status_t weft_launcher_detect(weft_launcher_t *launcher)
{
    if (launcher == NULL || launcher->size < sizeof *launcher) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "weft_launcher_detect: launcher is NULL or its size is not set");
    }
    weft_launcher_t found = {.size = sizeof found, .name = "none", .nranks = 1, .local_ranks = 1};
    const launcher_t *chosen = launcher_choose();
    weft_status_t status = launcher_check_pair();
    status = status == WEFT_OK ? launcher_check_hidden() : status;
    if (status == WEFT_OK && chosen == NULL) {
        status = launcher_check_alone();
    } else if (status == WEFT_OK) {
        status = launcher_read(chosen, &found);
    }
    if (status == WEFT_OK && chosen != NULL) {
        status = launcher_compare(chosen, &found);
    }
    if (status == WEFT_OK && chosen != NULL) {
        launcher_warn_of_hand(chosen, &found);
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

weft_status_t weft_launcher_name_job(const weft_launcher_t *launcher, char *text, size_t bytes)
{
    const launcher_t *from = launcher_find(launcher->name);
    if (from == NULL || from->job[0] == NULL) {
        return weft_fail(WEFT_ERR_UNSUPPORTED, 0, "no launcher gives this job a name");
    }
    /* Ranks that disagree about their number meet, so that they are told. */
    int used = snprintf(text, bytes, "%s", launcher->name);
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
    if (launcher->local_ranks != 0 && !weft_launcher_is_local(launcher)) {
        return weft_fail(WEFT_ERR_UNSUPPORTED, 0,
                         "%s gives no name to this job on several hosts; set %s to the same text "
                         "on all ranks",
                         launcher->name, from->job[0]);
    }
    if (strcmp(launcher->name, "torchrun") == 0) {
        /* Ranks by hand: one shell starts many jobs. */
        return weft_fail(
            WEFT_ERR_UNSUPPORTED, 0,
            "RANK and WORLD_SIZE do not tell this job from another of the same shell; "
            "set MASTER_PORT to a number of its own on all its ranks, or give the ranks "
            "WEFT_UNIQUE_ID (weft id)");
    }
    used = snprintf(text + at, bytes - at, " %u\n", launcher->nranks);
    at += (size_t)used;
    if (at < bytes) {
        launcher_ancestor(from->proxy, text + at, bytes - at);
    }
    return WEFT_OK;
}

const char *weft_launcher_advice(const weft_launcher_t *launcher)
{
    const launcher_t *from = launcher_find(launcher->name);
    return from != NULL && from->advice != NULL ? from->advice : "";
}

bool weft_launcher_is_local(const weft_launcher_t *launcher)
{
    return launcher->local_ranks == launcher->nranks;
}

bool weft_launcher_is_elastic(const weft_launcher_t *launcher)
{
    return strcmp(launcher->name, "torchrun") == 0 && weft_env("TORCHELASTIC_RUN_ID") != NULL;
}
