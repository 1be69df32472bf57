/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job whose ranks are killed at random moments, also while they recover, and replaced: the
 * survivors shrink, take in a newcomer under the number of the dead one, and go on; the numbers
 * stay right. Rank 0 may be spared, and then counts what it holds: nothing may be more after many
 * deaths than before.
 *
 *   test-fault-replacement NET RANKS KILLS [SEED [any]]    a longer run, with times;
 *       any: rank 0 dies too */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "core/os/os.h"
#include "tests/support/holdings.h"
#include "tests/support/ranks.h"
#include "tests/support/mixed_calls.h"
#include "tests/support/survivor.h"
#include "tests/support/unit.h"

enum { COUNT_MOST = 20000, KILLS_MOST = 100000 };

enum { MEASURE_NOT, MEASURE_NOW, MEASURED };

/* See compare_holdings(). */
enum { MAPS_MORE = 8, KIB_MORE = 4096 };

/* What a rank holds in the beginning has settled when so many counts in a row were equal. */
enum { EQUAL_COUNTS = 10, COUNT_EACH_MS = 20 };

/* The progress thread starts when it is first needed, which may be after the first count. */
enum { LATE_THREADS = 1 };

/* A number of the job, whoever has it, in memory that all processes share. */
typedef struct seat {
    weft_ticket_t ticket;
    _Atomic uint32_t wanted;    /* tickets so far: counts newcomers that the test starts */
    _Atomic uint64_t recovered; /* when it last had a right result in a whole communicator */
    _Atomic uint32_t wrong;
} seat_t;

typedef struct board {
    weft_unique_id_t id;
    _Atomic uint32_t ready, stop, failed_growths;
    _Atomic uint32_t measure; /* rank 0 counts: MEASURE_NOW, and then MEASURED */
    seat_t seats[SURVIVOR_MOST];
    holdings_t before, middle, after; /* of rank 0 */
} board_t;

typedef struct trial {
    const char *net;
    uint32_t nranks, kills;
    bool spares; /* rank 0 lives through it all */
    unsigned seed;
} trial_t;

typedef struct player {
    board_t *board;
    survivor_t self;
    uint64_t in[COUNT_MOST], out[COUNT_MOST];
} player_t;

/* The links of the health channel are made in the background. */
static holdings_t settled_first(void)
{
    holdings_t now = holdings_now();
    for (uint32_t equal = 0; equal < EQUAL_COUNTS;) {
        weft_os_sleep_ns(COUNT_EACH_MS * WEFT_NS_PER_MS);
        uint32_t fds = now.fds;
        now = holdings_now();
        equal = now.fds == fds ? equal + 1 : 0;
    }
    return now;
}

/* A root of a growth that failed waits some seconds for ranks that never come. */
static holdings_t settled_since(const holdings_t *before)
{
    return holdings_settled(before->fds, before->threads + LATE_THREADS);
}

/* A rank --------------------------------------------------------------------------------------- */

static void give_up(void *arg, const char *what)
{
    player_t *p = arg;
    weft_error_t error = {.size = sizeof error};
    (void)weft_last_error(&error);
    fprintf(stderr, "seat %u, step %u: %s: %s: %s\n", p->self.seat, p->self.step, what,
            weft_status_name(error.status), error.text);
    atomic_store(&p->board->seats[p->self.seat].wrong, 1);
    _exit(1);
}

static weft_status_t reduce(player_t *p, uint64_t count)
{
    weft_request_t *request = NULL;
    weft_call_t call = {.size = sizeof call, .request_p = &request};
    if (p->self.step % 3 == 0) {
        return weft_all_reduce(p->in, p->out, count, WEFT_UINT64, WEFT_SUM, p->self.comm, NULL);
    }
    if (p->self.step % 3 == 1) {
        weft_status_t status =
            weft_all_reduce(p->in, p->out, count, WEFT_UINT64, WEFT_SUM, p->self.comm, &call);
        return status == WEFT_OK ? weft_request_wait(&request) : status;
    }
    weft_status_t status = weft_group_start();
    (void)!weft_all_reduce(p->in, p->out, count, WEFT_UINT64, WEFT_SUM, p->self.comm, NULL);
    weft_status_t ended = weft_group_end();
    return status == WEFT_OK ? ended : status;
}

