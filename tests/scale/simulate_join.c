/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The join of very many ranks in one thread, under a virtual clock: weft_boot_id_create() on rank
 * 0, weft_boot_join() on each rank, then the agreement and the exchanges of addresses, all of it
 * the real code from the C library's sockets up (simulated_process.h). Ranks are processes that
 * start within a given time; rank 0 and the root's thread have a core each.
 *
 * Tables of which all ranks hold the same bytes are kept once, or 16,384 ranks would need 100 GB.
 *
 * Usage: simulate_join [-c] [-l LATENCY_US] [-s CALL_US] [-g GBIT] [-b BACKLOG] [-t START_MS]
 * [RANKS…]. With -c it is a test: what a rank does, and what the root does for a rank, may not grow
 * faster than the logarithm of the ranks. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/boot/agreement.h"
#include "core/boot/boot_state.h"
#include "core/boot/exchange.h"
#include "core/boot/join.h"
#include "core/boot/id_create.h"
#include "tests/scale/simulate_join_wraps.h"
#include "tests/scale/simulated_process.h"
#include "tests/scale/simulated_socket.h"

#define TIMEOUT_S 300
#define ADDRESS_BYTES 64u /* of two transports */
#define DECODE_S 100e-9   /* measured: one join request to a rank's tables */

typedef struct rank {
    uint32_t number;
    uint32_t tables; /* of the size of all join requests that it has asked for */
    double joined;   /* seconds; agreement and addresses are later */
    weft_status_t status;
    kernel_load_t load;
} rank_t;

/* The tables of all ranks, kept once. */
enum { TABLE_PEERS, TABLE_REQUESTS, TABLE_WIRE, TABLE_ADDRESSES, NTABLES };

typedef struct job {
    uint32_t nranks;
    weft_boot_settings_t settings;
    weft_unique_id_t id;
    rank_t *ranks;
    kernel_load_t root;
    void *tables[NTABLES];
    size_t bytes[NTABLES];
} job_t;

/* What a size came to. */
typedef struct result {
    uint32_t nranks;
    bool right;
    double joined, all;            /* seconds: all have joined; all have the addresses too */
    kernel_load_t root, most;      /* most: of the ranks, each figure for itself */
    double messages, bytes, calls; /* of a rank, mean */
} result_t;

static job_t job;

/* The tables ----------------------------------------------------------------------------------- */

/* Both tables of join requests may have one size. The first that a rank asks for is decoded. */
static int table_of(rank_t *rank, size_t bytes)
{
    if (bytes == job.bytes[TABLE_PEERS]) {
        return TABLE_PEERS;
    }
    if (bytes == job.bytes[TABLE_REQUESTS] && rank->tables++ == 0) {
        return TABLE_REQUESTS;
    }
    return bytes == job.bytes[TABLE_WIRE] ? TABLE_WIRE : NTABLES;
}

void *join_weft_os_alloc(size_t bytes, size_t align)
{
    rank_t *rank = kernel_self();
    bool is_rank = rank >= job.ranks && rank < job.ranks + job.nranks;
    int table = is_rank && job.nranks > 2 ? table_of(rank, bytes) : NTABLES;
    return table < NTABLES ? job.tables[table] : join_real_weft_os_alloc(bytes, align);
}

void join_weft_os_free(void *memory)
{
    for (int i = 0; i < NTABLES; i++) {
        if (memory != NULL && memory == job.tables[i]) {
            return;
        }
    }
    join_real_weft_os_free(memory);
}

weft_status_t join_weft_join_request_decode(const uint8_t bytes[WEFT_WIRE_JOIN_REQUEST],
                                            weft_join_request_t *request, const char **why)
{
    kernel_work(DECODE_S);
    return join_real_weft_join_request_decode(bytes, request, why);
}

/* The job -------------------------------------------------------------------------------------- */

static void combine_sums(void *into, const void *from)
{
    *(uint64_t *)into += *(const uint64_t *)from;
}

static weft_status_t rank_exchange(weft_boot_t *boot)
{
    uint8_t mine[ADDRESS_BYTES] = {0};
    uint64_t sum = 1;
    weft_status_t status = weft_boot_agree(boot, "core.net=net-shm\ncore.tuner=tuner\n");
    if (status == WEFT_OK) {
        status = weft_boot_all_reduce(boot, "a sum", &sum, sizeof sum, combine_sums);
    }
    if (status == WEFT_OK && sum != boot->nranks) {
        status = weft_fail(WEFT_ERR_INTERNAL, 0, "a wrong sum");
    }
    memcpy(mine, &boot->rank, sizeof boot->rank);
    return status != WEFT_OK ? status
                             : weft_boot_all_gather(boot, "addresses", mine, sizeof mine,
                                                    job.tables[TABLE_ADDRESSES]);
}

