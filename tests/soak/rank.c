/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank of a soak. Every number is compared. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "core/os/os.h"
#include "soak.h"

enum { MOST = 1 << 17, PINGS = 50, NEWCOMER = 2 };

typedef struct player {
    const soak_t *soak;
    board_t *board;
    survivor_t self;
    uint32_t answered;
    uint64_t *in, *out;
} player_t;

uint32_t soak_bucket(uint64_t ns)
{
    double bucket = ns > 100 ? log((double)ns / 100) / log(1.1) : 0;
    return bucket < SOAK_BUCKETS - 1 ? (uint32_t)bucket : SOAK_BUCKETS - 1;
}

double soak_bucket_us(uint32_t bucket)
{
    return 0.1 * pow(1.1, bucket + 1);
}

__attribute__((noreturn, format(printf, 2, 3))) static void give_up(const player_t *p,
                                                                    const char *format, ...)
{
    seat_t *seat = &p->board->seats[p->self.seat];
    char what[SOAK_WORDS / 4];
    weft_error_t error = {.size = sizeof error};
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    (void)weft_last_error(&error);
    snprintf(seat->why, sizeof seat->why, "step %u: %s; the last error: %s: %.300s", p->self.step,
             what, weft_status_name(error.status), error.text);
    atomic_store(&seat->wrong, 1);
    _exit(1);
}

static void stop(void *arg, const char *what)
{
    give_up(arg, "%s", what);
}

static void want(void *arg, uint32_t seat, const weft_ticket_t *ticket)
{
    const player_t *p = arg;
    p->board->seats[seat].ticket = *ticket;
    atomic_fetch_add(&p->board->seats[seat].wanted, 1);
}

/* Numbers --------------------------------------------------------------------------------------- */

static void fill(const player_t *p, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        p->in[i] = survivor_number(p->self.seat, p->self.step, i);
    }
    memset(p->out, 0, count * sizeof *p->out);
}

/* The sum of those whose bit is in `members`. */
static uint64_t sum_of(const player_t *p, uint64_t members, uint64_t at)
{
    uint64_t sum = 0;
    for (uint32_t s = 0; s < p->self.size; s++) {
        sum += (members >> s & 1) != 0 ? survivor_number(s, p->self.step, at) : 0;
    }
    return sum;
}

static void compare(const player_t *p, const char *call, uint64_t at, uint64_t expected)
{
    if (p->out[at] != expected) {
        give_up(p, "%s: element %llu is %llu, not %llu", call, (unsigned long long)at,
                (unsigned long long)p->out[at], (unsigned long long)expected);
    }
}

static uint64_t everybody(const player_t *p)
{
    return (UINT64_C(1) << p->self.size) - 1;
}

/* Calls ----------------------------------------------------------------------------------------- */

static weft_status_t ping(player_t *p, uint64_t count)
{
    weft_status_t status = WEFT_OK;
    (void)count;
    fill(p, 1);
    for (int i = 0; status == WEFT_OK && i < PINGS; i++) {
        uint64_t begin = weft_os_clock_ns();
        status = weft_all_reduce(p->in, p->out, 1, WEFT_UINT64, WEFT_SUM, p->self.comm, NULL);
        if (status == WEFT_OK && p->self.seat == 0) {
            atomic_fetch_add(&p->board->latency[soak_bucket(weft_os_clock_ns() - begin)], 1);
        }
    }
    if (status == WEFT_OK) {
        compare(p, "all_reduce of 8 B", 0, sum_of(p, everybody(p), 0));
    }
    return status;
}

static weft_status_t all_reduce(player_t *p, uint64_t count)
{
    fill(p, count);
    weft_status_t status =
        weft_all_reduce(p->in, p->out, count, WEFT_UINT64, WEFT_SUM, p->self.comm, NULL);
    for (uint64_t i = 0; status == WEFT_OK && i < count; i++) {
        compare(p, "all_reduce", i, sum_of(p, everybody(p), i));
    }
    return status;
}