static weft_status_t train(player_t *p)
{
    uint64_t count = 1 + p->self.step * 37u % COUNT_MOST;
    for (uint64_t i = 0; i < count; i++) {
        p->in[i] = mixed_number(p->self.seat, p->self.step, i);
        p->out[i] = 0;
    }
    weft_status_t status = reduce(p, count);
    for (uint64_t i = 0; status == WEFT_OK && i < count; i++) {
        uint64_t expected = 0;
        for (uint32_t s = 0; s < p->self.size; s++) {
            expected += mixed_number(s, p->self.step, i);
        }
        if (p->out[i] != expected) {
            give_up(p, "a wrong number");
        }
    }
    return status;
}

/* A newcomer is wanted; the test starts it. */
static void want(void *arg, uint32_t seat, const weft_ticket_t *ticket)
{
    player_t *p = arg;
    p->board->seats[seat].ticket = *ticket;
    atomic_fetch_add(&p->board->seats[seat].wanted, 1);
}

/* True in *stop_p when any rank was told to stop: all hear it at the same step. Everybody writes to
 * everybody, so that what a rank holds does not hang on the algorithms of its last calls. */
static weft_status_t ask_all_to_stop(player_t *p, bool *stop_p)
{
    uint32_t mine[SURVIVOR_MOST], theirs[SURVIVOR_MOST] = {0}, stop = atomic_load(&p->board->stop);
    for (uint32_t s = 0; s < p->self.size; s++) {
        mine[s] = stop;
    }
    weft_status_t status = weft_all_to_all(mine, theirs, 1, WEFT_UINT32, p->self.comm, NULL);
    *stop_p = false;
    for (uint32_t s = 0; s < p->self.size; s++) {
        *stop_p = *stop_p || theirs[s] != 0;
    }
    return status;
}

static void count_if_asked(player_t *p)
{
    if (p->self.seat != 0 || atomic_load(&p->board->measure) != MEASURE_NOW) {
        return;
    }
    if (p->board->before.fds == 0) {
        p->board->before = settled_first();
    } else {
        p->board->middle = settled_since(&p->board->before);
    }
    atomic_store(&p->board->measure, MEASURED);
}

/* Trains until the test says that it is enough. */
static void play(player_t *p)
{
    bool fresh = true, stop = false;
    for (;;) {
        weft_status_t status = fresh ? survivor_meet(&p->self) : WEFT_OK;
        status = status == WEFT_OK ? train(p) : status;
        if (status == WEFT_OK && fresh) {
            atomic_store(&p->board->seats[p->self.seat].recovered, weft_os_clock_ns());
        }
        if (status == WEFT_OK) {
            p->self.step++;
            status = ask_all_to_stop(p, &stop);
        }
        if (status == WEFT_OK && stop) {
            return;
        }
        if (status == WEFT_OK) {
            count_if_asked(p);
        }
        fresh = status != WEFT_OK;
        if (fresh) {
            uint32_t failed = p->self.failed_growths;
            survivor_recover(&p->self);
            atomic_fetch_add(&p->board->failed_growths, p->self.failed_growths - failed);
        }
    }
}

static int run_player(const trial_t *trial, board_t *board, uint32_t seat, bool first)
{
    const char *settings[] = {trial->net, "boot.init_timeout=60", "core.log=error"};
    weft_comm_options_t options = {
        .size = sizeof options, .config = "/dev/null", .settings = settings, .settings_count = 3};
    /* Else the allocator makes one arena after the other, of two mappings, until there are eight
     * for each core: one whenever more threads live at once than ever before. */
#ifdef __GLIBC__
    (void)mallopt(M_ARENA_MAX, 1);
#endif
    player_t *p = calloc(1, sizeof *p);
    *p = (player_t){.board = board,
                    .self = {.seat = seat,
                             .size = trial->nranks,
                             .step = first ? 0 : SURVIVOR_NO_STEP,
                             .arg = p,
                             .give_up = give_up,
                             .want = want}};
    if (first && seat == 0) {
        if (weft_unique_id_create(&board->id, &options) != WEFT_OK) {
            give_up(p, "weft_unique_id_create");
        }
        atomic_store(&board->ready, 1);
    }
    while (atomic_load(&board->ready) == 0) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    weft_ticket_t ticket = board->seats[seat].ticket;
    weft_status_t status =
        first ? weft_comm_init_rank(&p->self.comm, trial->nranks, &board->id, seat, &options)
              : weft_comm_join(&p->self.comm, &ticket, &options);
    if (status != WEFT_OK) {
        return first ? 1 : 2; /* a newcomer's growth may fail, because somebody else died */
    }
    play(p);
    if (seat == 0 && trial->spares) {
        board->after = settled_since(&board->before);
    }
    survivor_take(&p->self, NULL);
    free(p);
    return 0;
}