static void rank_run(void *arg)
{
    rank_t *rank = arg;
    weft_boot_t *boot = NULL;
    rank->status = weft_boot_join(&job.settings, job.nranks, &job.id, rank->number, &boot);
    rank->joined = kernel_now();
    if (rank->status == WEFT_OK) {
        rank->status = rank_exchange(boot);
    }
    if (rank->status != WEFT_OK) {
        fprintf(stderr, "%u ranks: rank %u after %.3f s: %s\n", job.nranks, rank->number,
                kernel_now(), weft_error_record()->text);
    }
}

/* Makes the id, which the ranks have at once: a launcher's means are not simulated. */
static void job_start(void *arg)
{
    const double *within = arg;
    if (weft_boot_id_create(&job.settings, &job.id) != WEFT_OK) {
        fprintf(stderr, "no root: %s\n", weft_error_record()->text);
        exit(1);
    }
    for (uint32_t r = 0; r < job.nranks; r++) {
        /* Evenly, in an order that is not that of the tree. */
        double at = *within * ((double)(r * UINT64_C(7919) % job.nranks) / job.nranks);
        job.ranks[r] = (rank_t){.number = r, .joined = -1, .status = WEFT_IN_PROGRESS};
        kernel_start(kernel_now() + at, rank_run, &job.ranks[r], &job.ranks[r].load, NULL);
    }
}

static void job_init(uint32_t nranks)
{
    job = (job_t){.nranks = nranks,
                  .settings = {.init_timeout = TIMEOUT_S, .interface = "=lo"},
                  .bytes = {[TABLE_PEERS] = nranks * sizeof(weft_boot_peer_t),
                            [TABLE_REQUESTS] = nranks * sizeof(weft_join_request_t),
                            [TABLE_WIRE] = (size_t)nranks * WEFT_WIRE_JOIN_REQUEST,
                            [TABLE_ADDRESSES] = (size_t)nranks * ADDRESS_BYTES}};
    job.ranks = calloc(nranks, sizeof *job.ranks);
    for (int i = 0; i < NTABLES; i++) {
        job.tables[i] = calloc(1, job.bytes[i]);
        if (job.tables[i] == NULL || job.ranks == NULL) {
            fprintf(stderr, "no memory for %u ranks\n", nranks);
            exit(1);
        }
        kernel_share(job.tables[i], job.bytes[i]);
    }
}

static void load_raise(kernel_load_t *most, const kernel_load_t *load)
{
    most->busy = load->busy > most->busy ? load->busy : most->busy;
    most->calls = load->calls > most->calls ? load->calls : most->calls;
    most->messages = load->messages > most->messages ? load->messages : most->messages;
    most->bytes = load->bytes > most->bytes ? load->bytes : most->bytes;
    most->asked_again += load->asked_again;
    if (load->descriptors_most > most->descriptors_most) {
        most->descriptors_most = load->descriptors_most;
    }
}

static void job_sum(result_t *result)
{
    *result = (result_t){.nranks = job.nranks, .right = job.root.ended >= 0, .root = job.root};
    for (uint32_t r = 0; r < job.nranks; r++) {
        const rank_t *rank = &job.ranks[r];
        result->right = result->right && rank->status == WEFT_OK && rank->load.ended >= 0;
        result->joined = rank->joined > result->joined ? rank->joined : result->joined;
        result->all = rank->load.ended > result->all ? rank->load.ended : result->all;
        result->messages += (double)rank->load.messages / job.nranks;
        result->bytes += (double)rank->load.bytes / job.nranks;
        result->calls += (double)rank->load.calls / job.nranks;
        load_raise(&result->most, &rank->load);
    }
    if (job.root.ended < 0) {
        fprintf(stderr, "%u ranks: the root has not ended\n", job.nranks);
    }
}

