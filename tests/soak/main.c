/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Soaks a job. Usage: soak SECONDS [NET [RANKS [SEED]]]
 *   NET    net-shm (the default) or net-socket
 *
 * A rank is killed every two to eight seconds, and replaced; in one of three such times another one
 * too, while the job recovers, and so on. Writes a line of JSON for each second: what rank 0 holds,
 * how long its calls of 8 B took, and how long the job needed to be whole after a death. Exit code
 * 1: a number was wrong, or a rank did not come back within 100 s. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os/os.h"
#include "soak.h"

#define LATE_NS (100 * WEFT_NS_PER_S)
#define KILL_LEAST_NS (2 * WEFT_NS_PER_S)
#define KILL_SPREAD_NS (6 * WEFT_NS_PER_S)
#define KILL_AGAIN_NS (60 * WEFT_NS_PER_MS) /* a recovery takes about half of it */

typedef struct job {
    soak_t soak; /* of each rank, but its seat */
    board_t *board;
    pid_t pids[SURVIVOR_MOST];
    uint32_t started[SURVIVOR_MOST];
    uint64_t started_at[SURVIVOR_MOST];
    unsigned seed;
    uint64_t begin;
    uint64_t kill_at;   /* WEFT_NEVER: nobody is killed until the job is whole */
    uint64_t killed_at; /* 0: the job is whole */
    uint32_t deaths;
    double recovery_ms; /* the longest since the last line */
} job_t;

