/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The exchanges of an initialisation among very many ranks, in one thread and under a virtual
 * clock: the real code of exchange.c and agreement.c, over links of this file in place of
 * tree_link.c. Ranks are coroutines. A link is a FIFO between two ranks, and a rank waits for one
 * link at a time, so what a schedule computes every schedule computes, and each rank keeps a clock
 * of its own: a message arrives `latency` after it has left, and leaves `overhead` plus its bytes
 * after the one before.
 *
 * Usage: simulate_boot [-c] [LATENCY_US [OVERHEAD_US [GBIT [RANKS…]]]]. With -c it is a test:
 * rounds may not grow faster than the logarithm of the ranks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "core/base/error.h"
#include "core/boot/agreement.h"
#include "core/boot/boot_state.h"
#include "core/boot/exchange.h"
#include "core/boot/tree_link.h"
#include "core/boot/tree_record.h"
#include "tests/scale/simulate_boot_wraps.h"
#include "core/os/os.h"

#define STACK_BYTES ((size_t)32 << 10)
#define SMALL 1024u        /* larger messages are not copied: their memory outlives them */
#define REQUEST_BYTES 160u /* WEFT_WIRE_JOIN_REQUEST */
#define ADDRESS_BYTES 64u  /* of two transports */

typedef struct network {
    double latency, overhead, per_byte; /* seconds */
} network_t;

typedef struct message {
    struct message *next;
    double arrives;
    uint32_t chain;
    const uint8_t *data; /* what is left of it */
    size_t bytes;
    uint8_t copy[];
} message_t;

typedef struct sim sim_t;

typedef struct rank {
    sim_t *sim;
    weft_boot_t boot;
    ucontext_t context;
    message_t *first[WEFT_TREE_LINKS], *last[WEFT_TREE_LINKS]; /* to be received, by link */
    double now, free_at; /* free_at: when the last message has left */
    uint32_t chain;      /* messages on the longest chain that led here */
    uint64_t messages, bytes;
    weft_status_t status;
    bool done, ready;
} rank_t;

/* One step of the initialisation. */
typedef struct step {
    const char *name;
    weft_status_t (*act)(rank_t *rank);
} step_t;

struct sim {
    network_t network;
    uint32_t nranks;
    rank_t *ranks;
    uint8_t *stacks,
        *all; /* all: the table of all ranks; the same bytes on every rank, so kept once */
    weft_boot_peer_t *peers;
    const step_t *step;
    ucontext_t scheduler;
    uint32_t *queue; /* ranks that can go on: a ring */
    uint32_t head, used;
};

static sim_t *current_sim;

static void sim_wake(sim_t *sim, uint32_t rank)
{
    if (!sim->ranks[rank].ready && !sim->ranks[rank].done) {
        sim->ranks[rank].ready = true;
        sim->queue[(sim->head + sim->used++) % sim->nranks] = rank;
    }
}

/* Memory: records of the table of all ranks are that table. */

static bool sim_is_table(size_t bytes)
{
    return current_sim != NULL && current_sim->nranks > 2 &&
           (bytes == (size_t)current_sim->nranks * REQUEST_BYTES ||
            bytes == (size_t)current_sim->nranks * ADDRESS_BYTES);
}

void *boot_weft_os_alloc(size_t bytes, size_t align)
{
    return sim_is_table(bytes) ? current_sim->all : boot_real_weft_os_alloc(bytes, align);
}

void boot_weft_os_free(void *memory)
{
    if (current_sim == NULL || memory != current_sim->all) {
        boot_real_weft_os_free(memory);
    }
}

/* The links ------------------------------------------------------------------------------------ */

static uint32_t link_index_of(const rank_t *rank, uint32_t peer)
{
    for (uint32_t i = 0; i < WEFT_TREE_LINKS; i++) {
        if (rank->boot.links[i].fd >= 0 && rank->boot.links[i].rank == peer) {
            return i;
        }
    }
    abort();
}

