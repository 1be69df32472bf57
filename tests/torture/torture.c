/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job of three ranks joins, computes, splits and leaves, while the n-th call of a class fails:
 * n = 1, 2, 3 … until a run makes fewer calls than that. No run may crash, hang, return a wrong
 * result or a failure without a text, or keep a descriptor.
 *   torture CLASS NET FIRST STEP    CLASS: memory, descriptors, threads, io, waits */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weft/weft.h>

#include "fail_nth.h"

#define RANKS 3u
#define COUNT 3000u
/* Waits of the job end after at most a few seconds; the rest is for a busy machine. */
#define PATIENCE_S 60
#define FAILED_MAX 5

enum { RUN_OVER, RUN_SURVIVED, RUN_BAD };

static const char *const class_names[FAIL_CLASSES] = {"memory", "descriptors", "threads", "io",
                                                      "waits"};

typedef struct torture_rank {
    const weft_unique_id_t *id;
    const char *net;
    uint32_t rank;
    int class;
    bool joined;
    int bad;
    pthread_t thread;
} torture_rank_t;

static uint32_t descriptors(void)
{
    uint32_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir != NULL && readdir(dir) != NULL) {
        count++;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

/* A failure says why. */
static bool is_ok(torture_rank_t *self, weft_status_t status, const char *what)
{
    weft_error_t error = {.size = sizeof error};
    weft_last_error(&error);
    if (status != WEFT_OK && (error.text[0] == '\0' || status == WEFT_ERR_MISMATCH)) {
        fprintf(stderr, "rank %u: %s: %s \"%s\"\n", self->rank, what, weft_status_name(status),
                error.text);
        self->bad = 1;
    }
    return status == WEFT_OK;
}

static void expect_sum(torture_rank_t *self, const int32_t *got, uint32_t n)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        int32_t sum = 0;
        for (uint32_t r = 0; r < n; r++) {
            sum += (int32_t)(r * 7 + i);
        }
        if (got[i] != sum) {
            fprintf(stderr, "rank %u: element %u is %d, not %d\n", self->rank, i, got[i], sum);
            self->bad = 1;
            return;
        }
    }
}

static bool compute(torture_rank_t *self, weft_comm_t *comm)
{
    static int32_t in[RANKS][COUNT], out[RANKS][RANKS * COUNT];
    uint32_t n = 0, rank = 0, me = self->rank;
    (void)weft_comm_size(comm, &n);
    (void)weft_comm_rank(comm, &rank);
    for (uint32_t i = 0; i < COUNT; i++) {
        in[me][i] = (int32_t)(rank * 7 + i);
    }
    if (!is_ok(self, weft_all_reduce(in[me], out[me], COUNT, WEFT_INT32, WEFT_SUM, comm, NULL),
               "all_reduce")) {
        return false;
    }
    expect_sum(self, out[me], n);
    return is_ok(self, weft_all_gather(in[me], out[me], COUNT, WEFT_INT32, comm, NULL),
                 "all_gather") &&
           is_ok(self, weft_barrier(comm, NULL), "barrier");
}

static void *rank_main(void *arg)
{
    torture_rank_t *self = arg;
    weft_comm_t *comm = NULL, *half = NULL;
    const char *settings[] = {"boot.init_timeout=20s", "exec.op_timeout=3s",
                              "boot.connect_timeout=2s", self->net};
    weft_comm_options_t options = {
        .size = sizeof options, .config = "/dev/null", .settings = settings, .settings_count = 4};
    weft_status_t status = weft_comm_init_rank(&comm, RANKS, self->id, self->rank, &options);
    if (!is_ok(self, status, "init")) {
        /* Without memory a rank cannot say why it gives up. */
        if (status == WEFT_ERR_TIMEOUT && self->class != FAIL_MEMORY) {
            fprintf(stderr, "rank %u was not told why another gave up\n", self->rank);
            self->bad = 1;
        }
        return NULL;
    }
    self->joined = true;
    if (compute(self, comm) &&
        is_ok(self, weft_comm_split(comm, (int32_t)(self->rank / 2), 0, &half), "split")) {
        (void)compute(self, half);
        (void)is_ok(self, weft_comm_destroy(half), "destroy of the half");
    }
    (void)is_ok(self, weft_comm_destroy(comm), "destroy");
    return NULL;
}