/* The test ------------------------------------------------------------------------------------- */

typedef struct job {
    const trial_t *trial;
    board_t *board;
    pid_t pids[SURVIVOR_MOST]; /* 0: dead, until a newcomer is wanted */
    uint32_t started[SURVIVOR_MOST];
    uint32_t last; /* who was killed last */
    uint64_t times[KILLS_MOST];
    uint32_t ntimes;
} job_t;

static void start_rank(job_t *job, uint32_t seat, bool first)
{
    fflush(NULL);
    pid_t parent = getpid();
    job->pids[seat] = fork();
    if (job->pids[seat] == 0) {
        /* The errors of those that lose somebody are expected, and many. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent ||
            (getenv("SHOW") == NULL && freopen("/dev/null", "w", stderr) == NULL)) {
            _exit(1);
        }
        _exit(run_player(job->trial, job->board, seat, first));
    }
}

static void end_rank(job_t *job, uint32_t seat)
{
    int status;
    if (job->pids[seat] != 0) {
        kill(job->pids[seat], SIGKILL);
        waitpid(job->pids[seat], &status, 0);
        job->pids[seat] = 0;
    }
}

/* Starts the newcomers that are wanted. One that is late, of a growth that failed, is in the
 * way. */
static void serve(job_t *job)
{
    for (uint32_t s = 0; s < job->trial->nranks; s++) {
        uint32_t wanted = atomic_load(&job->board->seats[s].wanted);
        if (wanted != job->started[s]) {
            job->started[s] = wanted;
            end_rank(job, s);
            start_rank(job, s, false);
        }
    }
}

/* Serves until all have a right result after `since`. Returns when the last of them had it. */
static uint64_t await(job_t *job, uint64_t since)
{
    uint64_t last = 0, until = weft_os_clock_ns() + 100 * WEFT_NS_PER_S;
    for (uint32_t s = 0; s < job->trial->nranks;) {
        const seat_t *seat = &job->board->seats[s];
        uint64_t at = atomic_load(&seat->recovered);
        if (atomic_load(&seat->wrong) != 0 || weft_os_clock_ns() > until) {
            fail_msg("seat %u: %s after %u deaths, seed %u", s,
                     atomic_load(&seat->wrong) != 0 ? "is wrong" : "does not recover", job->ntimes,
                     job->trial->seed);
        }
        if (at >= since) {
            last = at > last ? at : last;
            s++;
            continue;
        }
        serve(job);
        weft_os_sleep_ns(WEFT_NS_PER_MS / 4);
    }
    return last;
}

/* Serves for a random time. */
static void pass(job_t *job, unsigned *seed, uint64_t most_ns)
{
    uint64_t until = weft_os_clock_ns() + (uint64_t)rand_r(seed) % most_ns;
    do {
        serve(job);
        weft_os_sleep_ns(WEFT_NS_PER_MS / 4);
    } while (weft_os_clock_ns() < until);
}

/* Rank 0 counts what it holds: before the first death, and when half of the deaths are over,
 * whatever caches have become full until then. */
static void measure(job_t *job)
{
    uint64_t until = weft_os_clock_ns() + 100 * WEFT_NS_PER_S;
    atomic_store(&job->board->measure, MEASURE_NOW);
    while (atomic_load(&job->board->measure) != MEASURED) {
        assert_true(weft_os_clock_ns() < until);
        serve(job);
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
}

static uint64_t kill_one(job_t *job, unsigned *seed)
{
    const trial_t *t = job->trial;
    uint32_t victim = t->spares ? 1 + (uint32_t)rand_r(seed) % (t->nranks - 1)
                                : (uint32_t)rand_r(seed) % t->nranks;
    uint64_t now = weft_os_clock_ns();
    end_rank(job, victim);
    if (victim == job->last) {
        /* It may have been a newcomer that had not come yet, for which the others wait: another one
         * gets its ticket. A ticket that was used ends it. */
        start_rank(job, victim, false);
    }
    job->last = victim;
    return now;
}

/* Half of the time a second one dies somewhere on the way: before the first is noticed, while the
 * others shrink, or while the newcomer joins; the second may be the newcomer. Two at once leave a
 * member. */
static void run_deaths(job_t *job)
{
    unsigned seed = job->trial->seed;
    bool measured = false;
    (void)await(job, 1);
    if (job->trial->spares) {
        measure(job);
    }
    for (uint32_t k = 0; k < job->trial->kills;) {
        pass(job, &seed, 10 * WEFT_NS_PER_MS);
        uint64_t since = kill_one(job, &seed);
        k++;
        if (rand_r(&seed) % 2 == 0 && k < job->trial->kills) {
            pass(job, &seed, 40 * WEFT_NS_PER_MS);
            since = kill_one(job, &seed);
            k++;
        }
        job->times[job->ntimes++] = await(job, since) - since;
        if (job->trial->spares && k >= job->trial->kills / 2 && !measured) {
            measure(job);
            measured = true;
        }
    }
}

static void end_job(job_t *job)
{
    int failed = 0;
    atomic_store(&job->board->stop, 1);
    for (uint32_t s = 0; s < job->trial->nranks; s++) {
        int status = 0;
        waitpid(job->pids[s], &status, 0);
        failed += !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(failed, 0);
}

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void report(job_t *job)
{
    const trial_t *t = job->trial;
    const holdings_t *b = &job->board->before, *m = &job->board->middle, *a = &job->board->after;
    qsort(job->times, job->ntimes, sizeof *job->times, compare);
    printf(
        "%s, %u ranks, %u kills in %u recoveries, seed %u: whole again after %.1f ms median, %.1f "
        "ms worst; %u growths failed\n",
        t->net, t->nranks, t->kills, job->ntimes, t->seed,
        (double)job->times[job->ntimes / 2] / 1e6, (double)job->times[job->ntimes - 1] / 1e6,
        atomic_load(&job->board->failed_growths));
    if (t->spares) {
        printf("rank 0 before, after half and after all: descriptors %u %u %u, threads %u %u %u, "
               "mappings %u %u %u, resident KiB %llu %llu %llu\n",
               b->fds, m->fds, a->fds, b->threads, m->threads, a->threads, b->maps, m->maps,
               a->maps, (unsigned long long)b->kib, (unsigned long long)m->kib,
               (unsigned long long)a->kib);
    }
    fflush(stdout);
}

/* Since the middle no more may have come, however many have died, but for what the allocator did
 * not get back in one piece. */
static void compare_holdings(const holdings_t *before, const holdings_t *middle,
                             const holdings_t *after)
{
    assert_true(after->fds <= before->fds);
    assert_true(after->threads <= before->threads + LATE_THREADS);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true(after->maps <= middle->maps + MAPS_MORE);
    assert_true(after->kib <= middle->kib + KIB_MORE);
#else
    (void)middle;
#endif
}

static void run_trial(const trial_t *trial)
{
    job_t *job = calloc(1, sizeof *job);
    assert_non_null(job);
    job->trial = trial;
    job->board =
        mmap(NULL, sizeof *job->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(job->board != MAP_FAILED);
    for (uint32_t s = 0; s < trial->nranks; s++) {
        start_rank(job, s, true);
    }
    run_deaths(job);
    end_job(job);
    report(job);
    if (trial->spares) {
        compare_holdings(&job->board->before, &job->board->middle, &job->board->after);
    }
    munmap(job->board, sizeof *job->board);
    free(job);
}

static void a_rank_that_lives_on_holds_no_more(void **state)
{
    (void)state;
    run_trial(
        &(trial_t){.net = "core.net=net-shm", .nranks = 4, .kills = 40, .spares = true, .seed = 1});
    run_trial(&(trial_t){
        .net = "core.net=net-socket", .nranks = 4, .kills = 20, .spares = true, .seed = 2});
}

static void any_rank_may_die(void **state)
{
    (void)state;
    run_trial(&(trial_t){.net = "core.net=net-shm", .nranks = 5, .kills = 10, .seed = 3});
}

int main(int argc, char **argv)
{
    if (argc >= 4) {
        trial_t trial = {.net = argv[1],
                         .nranks = (uint32_t)atoi(argv[2]),
                         .kills = (uint32_t)atoi(argv[3]),
                         .seed = argc > 4 ? (unsigned)atoi(argv[4]) : 1,
                         .spares = argc < 6};
        if (trial.nranks < 3 || trial.nranks > SURVIVOR_MOST || trial.kills > KILLS_MOST) {
            fprintf(stderr, "3 to %d ranks, at most %d kills\n", SURVIVOR_MOST, KILLS_MOST);
            return 2;
        }
        run_trial(&trial);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_lives_on_holds_no_more),
        cmocka_unit_test(any_rank_may_die),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
