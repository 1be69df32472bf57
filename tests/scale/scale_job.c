/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Starts a job of many processes on this machine, and says how long it took: as one host, or in
 * network namespaces that stand for hosts. The ranks join, make all-reduces of 8 bytes, and see
 * rank K killed; or each becomes a command, which joins by itself.
 *
 * Usage: scale_job [-n RANKS] [-H HOSTS -N PREFIX [-r] [-c]] [-s STRANGERS] [-k RANK [-d MS | -b]]
 * [-l SECONDS]
 *                  [SETTING…] [-- COMMAND…]
 * -N: rank r runs in the namespace PREFIX and its host; hosts have ranks of equal number one after
 * the other, or with -r ranks are dealt to hosts in turn. -c: ranks run only on the cores of their
 * host, of which all hosts have equally many; where hosts outnumber cores, several have the same
 * core. -s: connections a second by strangers to the root. -d: rank K is killed this long after the
 * processes were started, wherever it is then; -b: before it says its first word; without either,
 * after its first all-reduces. As whoever starts ranks and holds their id can, this program reports
 * the death to those that join. Prints one line of JSON; exit code 0: all is right. */
#include <sched.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weft/weft.h>

#include "core/boot/claim.h"
#include "strangers.h"

#define SETTINGS_MAX 16
#define BEFORE_KILL 3 /* all-reduces of every rank */

/* What a rank leaves for the parent. Times are in seconds of the monotonic clock. */
typedef struct record {
    double began; /* called init */
    double joined, failed;
    double reduced; /* the first all-reduce */
    _Atomic uint32_t rounds;
    int32_t culprit;
    bool wrong;
    char text[512]; /* of the error */
} record_t;

typedef struct job {
    uint32_t nranks, nhosts;
    const char *prefix;
    bool in_turn;
    bool own_cores;
    uint32_t strangers;
    int32_t victim;
    double delay_ms; /* -1: the victim is killed after its first all-reduces */
    bool before;     /* the victim calls init no more */
    unsigned limit;
    const char *settings[SETTINGS_MAX];
    uint32_t nsettings;
    char **command; /* NULL: none */
    weft_unique_id_t id;
    record_t *records;
    pid_t *pids;
    _Atomic uint32_t *knocks; /* of strangers that were connected */
} job_t;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static weft_comm_options_t options_of(const job_t *job)
{
    return (weft_comm_options_t){.size = sizeof(weft_comm_options_t),
                                 .config = "/dev/null",
                                 .settings = job->settings,
                                 .settings_count = job->nsettings};
}

/* Leaves this process the cores that are those of a host. */
static void keep_cores(const job_t *job, uint32_t host)
{
    cpu_set_t all, own;
    CPU_ZERO(&own);
    if (sched_getaffinity(0, sizeof all, &all) != 0) {
        return;
    }
    uint32_t count = (uint32_t)CPU_COUNT(&all), first = host * count / job->nhosts;
    uint32_t last = (host + 1) * count / job->nhosts;
    for (uint32_t core = 0, seen = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET(core, &all)) {
            if (seen == first || (seen > first && seen < last)) {
                CPU_SET(core, &own);
            }
            seen++;
        }
    }
    if (sched_setaffinity(0, sizeof own, &own) != 0) {
        fprintf(stderr, "cannot keep to the cores of host %u: %s\n", host, strerror(errno));
        _exit(1);
    }
}

static void enter_host(const job_t *job, uint32_t rank)
{
    char path[256];
    if (job->prefix == NULL) {
        return;
    }
    uint32_t each = (job->nranks + job->nhosts - 1) / job->nhosts;
    uint32_t host = job->in_turn ? rank % job->nhosts : rank / each;
    if (job->own_cores) {
        keep_cores(job, host);
    }
    snprintf(path, sizeof path, "/run/netns/%s%u", job->prefix, host);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) {
        fprintf(stderr, "cannot enter %s: %s\n", path, strerror(errno));
        _exit(1);
    }
    close(fd);
}

static void become_command(const job_t *job, uint32_t rank)
{
    char text[16], hex[2 * sizeof job->id + 1];
    const uint8_t *bytes = (const uint8_t *)&job->id;
    for (size_t i = 0; i < sizeof job->id; i++) {
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    }
    setenv("WEFT_UNIQUE_ID", hex, 1);
    snprintf(text, sizeof text, "%u", rank);
    setenv("RANK", text, 1);
    snprintf(text, sizeof text, "%u", job->nranks);
    setenv("WORLD_SIZE", text, 1);
    execvp(job->command[0], job->command);
    fprintf(stderr, "cannot run %s: %s\n", job->command[0], strerror(errno));
    _exit(127);
}

static int say_error(uint32_t rank, const char *what)
{
    weft_error_t error = {.size = sizeof error};
    weft_last_error(&error);
    fprintf(stderr, "rank %u: %s: %s\n", rank, what, error.text);
    return 1;
}

