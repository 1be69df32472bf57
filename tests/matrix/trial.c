/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One trial. */
#include "trial.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os/os.h"
#include "tests/support/sandbox.h"

enum { SETTLE_MS = 30, WATCHDOG_S = 100 };

static bool on_hosts(fault_t fault)
{
    return fault == HOST_GONE || fault == PARTITION || fault == ONE_WAY || fault == FLAP ||
           fault == CABLE;
}

static void sleep_ms(uint64_t ms)
{
    weft_os_sleep_ns(ms * WEFT_NS_PER_MS);
}

/* The ranks ------------------------------------------------------------------------------------ */

static void set(life_t *life, const char *setting)
{
    if (life->nsettings == LIFE_SETTINGS) {
        abort();
    }
    life->settings[life->nsettings++] = setting;
}

static life_t life_of(const trial_t *trial, uint32_t rank)
{
    static const char *const nets[] = {"core.net=net-shm", "core.net=net-socket", NULL,
                                       "core.net=net-ib"};
    const cell_t *cell = trial->cell;
    life_t life = {.cell = cell,
                   .board = trial->board,
                   .rank = rank,
                   .victim = trial->victim,
                   .late = trial->late,
                   .own_host = on_hosts(cell->fault)};
    set(&life, nets[cell->transport]);
    set(&life, "core.log=error");
    set(&life, "boot.unresponsive=3s");
    set(&life, cell->moment == JOIN ? "boot.init_timeout=6s" : "boot.init_timeout=15s");
    set(&life, "exec.op_timeout=40s");
    if (life.own_host) {
        set(&life, "boot.quorum=majority");
        set(&life, "boot.interface==eth0");
    }
    if (cell->fault == FULL_DISK) {
        set(&life, "core.flight=" SANDBOX_TMP);
    }
    if (cell->fault == MIXED && rank == trial->victim) {
        set(&life, "exec.slots=3");
    }
    return life;
}

static bool wire_hosts(const trial_t *trial)
{
    for (uint32_t r = 0; r < MATRIX_RANKS; r++) {
        while (atomic_load(&trial->board->apart[r]) == 0) {
            sleep_ms(1);
        }
        if (!hosts_connect(r, MATRIX_RANKS / 2, trial->pids[r])) {
            return false;
        }
    }
    atomic_store(&trial->board->wired, 1);
    return true;
}

/* Returns NULL, or why the trial cannot be made here. */
static const char *start_ranks(trial_t *trial)
{
    bool hosts = on_hosts(trial->cell->fault);
    if (hosts && (!trial->sandboxed || !hosts_begin())) {
        return "no virtual networks: they need ip and namespaces";
    }
    for (uint32_t r = 0; r < MATRIX_RANKS; r++) {
        life_t life = life_of(trial, r);
        trial->pids[r] = fork();
        if (trial->pids[r] == 0) {
            life_run(&life);
        }
    }
    return !hosts || wire_hosts(trial) ? NULL : "no virtual interfaces";
}

/* Until the fault may strike: all that are not held back are inside the moment. */
static bool await_moment(const trial_t *trial)
{
    uint64_t until = weft_os_deadline(30);
    for (uint32_t r = 0; r < MATRIX_RANKS; r++) {
        const record_t *record = &trial->board->records[r];
        while (atomic_load(&record->moment) < (uint32_t)trial->cell->moment + 1 ||
               (trial->cell->moment == MIDDLE && atomic_load(&record->rounds) < 20)) {
            if (weft_os_clock_ns() > until || atomic_load(&record->ended_at) != 0) {
                return false;
            }
            sleep_ms(1);
        }
    }
    sleep_ms(SETTLE_MS + trial->round * 7 % 20);
    return true;
}

/* A job without an error is told when its middle is over. */
static void let_go(trial_t *trial)
{
    if (trial->cell->moment == MIDDLE &&
        (trial->cell->promise == GOES_ON || trial->cell->promise == EITHER)) {
        sleep_ms(300);
        atomic_store(&trial->board->stop, 1);
    }
}

/* Whether all ranks that can have come to their end. */
static bool all_ended(const trial_t *trial)
{
    for (uint32_t r = 0; r < MATRIX_RANKS; r++) {
        bool stands = (trial->cell->fault == STOPPED || trial->cell->fault == HOST_GONE) &&
                      r == trial->victim;
        if (!trial->reaped[r] && !stands && atomic_load(&trial->board->records[r].ended_at) == 0) {
            return false;
        }
    }
    return true;
}

static void end_trial(trial_t *trial)
{
    uint64_t until = weft_os_deadline(60);
    while (!all_ended(trial) && weft_os_clock_ns() < until) {
        sleep_ms(1);
    }
    if (trial->cell->fault == STOPPED) {
        kill(trial->pids[trial->victim], SIGCONT);
    }
    atomic_store(&trial->board->over, 1);
    until = weft_os_deadline(20);
    while (trial->cell->fault == STOPPED && weft_os_clock_ns() < until &&
           atomic_load(&trial->board->records[trial->victim].ended_at) == 0) {
        sleep_ms(1);
    }
    for (uint32_t h = 0; h < trial->nhelpers; h++) {
        /* Impostors end by themselves. */
        kill(trial->helpers[h], trial->cell->fault == DUPLICATE ? 0 : SIGKILL);
        waitpid(trial->helpers[h], NULL, 0);
    }
}

