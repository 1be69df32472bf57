/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The measuring loop: buffers move on inside a span that is larger than the caches, one look at the
 * clock between two iterations, the median of single iterations on each rank; of what has a root,
 * the mean. How many iterations fit into the time is decided once by rank 0, after the warm-up. */
#include "beside.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <sched.h>
#include <unistd.h>

static const char *const names[] = {
    [BESIDE_ALL_REDUCE] = "all_reduce",
    [BESIDE_BROADCAST] = "broadcast",
    [BESIDE_REDUCE] = "reduce",
    [BESIDE_ALL_GATHER] = "all_gather",
    [BESIDE_REDUCE_SCATTER] = "reduce_scatter",
    [BESIDE_ALL_TO_ALL] = "all_to_all",
    [BESIDE_GATHER] = "gather",
    [BESIDE_SCATTER] = "scatter",
    [BESIDE_BARRIER] = "barrier",
    [BESIDE_PING_PONG] = "ping_pong",
    [BESIDE_STREAM] = "stream",
};

typedef struct beside_run {
    const beside_side_t *side;
    beside_job_t job;
    beside_coll_t coll;
    size_t span;
    double seconds;
    int first_size; /* index into argv */
    int last_size;
    char **argv;
    char *send;
    char *recv;
    double *ends;
    int turn; /* values taken from rank 0 so far */
} beside_run_t;

/* Of the forked ranks; the second half of the shared page is the side's. */
typedef struct beside_shared {
    _Atomic int turn;
    double values[200];
} beside_shared_t;

size_t beside_spread = 1;

static double beside_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int beside_usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [-w] [-l] -n RANKS -c COLLECTIVE -s SPAN -b SECONDS SIZE:ITERATIONS… "
            "[-- OPTIONS…]\n",
            program);
    return 2;
}

static int beside_parse(beside_run_t *run, int argc, char **argv)
{
    int option;
    size_t coll = sizeof names / sizeof *names;
    while ((option = getopt(argc, argv, "+wln:c:s:b:")) != -1) {
        switch (option) {
        case 'w':
            run->job.window = true;
            break;
        case 'l':
            run->job.launched = true;
            break;
        case 'n':
            run->job.ranks = atoi(optarg);
            break;
        case 's':
            run->span = (size_t)atoll(optarg);
            break;
        case 'b':
            run->seconds = atof(optarg);
            break;
        case 'c':
            for (coll = 0; coll < sizeof names / sizeof *names; coll++) {
                if (strcmp(names[coll], optarg) == 0) {
                    break;
                }
            }
            break;
        default:
            return beside_usage(argv[0]);
        }
    }
    run->argv = argv;
    run->first_size = optind;
    run->last_size = optind;
    while (run->last_size < argc && strcmp(argv[run->last_size], "--") != 0) {
        run->last_size++;
    }
    if (run->last_size < argc) {
        run->job.option_count = argc - run->last_size - 1;
        run->job.options = (const char **)(argv + run->last_size + 1);
    }
    run->coll = (beside_coll_t)coll;
    bool known = coll < sizeof names / sizeof *names;
    return known && run->span > 0 && run->seconds > 0 && run->last_size > run->first_size
               ? 0
               : beside_usage(argv[0]);
}

