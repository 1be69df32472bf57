/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The faults. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/resets.h"
#include "core/os/os.h"
#include "port_strangers.h"
#include "tests/support/sandbox.h"
#include "trial.h"

enum { RATE = 1000, DAY_S = 86400 };

static void sleep_ms(uint64_t ms)
{
    weft_os_sleep_ns(ms * WEFT_NS_PER_MS);
}

static pid_t victim_of(const trial_t *trial)
{
    return trial->pids[trial->victim];
}

static void kill_victim(trial_t *trial)
{
    kill(victim_of(trial), SIGKILL);
    waitpid(victim_of(trial), NULL, 0);
    trial->reaped[trial->victim] = true;
}

/* Connections ---------------------------------------------------------------------------------- */

/* On a busy machine a rank that joins may have none yet. */
static void reset_some(const trial_t *trial)
{
    uint64_t until = weft_os_deadline(10);
    while (reset_connections(victim_of(trial)) == 0 && weft_os_clock_ns() < until) {
        sleep_ms(1);
    }
}

/* Limits --------------------------------------------------------------------------------------- */

static rlim_t descriptors_of(pid_t pid)
{
    char path[64];
    rlim_t most = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        rlim_t fd = (rlim_t)atoi(entry->d_name);
        most = fd > most ? fd : most;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return most + 1;
}

static rlim_t bytes_of(pid_t pid)
{
    char path[64];
    unsigned long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        (void)!fscanf(file, "%lu", &pages);
        fclose(file);
    }
    return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void limit_victim(const trial_t *trial, __rlimit_resource_t what, rlim_t soft)
{
    struct rlimit limit;
    if (prlimit(victim_of(trial), what, NULL, &limit) == 0) {
        limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
        (void)prlimit(victim_of(trial), what, &limit, NULL);
    }
}

static void lift_limit(const trial_t *trial, __rlimit_resource_t what)
{
    limit_victim(trial, what, RLIM_INFINITY);
}

/* Others --------------------------------------------------------------------------------------- */

/* A second process that claims the victim's rank. Here, and nowhere else, it is refused. */
static void be_impostor(const trial_t *trial)
{
    weft_comm_t *comm = NULL;
    const char *settings[] = {"core.log=error", "boot.init_timeout=3",
                              trial->cell->transport == SHM ? "core.net=net-shm"
                                                            : "core.net=net-socket"};
    weft_comm_options_t options = {
        .size = sizeof options, .config = "/dev/null", .settings = settings, .settings_count = 3};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(20);
    weft_status_t status =
        weft_comm_init_rank(&comm, MATRIX_RANKS, &trial->board->id, trial->victim, &options);
    atomic_fetch_add(&trial->board->impostor, status == WEFT_OK);
    _exit(0);
}

static void start_helper(trial_t *trial)
{
    pid_t child = fork();
    if (child == 0 && trial->cell->fault == DUPLICATE) {
        be_impostor(trial);
    }
    if (child == 0) {
        port_strangers_run(RATE, trial->cell->fault == REPLAY);
    }
    trial->helpers[trial->nhelpers++] = child;
}

static void storm(const trial_t *trial)
{
    for (int i = 0; i < 1000; i++) {
        kill(victim_of(trial), SIGUSR1);
        weft_os_sleep_ns(WEFT_NS_PER_MS / 2);
    }
}

void strike_prepare(trial_t *trial)
{
    /* What is said in the join can be said again. */
    if (trial->cell->fault == REPLAY) {
        start_helper(trial);
        sleep_ms(50);
    }
    if (trial->cell->fault == FULL_DISK && trial->cell->moment == JOIN) {
        sandbox_fill(SANDBOX_TMP);
    }
}

/* Faults that last until strike_heal(). */
void strike(trial_t *trial)
{
    _Atomic int64_t *clock = &trial->board->clock_ns[trial->victim];
    switch (trial->cell->fault) {
    case KILLED:
        kill_victim(trial);
        break;
    case STOPPED:
    case RESUMED:
        kill(victim_of(trial), SIGSTOP);
        break;
    case HOST_GONE:
        /* Its end must not be seen by the kernel that it shares with the others. */
        host_plug(trial->victim, false);
        kill(victim_of(trial), SIGSTOP);
        break;
    case PARTITION:
        hosts_divide(true);
        break;
    case ONE_WAY:
        host_deafen(trial->victim);
        break;
    case RESET:
        reset_some(trial);
        break;
    case FLAP:
    case CABLE:
        host_plug(trial->victim, false);
        break;
    case FULL_SHM:
        sandbox_fill(SANDBOX_SHM);
        break;
    case FULL_DISK:
        sandbox_fill(SANDBOX_TMP);
        break;
    case DESCRIPTORS:
        limit_victim(trial, RLIMIT_NOFILE, descriptors_of(victim_of(trial)));
        break;
    case MEMORY:
        limit_victim(trial, RLIMIT_AS, bytes_of(victim_of(trial)));
        break;
    case CLOCK:
        atomic_store(clock, (int64_t)DAY_S * (int64_t)WEFT_NS_PER_S);
        break;
    case FORK:
        atomic_store(&trial->board->fork_now[trial->victim], 1);
        break;
    case STRANGERS:
        start_helper(trial);
        break;
    case DUPLICATE:
        start_helper(trial);
        sleep_ms(300);
        break;
    case SLOW: /* elsewhere it is the one that is held back */
        if (trial->cell->moment == MIDDLE) {
            atomic_store(&trial->board->pause_ms[trial->victim], 1000);
        }
        sleep_ms(1000);
        break;
    default:
        break;
    }
}

void strike_heal(trial_t *trial)
{
    _Atomic int64_t *clock = &trial->board->clock_ns[trial->victim];
    switch (trial->cell->fault) {
    case RESUMED:
        sleep_ms(1000);
        kill(victim_of(trial), SIGCONT);
        break;
    case FLAP:
        sleep_ms(500);
        host_plug(trial->victim, true);
        break;
    case DESCRIPTORS:
        sleep_ms(500);
        lift_limit(trial, RLIMIT_NOFILE);
        break;
    case MEMORY:
        sleep_ms(500);
        lift_limit(trial, RLIMIT_AS);
        break;
    case CLOCK:
        sleep_ms(100);
        atomic_store(clock, -(int64_t)DAY_S * (int64_t)WEFT_NS_PER_S);
        sleep_ms(100);
        break;
    case SIGNALS:
        storm(trial);
        break;
    case STRANGERS:
    case REPLAY:
    case FORK:
    case DUPLICATE:
        sleep_ms(500);
        break;
    default:
        break;
    }
}