static void link_put(weft_boot_t *boot, const weft_tree_link_t *link, const uint8_t *data,
                     size_t bytes)
{
    sim_t *sim = current_sim;
    rank_t *from = &sim->ranks[boot->rank], *to = &sim->ranks[link->rank];
    uint32_t at = link_index_of(to, boot->rank);
    message_t *message = malloc(sizeof *message + (bytes <= SMALL ? bytes : 0));
    if (message == NULL) {
        abort();
    }
    double begins = from->now > from->free_at ? from->now : from->free_at;
    from->now = begins + sim->network.overhead;
    from->free_at = from->now + (double)bytes * sim->network.per_byte;
    *message = (message_t){.arrives = from->free_at + sim->network.latency,
                           .chain = from->chain + 1,
                           .data = data,
                           .bytes = bytes};
    if (bytes <= SMALL) {
        memcpy(message->copy, data, bytes);
        message->data = message->copy;
    }
    *(to->first[at] != NULL ? &to->last[at]->next : &to->first[at]) = message;
    to->last[at] = message;
    from->messages++;
    from->bytes += bytes;
    sim_wake(sim, link->rank);
}

/* Records are dropped when they have been taken. */
weft_status_t weft_tree_link_send(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                  const weft_tree_record_t *record, uint64_t until)
{
    (void)what;
    (void)until;
    link_put(boot, link, record->header, sizeof record->header);
    if (record->bytes > 0) {
        link_put(boot, link, record->payload, record->bytes);
    }
    return WEFT_OK;
}

weft_status_t weft_tree_link_recv(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                  void *data, size_t bytes, uint64_t until)
{
    sim_t *sim = current_sim;
    rank_t *me = &sim->ranks[boot->rank];
    uint32_t at = (uint32_t)(link - boot->links);
    uint8_t *to = data;
    (void)what;
    (void)until;
    while (bytes > 0) {
        message_t *message = me->first[at];
        if (message == NULL) {
            swapcontext(&me->context, &sim->scheduler);
            continue;
        }
        size_t now = message->bytes < bytes ? message->bytes : bytes;
        if (to != message->data) {
            memmove(to, message->data, now);
        }
        me->now = message->arrives > me->now ? message->arrives : me->now;
        me->chain = message->chain > me->chain ? message->chain : me->chain;
        to += now;
        bytes -= now;
        message->data += now;
        message->bytes -= now;
        if (message->bytes == 0) {
            me->first[at] = message->next;
            free(message);
        }
    }
    return WEFT_OK;
}

weft_status_t weft_tree_link_next(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                  uint64_t until, weft_frame_t *frame, const char **why)
{
    uint8_t header[WEFT_WIRE_HEADER];
    weft_status_t status = weft_tree_link_recv(boot, link, what, header, sizeof header, until);
    return status == WEFT_OK ? weft_frame_decode(header, boot->nranks, boot->comm_id, frame, why)
                             : status;
}

weft_status_t weft_tree_adopt_failure(const weft_boot_t *boot,
                                      const uint8_t payload[WEFT_WIRE_ERROR], uint32_t from)
{
    (void)boot;
    (void)payload;
    return weft_fail(WEFT_ERR_INTERNAL, 0, "rank %u reports a failure", from);
}

void weft_tree_spread_failure(weft_boot_t *boot)
{
    boot->failed = true;
}

void weft_tree_give_up(weft_boot_t *boot)
{
    boot->failed = true;
}

/* The steps ------------------------------------------------------------------------------------ */

static weft_status_t act_requests(rank_t *rank)
{
    uint8_t mine[REQUEST_BYTES] = {0};
    memcpy(mine, &rank->boot.rank, sizeof rank->boot.rank);
    return weft_boot_all_gather(&rank->boot, "requests", mine, sizeof mine, rank->sim->all);
}

static weft_status_t act_agree(rank_t *rank)
{
    return weft_boot_agree(&rank->boot, "core.net=net-shm\ncore.tuner=tuner\n");
}

static void combine_sums(void *into, const void *from)
{
    *(uint64_t *)into += *(const uint64_t *)from;
}

static weft_status_t act_reduce(rank_t *rank)
{
    uint64_t sum = 1;
    weft_status_t status =
        weft_boot_all_reduce(&rank->boot, "a sum", &sum, sizeof sum, combine_sums);
    return status == WEFT_OK && sum != rank->boot.nranks ? WEFT_ERR_INTERNAL : status;
}