static void start_rank(job_t *job, uint32_t seat, bool first)
{
    soak_t soak = job->soak;
    pid_t parent = getpid();
    soak.seat = seat;
    soak.first = first;
    fflush(NULL);
    job->started_at[seat] = weft_os_clock_ns();
    job->pids[seat] = fork();
    if (job->pids[seat] == 0) {
        /* The errors of those that lose somebody are expected, and many. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || freopen("/dev/null", "w", stderr) == NULL) {
            _exit(1);
        }
        _exit(soak_live(&soak));
    }
}

static void end_rank(job_t *job, uint32_t seat)
{
    if (job->pids[seat] != 0) {
        kill(job->pids[seat], SIGKILL);
        waitpid(job->pids[seat], NULL, 0);
        job->pids[seat] = 0;
    }
}

/* Starts the newcomers that are wanted. One that is late, of a growth that failed, is in the
 * way. */
static void serve(job_t *job)
{
    for (uint32_t s = 0; s < job->soak.nranks; s++) {
        uint32_t wanted = atomic_load(&job->board->seats[s].wanted);
        if (wanted != job->started[s]) {
            job->started[s] = wanted;
            end_rank(job, s);
            start_rank(job, s, false);
        }
    }
}

static _Noreturn void fail(const job_t *job, const char *format, uint32_t seat, const char *why)
{
    fprintf(stderr, "soak: after %u deaths, seed %u: ", job->deaths, job->soak.seed);
    fprintf(stderr, format, seat, why);
    exit(1);
}

/* Looks whether all have a right result since the last death. */
static void look(job_t *job)
{
    uint64_t now = weft_os_clock_ns(), last = 0;
    bool whole = true;
    for (uint32_t s = 0; s < job->soak.nranks; s++) {
        const seat_t *seat = &job->board->seats[s];
        uint64_t at = atomic_load(&seat->recovered);
        if (atomic_load(&seat->wrong) != 0) {
            fail(job, "rank %u: %s\n", s, seat->why);
        }
        last = at > last ? at : last;
        whole = whole && at >= job->killed_at;
        if (at < job->killed_at && now > job->killed_at + LATE_NS) {
            fail(job, "rank %u did not come back within 100 s%s\n", s, "");
        }
    }
    if (job->killed_at != 0 && whole) {
        double ms = (double)(last - job->killed_at) / 1e6;
        job->recovery_ms = ms > job->recovery_ms ? ms : job->recovery_ms;
        job->killed_at = 0;
        job->kill_at = now + KILL_LEAST_NS + (uint64_t)rand_r(&job->seed) % KILL_SPREAD_NS;
    }
}

/* Rank 0 lives: it is the one that is measured. The victim may be dead already. One that is on its
 * way into the job is started again with its ticket, as a launcher does: of one that had not yet
 * come nobody else knows. */
static void kill_one(job_t *job)
{
    uint32_t victim = 1 + (uint32_t)rand_r(&job->seed) % (job->soak.nranks - 1);
    bool again = rand_r(&job->seed) % 3 == 0;
    bool joins = atomic_load(&job->board->seats[victim].recovered) < job->started_at[victim];
    job->killed_at = weft_os_clock_ns();
    job->kill_at =
        again ? job->killed_at + (uint64_t)rand_r(&job->seed) % KILL_AGAIN_NS : WEFT_NEVER;
    job->deaths += job->pids[victim] != 0;
    end_rank(job, victim);
    if (joins) {
        start_rank(job, victim, false);
    }
}

/* The time in us that a part of the calls of 8 B did not need, and how many calls there were. */
static double percentile(const uint32_t *counts, double part, uint64_t *all_p)
{
    uint64_t all = 0, seen = 0;
    uint32_t i = 0;
    for (uint32_t k = 0; k < SOAK_BUCKETS; k++) {
        all += counts[k];
    }
    for (; i < SOAK_BUCKETS - 1 && seen + counts[i] < (uint64_t)(part * (double)all); i++) {
        seen += counts[i];
    }
    *all_p = all;
    return all > 0 ? soak_bucket_us(i) : 0;
}

static void print_line(job_t *job)
{
    uint32_t counts[SOAK_BUCKETS];
    uint64_t calls = 0, steps = 0;
    const holdings_t *held = &job->board->holdings;
    for (uint32_t i = 0; i < SOAK_BUCKETS; i++) {
        counts[i] = atomic_exchange(&job->board->latency[i], 0);
    }
    for (uint32_t s = 0; s < job->soak.nranks; s++) {
        steps += atomic_load(&job->board->seats[s].steps);
    }
    double p50 = percentile(counts, 0.5, &calls), p99 = percentile(counts, 0.99, &calls);
    printf("{\"seconds\":%.1f,\"kib\":%llu,\"fds\":%u,\"threads\":%u,\"maps\":%u,\"calls\":%llu,"
           "\"p50_us\":%.1f,\"p99_us\":%.1f,\"steps\":%llu,\"deaths\":%u,\"recovery_ms\":%.1f}\n",
           (double)(weft_os_clock_ns() - job->begin) / 1e9, (unsigned long long)held->kib,
           held->fds, held->threads, held->maps, (unsigned long long)calls, p50, p99,
           (unsigned long long)steps, job->deaths, job->recovery_ms);
    fflush(stdout);
    job->recovery_ms = 0;
}

/* A second of the soak. A line is printed where rank 0 has said what it holds, in a job that is
 * whole. */
static void pass_second(job_t *job)
{
    uint64_t until = weft_os_clock_ns() + WEFT_NS_PER_S;
    while (weft_os_clock_ns() < until) {
        serve(job);
        look(job);
        if (weft_os_clock_ns() >= job->kill_at) {
            kill_one(job);
        }
        weft_os_sleep_ns(WEFT_NS_PER_MS / 2);
    }
    if (job->killed_at == 0 &&
        atomic_load(&job->board->answered) == atomic_load(&job->board->asked)) {
        print_line(job);
        atomic_fetch_add(&job->board->asked, 1);
    }
}

static int end_job(job_t *job)
{
    uint64_t until = weft_os_clock_ns() + LATE_NS;
    int failed = 0;
    while (job->killed_at != 0 && weft_os_clock_ns() < until) {
        serve(job);
        look(job);
    }
    atomic_store(&job->board->stop, 1);
    for (uint32_t s = 0; s < job->soak.nranks; s++) {
        int status = 0;
        waitpid(job->pids[s], &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            fprintf(stderr, "soak: rank %u: %s\n", s, job->board->seats[s].why);
            failed++;
        }
    }
    return failed > 0;
}

int main(int argc, char **argv)
{
    char net[64] = "core.net=net-shm";
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 0;
    uint32_t nranks = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 4;
    if (argc > 2) {
        snprintf(net, sizeof net, "core.net=%.40s", argv[2]);
    }
    bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
    if (help || argc > 5 || !(seconds > 0) || nranks < 3 || nranks > SURVIVOR_MOST) {
        fprintf(help ? stdout : stderr, "usage: soak SECONDS [NET [RANKS [SEED]]]; 3 to %d ranks\n",
                SURVIVOR_MOST);
        return help ? 0 : 2;
    }
    job_t job = {.soak = {.nranks = nranks, .net = net}};
    job.seed = job.soak.seed = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : (unsigned)getpid();
    job.board =
        mmap(NULL, sizeof *job.board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (job.board == MAP_FAILED) {
        perror("soak: mmap");
        return 1;
    }
    job.soak.board = job.board;
    job.begin = job.killed_at = weft_os_clock_ns(); /* the job is not whole yet */
    job.kill_at = WEFT_NEVER;
    atomic_store(&job.board->asked, 1);
    for (uint32_t s = 0; s < nranks; s++) {
        start_rank(&job, s, true);
    }
    while ((double)(weft_os_clock_ns() - job.begin) < seconds * 1e9) {
        pass_second(&job);
    }
    return end_job(&job);
}
