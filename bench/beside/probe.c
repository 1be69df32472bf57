/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What bench/compare asks of weft besides the time of one call. Each probe prints "name value"
 * lines.
 *
 *   probe start   (-P|-t|-l) RANKS [-a]       joining, the first all-reduce, memory
 *   probe sizes   (-P|-t) RANKS               1,000 sizes against one
 *   probe overlap (-P|-t) RANKS               8 MiB beside a computation
 *   probe idle    -P RANKS                    wake-ups of ranks that do nothing, in 10 s
 *   probe late    (-P|-t) RANKS               processor time of ranks that wait for one
 *   probe kill    -P RANKS                    how long until all name a killed rank
 *
 * -P forks processes, -t starts threads, -l takes what a launcher says. Then options
 * "section.key=value". */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weft/weft.h>

#define MOST_RANKS 1024
#define MIB (1u << 20)

/* Seen by all ranks, whether threads or processes. */
typedef struct probe_shared {
    _Atomic int id_ready;
    weft_unique_id_t id;
    _Atomic int arrived[16];
    double value[8][MOST_RANKS];
    int pid[MOST_RANKS];
} probe_shared_t;

static probe_shared_t *shared;
static const char *probe_name;
static int nranks;
static bool as_threads, as_launched, many_calls;
static const char **settings;
static int setting_count;
static double began;

static double probe_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double probe_cpu(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void probe_require(weft_status_t status)
{
    if (status != WEFT_OK) {
        weft_error_t error = {.size = sizeof error};
        (void)weft_last_error(&error);
        fprintf(stderr, "%s: %s\n", weft_status_name(status), error.text);
        exit(1);
    }
}

/* All forked ranks or threads have come here; no collective is involved. */
static void probe_meet(int where)
{
    if (as_launched) {
        return;
    }
    atomic_fetch_add(&shared->arrived[where], 1);
    while (atomic_load(&shared->arrived[where]) < nranks) {
        usleep(500);
    }
}

static weft_comm_t *probe_join(int rank)
{
    weft_comm_options_t options = {
        .size = sizeof options, .settings = settings, .settings_count = (uint32_t)setting_count};
    weft_comm_t *comm = NULL;
    if (as_launched) {
        probe_require(weft_comm_init_launcher(&comm, &options));
        return comm;
    }
    if (rank == 0) {
        probe_require(weft_unique_id_create(&shared->id, &options));
        atomic_store(&shared->id_ready, 1);
    }
    while (!atomic_load(&shared->id_ready)) {
        usleep(100);
    }
    probe_require(
        weft_comm_init_rank(&comm, (uint32_t)nranks, &shared->id, (uint32_t)rank, &options));
    return comm;
}

static double probe_largest(int which)
{
    double most = 0;
    for (int r = 0; r < nranks; r++) {
        most = shared->value[which][r] > most ? shared->value[which][r] : most;
    }
    return most;
}

/* KiB after a word of /proc/PID/FILE, or 0. */
static double probe_proc(int pid, const char *file, const char *word)
{
    char path[64], line[256];
    double found = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, word, strlen(word)) == 0) {
            found = atof(line + strlen(word));
            break;
        }
    }
    if (f) {
        fclose(f);
    }
    return found;
}

static int probe_descriptors(int pid)
{
    char path[64];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *folder = opendir(path);
    while (folder && readdir(folder)) {
        count++;
    }
    if (folder) {
        closedir(folder);
    }
    return count - 3; /* the folder itself, and two names that are no descriptors */
}

/* Rank 0 looks at all processes while they stand still: pages that several share count once
 * (PSS). */
static void probe_memory(const char *when)
{
    double pss = 0, rss = 0, largest = 0, descriptors = 0;
    int processes = as_threads ? 1 : nranks;
    for (int p = 0; p < processes; p++) {
        int pid = as_threads ? getpid() : shared->pid[p];
        int open_now = probe_descriptors(pid);
        pss += probe_proc(pid, "smaps_rollup", "Pss:");
        double resident = probe_proc(pid, "status", "VmRSS:");
        rss += resident;
        largest = resident > largest ? resident : largest;
        descriptors = open_now > descriptors ? open_now : descriptors;
    }
    printf("memory_%s_mib %.3f\n", when, pss / 1024 / nranks);
    printf("rss_%s_mib %.3f\n", when, rss / 1024 / nranks);
    printf("largest_%s_mib %.3f\n", when, largest / 1024 / (as_threads ? nranks : 1));
    printf("descriptors_%s %.0f\n", when, descriptors);
}