static weft_status_t act_addresses(rank_t *rank)
{
    uint8_t mine[ADDRESS_BYTES] = {0};
    memcpy(mine, &rank->boot.rank, sizeof rank->boot.rank);
    return weft_boot_all_gather(&rank->boot, "addresses", mine, sizeof mine, rank->sim->all);
}

/* The last rank and one in the middle have another configuration: the lower one is named. */
static weft_status_t act_disagree(rank_t *rank)
{
    uint32_t n = rank->boot.nranks;
    bool other = rank->boot.rank == n / 2 || rank->boot.rank == n - 1;
    weft_status_t status = weft_boot_agree(&rank->boot, other ? "a=1\nb=3\n" : "a=1\nb=2\n");
    bool right = status == WEFT_ERR_MISMATCH && weft_error_record()->peer == (int32_t)(n / 2) &&
                 strstr(weft_error_record()->text, "differ in b") != NULL;
    return right ? WEFT_OK : WEFT_ERR_INTERNAL;
}

static const step_t steps[] = {{"join requests, 160 B of each to all", act_requests},
                               {"agreement", act_agree},
                               {"lengths of addresses", act_reduce},
                               {"addresses, 64 B of each to all", act_addresses},
                               {"figures of transports", act_reduce},
                               {"agreement where two ranks differ", act_disagree}};
enum { NSTEPS = sizeof steps / sizeof *steps };

/* The simulation ------------------------------------------------------------------------------- */

static void rank_main(int number)
{
    rank_t *rank = &current_sim->ranks[number];
    rank->status = current_sim->step->act(rank);
    rank->done = true;
    swapcontext(&rank->context, &current_sim->scheduler);
}

static void sim_begin_rank(sim_t *sim, uint32_t r)
{
    rank_t *rank = &sim->ranks[r];
    getcontext(&rank->context);
    rank->context.uc_stack.ss_sp = sim->stacks + r * STACK_BYTES;
    rank->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&rank->context, (void (*)(void))rank_main, 1, (int)r);
    rank->done = false;
    rank->chain = 0;
    rank->messages = rank->bytes = 0;
    sim_wake(sim, r);
}

static void sim_run(sim_t *sim, const step_t *step)
{
    sim->step = step;
    current_sim = sim;
    for (uint32_t r = 0; r < sim->nranks; r++) {
        sim_begin_rank(sim, r);
    }
    while (sim->used > 0) {
        rank_t *rank = &sim->ranks[sim->queue[sim->head]];
        sim->head = (sim->head + 1) % sim->nranks;
        sim->used--;
        rank->ready = false;
        swapcontext(&sim->scheduler, &rank->context);
    }
}