/* In a process of its own, which gives all memory back. */
static bool simulate(uint32_t nranks, const kernel_model_t *model, double within, result_t *result)
{
    int ends[2], how;
    if (pipe(ends) != 0) {
        return false;
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        kernel_load_t starter;
        kernel_init(model);
        job_init(nranks);
        kernel_start(0, job_start, &within, &starter, &job.root);
        kernel_run();
        job.root.descriptors_most = starter.descriptors_most; /* of the thread's process */
        job_sum(result);
        _exit(write(ends[1], result, sizeof *result) == (ssize_t)sizeof *result ? 0 : 1);
    }
    close(ends[1]);
    bool good = read(ends[0], result, sizeof *result) == (ssize_t)sizeof *result;
    close(ends[0]);
    waitpid(child, &how, 0);
    return good && how == 0 && result->right;
}

/* The report ----------------------------------------------------------------------------------- */

static void report(const result_t *r)
{
    printf("| %u | %.1f | %.1f | %.1f | %.1f | %.1f | %.0f | %.1f | %.0f | %.0f | %llu | %u | %u | "
           "%llu |\n",
           r->nranks, r->joined * 1e3, r->all * 1e3, r->root.busy * 1e3,
           r->root.busy * 1e6 / r->nranks, (double)r->root.calls / r->nranks,
           (double)r->root.bytes / r->nranks, r->messages, r->bytes, r->calls,
           (unsigned long long)r->most.calls, r->most.descriptors_most, r->root.descriptors_most,
           (unsigned long long)r->most.asked_again);
    fflush(stdout);
}

static uint32_t log2_of(uint32_t n)
{
    uint32_t levels = 0;
    while ((UINT32_C(1) << levels) < n) {
        levels++;
    }
    return levels;
}

static bool bound(const result_t *r, const char *what, double value, double most)
{
    if (value > most) {
        fprintf(stderr, "%u ranks: %s %.1f, more than %.1f\n", r->nranks, what, value, most);
    }
    return value <= most;
}

/* Bounds that hold for any number of ranks: constants, and a few for each level of the tree. */
static bool check(const result_t *r, const kernel_model_t *model)
{
    uint32_t levels = log2_of(r->nranks);
    bool good = bound(r, "the root's calls for a rank", (double)r->root.calls / r->nranks, 60);
    good &= bound(r, "the root's bytes for a rank", (double)r->root.bytes / r->nranks, 700);
    good &= bound(r, "messages of a rank", (double)r->most.messages, 30 + 3 * levels);
    good &= bound(r, "descriptors of a rank", r->most.descriptors_most, 24);
    good &= bound(r, "descriptors of the root", r->root.descriptors_most, r->nranks + 128);
    /* The root's work, the exchanges; and a pause for each time that its backlog was full. */
    uint32_t pauses = r->nranks / model->backlog;
    good &= bound(r, "milliseconds of the join", r->all * 1e3,
                  1.5e3 * r->root.busy + 10 + 300.0 * pauses);
    return good;
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = {64, 256, 1024, 4096, 16384};
    kernel_model_t model = {.latency = 20e-6, .call = 2.8e-6, .per_byte = 0.8e-9, .backlog = 4096};
    double within = 0;
    bool checks = false, good = true;
    for (int option; (option = getopt(argc, argv, "cl:s:g:b:t:")) != -1;) {
        switch (option) {
        case 'c':
            checks = true;
            break;
        case 'l':
            model.latency = atof(optarg) * 1e-6;
            break;
        case 's':
            model.call = atof(optarg) * 1e-6;
            break;
        case 'g':
            model.per_byte = 8e-9 / atof(optarg);
            break;
        case 'b':
            model.backlog = (uint32_t)atoi(optarg);
            break;
        case 't':
            within = atof(optarg) * 1e-3;
            break;
        default:
            return 2;
        }
    }
    printf(
        "latency %g us, %g us for a system call, %g Gbit/s a rank, backlog %u, all started within "
        "%g ms\n\n",
        model.latency * 1e6, model.call * 1e6, 8e-9 / model.per_byte, model.backlog, within * 1e3);
    puts("| ranks | all joined, ms | with agreement and addresses, ms | root busy, ms | … for a "
         "rank, "
         "us "
         "| … calls | … bytes | messages of a rank | bytes of a rank | calls | at most | "
         "descriptors "
         "of a rank | of the root | asked again |\n"
         "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    int given = argc - optind;
    for (int i = 0; i < (given > 0 ? given : (int)(sizeof sizes / sizeof *sizes)); i++) {
        result_t result = {0};
        uint32_t n = given > 0 ? (uint32_t)atoi(argv[optind + i]) : sizes[i];
        good &= simulate(n, &model, within, &result);
        report(&result);
        good &= !checks || check(&result, &model);
    }
    return good ? 0 : 1;
}