static weft_status_t all_gather(player_t *p, uint64_t count)
{
    uint64_t each = count / p->self.size + 1;
    fill(p, each);
    weft_status_t status = weft_all_gather(p->in, p->out, each, WEFT_UINT64, p->self.comm, NULL);
    for (uint64_t i = 0; status == WEFT_OK && i < each * p->self.size; i++) {
        compare(p, "all_gather", i, survivor_number((uint32_t)(i / each), p->self.step, i % each));
    }
    return status;
}

static weft_status_t reduce_scatter(player_t *p, uint64_t count)
{
    uint64_t each = count / p->self.size + 1;
    fill(p, each * p->self.size);
    weft_status_t status =
        weft_reduce_scatter(p->in, p->out, each, WEFT_UINT64, WEFT_SUM, p->self.comm, NULL);
    for (uint64_t i = 0; status == WEFT_OK && i < each; i++) {
        compare(p, "reduce_scatter", i, sum_of(p, everybody(p), p->self.seat * each + i));
    }
    return status;
}

static weft_status_t broadcast(player_t *p, uint64_t count)
{
    uint32_t root = p->self.step % p->self.size;
    fill(p, count);
    weft_status_t status =
        weft_broadcast(p->in, p->out, count, WEFT_UINT64, root, p->self.comm, NULL);
    for (uint64_t i = 0; status == WEFT_OK && i < count; i++) {
        compare(p, "broadcast", i, survivor_number(root, p->self.step, i));
    }
    return status;
}

/* Around the ring, as a group. */
static weft_status_t exchange(player_t *p, uint64_t count)
{
    uint32_t to = (p->self.seat + 1) % p->self.size,
             from = (p->self.seat + p->self.size - 1) % p->self.size;
    fill(p, count);
    weft_status_t status = weft_group_start();
    weft_status_t sent = weft_send(p->in, count, WEFT_UINT64, to, p->self.comm, NULL);
    weft_status_t received = weft_recv(p->out, count, WEFT_UINT64, from, p->self.comm, NULL);
    weft_status_t ended = weft_group_end();
    status = status != WEFT_OK ? status : sent != WEFT_OK ? sent : received;
    status = status == WEFT_OK ? ended : status;
    for (uint64_t i = 0; status == WEFT_OK && i < count; i++) {
        compare(p, "recv", i, survivor_number(from, p->self.step, i));
    }
    return status;
}

/* Two requests at once, of halves. */
static weft_status_t start_two(player_t *p, uint64_t count)
{
    weft_request_t *requests[2] = {NULL, NULL};
    uint64_t half = count / 2 + 1;
    weft_status_t status = WEFT_OK;
    fill(p, 2 * half);
    for (int i = 0; status == WEFT_OK && i < 2; i++) {
        weft_call_t call = {.size = sizeof call, .request_p = &requests[i]};
        status = weft_all_reduce(p->in + (uint64_t)i * half, p->out + (uint64_t)i * half, half,
                                 WEFT_UINT64, WEFT_SUM, p->self.comm, &call);
    }
    for (int i = 0; i < 2; i++) {
        weft_status_t ended = requests[i] != NULL ? weft_request_wait(&requests[i]) : WEFT_OK;
        status = status == WEFT_OK ? ended : status;
    }
    for (uint64_t i = 0; status == WEFT_OK && i < 2 * half; i++) {
        compare(p, "asynchronous all_reduce", i, sum_of(p, everybody(p), i));
    }
    return status;
}

static weft_status_t split(player_t *p, uint64_t count)
{
    weft_comm_t *half = NULL;
    uint64_t mine =
        p->self.seat % 2 == 0 ? UINT64_C(0x5555555555555555) : UINT64_C(0xaaaaaaaaaaaaaaaa);
    fill(p, count);
    weft_status_t status = weft_comm_split(p->self.comm, (int32_t)(p->self.seat % 2), 0, &half);
    if (status != WEFT_OK) {
        return status;
    }
    status = weft_all_reduce(p->in, p->out, count, WEFT_UINT64, WEFT_SUM, half, NULL);
    for (uint64_t i = 0; status == WEFT_OK && i < count; i++) {
        compare(p, "all_reduce of a half", i, sum_of(p, mine & everybody(p), i));
    }
    if (weft_comm_destroy(half) != WEFT_OK) {
        give_up(p, "weft_comm_destroy of a half");
    }
    return status;
}