/* Gives all ranks the value of rank 0. */
static double beside_from_root(beside_run_t *run, double value)
{
    beside_shared_t *shared = run->job.shared;
    int turn = run->turn++;
    if (run->side->from_root) {
        run->side->from_root(&value);
    } else if (shared && run->job.rank == 0) {
        shared->values[turn] = value;
        atomic_store(&shared->turn, turn + 1);
    } else if (shared) {
        while (atomic_load(&shared->turn) <= turn) {
            sched_yield();
        }
        value = shared->values[turn];
    }
    return value;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double beside_median(double *ends, long count, long skip)
{
    for (long i = count - 1; i > 0; i--) {
        ends[i] -= ends[i - 1];
    }
    double *used = ends + skip;
    long n = count - skip;
    qsort(used, (size_t)n, sizeof *used, ascending);
    return n % 2 != 0 ? used[n / 2] : (used[n / 2 - 1] + used[n / 2]) / 2;
}

/* Nothing comes back to a root, so ranks run ahead, and the others catch up at once: most
 * iterations then take next to nothing, and a few take all the time. No median knows of those. */
static double beside_mean(const double *ends, long count, long skip)
{
    return (ends[count - 1] - ends[skip - 1]) / (double)(count - skip);
}

static bool beside_has_root(beside_coll_t coll)
{
    return coll == BESIDE_BROADCAST || coll == BESIDE_REDUCE || coll == BESIDE_GATHER ||
           coll == BESIDE_SCATTER;
}

static int beside_iterate(beside_run_t *run, size_t size, long count)
{
    size_t most = size > 0 && run->span / size > 1 ? run->span / size : 1;
    bool bursts = run->coll == BESIDE_STREAM;
    beside_spread = !bursts || most < BESIDE_BURST ? (bursts ? most : 1) : BESIDE_BURST;
    size_t steps = most / beside_spread;
    double begin = beside_now();
    for (long i = 0; i < count; i++) {
        size_t shift = (size_t)i % steps * beside_spread * size;
        int status = run->side->call(run->coll, run->send + shift, run->recv + shift, size);
        if (status != 0) {
            return status;
        }
        run->ends[i] = beside_now() - begin;
    }
    return 0;
}

/* What the first element of recv must be when all sends are full of ones; 0: it is not received. */
static float beside_expected(const beside_run_t *run)
{
    bool root = run->job.rank == 0;
    switch (run->coll) {
    case BESIDE_ALL_REDUCE:
    case BESIDE_REDUCE_SCATTER:
        return (float)run->job.ranks;
    case BESIDE_REDUCE:
        return root ? (float)run->job.ranks : 0;
    case BESIDE_GATHER:
        return root ? 1 : 0;
    case BESIDE_BARRIER:
        return 0;
    case BESIDE_BROADCAST:
        return root ? 0 : 1;
    case BESIDE_PING_PONG:
        return run->job.rank < 2 ? 1 : 0;
    case BESIDE_STREAM:
        return run->job.rank == 1 ? 1 : 0;
    default:
        return 1;
    }
}

static int beside_check(const beside_run_t *run, size_t size)
{
    float expected = beside_expected(run);
    float found = *(const float *)run->recv;
    if (run->side->moves_only || expected == 0 || size < sizeof(float) * (size_t)run->job.ranks ||
        found == expected) {
        return 0;
    }
    fprintf(stderr, "%s of %zu bytes, rank %d: the result is %g and not %g\n", names[run->coll],
            size, run->job.rank, (double)found, (double)expected);
    return 1;
}

static int beside_size(beside_run_t *run, size_t size, long most)
{
    long warm = most / 10 > 2 ? (most / 10 < 20 ? most / 10 : 20) : 2;
    double per_call = run->coll == BESIDE_STREAM      ? BESIDE_BURST
                      : run->coll == BESIDE_PING_PONG ? 2
                                                      : 1;
    memset(run->recv, 0, size < run->span ? size : run->span);
    int status = run->side->barrier();
    status = status != 0 ? status : beside_iterate(run, size, warm);
    if (status != 0) {
        return status;
    }
    double one = (run->ends[warm - 1] - run->ends[0]) / (double)(warm - 1);
    double fit = beside_from_root(run, run->seconds * 1e6 / (one > 0.01 ? one : 0.01));
    /* A rank that was launched alone with others cannot agree: it takes what it was told. */
    long count = fit < (double)most && (run->job.shared || run->side->from_root) ? (long)fit : most;
    count = count < 5 ? 5 : count;
    status = run->side->barrier();
    status = status != 0 ? status : beside_iterate(run, size, count);
    status = status != 0 ? status : beside_check(run, size);
    if (status == 0) {
        long skip = count / 10 > 0 ? count / 10 : 1;
        double time = beside_has_root(run->coll) ? beside_mean(run->ends, count, skip)
                                                 : beside_median(run->ends, count, skip);
        printf("%d %zu %.4f\n", run->job.rank, size, time / per_call);
        fflush(stdout);
    }
    return status;
}

static char *beside_alloc(beside_run_t *run, size_t bytes)
{
    char *memory = run->side->alloc ? run->side->alloc(&run->job, bytes) : NULL;
    if (!memory) {
        memory = aligned_alloc(4096, bytes);
    }
    if (!memory) {
        fprintf(stderr, "no memory for buffers of %zu bytes\n", bytes);
        exit(1);
    }
    for (size_t i = 0; i < bytes / sizeof(float); i++) {
        ((float *)(void *)memory)[i] = 1;
    }
    return memory;
}

static int beside_rank(beside_run_t *run)
{
    int status = run->side->join(&run->job);
    if (status != 0) {
        return status;
    }
    size_t bytes = (run->span + 8191) / 4096 * 4096;
    run->send = beside_alloc(run, bytes);
    run->recv = beside_alloc(run, bytes);
    run->ends = malloc(sizeof(double) << 20);
    if (!run->ends) {
        return 1;
    }
    for (int i = run->first_size; i < run->last_size && status == 0; i++) {
        char *end;
        size_t size = strtoull(run->argv[i], &end, 10);
        long most = *end == ':' ? atol(end + 1) : 0;
        if (most < 5 || most > 1 << 20 || size > run->span) {
            return beside_usage(run->argv[0]);
        }
        status = beside_size(run, size, most);
    }
    if (status == 0) {
        status = run->side->barrier();
        run->side->leave();
    }
    free(run->ends);
    return status;
}

/* Waits for the forked ranks. The first that fails ends the others. */
static int beside_wait(const beside_run_t *run, const pid_t *children)
{
    int failed = 0;
    for (int left = run->job.ranks; left > 0; left--) {
        int status;
        if (wait(&status) < 0) {
            return 1;
        }
        if (status != 0 && failed == 0) {
            failed = 1;
            for (int r = 0; r < run->job.ranks; r++) {
                kill(children[r], SIGTERM);
            }
        }
    }
    return failed;
}

static int beside_fork(beside_run_t *run)
{
    pid_t *children = calloc((size_t)run->job.ranks, sizeof *children);
    run->job.shared =
        mmap(NULL, BESIDE_SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    strcpy(run->job.folder, "/tmp/beside-XXXXXX");
    if (!children || run->job.shared == MAP_FAILED || !mkdtemp(run->job.folder) ||
        (run->side->before && run->side->before(&run->job) != 0)) {
        perror("beside");
        return 1;
    }
    for (int r = 0; r < run->job.ranks; r++) {
        children[r] = fork();
        if (children[r] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            run->job.rank = r;
            exit(beside_rank(run) != 0);
        }
    }
    int failed = beside_wait(run, children);
    free(children);
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", run->job.folder);
    return system(command) != 0 || failed;
}

int beside_main(const beside_side_t *side, int argc, char **argv)
{
    beside_run_t run = {.side = side};
    int status = beside_parse(&run, argc, argv);
    if (status != 0) {
        return status;
    }
    if (!side->forks || run.job.launched) {
        return beside_rank(&run);
    }
    return run.job.ranks > 0 ? beside_fork(&run) : beside_usage(argv[0]);
}
