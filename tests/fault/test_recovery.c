/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recovery among processes: ranks are killed at random moments while all reduce; the survivors
 * shrink and go on, and the numbers stay right.
 *
 *   test-fault-recovery NET RANKS DEATHS    measures: DEATHS ranks die one after the other
 *
 * The times are those from a kill until the slowest survivor has heard of it, has the shrunk
 * communicator, has a first right result in it (512 bytes), and a second one (8 KiB), which may
 * need other connections. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os/os.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

enum { MOST = 64, COUNT_MOST = 40000 };

/* What a rank comes to after a death. */
typedef enum phase { TOLD, SHRUNK, FIRST, SECOND, PHASES } phase_t;

/* What a rank tells the test, in memory that all processes share. */
typedef struct report {
    _Atomic uint64_t steps;      /* right all-reduces so far */
    _Atomic uint64_t at[PHASES]; /* when that was last */
    _Atomic uint32_t size;       /* ranks of its communicator */
    _Atomic uint32_t done;       /* 1: all is well, 2: something is wrong */
} report_t;

typedef struct board {
    weft_unique_id_t id;
    _Atomic uint32_t ready, stop;
    report_t reports[MOST];
} board_t;

/* How the ranks of a job call. */
typedef struct trial {
    const char *settings[8];
    uint32_t nsettings, nranks, deaths;
    uint64_t count; /* of elements; 0: changes from step to step */
    bool async, grouped, agrees;
} trial_t;

typedef struct player {
    const trial_t *trial;
    board_t *board;
    weft_comm_t *comm;
    uint32_t rank, nranks; /* in the job, and of the communicator now */
    uint32_t members[MOST];
    uint32_t step; /* the next one */
    uint64_t in[COUNT_MOST], out[COUNT_MOST];
} player_t;

static void say_error(const player_t *p, const char *what)
{
    weft_error_t error = {.size = sizeof error};
    (void)weft_last_error(&error);
    fprintf(stderr, "rank %u, step %u: %s: %s: %s\n", p->rank, p->step, what,
            weft_status_name(error.status), error.text);
}

static uint64_t number_of(uint32_t rank, uint32_t step, uint64_t at)
{
    return (uint64_t)(rank + 1) * 1000003u + step * 31u + at % 97;
}

/* Numbers of this communicator, by the ranks of the job that are in it. */
static bool numbers_are_right(const player_t *p, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t expected = 0;
        for (uint32_t m = 0; m < p->nranks; m++) {
            expected += number_of(p->members[m], p->step, i);
        }
        if (p->out[i] != expected) {
            fprintf(stderr, "rank %u, step %u of %u ranks: element %llu is %llu, not %llu\n",
                    p->rank, p->step, p->nranks, (unsigned long long)i,
                    (unsigned long long)p->out[i], (unsigned long long)expected);
            return false;
        }
    }
    return true;
}

static weft_status_t reduce(player_t *p, uint64_t count)
{
    if (p->trial->async) {
        weft_request_t *request = NULL;
        weft_call_t call = {.size = sizeof call, .request_p = &request};
        weft_status_t status =
            weft_all_reduce(p->in, p->out, count, WEFT_UINT64, WEFT_SUM, p->comm, &call);
        return status == WEFT_OK ? weft_request_wait(&request) : status;
    }
    if (!p->trial->grouped) {
        return weft_all_reduce(p->in, p->out, count, WEFT_UINT64, WEFT_SUM, p->comm, NULL);
    }
    weft_status_t status = weft_group_start();
    (void)!weft_all_reduce(p->in, p->out, count, WEFT_UINT64, WEFT_SUM, p->comm, NULL);
    weft_status_t ended = weft_group_end();
    return status == WEFT_OK ? ended : status;
}

