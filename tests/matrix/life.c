/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of a rank. */
#include "life.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/os/os.h"
#include "tests/support/mixed_calls.h"

#define TRY_AGAIN_NS (250 * WEFT_NS_PER_MS)

enum { MOST = 1 << 18, LEAST_ROUNDS = 5, PROOF_ROUNDS = 20, TRIES = 5 };

typedef struct living {
    const life_t *life;
    board_t *board;
    record_t *record;
    weft_comm_t *comm;
    uint32_t members; /* bits of ranks of the job that are in comm */
    uint32_t step;
    moment_t moment;
    pthread_t hand;
    uint64_t *in, *out;
} living_t;

/* The clock of the day ------------------------------------------------------------------------- */

static _Atomic int64_t *ahead; /* ns; NULL before the life begins */

/* These take the place of the library's, in this program and in the plugins that it loads. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *time)
{
    long status = syscall(SYS_clock_gettime, clock, time);
    if (status == 0 && ahead != NULL &&
        (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        time->tv_sec += atomic_load(ahead) / (int64_t)WEFT_NS_PER_S;
    }
    return (int)status;
}

__attribute__((visibility("default"))) time_t time(time_t *out)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}

/* Moments -------------------------------------------------------------------------------------- */

static void wait_for(_Atomic uint32_t *word)
{
    while (atomic_load(word) == 0) {
        weft_os_sleep_ns(WEFT_NS_PER_MS / 4);
    }
}

/* Begins a moment. At the moment of the fault one rank is held back, so that the others are inside
 * their calls when it strikes; nobody leaves before it has. */
static void enter(living_t *l, moment_t moment)
{
    const life_t *life = l->life;
    l->moment = moment;
    atomic_store(&l->record->moment, (uint32_t)moment + 1);
    if (life->cell->moment == moment && moment != MIDDLE &&
        (life->rank == life->late || moment == LEAVE)) {
        wait_for(&l->board->released);
    }
}

static void note_failure(living_t *l)
{
    record_t *record = l->record;
    if (atomic_load(&record->failed_at) == 0) {
        record->error.size = sizeof record->error;
        (void)weft_last_error(&record->error);
        record->failed_in = l->moment;
        atomic_store(&record->failed_at, weft_os_clock_ns());
    }
}

/* A call that began at `begin` has ended. */
static weft_status_t note_call(living_t *l, uint64_t begin, weft_status_t status)
{
    uint64_t struck = atomic_load(&l->board->struck_at), now = weft_os_clock_ns();
    uint64_t took = now - (begin > struck ? begin : struck);
    if (struck != 0 && took > l->record->longest) {
        l->record->longest = took;
    }
    if (status != WEFT_OK) {
        note_failure(l);
    }
    return status;
}

/* Numbers -------------------------------------------------------------------------------------- */

static void compare(living_t *l, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t expected = 0;
        for (uint32_t r = 0; r < MATRIX_RANKS; r++) {
            expected += (l->members >> r & 1) != 0 ? mixed_number(r, l->step, i) : 0;
        }
        if (l->out[i] != expected) {
            snprintf(l->record->wrong, sizeof l->record->wrong,
                     "wrong data: element %llu of step %u is %llu, not %llu", (unsigned long long)i,
                     l->step, (unsigned long long)l->out[i], (unsigned long long)expected);
            return;
        }
    }
}

static weft_status_t reduce(living_t *l, weft_comm_t *comm, uint64_t count)
{
    uint32_t pause = atomic_exchange(&l->board->pause_ms[l->life->rank], 0);
    for (uint64_t i = 0; i < count; i++) {
        l->in[i] = mixed_number(l->life->rank, l->step, i);
        l->out[i] = 0;
    }
    if (pause > 0) {
        weft_os_sleep_ns(pause * WEFT_NS_PER_MS);
    }
    uint64_t begin = weft_os_clock_ns();
    weft_status_t status = note_call(
        l, begin, weft_all_reduce(l->in, l->out, count, WEFT_UINT64, WEFT_SUM, comm, NULL));
    if (status == WEFT_OK) {
        compare(l, count);
        l->step++;
    }
    return status;
}

