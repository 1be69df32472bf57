/* SPDX-License-Identifier: BSD-3-Clause
 *
 * gpu-nccl LIBNCCL RANKS FIRST LAST FACTOR SECONDS: the times of NCCL's all-reduce of float between
 * threads that share one device, as nccl-tests takes them: many operations one after another in a
 * stream, then one wait. The library is opened, not linked; what is used of its ABI is declared
 * here. Exit code 77: it does not do that, or a size has no end in so many seconds, as where the
 * blocks of all ranks do not fit on the device together. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "device.h"
#include "line.h"

#define RANKS_MOST 16u
#define SHARES_FROM 23000 /* the version from which NCCL_MULTI_RANK_GPU_ENABLE exists */
#define WARM 5u
#define ENOUGH ((size_t)4 << 30) /* bytes of one rank that are reduced, or */
#define MOST 200u                /* operations */

enum { NCCL_SUM = 0, NCCL_FLOAT = 7 };

typedef struct nccl_id {
    char bytes[128];
} nccl_id_t;

typedef struct nccl {
    int (*version)(int *version);
    int (*make_id)(nccl_id_t *id);
    int (*open)(void **comm, int nranks, nccl_id_t id, int rank);
    int (*all_reduce)(const void *in, void *out, size_t count, int type, int op, void *comm,
                      void *stream);
    int (*close)(void *comm);
    const char *(*words)(int error);
} nccl_t;

typedef struct job {
    nccl_t nccl;
    nccl_id_t id;
    uint32_t nranks;
    size_t first, last, factor;
    unsigned seconds; /* of a size */
    pthread_barrier_t barrier;
    atomic_bool refused; /* some rank has no communicator */
} job_t;

typedef struct rank {
    job_t *job;
    uint32_t number;
    void *comm, *stream, *in, *out;
    int error; /* of NCCL */
    bool good;
} rank_t;

static bool find(void *library, const char *name, void *function_p)
{
    void *symbol = dlsym(library, name);
    memcpy(function_p, &symbol, sizeof symbol); /* ISO C has no cast between them */
    if (symbol == NULL) {
        fprintf(stderr, "no %s in the library\n", name);
    }
    return symbol != NULL;
}

static bool library_open(nccl_t *nccl, const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    return find(library, "ncclGetVersion", &nccl->version) &&
           find(library, "ncclGetUniqueId", &nccl->make_id) &&
           find(library, "ncclCommInitRank", &nccl->open) &&
           find(library, "ncclAllReduce", &nccl->all_reduce) &&
           find(library, "ncclCommDestroy", &nccl->close) &&
           find(library, "ncclGetErrorString", &nccl->words);
}

/* The line of what is under way, should it have no end. */
static char late[128];

static void on_alarm(int number)
{
    (void)number;
    ssize_t written = write(STDOUT_FILENO, late, strlen(late));
    _exit(written < 0 ? 1 : 77);
}

/* From now on so long; the threads of all ranks end with the process. */
static void watch(const job_t *job, const char *what)
{
    snprintf(late, sizeof late, "%s: no end in %u s\tleft out\t-\t-\t-\t-\n", what, job->seconds);
    alarm(job->seconds);
}

static bool reduce(rank_t *r, size_t bytes, size_t times)
{
    for (size_t i = 0; i < times && r->error == 0; i++) {
        r->error = r->job->nccl.all_reduce(r->in, r->out, bytes / sizeof(float), NCCL_FLOAT,
                                           NCCL_SUM, r->comm, r->stream);
    }
    return r->error == 0 && device_stream_wait(r->stream);
}

static void measure(rank_t *r, size_t bytes)
{
    const size_t times = ENOUGH / bytes > MOST ? MOST : ENOUGH / bytes + 1;
    char what[64];
    snprintf(what, sizeof what, "NCCL, %u ranks, %zu bytes", r->job->nranks, bytes);
    if (r->number == 0) {
        watch(r->job, what);
    }
    r->good = reduce(r, bytes, WARM) && r->good;
    pthread_barrier_wait(&r->job->barrier);
    double begin = device_seconds();
    r->good = reduce(r, bytes, times) && r->good;
    pthread_barrier_wait(&r->job->barrier);
    double each = (device_seconds() - begin) / (double)times;
    if (r->number == 0) {
        alarm(0);
        line_print(what, r->good, 1e6 * each, "us");
    }
}

