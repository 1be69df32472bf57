/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks as threads and as processes. */
#include "ranks.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct rank_thread {
    const ranks_job_t *job;
    const weft_unique_id_t *id;
    uint32_t rank;
    int failed;
    pthread_t thread;
} rank_thread_t;

enum { SETTINGS_MAX = 16 };

/* Options of one rank; `room` and `domain` live as long as they. */
static weft_comm_options_t job_options(const ranks_job_t *job, uint32_t rank, const char **room,
                                       char domain[32])
{
    uint32_t count = job->settings_count;
    if (count >= SETTINGS_MAX) {
        abort();
    }
    if (count > 0) {
        memcpy(room, job->settings, count * sizeof *room);
    }
    if (job->domains > 0) {
        snprintf(domain, 32, "net-shm.domain=%u", rank % job->domains);
        room[count++] = domain;
    }
    for (uint32_t i = 0; rank % 2 == 1 && job->odd != NULL && job->odd[i] != NULL; i++) {
        if (count >= SETTINGS_MAX) {
            abort();
        }
        room[count++] = job->odd[i];
    }
    return (weft_comm_options_t){.size = sizeof(weft_comm_options_t),
                                 .config = "/dev/null",
                                 .settings = room,
                                 .settings_count = count};
}

static int make_id(const ranks_job_t *job, weft_unique_id_t *id)
{
    const char *room[SETTINGS_MAX];
    char domain[32];
    weft_comm_options_t options = job_options(job, 0, room, domain);
    return weft_unique_id_create(id, &options) != WEFT_OK;
}

static int run_rank(const ranks_job_t *job, const weft_unique_id_t *id, uint32_t rank)
{
    weft_comm_t *comm = NULL;
    const char *room[SETTINGS_MAX];
    char domain[32];
    weft_comm_options_t options = job_options(job, rank, room, domain);
    weft_status_t status = weft_comm_init_rank(&comm, job->nranks, id, rank, &options);
    if (status != WEFT_OK) {
        weft_error_t error = {.size = sizeof error};
        weft_last_error(&error);
        fprintf(stderr, "rank %u cannot join: %s: %s\n", rank, weft_status_name(status),
                error.text);
        return 1;
    }
    int failed = job->work(comm, rank, job->nranks, job->arg);
    return weft_comm_destroy(comm) != WEFT_OK || failed;
}

static void *thread_main(void *arg)
{
    rank_thread_t *t = arg;
    t->failed = run_rank(t->job, t->id, t->rank);
    return NULL;
}

int ranks_run_threads(const ranks_job_t *job)
{
    weft_unique_id_t id;
    rank_thread_t *threads = calloc(job->nranks, sizeof *threads);
    int failed = 0;
    if (threads == NULL || make_id(job, &id) != 0) {
        free(threads);
        return (int)job->nranks;
    }
    for (uint32_t r = 0; r < job->nranks; r++) {
        threads[r] = (rank_thread_t){.job = job, .id = &id, .rank = r};
        if (pthread_create(&threads[r].thread, NULL, thread_main, &threads[r]) != 0) {
            abort();
        }
    }
    for (uint32_t r = 0; r < job->nranks; r++) {
        pthread_join(threads[r].thread, NULL);
        failed += threads[r].failed != 0;
    }
    free(threads);
    return failed;
}

int ranks_run_nets(uint32_t nranks, ranks_work_t work)
{
    static const char *const nets[] = {"core.net=net-shm", "core.net=net-socket"};
    int failed = 0;
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        ranks_job_t job = {.nranks = nranks, RANKS_SET(nets[i]), .work = work};
        failed += ranks_run_threads(&job);
    }
    return failed;
}

/* Rank 0 makes the id and writes one copy per rank into the pipe. */
static int process_main(const ranks_job_t *job, uint32_t rank, int read_fd, int write_fd)
{
    weft_unique_id_t id;
    if (rank == 0) {
        if (make_id(job, &id) != 0) {
            return 1;
        }
        for (uint32_t r = 1; r < job->nranks; r++) {
            if (write(write_fd, &id, sizeof id) != (ssize_t)sizeof id) {
                return 1;
            }
        }
    } else if (read(read_fd, &id, sizeof id) != (ssize_t)sizeof id) {
        return 1;
    }
    return run_rank(job, &id, rank);
}

static int wait_ranks(const pid_t *pids, uint32_t nranks, int expect_killed)
{
    int failed = 0;
    for (uint32_t r = 0; r < nranks; r++) {
        int status = 0;
        waitpid(pids[r], &status, 0);
        if ((int)r == expect_killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
            continue;
        }
        if (WIFSIGNALED(status)) {
            fprintf(stderr, "rank %u died of signal %d\n", r, WTERMSIG(status));
        }
        failed += !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    return failed;
}

int ranks_run_processes(const ranks_job_t *job, unsigned seconds, int expect_killed)
{
    int fds[2];
    pid_t *pids = calloc(job->nranks, sizeof *pids);
    if (pids == NULL || pipe(fds) != 0) {
        free(pids);
        return (int)job->nranks;
    }
    fflush(NULL);
    for (uint32_t r = 0; r < job->nranks; r++) {
        pids[r] = fork();
        if (pids[r] == 0) {
            alarm(seconds);
            _exit(process_main(job, r, fds[0], fds[1]));
        }
    }
    close(fds[0]);
    close(fds[1]);
    int failed = wait_ranks(pids, job->nranks, expect_killed);
    free(pids);
    return failed;
}

int ranks_run_both(const ranks_job_t *job)
{
    int failed = ranks_run_threads(job);
#ifndef __SANITIZE_THREAD__
    failed += ranks_run_processes(job, 120, -1);
#endif
    return failed;
}

double ranks_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

bool ranks_error_says(weft_status_t status, const char *words)
{
    weft_error_t error = {.size = sizeof error};
    if (weft_last_error(&error) == WEFT_OK && error.status == status &&
        strstr(error.text, words) != NULL) {
        return true;
    }
    fprintf(stderr, "%s: %s; wanted %s with \"%s\"\n", weft_status_name(error.status), error.text,
            weft_status_name(status), words);
    return false;
}
