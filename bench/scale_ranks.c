/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Time and memory per rank of everything that a job does before its data: N ranks as threads of
 * this process, over a transport of the tests. Usage: bench_scale_ranks N PLUGIN.so
 * [section.key=value…]. Writes one line of JSON: seconds of processor time and bytes of heap per
 * rank for each step; of the first use of a collective what the first rank of a process pays, and
 * what each further one does. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/base/coll.h"
#include "core/base/error.h"
#include "core/boot/agreement.h"
#include "core/boot/id_create.h"
#include "core/boot/join.h"
#include "core/boot/join_root.h"
#include "core/comm/handle.h"
#include "core/comm/select.h"

#define SETTINGS_MAX 16
#define STACK_BYTES (256u << 10)
#define INIT_SECONDS 90

typedef struct job {
    uint32_t nranks;
    const char *settings[SETTINGS_MAX];
    uint32_t nsettings;
    weft_unique_id_t boot_id, id;
    weft_boot_settings_t boot;
    pthread_barrier_t barrier;
    char *text; /* for the agreement */
    double cpu, wall;
    size_t heap;
    bool any;
} job_t;

typedef struct rank {
    job_t *job;
    uint32_t number;
    pthread_t thread;
} rank_t;

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static size_t heap_bytes(void)
{
    struct mallinfo2 all = mallinfo2();
    return all.uordblks + all.hblkhd;
}

static size_t resident_bytes(void)
{
    unsigned long long pages = 0, all = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%llu %llu", &all, &pages) != 2) {
        abort();
    }
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void need(weft_status_t status, const char *what, uint32_t rank)
{
    if (status != WEFT_OK) {
        fprintf(stderr, "rank %u: %s: %s\n", rank, what, weft_error_record()->text);
        _exit(1);
    }
}

/* All ranks meet. Rank 0 then begins to measure, or says what was measured for `share` ranks. */
static void begin(rank_t *rank)
{
    job_t *job = rank->job;
    pthread_barrier_wait(&job->barrier);
    if (rank->number == 0) {
        job->heap = heap_bytes();
        job->cpu = now(CLOCK_PROCESS_CPUTIME_ID);
        job->wall = now(CLOCK_MONOTONIC);
    }
    pthread_barrier_wait(&job->barrier);
}

static void say(job_t *job, const char *step, const char *who, double cpu, uint32_t share)
{
    double wall = now(CLOCK_MONOTONIC) - job->wall;
    double heap = ((double)heap_bytes() - (double)job->heap) / share;
    printf("%s{\"step\":\"%s\",\"who\":\"%s\",\"cpu\":%.9f,\"wall\":%.6f,\"heap\":%.0f}",
           job->any ? "," : "", step, who, (cpu - job->cpu) / share, wall, heap);
    job->any = true;
}

static void end(rank_t *rank, const char *step)
{
    job_t *job = rank->job;
    pthread_barrier_wait(&job->barrier);
    if (rank->number == 0) {
        say(job, step, "all", now(CLOCK_PROCESS_CPUTIME_ID), job->nranks);
    }
    pthread_barrier_wait(&job->barrier);
}

static void boot_alone(rank_t *rank)
{
    job_t *job = rank->job;
    weft_boot_t *boot = NULL;
    begin(rank);
    need(weft_boot_join(&job->boot, job->nranks, &job->boot_id, rank->number, &boot), "join",
         rank->number);
    end(rank, "join");
    begin(rank);
    need(weft_boot_agree(boot, job->text), "agree", rank->number);
    end(rank, "agree");
    weft_boot_leave(boot);
}

static void select_one(rank_t *rank, weft_comm_t *comm, weft_coll_t coll)
{
    weft_comm_state_t *state;
    weft_prepared_t *prepared;
    weft_args_t args = {.count = 2, .coll = coll, .dtype = WEFT_FP32, .op = WEFT_SUM};
    need(weft_comm_enter(comm, "bench", &state), "enter", rank->number);
    need(weft_select(state, &args, &prepared), weft_coll_name(coll), rank->number);
    weft_comm_leave(state);
}