static void *rank_main(void *arg)
{
    rank_t *r = arg;
    job_t *job = r->job;
    /* An allocation may wait for the kernels of the process, and those for all ranks: it comes
     * first, and nobody begins before all have it. */
    r->in = device_alloc(job->last);
    r->out = device_alloc(job->last);
    r->good = device_stream_open(&r->stream) && r->in != NULL && r->out != NULL;
    r->error = job->nccl.open(&r->comm, (int)job->nranks, job->id, (int)r->number);
    if (r->error != 0) {
        atomic_store(&job->refused, true);
    }
    pthread_barrier_wait(&job->barrier);
    const bool all = !atomic_load(&job->refused);
    for (size_t bytes = job->first; all && bytes <= job->last; bytes *= job->factor) {
        measure(r, bytes);
    }
    if (r->comm != NULL) {
        job->nccl.close(r->comm);
    }
    device_stream_close(r->stream);
    device_free(r->in);
    device_free(r->out);
    return NULL;
}

static int refused(const job_t *job, int error)
{
    int version = 0;
    (void)job->nccl.version(&version);
    printf("NCCL %d does not run %u ranks on a GPU: %s%s\tleft out\t-\t-\t-\t-\n", version,
           job->nranks, job->nccl.words(error),
           version < SHARES_FROM ? "; needs NCCL 2.30 or newer, GPU_CHECK_NCCL names another "
                                   "libnccl.so.2"
                                 : "");
    return 77;
}

static int run(job_t *job)
{
    rank_t rank[RANKS_MOST];
    pthread_t thread[RANKS_MOST];
    int error = job->nccl.make_id(&job->id);
    if (error != 0) {
        return refused(job, error);
    }
    char what[64];
    snprintf(what, sizeof what, "NCCL, %u ranks, beginning", job->nranks);
    signal(SIGALRM, on_alarm);
    watch(job, what);
    pthread_barrier_init(&job->barrier, NULL, job->nranks);
    for (uint32_t i = 0; i < job->nranks; i++) {
        rank[i] = (rank_t){.job = job, .number = i};
        if (pthread_create(&thread[i], NULL, rank_main, &rank[i]) != 0) {
            perror("starting a thread");
            exit(1); /* the others would wait for this one */
        }
    }
    for (uint32_t i = 0; i < job->nranks; i++) {
        pthread_join(thread[i], NULL);
    }
    bool good = true;
    for (uint32_t i = 0; i < job->nranks; i++) {
        if (rank[i].error != 0) {
            return refused(job, rank[i].error);
        }
        good = good && rank[i].good;
    }
    return !good;
}

int main(int argc, char **argv)
{
    static job_t job;
    if (argc < 7) {
        fprintf(stderr, "usage: %s LIBNCCL RANKS FIRST LAST FACTOR SECONDS\n", argv[0]);
        return 2;
    }
    job.nranks = (uint32_t)strtoul(argv[2], NULL, 10);
    job.first = strtoull(argv[3], NULL, 10);
    job.last = strtoull(argv[4], NULL, 10);
    job.factor = strtoull(argv[5], NULL, 10);
    job.seconds = (unsigned)strtoul(argv[6], NULL, 10);
    if (job.nranks < 1 || job.nranks > RANKS_MOST || job.first < sizeof(float) || job.factor < 2 ||
        job.seconds < 1) {
        fprintf(
            stderr,
            "1 to %u ranks, sizes from %zu bytes on, a factor of at least 2, 1 second or more\n",
            RANKS_MOST, sizeof(float));
        return 2;
    }
    return library_open(&job.nccl, argv[1]) ? run(&job) : 1;
}