static void probe_all_calls(weft_comm_t *comm)
{
    uint64_t bytes = 65536;
    uint64_t block = bytes / sizeof(float) / (uint64_t)nranks;
    uint64_t counts[MOST_RANKS];
    float *send = calloc(1, bytes + 64), *recv = calloc(1, bytes + 64);
    for (int r = 0; r < nranks; r++) {
        counts[r] = block;
    }
    weft_blocks_t blocks = {.counts = counts};
    uint64_t whole = block * (uint64_t)nranks;
    const weft_dtype_t type = WEFT_FP32;
    probe_require(weft_all_reduce(send, recv, whole, type, WEFT_SUM, comm, NULL));
    probe_require(weft_broadcast(send, recv, whole, type, 0, comm, NULL));
    probe_require(weft_reduce(send, recv, whole, type, WEFT_SUM, 0, comm, NULL));
    probe_require(weft_all_gather(send, recv, block, type, comm, NULL));
    probe_require(weft_reduce_scatter(send, recv, block, type, WEFT_SUM, comm, NULL));
    probe_require(weft_all_to_all(send, recv, block, type, comm, NULL));
    probe_require(weft_gather(send, recv, block, type, 0, comm, NULL));
    probe_require(weft_scatter(send, recv, block, type, 0, comm, NULL));
    probe_require(weft_all_gather_v(send, recv, counts, NULL, type, comm, NULL));
    probe_require(weft_reduce_scatter_v(send, recv, counts, NULL, type, WEFT_SUM, comm, NULL));
    probe_require(weft_all_to_all_v(send, &blocks, recv, &blocks, type, comm, NULL));
    probe_require(weft_gather_v(send, block, recv, &blocks, type, 0, comm, NULL));
    probe_require(weft_scatter_v(send, &blocks, recv, block, type, 0, comm, NULL));
    probe_require(weft_barrier(comm, NULL));
    free(send);
    free(recv);
}

static void probe_start(int rank)
{
    double before = probe_now();
    weft_comm_t *comm = probe_join(rank);
    double joined = probe_now();
    float in[2] = {1, 1}, out[2] = {0, 0};
    uint32_t size = 0;
    weft_comm_size(comm, &size);
    probe_meet(0);
    double first = probe_now();
    probe_require(weft_all_reduce(in, out, 2, WEFT_FP32, WEFT_SUM, comm, NULL));
    double reduced = probe_now();
    if (out[0] != (float)size) {
        fprintf(stderr, "the first all-reduce gave %g of %u ranks\n", (double)out[0], size);
        exit(1);
    }
    if (as_launched) {
        uint32_t mine = 0;
        weft_comm_rank(comm, &mine);
        if (mine == 0) {
            printf("join_s %.4f\nfirst_s %.4f\n", joined - before, reduced - first);
        }
        probe_require(weft_comm_destroy(comm));
        return;
    }
    shared->value[0][rank] = joined - began;
    shared->value[1][rank] = reduced - first;
    probe_meet(1);
    if (rank == 0) {
        printf("join_s %.4f\nfirst_s %.4f\n", probe_largest(0), probe_largest(1));
        probe_memory("first");
    }
    probe_meet(2);
    if (many_calls) {
        probe_all_calls(comm);
        probe_meet(3);
        if (rank == 0) {
            probe_memory("all");
        }
        probe_meet(4);
    }
    probe_require(weft_comm_destroy(comm));
}

/* Rounds of 1,000 calls; the sizes are 8 bytes apart, their mean is the one size. */
static double probe_loop(weft_comm_t *comm, bool many)
{
    static _Thread_local float in[2048], out[2048];
    double begin = probe_now();
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t count = many ? 2 * (i * 7 % 1000 + 1) : 1001;
        probe_require(weft_all_reduce(in, out, count, WEFT_FP32, WEFT_SUM, comm, NULL));
    }
    return (probe_now() - begin) * 1e3;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double probe_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

static void probe_sizes(int rank)
{
    weft_comm_t *comm = probe_join(rank);
    double many[15], one[15], ratio[15];
    (void)probe_loop(comm, true);
    (void)probe_loop(comm, false);
    for (int i = 0; i < 15; i++) {
        many[i] = probe_loop(comm, true);
        one[i] = probe_loop(comm, false);
        ratio[i] = many[i] / one[i];
    }
    if (rank == 0) {
        printf("thousand_us %.4f\none_us %.4f\nratio %.4f\n", probe_median(many, 15),
               probe_median(one, 15), probe_median(ratio, 15));
    }
    probe_require(weft_comm_destroy(comm));
}

static double probe_compute(double *data, long rounds)
{
    double x = data[0];
    for (long i = 0; i < rounds; i++) {
        x = x * 0.999999 + 0.5;
    }
    data[0] = x;
    return x;
}

