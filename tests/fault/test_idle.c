/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What waiting costs: threads of weft in processes that call nothing, and ranks that wait for a
 * late one while ranks outnumber cores. And what it must not cost: connections. */
#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/connections.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

static const char *const shm = "core.net=net-shm";
static const char *const tcp = "core.net=net-socket";

/* CPU time of this process. */
static double spent(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Returns how often a thread gave up its core so far, if it is one of weft's, else 0. */
static long switches_of(const char *task, long *threads)
{
    char path[300], line[128];
    long switches = 0;
    bool ours = false;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", task);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        ours = ours || strncmp(line, "Name:\tweft-", 11) == 0;
        (void)sscanf(line, "voluntary_ctxt_switches: %ld", &switches);
    }
    if (file != NULL) {
        fclose(file);
    }
    *threads += ours;
    return ours ? switches : 0;
}

/* Counts the threads of weft, and how often they gave up a core, which each wake-up ends with. */
static long count_switches(long *threads)
{
    DIR *folder = opendir("/proc/self/task");
    const struct dirent *entry;
    long all = 0;
    *threads = 0;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        all += entry->d_name[0] != '.' ? switches_of(entry->d_name, threads) : 0;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return all;
}

static void run(uint32_t n, const char *net, ranks_work_t work)
{
    ranks_job_t job = {.nranks = n, RANKS_SET(net), .work = work};
    assert_int_equal(ranks_run_processes(&job, 60, -1), 0);
}

static int use(weft_comm_t *comm)
{
    float in[64] = {1}, out[64];
    weft_request_t *request = NULL;
    weft_call_t later = {.size = sizeof later, .request_p = &request};
    return weft_all_reduce(in, out, 64, WEFT_FP32, WEFT_SUM, comm, NULL) == WEFT_OK &&
           weft_all_reduce(in, out, 64, WEFT_FP32, WEFT_SUM, comm, &later) == WEFT_OK &&
           weft_request_wait(&request) == WEFT_OK;
}

enum { LOOKS = 3, BIG = 1 << 18 };

/* The health thread and the progress thread are there, and nobody calls. On a busy machine another
 * rank may end its part of the calls late, so that one look of three may see its last words. What
 * wakes up at a rhythm is seen in each. */
static int rest(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    (void)n;
    (void)arg;
    if (!use(comm)) {
        return 1;
    }
    sleep(1); /* what the calls left to do is done */
    long threads = 0, quiet = 0;
    for (int look = 0; look < LOOKS; look++) {
        long before = count_switches(&threads);
        sleep(2);
        long woken = count_switches(&threads) - before;
        quiet += woken == 0;
        if (woken != 0) {
            fprintf(stderr, "rank %u: %ld threads woke up %ld times in 2 s\n", rank, threads,
                    woken);
        }
    }
    sleep(1); /* the others count, too */
    return threads != 2 || quiet == 0;
}

static void idle_communicators_wake_no_thread(void **state)
{
    (void)state;
    /* Both at once: each rank counts its own threads. */
    const pid_t other = fork();
    assert_int_not_equal(other, -1);
    if (other == 0) {
        _exit(
            ranks_run_processes(&(ranks_job_t){.nranks = 3, RANKS_SET(shm), .work = rest}, 60, -1));
    }
    run(3, tcp, rest);
    int status = 0;
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
}

static int keep(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    (void)n;
    (void)arg;
    if (!use(comm)) {
        return 1;
    }
    long kept, all = connections_count(&kept);
    if (kept != all) {
        fprintf(stderr, "rank %u: %ld of %ld connections are kept alive\n", rank, kept, all);
    }
    /* One of control at least, and two sockets of data. */
    const bool right = all >= 3 && kept == all;
    return !use(comm) || !right;
}

/* A firewall that keeps states forgets a connection over which nothing goes, and swallows what
 * comes over it later. */