/* One step of the training. */
static weft_status_t train(player_t *p)
{
    uint64_t count = p->trial->count != 0 ? p->trial->count : 1 + p->step * 37u % COUNT_MOST;
    for (uint64_t i = 0; i < count; i++) {
        p->in[i] = number_of(p->rank, p->step, i);
        p->out[i] = 0;
    }
    weft_status_t status = reduce(p, count);
    if (status == WEFT_OK && !numbers_are_right(p, count)) {
        atomic_store(&p->board->reports[p->rank].done, 2);
        _exit(1);
    }
    return status;
}

/* After joining and after each shrink: who is here, and where the slowest of them is. One
 * all-reduce says it, in which every rank of the job has an element of its own. */
static weft_status_t meet(player_t *p)
{
    uint64_t mine[MOST] = {0}, steps[MOST];
    mine[p->rank] = p->step + 1;
    weft_status_t status = weft_comm_size(p->comm, &p->nranks);
    if (status == WEFT_OK) {
        status = weft_all_reduce(mine, steps, MOST, WEFT_UINT64, WEFT_SUM, p->comm, NULL);
    }
    uint32_t members = 0;
    for (uint32_t r = 0; status == WEFT_OK && r < MOST; r++) {
        if (steps[r] != 0 && members < p->nranks) {
            p->members[members] = r;
            p->step = steps[r] - 1 < p->step ? (uint32_t)(steps[r] - 1) : p->step;
        }
        members += steps[r] != 0;
    }
    if (status == WEFT_OK && members != p->nranks) {
        fprintf(stderr, "rank %u: %u members, expected %u\n", p->rank, members, p->nranks);
        _exit(1);
    }
    return status;
}

static bool recover(player_t *p)
{
    weft_comm_t *child = NULL;
    weft_error_t error = {.size = sizeof error};
    uint64_t bits = ~(UINT64_C(1) << p->rank % 64);
    report_t *report = &p->board->reports[p->rank];
    atomic_store(&report->at[TOLD], weft_os_clock_ns());
    if (weft_comm_error(p->comm, &error) != WEFT_OK || error.status == WEFT_OK) {
        say_error(p, "a call failed, and the communicator did not");
        return false;
    }
    if (p->trial->agrees &&
        (weft_comm_agree(p->comm, &bits) != WEFT_OK || (bits >> p->rank % 64 & 1) != 0)) {
        say_error(p, "weft_comm_agree");
        return false;
    }
    if (weft_comm_shrink(p->comm, NULL, 0, &child) != WEFT_OK) {
        say_error(p, "weft_comm_shrink");
        return false;
    }
    (void)!weft_comm_destroy(p->comm);
    p->comm = child;
    atomic_store(&report->at[SHRUNK], weft_os_clock_ns());
    return true;
}

/* Trains until the test says that it is enough; the others may need this rank until they have heard
 * it as well, so the word goes with the numbers. */
static bool play(player_t *p)
{
    report_t *report = &p->board->reports[p->rank];
    bool fresh = true;
    for (;;) {
        uint32_t stop = atomic_load(&p->board->stop), all = 0;
        weft_status_t status = fresh ? meet(p) : WEFT_OK;
        uint64_t met = weft_os_clock_ns();
        status = status == WEFT_OK ? train(p) : status;
        if (status == WEFT_OK && fresh) {
            atomic_store(&report->size, p->nranks);
            atomic_store(&report->at[FIRST], met);
            atomic_store(&report->at[SECOND], weft_os_clock_ns());
        }
        fresh = status != WEFT_OK;
        if (status == WEFT_OK) {
            p->step++;
            atomic_fetch_add(&report->steps, 1);
            status = weft_all_reduce(&stop, &all, 1, WEFT_UINT32, WEFT_MAX, p->comm, NULL);
        }
        if (status == WEFT_OK && all != 0) {
            return true;
        }
        fresh = fresh || status != WEFT_OK;
        if (status != WEFT_OK && !recover(p)) {
            return false;
        }
    }
}