static void select_all(rank_t *rank, weft_comm_t *comm)
{
    job_t *job = rank->job;
    for (int i = 0; i < WEFT_COLL_COUNT; i++) {
        weft_coll_t coll = (weft_coll_t)i;
        if (!weft_coll_has_plan(coll)) {
            continue;
        }
        begin(rank);
        if (rank->number == 0) {
            select_one(rank, comm, coll);
            say(job, weft_coll_name(coll), "first", now(CLOCK_PROCESS_CPUTIME_ID), 1);
        }
        begin(rank);
        if (rank->number > 0) {
            select_one(rank, comm, coll);
        }
        pthread_barrier_wait(&job->barrier);
        if (rank->number == 0) {
            say(job, weft_coll_name(coll), "next", now(CLOCK_PROCESS_CPUTIME_ID), job->nranks - 1);
        }
        pthread_barrier_wait(&job->barrier);
    }
}

static void *run(void *arg)
{
    rank_t *rank = arg;
    job_t *job = rank->job;
    weft_comm_t *comm = NULL, *child = NULL;
    weft_comm_options_t options = {.size = sizeof options,
                                   .config = "/dev/null",
                                   .settings = job->settings,
                                   .settings_count = job->nsettings};
    boot_alone(rank);
    begin(rank);
    need(weft_comm_init_rank(&comm, job->nranks, &job->id, rank->number, &options), "create",
         rank->number);
    end(rank, "create");
    begin(rank);
    need(weft_comm_split(comm, (int32_t)(rank->number % 2), 0, &child), "split", rank->number);
    end(rank, "split");
    select_all(rank, comm);
    begin(rank);
    need(weft_comm_destroy(child), "destroy", rank->number);
    need(weft_comm_destroy(comm), "destroy", rank->number);
    end(rank, "destroy");
    return NULL;
}

static void set_up(job_t *job, int argc, char **argv)
{
    static char net[512];
    static char path[512];
    snprintf(path, sizeof path, "net-local.path=%s", argv[2]);
    snprintf(net, sizeof net, "boot.init_timeout=%d", INIT_SECONDS);
    job->settings[job->nsettings++] = "core.net=net-local";
    job->settings[job->nsettings++] = path;
    job->settings[job->nsettings++] = net;
    for (int i = 3; i < argc && job->nsettings < SETTINGS_MAX; i++) {
        job->settings[job->nsettings++] = argv[i];
    }
    job->boot = (weft_boot_settings_t){.init_timeout = INIT_SECONDS,
                                       .connect_timeout = 20,
                                       .heartbeat = 0.5,
                                       .late = 5,
                                       .unresponsive = 60,
                                       .interface = "=lo",
                                       .rendezvous = ""};
    weft_comm_options_t options = {.size = sizeof options,
                                   .config = "/dev/null",
                                   .settings = job->settings,
                                   .settings_count = job->nsettings};
    need(weft_boot_id_create(&job->boot, &job->boot_id), "id", 0);
    need(weft_unique_id_create(&job->id, &options), "id", 0);
    job->text = malloc(8192);
    for (size_t i = 0; i < 8191; i++) {
        job->text[i] = i % 32 == 31 ? '\n' : i % 32 == 15 ? '=' : 'a';
    }
    job->text[8191] = '\0';
}

int main(int argc, char **argv)
{
    static job_t job;
    uint32_t nranks = argc > 2 ? (uint32_t)atoi(argv[1]) : 0;
    struct rlimit files = {.rlim_cur = 0};
    if (nranks < 2) {
        fprintf(stderr, "usage: %s RANKS PLUGIN.so [section.key=value…]\n", argv[0]);
        return 2;
    }
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    job.nranks = nranks;
    set_up(&job, argc, argv);
    rank_t *ranks = calloc(nranks, sizeof *ranks);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_barrier_init(&job.barrier, NULL, nranks);
    printf("{\"ranks\":%u,\"steps\":[", nranks);
    size_t before = resident_bytes();
    for (uint32_t i = 0; i < nranks; i++) {
        ranks[i] = (rank_t){.job = &job, .number = i};
        if (pthread_create(&ranks[i].thread, &attributes, run, &ranks[i]) != 0) {
            fprintf(stderr, "cannot start thread %u\n", i);
            return 1;
        }
    }
    for (uint32_t i = 0; i < nranks; i++) {
        pthread_join(ranks[i].thread, NULL);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("],\"resident\":%zu}\n", ((size_t)usage.ru_maxrss * 1024 - before) / nranks);
    return 0;
}