static void probe_overlap(int rank)
{
    weft_comm_t *comm = probe_join(rank);
    uint64_t count = 8 * MIB / sizeof(float);
    float *in = calloc(count, sizeof *in), *out = calloc(count, sizeof *out);
    double data[1] = {1}, call[9], compute[9], both[9], loss[9];
    memset(in, 0, count * sizeof *in);
    memset(out, 0, count * sizeof *out);
    /* As long as about three calls take. */
    double begin = probe_now();
    probe_compute(data, 10 * 1000 * 1000);
    long rounds = (long)(10e6 * 0.004 / (probe_now() - begin));
    for (int i = -2; i < 9; i++) {
        int at = i < 0 ? 0 : i;
        probe_require(weft_barrier(comm, NULL));
        begin = probe_now();
        probe_require(weft_all_reduce(in, out, count, WEFT_FP32, WEFT_SUM, comm, NULL));
        call[at] = probe_now() - begin;
        begin = probe_now();
        probe_compute(data, rounds);
        compute[at] = probe_now() - begin;
        probe_require(weft_barrier(comm, NULL));
        weft_request_t *request = NULL;
        weft_call_t options = {.size = sizeof options, .request_p = &request};
        begin = probe_now();
        probe_require(weft_all_reduce(in, out, count, WEFT_FP32, WEFT_SUM, comm, &options));
        probe_compute(data, rounds);
        probe_require(weft_request_wait(&request));
        both[at] = probe_now() - begin;
        loss[at] = both[at] / (call[at] + compute[at]) - 1;
    }
    shared->value[0][rank] = probe_median(loss, 9);
    shared->value[1][rank] = probe_median(call, 9) * 1e6;
    shared->value[2][rank] = probe_median(compute, 9) * 1e6;
    shared->value[3][rank] = probe_median(both, 9) * 1e6;
    probe_meet(0);
    if (rank == 0) {
        printf("loss %.4f\ncall_us %.1f\ncompute_us %.1f\nboth_us %.1f\n", probe_largest(0),
               probe_largest(1), probe_largest(2), probe_largest(3));
    }
    if (data[0] < 0) {
        printf("the computation went wrong\n"); /* and is not left out by the compiler */
    }
    probe_require(weft_comm_destroy(comm));
    free(in);
    free(out);
}

/* Context switches of all threads of this process but the caller. */
static double probe_switches(void)
{
    double sum = 0;
    DIR *folder = opendir("/proc/self/task");
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        char file[64];
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == gettid()) {
            continue;
        }
        snprintf(file, sizeof file, "task/%.20s/status", entry->d_name);
        sum += probe_proc(getpid(), file, "voluntary_ctxt_switches:");
    }
    if (folder) {
        closedir(folder);
    }
    return sum;
}

static void probe_idle(int rank)
{
    weft_comm_t *comm = probe_join(rank);
    float in[2] = {1, 1}, out[2];
    weft_request_t *request = NULL;
    weft_call_t options = {.size = sizeof options, .request_p = &request};
    for (int i = 0; i < 10; i++) {
        /* The progress thread is started by the first asynchronous call. */
        probe_require(weft_all_reduce(in, out, 2, WEFT_FP32, WEFT_SUM, comm, &options));
        probe_require(weft_request_wait(&request));
    }
    probe_meet(0);
    sleep(1);
    double switches = probe_switches(), cpu = probe_cpu(CLOCK_PROCESS_CPUTIME_ID);
    sleep(10);
    shared->value[0][rank] = probe_switches() - switches;
    shared->value[1][rank] = (probe_cpu(CLOCK_PROCESS_CPUTIME_ID) - cpu) * 1e3;
    probe_meet(1);
    if (rank == 0) {
        printf("wakeups_10s %.0f\ncpu_10s_ms %.3f\n", probe_largest(0), probe_largest(1));
    }
    probe_require(weft_comm_destroy(comm));
}

static void probe_late(int rank)
{
    weft_comm_t *comm = probe_join(rank);
    float in[2] = {1, 1}, out[2];
    for (int i = 0; i < 10; i++) {
        probe_require(weft_all_reduce(in, out, 2, WEFT_FP32, WEFT_SUM, comm, NULL));
    }
    probe_meet(0);
    if (rank == 0) {
        usleep(1000 * 1000);
    }
    double cpu = probe_cpu(CLOCK_THREAD_CPUTIME_ID), begin = probe_now();
    probe_require(weft_all_reduce(in, out, 2, WEFT_FP32, WEFT_SUM, comm, NULL));
    double used = (probe_cpu(CLOCK_THREAD_CPUTIME_ID) - cpu) / (probe_now() - begin) * 100;
    /* All but the late one waited. */
    shared->value[0][rank] = rank == 0 ? 0 : used;
    probe_meet(1);
    if (rank == 0) {
        printf("waiting_percent %.2f\n", probe_largest(0));
    }
    probe_require(weft_comm_destroy(comm));
}