/* Who is in this communicator, and where the slowest of them is. */
static weft_status_t meet(living_t *l, weft_comm_t *comm)
{
    uint64_t mine[MATRIX_RANKS] = {0}, all[MATRIX_RANKS] = {0};
    uint64_t begin = weft_os_clock_ns();
    mine[l->life->rank] = 1 + (uint64_t)l->step;
    weft_status_t status = note_call(
        l, begin, weft_all_reduce(mine, all, MATRIX_RANKS, WEFT_UINT64, WEFT_SUM, comm, NULL));
    if (status == WEFT_OK) {
        l->members = 0;
        for (uint32_t r = 0; r < MATRIX_RANKS; r++) {
            l->members |= (uint32_t)(all[r] != 0) << r;
            l->step = all[r] != 0 && all[r] - 1 < l->step ? (uint32_t)(all[r] - 1) : l->step;
        }
    }
    return status;
}

/* The communicator does what it should: some calls of all lengths. */
static weft_status_t prove(living_t *l, weft_comm_t *comm)
{
    weft_status_t status = meet(l, comm);
    for (uint32_t i = 0; status == WEFT_OK && i < PROOF_ROUNDS; i++) {
        status = reduce(l, comm, 1 + i * 997u);
    }
    return status;
}

/* The steps of a life -------------------------------------------------------------------------- */

static weft_status_t join(living_t *l)
{
    const life_t *life = l->life;
    weft_comm_options_t options = {.size = sizeof options,
                                   .config = "/dev/null",
                                   .settings = life->settings,
                                   .settings_count = life->nsettings};
    if (life->rank == 0) {
        if (weft_unique_id_create(&l->board->id, &options) != WEFT_OK) {
            note_failure(l);
            return WEFT_ERR_SYSTEM;
        }
        atomic_store(&l->board->has_id, 1);
    }
    wait_for(&l->board->has_id);
    enter(l, JOIN);
    uint64_t begin = weft_os_clock_ns();
    l->members = (1u << MATRIX_RANKS) - 1;
    return note_call(
        l, begin, weft_comm_init_rank(&l->comm, MATRIX_RANKS, &l->board->id, life->rank, &options));
}

static weft_status_t call_first(living_t *l)
{
    enter(l, FIRST);
    return reduce(l, l->comm, 1000);
}

/* Until the test has seen enough; that word goes with the numbers, because all must hear it. */
static weft_status_t call_on(living_t *l)
{
    weft_status_t status = WEFT_OK;
    uint32_t all = 0;
    enter(l, MIDDLE);
    for (uint32_t i = 0; status == WEFT_OK && (i < LEAST_ROUNDS || all == 0); i++) {
        uint32_t stop = atomic_load(&l->board->stop);
        status = reduce(l, l->comm, i % 16 == 7 ? MOST : 1 + l->step * 37u % 4000u);
        uint64_t begin = weft_os_clock_ns();
        if (status == WEFT_OK) {
            status = note_call(
                l, begin, weft_all_reduce(&stop, &all, 1, WEFT_UINT32, WEFT_MAX, l->comm, NULL));
        }
        atomic_fetch_add(&l->record->rounds, 1);
    }
    return status;
}

static weft_status_t split(living_t *l)
{
    weft_comm_t *half = NULL;
    uint32_t mine = l->life->rank % 2 == 0 ? 0x55555555u : 0xaaaaaaaau, all = l->members;
    enter(l, SPLIT);
    uint64_t begin = weft_os_clock_ns();
    weft_status_t status =
        note_call(l, begin, weft_comm_split(l->comm, (int32_t)(l->life->rank % 2), 0, &half));
    if (status != WEFT_OK) {
        return status;
    }
    l->members = all & mine;
    for (uint32_t i = 0; status == WEFT_OK && i < LEAST_ROUNDS; i++) {
        status = reduce(l, half, 1 + i * 1009u);
    }
    l->members = all;
    (void)!weft_comm_destroy(half);
    /* Nobody revokes the communicator while others split it. */
    return status == WEFT_OK ? meet(l, l->comm) : status;
}

