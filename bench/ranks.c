/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks for benches. */
#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint32_t ranks, own_rank;

void bench_require(weft_status_t status)
{
    if (status != WEFT_OK) {
        weft_error_t error = {.size = sizeof error};
        (void)weft_last_error(&error);
        fprintf(stderr, "%s: %s\n", weft_status_name(status), error.text);
        exit(1);
    }
}

weft_comm_t *bench_ranks_start(uint32_t n, char **settings, int nsettings, uint32_t *rank_p)
{
    weft_unique_id_t id;
    weft_comm_t *comm = NULL;
    weft_comm_options_t options = {.size = sizeof options,
                                   .settings = (const char *const *)settings,
                                   .settings_count = (uint32_t)nsettings};
    int fds[2];
    ranks = n;
    if (pipe(fds) != 0) {
        exit(1);
    }
    /* Only rank 0 makes the id, whose listener belongs to the process that made it. */
    while (own_rank + 1 < n && fork() == 0) {
        own_rank++;
        if (own_rank + 1 == n) {
            break;
        }
    }
    /* The forks form a chain: each process but the last has a child. */
    if (own_rank == 0) {
        bench_require(weft_unique_id_create(&id, &options));
        for (uint32_t r = 1; r < n; r++) {
            if (write(fds[1], &id, sizeof id) != (ssize_t)sizeof id) {
                exit(1);
            }
        }
    } else if (read(fds[0], &id, sizeof id) != (ssize_t)sizeof id) {
        exit(1);
    }
    bench_require(weft_comm_init_rank(&comm, n, &id, own_rank, &options));
    *rank_p = own_rank;
    return comm;
}

int bench_ranks_end(weft_comm_t *comm)
{
    int status = 0;
    bench_require(weft_comm_destroy(comm));
    if (own_rank + 1 < ranks) {
        return wait(&status) < 0 || status != 0;
    }
    return 0;
}

double bench_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int bench_ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *v, uint32_t n)
{
    qsort(v, n, sizeof *v, bench_ascending);
    return v[n / 2];
}
