/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See tune_edges.h. */
#include "tools/tune_edges.h"

#include <string.h>
#include <time.h>

#include "core/os/os.h"

#define EDGE_ROUNDS 15        /* of which the median counts */
#define EDGE_PINGS 200u       /* in a round */
#define EDGE_BURST 64u        /* small messages in one direction */
#define EDGE_LARGE (1u << 20) /* bytes of a large message, so many of them: */
#define EDGE_LARGES 8u
#define EDGE_ALL 0.85                     /* part of the cores that counts as all */
#define EDGE_SPIN_NS (UINT64_C(60) << 20) /* of counting cores: many turns of the scheduler */

/* One of two ends of an exchange. */
typedef struct edge_end {
    tune_rank_t *rank;
    uint32_t peer;
    bool first; /* it sends first, and takes the time */
} edge_end_t;

static weft_status_t tune_edges_send(const edge_end_t *end, uint64_t bytes)
{
    return weft_send(end->rank->send, bytes, WEFT_UINT8, end->peer, end->rank->comm, NULL);
}

static weft_status_t tune_edges_recv(const edge_end_t *end, uint64_t bytes)
{
    return weft_recv(end->rank->recv, bytes, WEFT_UINT8, end->peer, end->rank->comm, NULL);
}

/* `times` messages there and, if `back`, each answered at once; else one answer at the end. */
static weft_status_t tune_edges_exchange(const edge_end_t *end, uint64_t bytes, uint32_t times,
                                         bool back, double *seconds_p)
{
    weft_status_t status = WEFT_OK;
    uint64_t begin = weft_os_clock_ns();
    for (uint32_t i = 0; i < times && status == WEFT_OK; i++) {
        bool answers = back || i + 1 == times;
        status = end->first ? tune_edges_send(end, bytes) : tune_edges_recv(end, bytes);
        if (status == WEFT_OK && answers) {
            status = end->first ? tune_edges_recv(end, 8) : tune_edges_send(end, 8);
        }
    }
    *seconds_p = (double)(weft_os_clock_ns() - begin) * 1e-9;
    return status;
}

static double tune_edges_median(double *seconds)
{
    for (uint32_t i = 1; i < EDGE_ROUNDS; i++) {
        for (uint32_t j = i; j > 0 && seconds[j] < seconds[j - 1]; j--) {
            double other = seconds[j];
            seconds[j] = seconds[j - 1];
            seconds[j - 1] = other;
        }
    }
    return seconds[EDGE_ROUNDS / 2];
}

static weft_status_t tune_edges_pair(const edge_end_t *end, double copy, weft_cost_edge_t *edge)
{
    double ping[EDGE_ROUNDS], burst[EDGE_ROUNDS], large[EDGE_ROUNDS];
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < EDGE_ROUNDS && status == WEFT_OK; i++) {
        status = tune_edges_exchange(end, 8, EDGE_PINGS, true, &ping[i]);
        if (status == WEFT_OK) {
            status = tune_edges_exchange(end, 8, EDGE_BURST, false, &burst[i]);
        }
        if (status == WEFT_OK) {
            status = tune_edges_exchange(end, EDGE_LARGE, EDGE_LARGES, false, &large[i]);
        }
    }
    if (status == WEFT_OK && end->first) {
        double alpha = tune_edges_median(ping) / EDGE_PINGS / 2;
        double more = (tune_edges_median(burst) - 2 * alpha) / EDGE_BURST;
        double beta = (tune_edges_median(large) - 2 * alpha) / EDGE_LARGES / EDGE_LARGE - copy;
        more = more > 1e-9 ? more : 1e-9;
        *edge = (weft_cost_edge_t){.alpha = alpha,
                                   .overhead = more < alpha ? more : alpha,
                                   .beta = beta > 1e-12 ? beta : 1e-12};
    }
    return status;
}

static double tune_edges_cpu_seconds(void)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* All ranks compute at once: what they get of the cores, those of the fullest host together. That
 * is less than the system says where hosts share a machine, or others use it. */
static weft_status_t tune_edges_cores(const tune_rank_t *rank, double *cores_p)
{
    weft_status_t status = weft_barrier(rank->comm, NULL);
    double cpu = tune_edges_cpu_seconds();
    uint64_t begin = weft_os_clock_ns(), now = begin;
    while (now - begin < EDGE_SPIN_NS) {
        now = weft_os_clock_ns();
    }
    double mine = (tune_edges_cpu_seconds() - cpu) / ((double)(now - begin) * 1e-9), sum = 0;
    if (status == WEFT_OK) {
        status = weft_all_reduce(&mine, &sum, 1, WEFT_FP64, WEFT_SUM, rank->comm, NULL);
    }
    double got = sum / rank->nranks * rank->figures.crowd, said = rank->figures.cores;
    double most = said < rank->figures.crowd ? said : rank->figures.crowd;
    *cores_p = got > EDGE_ALL * most ? said : got;
    return status;
}

weft_status_t tune_edges_measure(tune_rank_t *rank, tune_figures_t *figures)
{
    uint32_t peers[WEFT_LEVELS];
    double mine[WEFT_FIGURES_RATES];
    *figures = (tune_figures_t){.gamma = {0}};
    weft_status_t status = weft_comm_measure_kernel(rank->comm, mine);
    memcpy(peers, rank->figures.peer, sizeof peers);
    status = status != WEFT_OK ? status : tune_edges_cores(rank, &figures->cores);
    if (status == WEFT_OK) {
        status = weft_all_reduce(mine, figures->gamma, WEFT_FIGURES_RATES, WEFT_FP64, WEFT_MAX,
                                 rank->comm, NULL);
    }
    if (status == WEFT_OK) {
        status = weft_broadcast(peers, peers, WEFT_LEVELS, WEFT_UINT32, 0, rank->comm, NULL);
    }
    for (uint32_t l = 0; l < WEFT_LEVELS && status == WEFT_OK; l++) {
        edge_end_t end = {.rank = rank, .peer = rank->rank == 0 ? peers[l] : 0};
        end.first = rank->rank == 0;
        if (peers[l] != 0 && (rank->rank == 0 || rank->rank == peers[l])) {
            status = tune_edges_pair(&end, figures->gamma[WEFT_FIGURES_COPY], &figures->level[l]);
            memcpy(figures->net[l], rank->figures.net[l], sizeof figures->net[l]);
        }
        if (status == WEFT_OK) {
            status = weft_barrier(rank->comm, NULL);
        }
    }
    return status;
}