/* Rank n/2 is killed while all others are inside of all-reduces: how long until each names it. */
static void probe_kill(int rank)
{
    weft_comm_t *comm = probe_join(rank);
    float in[2] = {1, 1}, out[2];
    weft_status_t status = weft_all_reduce(in, out, 2, WEFT_FP32, WEFT_SUM, comm, NULL);
    probe_require(status);
    probe_meet(0);
    while (rank == nranks / 2) {
        usleep(200 * 1000);
        shared->value[1][0] = probe_now();
        kill(getpid(), SIGKILL);
    }
    while (status == WEFT_OK) {
        status = weft_all_reduce(in, out, 2, WEFT_FP32, WEFT_SUM, comm, NULL);
    }
    weft_error_t error = {.size = sizeof error};
    (void)weft_comm_error(comm, &error);
    shared->value[0][rank] = probe_now() - shared->value[1][0];
    shared->value[2][rank] = error.peer == nranks / 2;
    /* The killed one does not come. */
    atomic_fetch_add(&shared->arrived[1], 1);
    while (rank == 0 && atomic_load(&shared->arrived[1]) < nranks - 1) {
        usleep(500);
    }
    if (rank == 0) {
        double right = 0;
        for (int r = 0; r < nranks; r++) {
            right += shared->value[2][r];
        }
        printf("named_s %.4f\nunnamed %.0f\n", probe_largest(0), nranks - 1 - right);
    }
    (void)weft_comm_destroy(comm);
}

static void probe_run(int rank)
{
    shared->pid[rank] = getpid();
    if (strcmp(probe_name, "start") == 0) {
        probe_start(rank);
    } else if (strcmp(probe_name, "sizes") == 0) {
        probe_sizes(rank);
    } else if (strcmp(probe_name, "overlap") == 0) {
        probe_overlap(rank);
    } else if (strcmp(probe_name, "idle") == 0) {
        probe_idle(rank);
    } else if (strcmp(probe_name, "kill") == 0) {
        probe_kill(rank);
    } else {
        probe_late(rank);
    }
}

static void *probe_thread(void *arg)
{
    probe_run((int)(size_t)arg);
    return NULL;
}

static int probe_threads(void)
{
    pthread_t ids[MOST_RANKS];
    for (int r = 0; r < nranks; r++) {
        if (pthread_create(&ids[r], NULL, probe_thread, (void *)(size_t)r) != 0) {
            perror("pthread_create");
            return 1;
        }
    }
    for (int r = 0; r < nranks; r++) {
        pthread_join(ids[r], NULL);
    }
    return 0;
}

static int probe_processes(void)
{
    pid_t children[MOST_RANKS];
    int failed = 0;
    for (int r = 0; r < nranks; r++) {
        children[r] = fork();
        if (children[r] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            probe_run(r);
            exit(0);
        }
    }
    for (int left = nranks; left > 0; left--) {
        int status;
        if (wait(&status) > 0 && status != 0 && !failed && strcmp(probe_name, "kill") != 0) {
            failed = 1;
            for (int r = 0; r < nranks; r++) {
                kill(children[r], SIGTERM);
            }
        }
    }
    return failed;
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"start", "sizes", "overlap", "idle", "late", "kill"};
    bool found = false;
    for (size_t i = 0; i < sizeof known / sizeof *known && argc > 1; i++) {
        found = found || strcmp(known[i], argv[1]) == 0;
    }
    nranks = argc > 3 ? atoi(argv[3]) : 0;
    if (!found || nranks < 1 || nranks > MOST_RANKS || argv[2][0] != '-') {
        fprintf(stderr, "usage: probe start|sizes|overlap|idle|late|kill -P|-t|-l RANKS [-a] "
                        "[section.key=value …]\n");
        return 2;
    }
    probe_name = argv[1];
    as_threads = argv[2][1] == 't';
    as_launched = argv[2][1] == 'l';
    many_calls = argc > 4 && strcmp(argv[4], "-a") == 0;
    settings = (const char **)(argv + 4 + many_calls);
    setting_count = argc - 4 - many_calls;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    began = probe_now();
    if (as_launched) {
        probe_run(0);
        return 0;
    }
    return as_threads ? probe_threads() : probe_processes();
}