static void idle_connections_are_kept_alive(void **state)
{
    (void)state;
    run(2, tcp, keep);
}

/* Waits for rank 0, in a call of its own kind for each rank. */
static weft_status_t wait_for_late_rank(weft_comm_t *comm, uint32_t rank)
{
    float in[64] = {1}, out[64], more[64];
    weft_status_t status = WEFT_OK;
    if (rank == 2) { /* messages of several ranks at once */
        status = weft_group_start();
        status = status == WEFT_OK ? weft_recv(out, 64, WEFT_FP32, 0, comm, NULL) : status;
        status = status == WEFT_OK ? weft_recv(more, 64, WEFT_FP32, 1, comm, NULL) : status;
        weft_status_t ended = weft_group_end();
        status = status == WEFT_OK ? ended : status;
    }
    if (rank == 1) {
        status = weft_recv(out, 64, WEFT_FP32, 0, comm, NULL);
        status = status == WEFT_OK ? weft_send(in, 64, WEFT_FP32, 2, comm, NULL) : status;
    }
    return status == WEFT_OK ? weft_all_reduce(in, out, 64, WEFT_FP32, WEFT_SUM, comm, NULL)
                             : status;
}

/* A waiting rank may take 15 % of a core, three times as much as it is meant to. */
static bool waited_cheaply(uint32_t rank, double waited, double cpu)
{
    double share = cpu / waited;
    if (share > 0.15) {
        fprintf(stderr, "rank %u: waiting took %.1f %% of a core\n", rank, 100 * share);
    }
    return share <= 0.15;
}

/* All ranks on one core. Rank 0 is late for 2 s. */
static int wait_for_it(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    float data[64] = {0};
    (void)n;
    (void)arg;
    if (!use(comm) || weft_barrier(comm, NULL) != WEFT_OK) {
        return 1;
    }
    if (rank == 0) {
        sleep(2);
        return weft_send(data, 64, WEFT_FP32, 1, comm, NULL) != WEFT_OK ||
               weft_send(data, 64, WEFT_FP32, 2, comm, NULL) != WEFT_OK ||
               wait_for_late_rank(comm, 0) != WEFT_OK;
    }
    double began = ranks_now(), cpu = spent();
    weft_status_t status = wait_for_late_rank(comm, rank);
    return !waited_cheaply(rank, ranks_now() - began, spent() - cpu) || status != WEFT_OK;
}

/* The first call, in which the ranks connect. Rank 1 has its neighbours of the ring and sends; rank
 * 2 has what came from it and waits for rank 3. */
static int connect_to_late_rank(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    static float in[BIG], out[4 * BIG];
    (void)arg;
    if (rank == n - 1) {
        sleep(2);
        return weft_all_gather(in, out, BIG, WEFT_FP32, comm, NULL) != WEFT_OK;
    }
    double began = ranks_now(), cpu = spent();
    weft_status_t status = weft_all_gather(in, out, BIG, WEFT_FP32, comm, NULL);
    return !waited_cheaply(rank, ranks_now() - began, spent() - cpu) || status != WEFT_OK;
}

static void on_one_core(void (*jobs)(void))
{
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &one);
            break;
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    jobs();
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

static void wait_for_a_late_rank(void)
{
    const char *ring[] = {tcp, "core.algo=algo-ring"};
    const ranks_job_t job = {
        .nranks = 4, .settings = ring, .settings_count = 2, .work = connect_to_late_rank};
    run(4, shm, wait_for_it);
    run(4, tcp, wait_for_it);
    assert_int_equal(ranks_run_processes(&job, 60, -1), 0);
}

static void a_waiting_rank_leaves_the_core_to_others(void **state)
{
    (void)state;
    on_one_core(wait_for_a_late_rank);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_communicators_wake_no_thread),
        cmocka_unit_test(idle_connections_are_kept_alive),
        cmocka_unit_test(a_waiting_rank_leaves_the_core_to_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