static int run_player(const trial_t *trial, board_t *board, uint32_t rank)
{
    player_t *p = calloc(1, sizeof *p);
    weft_comm_options_t options = {.size = sizeof options,
                                   .config = "/dev/null",
                                   .settings = trial->settings,
                                   .settings_count = trial->nsettings};
    *p = (player_t){.trial = trial, .board = board, .rank = rank};
    if (rank == 0) {
        if (weft_unique_id_create(&board->id, &options) != WEFT_OK) {
            return 1;
        }
        atomic_store(&board->ready, 1);
    }
    while (atomic_load(&board->ready) == 0) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    if (weft_comm_init_rank(&p->comm, trial->nranks, &board->id, rank, &options) != WEFT_OK) {
        say_error(p, "weft_comm_init_rank");
        return 1;
    }
    bool good = play(p);
    good = weft_comm_destroy(p->comm) == WEFT_OK && good;
    atomic_store(&board->reports[rank].done, good ? 1 : 2);
    free(p);
    return !good;
}

typedef struct job {
    const trial_t *trial;
    board_t *board;
    pid_t pids[MOST];
    bool dead[MOST];
} job_t;

static void start_job(job_t *job, const trial_t *trial)
{
    *job = (job_t){.trial = trial};
    job->board =
        mmap(NULL, sizeof *job->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(job->board != MAP_FAILED);
    fflush(NULL);
    for (uint32_t r = 0; r < trial->nranks; r++) {
        job->pids[r] = fork();
        if (job->pids[r] == 0) {
            alarm(150);
            _exit(run_player(trial, job->board, r));
        }
    }
}

/* When the last of those that live came to the phase. */
static uint64_t last_at(const job_t *job, phase_t phase)
{
    uint64_t last = 0;
    for (uint32_t r = 0; r < job->trial->nranks; r++) {
        uint64_t at = job->dead[r] ? 0 : atomic_load(&job->board->reports[r].at[phase]);
        last = at > last ? at : last;
    }
    return last;
}

/* Waits until all that live have right results after the time `since`, in a communicator of all of
 * them. Returns when the last of them had the first one. */
static uint64_t await(const job_t *job, uint64_t since, uint32_t living)
{
    uint64_t until = weft_os_clock_ns() + 100 * WEFT_NS_PER_S;
    for (uint32_t r = 0; r < job->trial->nranks; r++) {
        const report_t *report = &job->board->reports[r];
        while (!job->dead[r] &&
               (atomic_load(&report->size) != living || atomic_load(&report->at[SECOND]) < since)) {
            if (atomic_load(&report->done) != 0 || weft_os_clock_ns() > until) {
                fail_msg("rank %u: done %u, %u of %u ranks, %llu steps", r,
                         atomic_load(&report->done), atomic_load(&report->size), living,
                         (unsigned long long)atomic_load(&report->steps));
            }
            weft_os_sleep_ns(WEFT_NS_PER_MS / 4);
        }
    }
    return last_at(job, FIRST);
}

static void end_job(const job_t *job)
{
    atomic_store(&job->board->stop, 1);
    int failed = 0;
    for (uint32_t r = 0; r < job->trial->nranks; r++) {
        int status = 0;
        waitpid(job->pids[r], &status, 0);
        bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (!good && !job->dead[r]) {
            fprintf(stderr, "rank %u ended with status %d\n", r, status);
            failed++;
        }
    }
    munmap(job->board, sizeof *job->board);
    assert_int_equal(failed, 0);
}

static void kill_one(job_t *job, unsigned *seed)
{
    uint32_t victim;
    do {
        victim = (uint32_t)rand_r(seed) % job->trial->nranks;
    } while (job->dead[victim]);
    job->dead[victim] = true;
    kill(job->pids[victim], SIGKILL);
}

/* Kills one rank after the other, each a while after the survivors go on, and now and then two with
 * little time between them. Returns the longest time from a kill to the last right result. */
static uint64_t run_trial(const trial_t *trial, unsigned seed)
{
    job_t job;
    uint64_t longest = 0;
    uint32_t living = trial->nranks;
    start_job(&job, trial);
    (void)await(&job, 0, living);
    for (uint32_t d = 0; d < trial->deaths && living > 1;) {
        weft_os_sleep_ns((uint64_t)rand_r(&seed) % (10 * WEFT_NS_PER_MS));
        uint64_t start = weft_os_clock_ns();
        kill_one(&job, &seed);
        d++, living--;
        if (rand_r(&seed) % 2 == 0 && d < trial->deaths && living > 1) {
            weft_os_sleep_ns((uint64_t)rand_r(&seed) % (8 * WEFT_NS_PER_MS));
            start = weft_os_clock_ns();
            kill_one(&job, &seed);
            d++, living--;
        }
        uint64_t took = await(&job, start, living) - start;
        longest = took > longest ? took : longest;
    }
    end_job(&job);
    return longest;
}

static void run_trials(const trial_t *trial, unsigned rounds)
{
    uint64_t longest = 0;
    for (unsigned i = 0; i < rounds; i++) {
        uint64_t took = run_trial(trial, 7919u * i + trial->nranks);
        longest = took > longest ? took : longest;
    }
    print_message("%u ranks, %u deaths, %u times: at most %.1f ms from a kill to the last right "
                  "result\n",
                  trial->nranks, trial->deaths, rounds, (double)longest / 1e6);
}

static void survivors_go_on_in_shared_memory(void **state)
{
    (void)state;
    run_trials(
        &(trial_t){.settings = {"core.net=net-shm"}, .nsettings = 1, .nranks = 6, .deaths = 5}, 6);
}

static void survivors_go_on_over_tcp(void **state)
{
    (void)state;
    run_trials(&(trial_t){.settings = {"core.net=net-socket"},
                          .nsettings = 1,
                          .nranks = 5,
                          .deaths = 4,
                          .agrees = true},
               6);
}

static void asynchronous_calls_and_groups_are_ended(void **state)
{
    (void)state;
    run_trials(&(trial_t){.settings = {"core.net=net-shm"},
                          .nsettings = 1,
                          .nranks = 4,
                          .deaths = 2,
                          .async = true},
               4);
    run_trials(&(trial_t){.settings = {"core.net=net-shm"},
                          .nsettings = 1,
                          .nranks = 4,
                          .deaths = 3,
                          .grouped = true,
                          .agrees = true},
               4);
}

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* From each kill to the first right all-reduce of the slowest survivor. */
static void measure(const char *net, uint32_t nranks, uint32_t deaths)
{
    trial_t trial = {.settings = {net}, .nsettings = 1, .nranks = nranks, .count = 1024};
    static const char *const names[PHASES] = {"told", "shrunk", "first result", "second result"};
    uint64_t times[PHASES][MOST];
    unsigned seed = 1;
    job_t job;
    deaths = deaths < nranks && nranks <= MOST ? deaths : 1;
    start_job(&job, &trial);
    (void)await(&job, 0, nranks);
    for (uint32_t d = 0; d < deaths; d++) {
        weft_os_sleep_ns(200 * WEFT_NS_PER_MS);
        uint64_t start = weft_os_clock_ns();
        kill_one(&job, &seed);
        (void)await(&job, start, nranks - d - 1);
        for (uint32_t phase = 0; phase < PHASES; phase++) {
            times[phase][d] = last_at(&job, (phase_t)phase) - start;
        }
    }
    end_job(&job);
    printf("%s, %u ranks, %u deaths, ms from the kill, median and worst:", net, nranks, deaths);
    for (uint32_t phase = 0; phase < PHASES; phase++) {
        qsort(times[phase], deaths, sizeof *times[phase], compare);
        printf(" %s %.1f %.1f%s", names[phase], (double)times[phase][deaths / 2] / 1e6,
               (double)times[phase][deaths - 1] / 1e6, phase + 1 < PHASES ? "," : "\n");
    }
}

int main(int argc, char **argv)
{
    if (argc == 4) {
        measure(argv[1], (uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]));
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survivors_go_on_in_shared_memory),
        cmocka_unit_test(survivors_go_on_over_tcp),
        cmocka_unit_test(asynchronous_calls_and_groups_are_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