static void sim_init(sim_t *sim, uint32_t nranks, const network_t *network)
{
    *sim = (sim_t){.network = *network, .nranks = nranks};
    sim->ranks = calloc(nranks, sizeof *sim->ranks);
    sim->queue = calloc(nranks, sizeof *sim->queue);
    sim->all = calloc(nranks, REQUEST_BYTES);
    sim->peers = calloc(nranks, sizeof *sim->peers);
    sim->stacks = mmap(NULL, nranks * STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (sim->ranks == NULL || sim->queue == NULL || sim->all == NULL || sim->peers == NULL ||
        sim->stacks == MAP_FAILED) {
        fprintf(stderr, "no memory for %u ranks\n", nranks);
        exit(1);
    }
    for (uint32_t r = 0; r < nranks; r++) {
        weft_boot_t *boot = &sim->ranks[r].boot;
        sim->ranks[r].sim = sim;
        boot->rank = r;
        boot->nranks = nranks;
        boot->until = WEFT_NEVER;
        boot->peers = sim->peers;
        for (uint32_t i = 0; i < WEFT_TREE_LINKS; i++) {
            uint32_t peer = i == WEFT_TREE_PARENT ? weft_tree_parent(r) : 2 * r + i;
            bool exists = i == WEFT_TREE_PARENT ? r > 0 : peer < nranks;
            boot->links[i] = (weft_tree_link_t){.fd = exists ? 0 : -1, .rank = peer};
        }
    }
}

static void sim_fini(sim_t *sim)
{
    for (uint32_t r = 0; r < sim->nranks; r++) {
        weft_tree_records_drop(&sim->ranks[r].boot, 0);
    }
    munmap(sim->stacks, sim->nranks * STACK_BYTES);
    free(sim->peers);
    free(sim->all);
    free(sim->queue);
    free(sim->ranks);
}

/* Says what the step cost. False: it went wrong, or in too many rounds. */
static bool sim_report(sim_t *sim, double begun, bool check)
{
    uint64_t messages = 0, most = 0, bytes = 0, most_bytes = 0;
    uint32_t rounds = 0, levels = 0, wrong = 0;
    double end = 0;
    for (uint32_t r = 0; r < sim->nranks; r++) {
        const rank_t *rank = &sim->ranks[r];
        wrong += !rank->done || rank->status != WEFT_OK;
        messages += rank->messages;
        bytes += rank->bytes;
        most = rank->messages > most ? rank->messages : most;
        most_bytes = rank->bytes > most_bytes ? rank->bytes : most_bytes;
        rounds = rank->chain > rounds ? rank->chain : rounds;
        end = rank->now > end ? rank->now : end;
    }
    while ((UINT32_C(1) << levels) < sim->nranks) {
        levels++;
    }
    printf("| %u | %s | %u | %.1f | %llu | %.0f | %llu | %.3f |\n", sim->nranks, sim->step->name,
           rounds, (double)messages / sim->nranks, (unsigned long long)most,
           (double)bytes / sim->nranks, (unsigned long long)most_bytes, (end - begun) * 1e3);
    if (wrong > 0) {
        fprintf(stderr, "%u ranks: %s failed on %u ranks: %s\n", sim->nranks, sim->step->name,
                wrong, weft_error_record()->text);
    }
    /* Header and payload are a message each, a subtree one per level: twice up and twice down for
     * an exchange, three exchanges where the ranks differ. */
    bool fast = rounds <= 16 * levels;
    if (check && !fast) {
        fprintf(stderr, "%u ranks: %s took %u rounds\n", sim->nranks, sim->step->name, rounds);
    }
    return wrong == 0 && fast;
}

static bool simulate(uint32_t nranks, const network_t *network, bool check)
{
    sim_t sim;
    bool good = true;
    double begun = 0;
    sim_init(&sim, nranks, network);
    for (uint32_t i = 0; i < NSTEPS; i++) {
        sim_run(&sim, &steps[i]);
        good &= sim_report(&sim, begun, check);
        for (uint32_t r = 0; r < nranks; r++) {
            begun = sim.ranks[r].now > begun ? sim.ranks[r].now : begun;
        }
        /* All begin the next step together. */
        for (uint32_t r = 0; r < nranks; r++) {
            sim.ranks[r].now = sim.ranks[r].free_at = begun;
        }
        if (i + 2 == NSTEPS) {
            printf("| %u | **all of these** | | | | | | %.3f |\n", nranks, begun * 1e3);
        }
    }
    sim_fini(&sim);
    return good;
}

static double argument(int argc, char **argv, int i, double otherwise)
{
    return i < argc ? strtod(argv[i], NULL) : otherwise;
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = {64, 256, 1024, 4096, 16384};
    bool check = argc > 1 && strcmp(argv[1], "-c") == 0, good = true;
    if (check) {
        argc--;
        argv++;
    }
    double latency = argument(argc, argv, 1, 20), overhead = argument(argc, argv, 2, 2);
    double gbit = argument(argc, argv, 3, 10);
    network_t network = {
        .latency = latency * 1e-6, .overhead = overhead * 1e-6, .per_byte = 8e-9 / gbit};
    printf("latency %g us, %g us of processor time for a message, %g Gbit/s a rank\n\n", latency,
           overhead, gbit);
    puts("| ranks | step | rounds | messages a rank | at most | bytes a rank | at most | ms |\n"
         "|---|---|---|---|---|---|---|---|");
    for (int i = 4; i < argc; i++) {
        good &= simulate((uint32_t)atoi(argv[i]), &network, check);
    }
    for (size_t i = 0; argc <= 4 && i < sizeof sizes / sizeof *sizes; i++) {
        good &= simulate(sizes[i], &network, check);
    }
    return good ? 0 : 1;
}