static void reap(trial_t *trial, outcome_t *outcome)
{
    for (uint32_t r = 0; r < MATRIX_RANKS; r++) {
        int status = 0;
        if (trial->reaped[r]) {
            continue;
        }
        if (atomic_load(&trial->board->records[r].ended_at) == 0) {
            kill(trial->pids[r], SIGKILL);
        }
        waitpid(trial->pids[r], &status, 0);
        if (WIFSIGNALED(status) && atomic_load(&trial->board->records[r].ended_at) != 0 &&
            outcome->why[0] == '\0') {
            snprintf(outcome->why, sizeof outcome->why, "rank %u ended by signal %d", r,
                     WTERMSIG(status));
        }
    }
}

static void check_leftovers(const trial_t *trial, outcome_t *outcome)
{
    uint32_t shm = sandbox_files(SANDBOX_SHM), tmp = sandbox_files(SANDBOX_TMP);
    /* The records of the dead and the failed stay: that is what they are for. */
    if (trial->cell->fault == FULL_DISK) {
        tmp = 0;
    }
    if (trial->sandboxed && shm + tmp > 0 && outcome->why[0] == '\0') {
        snprintf(outcome->why, sizeof outcome->why,
                 "%u files are left in " SANDBOX_SHM ", %u in " SANDBOX_TMP, shm, tmp);
    }
}

/* Some faults are there before the ranks. */
static bool is_there_before(const cell_t *cell)
{
    return cell->moment == JOIN && (cell->fault == FULL_DISK || cell->fault == MIXED);
}

/* False: the ranks did not come to the moment. */
static bool strike_in_time(trial_t *trial)
{
    _Atomic uint64_t *struck_at = &trial->board->struck_at;
    if (!await_moment(trial)) {
        return false;
    }
    bool gathers = trial->cell->fault == STRANGERS || trial->cell->fault == REPLAY;
    if (!gathers) {
        atomic_store(struck_at, weft_os_clock_ns());
    }
    strike(trial);
    if (gathers) { /* some hundred strangers */
        sleep_ms(300);
        atomic_store(struck_at, weft_os_clock_ns());
    }
    atomic_store(&trial->board->released, 1);
    strike_heal(trial);
    return true;
}

/* Says what this machine lacks for the cell, or NULL. */
static const char *find_lack(const trial_t *trial)
{
    if (trial->cell->transport == RXE && access("/sys/class/infiniband/rxe0", F_OK) != 0) {
        return "there is no adapter rxe0: scripts/fault-matrix --guest has one";
    }
    return trial->sandboxed ? sandbox_enter() : NULL;
}

static void run_here(trial_t *trial, outcome_t *outcome)
{
    const char *lacks = find_lack(trial);
    if (lacks == NULL) {
        strike_prepare(trial);
        if (is_there_before(trial->cell)) {
            atomic_store(&trial->board->struck_at, weft_os_clock_ns());
        }
        lacks = start_ranks(trial);
    }
    if (lacks != NULL) {
        outcome->skipped = true;
        snprintf(outcome->why, sizeof outcome->why, "%s", lacks);
        return;
    }
    atomic_store(&trial->board->stop, trial->cell->moment != MIDDLE);
    if (!is_there_before(trial->cell) && !strike_in_time(trial)) {
        snprintf(outcome->why, sizeof outcome->why, "the ranks did not come to the moment");
    }
    atomic_store(&trial->board->released, 1);
    let_go(trial);
    end_trial(trial);
    judge(trial, outcome);
    reap(trial, outcome);
    check_leftovers(trial, outcome);
    outcome->green = outcome->why[0] == '\0';
}

/* The process of its own ----------------------------------------------------------------------- */

typedef struct shared {
    board_t board;
    outcome_t outcome;
} shared_t;

/* Slow is who is late, and leaving has nobody to be late for. */
static void choose_ranks(trial_t *trial)
{
    trial->victim = (1 + trial->round) % MATRIX_RANKS;
    trial->late = (trial->victim + 1) % MATRIX_RANKS;
    if (trial->cell->fault == SLOW) {
        trial->late = trial->victim;
    } else if (is_there_before(trial->cell)) {
        trial->late = MATRIX_RANKS;
    }
}

void trial_run(const cell_t *cell, uint32_t round, double slack, const char *how,
               outcome_t *outcome)
{
    shared_t *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        abort();
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        trial_t trial = {.cell = cell,
                         .round = round,
                         .slack = slack,
                         .sandboxed = strchr(how, 'p') == NULL,
                         .board = &shared->board};
        choose_ranks(&trial);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setsid(); /* when a shell ends, the stopped processes of its groups go on */
        alarm(WATCHDOG_S);
        if (strchr(how, 'v') == NULL && freopen("/dev/null", "w", stderr) == NULL) {
            _exit(1);
        }
        run_here(&trial, &shared->outcome);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    *outcome = shared->outcome;
    if (!WIFEXITED(status)) {
        snprintf(outcome->why, sizeof outcome->why, "the trial did not end");
        outcome->green = false;
    }
    munmap(shared, sizeof *shared);
}