static weft_status_t work(player_t *p)
{
    static weft_status_t (*const calls[])(player_t *, uint64_t) = {
        ping, all_reduce, all_gather, reduce_scatter, broadcast, exchange, start_two, split};
    enum { CALLS = sizeof calls / sizeof *calls };
    /* Sizes from 8 B to 1 MiB, each power of two as often as any other. */
    uint64_t mixed = (p->self.step + p->soak->seed) * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t count = 1 + (mixed >> 40) % ((MOST - SURVIVOR_MOST) >> (mixed >> 20) % 16);
    return calls[p->self.step % CALLS](p, count);
}

/* -------------------------------------------------------------------------------------------------- */

static void answer(player_t *p)
{
    uint32_t asked = atomic_load(&p->board->asked);
    if (p->self.seat == 0 && asked != p->answered) {
        p->board->holdings = holdings_now();
        p->answered = asked;
        atomic_store(&p->board->answered, asked);
    }
}

/* Until the test says that it is enough, which goes with the numbers, so that all hear it at the same
 * step. */
static void play(player_t *p)
{
    seat_t *seat = &p->board->seats[p->self.seat];
    bool fresh = true;
    for (;;) {
        uint32_t stop = atomic_load(&p->board->stop), all = 0;
        weft_status_t status = fresh ? survivor_meet(&p->self) : WEFT_OK;
        status = status == WEFT_OK ? work(p) : status;
        if (status == WEFT_OK && fresh) {
            atomic_store(&seat->recovered, weft_os_clock_ns());
        }
        if (status == WEFT_OK) {
            p->self.step++;
            atomic_fetch_add(&seat->steps, 1);
            status = weft_all_reduce(&stop, &all, 1, WEFT_UINT32, WEFT_MAX, p->self.comm, NULL);
        }
        if (status == WEFT_OK && all != 0) {
            return;
        }
        answer(p);
        fresh = status != WEFT_OK;
        if (fresh) {
            survivor_recover(&p->self);
        }
    }
}

static weft_status_t come(player_t *p)
{
    const soak_t *soak = p->soak;
    const char *settings[] = {soak->net, "boot.init_timeout=60", "core.log=error"};
    weft_comm_options_t options = {
        .size = sizeof options, .config = "/dev/null", .settings = settings, .settings_count = 3};
    if (soak->first && p->self.seat == 0) {
        if (weft_unique_id_create(&p->board->id, &options) != WEFT_OK) {
            give_up(p, "weft_unique_id_create");
        }
        atomic_store(&p->board->ready, 1);
    }
    while (atomic_load(&p->board->ready) == 0) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    weft_ticket_t ticket = p->board->seats[p->self.seat].ticket;
    return soak->first ? weft_comm_init_rank(&p->self.comm, p->self.size, &p->board->id,
                                             p->self.seat, &options)
                       : weft_comm_join(&p->self.comm, &ticket, &options);
}

int soak_live(const soak_t *soak)
{
    /* Else the allocator makes one arena after the other, which looks like a leak for a while. */
#ifdef __GLIBC__
    (void)mallopt(M_ARENA_MAX, 1);
#endif
    player_t p = {.soak = soak,
                  .board = soak->board,
                  .self = {.seat = soak->seat,
                           .size = soak->nranks,
                           .step = soak->first ? 0 : SURVIVOR_NO_STEP,
                           .arg = &p,
                           .give_up = stop,
                           .want = want},
                  .in = calloc(MOST, sizeof *p.in),
                  .out = calloc(MOST, sizeof *p.out)};
    if (p.in == NULL || p.out == NULL) {
        give_up(&p, "no memory");
    }
    if (come(&p) != WEFT_OK) {
        if (soak->first) {
            give_up(&p, "weft_comm_init_rank");
        }
        return NEWCOMER; /* its growth may fail, because somebody else died */
    }
    play(&p);
    survivor_take(&p.self, NULL);
    free(p.in);
    free(p.out);
    return 0;
}