/* What this rank says of the failure. It is an error only if nobody was to be killed. */
static int note_failure(const job_t *job, uint32_t rank, const char *what)
{
    weft_error_t error = {.size = sizeof error};
    weft_last_error(&error);
    job->records[rank].failed = now();
    job->records[rank].culprit = error.peer;
    snprintf(job->records[rank].text, sizeof job->records[rank].text, "%s", error.text);
    return job->victim < 0 ? say_error(rank, what) : 0;
}

/* All-reduces until the rank that is killed is missed. */
static int reduce_until_killed(const job_t *job, weft_comm_t *comm, uint32_t rank)
{
    record_t *record = &job->records[rank];
    for (;;) {
        int64_t mine = (int64_t)rank + 1, sum = 0;
        weft_status_t status = weft_all_reduce(&mine, &sum, 1, WEFT_INT64, WEFT_SUM, comm, NULL);
        if (status != WEFT_OK) {
            return note_failure(job, rank, "all-reduce");
        }
        record->reduced = record->reduced > 0 ? record->reduced : now();
        record->wrong |= sum != (int64_t)job->nranks * (job->nranks + 1) / 2;
        if (atomic_fetch_add(&record->rounds, 1) + 1 >= BEFORE_KILL && job->victim < 0) {
            return 0;
        }
    }
}

static int run_rank(const job_t *job, uint32_t rank)
{
    record_t *record = &job->records[rank];
    weft_comm_options_t options = options_of(job);
    weft_comm_t *comm = NULL;
    alarm(job->limit);
    enter_host(job, rank);
    if (job->command != NULL) {
        become_command(job, rank);
    }
    while (job->before && (int32_t)rank == job->victim) {
        pause();
    }
    record->began = now();
    if (weft_comm_init_rank(&comm, job->nranks, &job->id, rank, &options) != WEFT_OK) {
        return job->delay_ms < 0 ? say_error(rank, "join") : note_failure(job, rank, "join");
    }
    record->joined = now();
    int failed = reduce_until_killed(job, comm, rank);
    return weft_comm_destroy(comm) != WEFT_OK && job->victim < 0 ? say_error(rank, "destroy")
                                                                 : failed;
}

static bool all_reduce_enough(const job_t *job)
{
    for (uint32_t r = 0; r < job->nranks; r++) {
        if (atomic_load(&job->records[r].rounds) < BEFORE_KILL) {
            return false;
        }
    }
    return true;
}

/* Returns when. */
static double kill_and_report(const job_t *job)
{
    int pid = job->pids[job->victim];
    double at = now();
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    weft_claim_report_death(&job->id, job->nranks, (uint32_t)job->victim, pid);
    return at;
}

/* Returns when; 0: the job did not come so far. */
static double kill_victim(const job_t *job)
{
    if (job->delay_ms >= 0) {
        usleep((useconds_t)(job->delay_ms * 1000));
        return kill_and_report(job);
    }
    double until = now() + job->limit;
    while (now() < until) {
        if (all_reduce_enough(job)) {
            usleep(100000);
            return kill_and_report(job);
        }
        usleep(10000);
    }
    return 0;
}