/* Goes on with those that are left. */
static weft_status_t shrink_once(living_t *l)
{
    weft_comm_t *fewer = NULL;
    if (atomic_load(&l->record->failed_at) != 0) {
        (void)!weft_comm_revoke(l->comm); /* others may wait for this rank in their calls */
    }
    uint64_t begin = weft_os_clock_ns();
    weft_status_t status = weft_comm_shrink(l->comm, NULL, 0, &fewer);
    if (l->moment == SHRINK && atomic_load(&l->record->failed_at) == 0) {
        (void)note_call(l, begin, status);
    }
    if (status != WEFT_OK) {
        return status;
    }
    (void)!weft_comm_destroy(l->comm);
    l->comm = fewer;
    status = prove(l, fewer);
    if (status == WEFT_OK) {
        l->record->members = l->members;
        atomic_store(&l->record->again_at, weft_os_clock_ns());
    }
    return status;
}

static weft_status_t shrink(living_t *l)
{
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < TRIES; i++) {
        status = shrink_once(l);
        if (status == WEFT_OK || l->comm == NULL) {
            return status;
        }
        weft_os_sleep_ns(TRY_AGAIN_NS); /* what is lacking may be there again */
    }
    l->record->gave_up = status;
    return status;
}

/* A child of the process ----------------------------------------------------------------------- */

/* It may not use the communicator, and holds copies of all descriptors for a while. */
static int be_child(weft_comm_t *comm)
{
    uint32_t size = 0, one = 1, sum = 0;
    bool right = true;
    if (comm != NULL) {
        right = weft_comm_size(comm, &size) == WEFT_ERR_STATE &&
                weft_all_reduce(&one, &sum, 1, WEFT_UINT32, WEFT_SUM, comm, NULL) == WEFT_ERR_STATE;
    }
    weft_os_sleep_ns(300 * WEFT_NS_PER_MS);
    return right ? 0 : 1;
}

static void *fork_when_asked(void *arg)
{
    living_t *l = arg;
    _Atomic uint32_t *word = &l->board->fork_now[l->life->rank];
    int status = 0;
    wait_for(word);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(be_child(l->comm));
    }
    waitpid(child, &status, 0);
    atomic_store(word, WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 2 : 3);
    return NULL;
}

/* ---------------------------------------------------------------------------------------------- */

static void on_signal(int number)
{
    (void)number;
}

/* What the faults need of the process. */
static void prepare(living_t *l)
{
    const life_t *life = l->life;
    struct sigaction action = {.sa_handler =
                                   on_signal}; /* without SA_RESTART: calls are interrupted */
    ahead = &l->board->clock_ns[life->rank];
    sigaction(SIGUSR1, &action, NULL);
    if (life->cell->fault == FORK && life->rank == life->victim &&
        pthread_create(&l->hand, NULL, fork_when_asked, l) != 0) {
        _exit(3);
    }
    if (life->own_host) {
        if (unshare(CLONE_NEWNET) != 0) {
            _exit(3);
        }
        atomic_store(&l->board->apart[life->rank], 1);
        wait_for(&l->board->wired);
    }
}

void life_run(const life_t *life)
{
    living_t l = {.life = life, .board = life->board, .record = &life->board->records[life->rank]};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(120);
    l.in = calloc(MOST, sizeof *l.in);
    l.out = calloc(MOST, sizeof *l.out);
    prepare(&l);
    weft_status_t status = join(&l);
    if (l.comm != NULL) {
        status = call_first(&l);
        status = status == WEFT_OK ? call_on(&l) : status;
        status = status == WEFT_OK ? split(&l) : status;
        if (status == WEFT_OK) {
            enter(&l, SHRINK);
        }
        (void)!shrink(&l);
        enter(&l, LEAVE);
        uint64_t begin = weft_os_clock_ns();
        (void)note_call(&l, begin, weft_comm_destroy(l.comm));
    }
    atomic_store(&l.record->ended_at, weft_os_clock_ns());
    /* Rank 0 made the id: its process tells the others what became of the join. */
    if (life->cell->moment == JOIN && life->rank == 0) {
        wait_for(&l.board->over);
    }
    _exit(0);
}