static pthread_barrier_t gate;

static void *rank_thread(void *arg)
{
    pthread_barrier_wait(&gate);
    return rank_main(arg);
}

/* The threads of the ranks are the test's own: they stand before any call fails. */
static int run_ranks(int class, const char *net, long n, const weft_unique_id_t *id, bool *joined)
{
    torture_rank_t ranks[RANKS];
    int bad = 0;
    *joined = true;
    pthread_barrier_init(&gate, NULL, RANKS + 1);
    for (uint32_t r = 0; r < RANKS; r++) {
        ranks[r] = (torture_rank_t){.id = id, .net = net, .rank = r, .class = class};
        if (pthread_create(&ranks[r].thread, NULL, rank_thread, &ranks[r]) != 0) {
            return 1;
        }
    }
    fail_nth_arm(class, n);
    pthread_barrier_wait(&gate);
    for (uint32_t r = 0; r < RANKS; r++) {
        pthread_join(ranks[r].thread, NULL);
        bad |= ranks[r].bad;
        *joined &= ranks[r].joined;
    }
    return bad;
}

/* Threads of the library may end a moment after the call that ends them. */
static bool keeps_descriptors(uint32_t before)
{
    for (int tries = 0; descriptors() > before; tries++) {
        if (tries == 100) {
            fprintf(stderr, "%u descriptors are left, %u were open before\n", descriptors(),
                    before);
            return true;
        }
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    return false;
}

/* The child: one job with the n-th call failing. */
static int run_job(int class, const char *net, long n)
{
    weft_unique_id_t id;
    const weft_comm_options_t options = {.size = sizeof options, .config = "/dev/null"};
    uint32_t before = descriptors();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(PATIENCE_S);
    if (weft_unique_id_create(&id, &options) != WEFT_OK) {
        return RUN_BAD;
    }
    bool joined;
    int bad = run_ranks(class, net, n, &id, &joined);
    bool fired = fail_nth_disarm();
    /* The root of a join that failed stays for ten seconds, to tell late ranks. */
    if (bad != 0 || (joined && keeps_descriptors(before))) {
        return RUN_BAD;
    }
    return fired ? RUN_SURVIVED : RUN_OVER;
}

/* Runs the job in a child. Returns RUN_…; what went wrong is on stderr. */
static int run_child(int class, const char *net, long n)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        _exit(run_job(class, net, n));
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("torture");
        return RUN_BAD;
    }
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "%s\n",
                WTERMSIG(status) == SIGALRM ? "the job hangs" : strsignal(WTERMSIG(status)));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : RUN_BAD;
}

int main(int argc, char **argv)
{
    int class = FAIL_CLASSES;
    for (int c = 0; c < FAIL_CLASSES && argc == 5; c++) {
        class = strcmp(argv[1], class_names[c]) == 0 ? c : class;
    }
    if (class == FAIL_CLASSES) {
        fprintf(stderr, "usage: %s memory|descriptors|threads|io|waits NET FIRST STEP\n", argv[0]);
        return 2;
    }
    char net[64];
    snprintf(net, sizeof net, "core.net=%s", argv[2]);
    long first = strtol(argv[3], NULL, 10), step = strtol(argv[4], NULL, 10), runs = 0, n;
    int failed = 0, result = RUN_SURVIVED;
    for (n = first; result != RUN_OVER && failed < FAILED_MAX; n += step) {
        result = run_child(class, net, n);
        runs++;
        if (result != RUN_SURVIVED && result != RUN_OVER) {
            fprintf(stderr, "FAILED: %s %s %s %ld 1000000\n", argv[0], argv[1], argv[2], n);
            failed++;
        }
    }
    printf("%s over %s: %ld runs, the last with call %ld; %d failed\n", argv[1], argv[2], runs,
           n - step, failed);
    return failed != 0 || runs < 2;
}