static uint32_t wait_all(const job_t *job)
{
    uint32_t failed = 0;
    for (uint32_t r = 0; r < job->nranks; r++) {
        int status = 0;
        bool waited = waitpid(job->pids[r], &status, 0) == job->pids[r];
        bool right = waited && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (!right && (int32_t)r != job->victim) {
            failed++;
            fprintf(stderr, "rank %u ended with %s %d\n", r,
                    WIFSIGNALED(status) ? "signal" : "code",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        }
    }
    return failed;
}

/* Prints what was measured; returns how many ranks are wrong. */
static uint32_t report(const job_t *job, double begun, double ended, double killed)
{
    double joined = 0, reduced = 0, named = 0;
    uint32_t wrong = 0, last = 0;
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    for (uint32_t r = 0; job->command == NULL && r < job->nranks; r++) {
        const record_t *record = &job->records[r];
        joined = record->joined > joined ? record->joined : joined;
        reduced = record->reduced > reduced ? record->reduced : reduced;
        wrong += record->wrong || (record->reduced <= 0 && job->delay_ms < 0);
        if (killed > 0 && (int32_t)r != job->victim) {
            last = record->failed > named ? r : last;
            named = record->failed > named ? record->failed : named;
            wrong += record->culprit != job->victim;
        }
    }
    printf("{\"ranks\":%u,\"hosts\":%u,\"wall\":%.3f,\"cpu\":%.3f,\"resident_max\":%ld",
           job->nranks, job->nhosts, ended - begun,
           (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
               ((double)usage.ru_utime.tv_usec + (double)usage.ru_stime.tv_usec) * 1e-6,
           usage.ru_maxrss * 1024);
    if (joined > 0) {
        printf(",\"init\":%.3f,\"first_all_reduce\":%.3f", joined - begun, reduced - joined);
    }
    if (killed > 0) {
        bool joining =
            job->records[job->victim].began > 0 && job->records[job->victim].began < killed;
        printf(",\"named\":%.3f,\"joining\":%s", named - killed, joining ? "true" : "false");
        fprintf(stderr, "rank %u was the last to say: %s\n", last, job->records[last].text);
    }
    printf(",\"strangers\":%u,\"wrong\":%u}\n", atomic_load(job->knocks), wrong);
    return wrong;
}

static void parse(job_t *job, int argc, char **argv)
{
    int option;
    while ((option = getopt(argc, argv, "+n:H:N:rcs:k:d:bl:")) != -1) {
        switch (option) {
        case 'n':
            job->nranks = (uint32_t)atoi(optarg);
            break;
        case 'H':
            job->nhosts = (uint32_t)atoi(optarg);
            break;
        case 'N':
            job->prefix = optarg;
            break;
        case 'r':
            job->in_turn = true;
            break;
        case 'c':
            job->own_cores = true;
            break;
        case 's':
            job->strangers = (uint32_t)atoi(optarg);
            break;
        case 'k':
            job->victim = atoi(optarg);
            break;
        case 'd':
            job->delay_ms = strtod(optarg, NULL);
            break;
        case 'b':
            job->before = true;
            job->delay_ms = 0;
            break;
        case 'l':
            job->limit = (unsigned)atoi(optarg);
            break;
        default:
            exit(2);
        }
    }
    while (optind < argc && strchr(argv[optind], '=') != NULL && job->nsettings < SETTINGS_MAX) {
        job->settings[job->nsettings++] = argv[optind++];
    }
    job->command = optind < argc ? argv + optind : NULL;
}

/* What the root leaves for the parent. */
typedef struct root {
    weft_unique_id_t id;
    _Atomic uint32_t ready, knocks;
} root_t;

/* Makes the id in a process of its own: its threads must not run where ranks are forked. */
static pid_t start_root(job_t *job)
{
    root_t *root =
        mmap(NULL, sizeof *root, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = root == MAP_FAILED ? -1 : fork();
    if (child == 0) {
        weft_comm_options_t options = options_of(job);
        enter_host(job, 0);
        alarm(job->limit);
        if (weft_unique_id_create(&root->id, &options) != WEFT_OK) {
            _exit(say_error(0, "id"));
        }
        atomic_store(&root->ready, 1);
        for (;;) {
            pause();
        }
    }
    for (double until = now() + 30; child > 0 && now() < until && !atomic_load(&root->ready);) {
        usleep(1000);
    }
    job->id = root->id;
    job->knocks = &root->knocks;
    return child > 0 && atomic_load(&root->ready) ? child : -1;
}

/* Returns when they have been at it for a while; 0: there are none. */
static pid_t start_strangers(const job_t *job)
{
    pid_t child = job->strangers > 0 ? fork() : 0;
    if (job->strangers > 0 && child == 0) {
        enter_host(job, 0);
        alarm(job->limit);
        strangers_run(&job->id, job->strangers, job->knocks);
    }
    for (double until = now() + 30;
         job->strangers > 0 && now() < until && atomic_load(job->knocks) < job->strangers / 2;) {
        usleep(1000);
    }
    return child;
}

int main(int argc, char **argv)
{
    job_t job = {.nranks = 256, .nhosts = 1, .victim = -1, .delay_ms = -1, .limit = 300};
    parse(&job, argc, argv);
    job.records = mmap(NULL, job.nranks * sizeof *job.records, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    job.pids = calloc(job.nranks, sizeof *job.pids);
    if (job.records == MAP_FAILED || job.pids == NULL || job.nhosts == 0 ||
        job.victim >= (int32_t)job.nranks) {
        fprintf(stderr, "bad number of ranks or hosts\n");
        return 2;
    }
    double begun, killed = 0;
    pid_t root = start_root(&job);
    if (root < 0) {
        fprintf(stderr, "there is no unique id\n");
        return 1;
    }
    pid_t strangers = start_strangers(&job);
    begun = now();
    for (uint32_t r = 0; r < job.nranks; r++) {
        job.pids[r] = fork();
        if (job.pids[r] == 0) {
            _exit(run_rank(&job, r));
        }
    }
    if (job.victim >= 0 && job.command == NULL) {
        killed = kill_victim(&job);
    }
    uint32_t failed = wait_all(&job);
    double ended = now();
    kill(root, SIGKILL);
    waitpid(root, NULL, 0);
    if (strangers > 0) {
        kill(strangers, SIGKILL);
        waitpid(strangers, NULL, 0);
    }
    free(job.pids);
    return report(&job, begun, ended, killed) + failed > 0 ||
           (job.victim >= 0 && job.command == NULL && killed <= 0);
}
