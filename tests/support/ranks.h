/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a function as every rank of a job, as threads of this process or as forked processes. */
#ifndef WEFT_TEST_RANKS_H
#define WEFT_TEST_RANKS_H

#include <stdbool.h>
#include <stdio.h>
#include <weft/weft.h>

/* Limits that tests wait for the end of. What comes must come within them on a machine that runs
 * many of these at once; under TSan each step takes some ten times as long. */
#ifdef __SANITIZE_THREAD__
#define RANKS_SLOWER 8
#define RANKS_SOON_S "20"
#else
#define RANKS_SLOWER 1
#define RANKS_SOON_S "4"
#endif
#define RANKS_SOON "boot.init_timeout=" RANKS_SOON_S

/* A rank's work. Returns 0 if all is well. `comm` is destroyed by the caller. */
typedef int (*ranks_work_t)(weft_comm_t *comm, uint32_t rank, uint32_t nranks, void *arg);

typedef struct ranks_job {
    uint32_t nranks;
    const char *const *settings; /* "section.key=value" */
    uint32_t settings_count;
    uint32_t
        domains; /* if not 0: ranks share memory only with ranks of the same number modulo this */
    const char *const *odd; /* more settings, of ranks of odd number; ends with NULL, or NULL */
    ranks_work_t work;
    void *arg;
} ranks_job_t;

/* Both fields of the settings in an initialiser of a job, which they live as long as. */
#define RANKS_SET(...)                                                                             \
    .settings = (const char *const[]){__VA_ARGS__},                                                \
    .settings_count = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)

/* Number of ranks whose work or communicator failed. */
int ranks_run_threads(const ranks_job_t *job);
/* The same over shared memory, and then over TCP, with no other settings: the sum of both. */
int ranks_run_nets(uint32_t nranks, ranks_work_t work);

/* The same with one process per rank. A rank that runs longer than `seconds` is killed and counts
 * as failed; one that `expect_killed` names may die of SIGKILL. */
int ranks_run_processes(const ranks_job_t *job, unsigned seconds, int expect_killed);

/* As threads, and then as processes: the sum of both. TSan sees threads only: it lets no process
 * start threads that was forked beside a progress thread. */
int ranks_run_both(const ranks_job_t *job);

/* Seconds of a clock that nobody sets. */
double ranks_now(void);

/* Whether the last error of the calling thread has this status and these words; else it prints what
 * there is. */
bool ranks_error_says(weft_status_t status, const char *words);

/* In the work of a rank, which counts what is wrong: `rank` and `wrong` are its variables. */
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d, rank %u: %s\n", __LINE__, rank, #condition);                 \
            wrong++;                                                                               \
        }                                                                                          \
    } while (0)

#endif
