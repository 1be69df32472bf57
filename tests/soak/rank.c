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
#include "device.h"
#include "soak.h"
#include "tests/support/mixed_calls.h"

enum { MOST = 1 << 17, PINGS = 50, NEWCOMER = 2, AGREE_EVERY = 16 };

typedef struct player {
    const soak_t *soak;
    board_t *board;
    survivor_t self;
    uint32_t answered;
    bool agreed; /* that not all are well */
    mixed_t mixed;
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

__attribute__((noreturn)) static void give_up_v(const player_t *p, const char *format, va_list args)
{
    seat_t *seat = &p->board->seats[p->self.seat];
    char what[SOAK_WORDS / 4];
    weft_error_t error = {.size = sizeof error};
    vsnprintf(what, sizeof what, format, args);
    (void)weft_last_error(&error);
    snprintf(seat->why, sizeof seat->why, "step %u: %s; the last error: %s: %.300s", p->self.step,
             what, weft_status_name(error.status), error.text);
    atomic_store(&seat->wrong, 1);
    _exit(1);
}

__attribute__((noreturn, format(printf, 2, 3))) static void give_up(const player_t *p,
                                                                    const char *format, ...)
{
    va_list args;
    va_start(args, format);
    give_up_v(p, format, args);
}

__attribute__((noreturn, format(printf, 2, 3))) static void wrong(void *arg, const char *format,
                                                                  ...)
{
    va_list args;
    va_start(args, format);
    give_up_v(arg, format, args);
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

/* Calls ---------------------------------------------------------------------------------------- */

static weft_status_t ping(player_t *p)
{
    weft_status_t status = WEFT_OK;
    mixed_t *m = &p->mixed;
    mixed_fill(m, 1);
    for (int i = 0; status == WEFT_OK && i < PINGS; i++) {
        uint64_t begin = weft_os_clock_ns();
        status = weft_all_reduce(m->in, m->out, 1, WEFT_UINT64, WEFT_SUM, m->comm, NULL);
        if (status == WEFT_OK && p->self.seat == 0) {
            atomic_fetch_add(&p->board->latency[soak_bucket(weft_os_clock_ns() - begin)], 1);
        }
    }
    if (status == WEFT_OK && m->out[0] != mixed_sum(m, 0)) {
        give_up(p, "all_reduce of 8 B: %llu", (unsigned long long)m->out[0]);
    }
    return status;
}

static weft_status_t work(player_t *p)
{
    mixed_t *m = &p->mixed;
    uint32_t call = p->self.step % (MIXED_CALLS + 1 + device_calls);
    m->comm = p->self.comm;
    m->step = p->self.step;
    /* Sizes from 8 B to 1 MiB, each power of two as often as any other. */
    uint64_t mixed = (p->self.step + p->soak->seed) * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t count = 1 + (mixed >> 40) % ((MOST - SURVIVOR_MOST) >> (mixed >> 20) % 16);
    return call == 0             ? ping(p)
           : call <= MIXED_CALLS ? mixed_call(m, call - 1, count)
                                 : device_call(m, call - MIXED_CALLS - 1, count);
}

/* ---------------------------------------------------------------------------------------------- */

static void answer(player_t *p)
{
    uint32_t asked = atomic_load(&p->board->asked);
    if (p->self.seat == 0 && asked != p->answered) {
        p->board->holdings = holdings_now();
        p->answered = asked;
        atomic_store(&p->board->answered, asked);
    }
}

/* All agree whether all are well, now and then, and before the communicator is shrunk: who has
 * found that it failed meets those that do not know yet in the same call. Each rank clears a bit of
 * its own. Returns whether all are. */
static bool agree(player_t *p, bool well)
{
    const uint64_t all = UINT64_MAX >> (p->self.size + 1);
    const uint64_t told = ~((UINT64_C(2) << p->self.seat) | (well ? 0 : 1));
    uint64_t bits = told;
    if (weft_comm_agree(p->self.comm, &bits) != WEFT_OK) {
        give_up(p, "weft_comm_agree");
    }
    if ((bits & ~told) != 0 || bits >> (p->self.size + 1) != all) {
        give_up(p, "weft_comm_agree: %#llx of %#llx", (unsigned long long)bits,
                (unsigned long long)told);
    }
    return (bits & 1) != 0;
}

static void fails(void *arg)
{
    player_t *p = arg;
    if (!p->agreed && agree(p, false)) {
        give_up(p, "weft_comm_agree: all are well, and this rank is not");
    }
    p->agreed = false;
}

/* Until the test says that it is enough, which goes with the numbers, so that all hear it at the
 * same step. */
static void play(player_t *p)
{
    seat_t *seat = &p->board->seats[p->self.seat];
    bool fresh = true;
    for (;;) {
        uint32_t stop = atomic_load(&p->board->stop), all = 0;
        weft_status_t status = fresh ? survivor_meet(&p->self) : WEFT_OK;
        status = status == WEFT_OK ? work(p) : status;
        if (status != WEFT_OK && !survivor_has_failed(&p->self)) {
            give_up(p, "a call failed (%s), and its communicator did not",
                    weft_status_name(status));
        }
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
        p->agreed = status == WEFT_OK && p->self.step % AGREE_EVERY == 0 && !agree(p, true);
        fresh = status != WEFT_OK || p->agreed;
        if (fresh) {
            survivor_recover(&p->self);
        }
    }
}

static weft_status_t come(player_t *p)
{
    const soak_t *soak = p->soak;
    const char *settings[] = {soak->net, "boot.init_timeout=60", "core.log=error", device_kernel,
                              device_kernel_path};
    weft_comm_options_t options = {.size = sizeof options,
                                   .config = "/dev/null",
                                   .settings = settings,
                                   .settings_count = device_calls > 0 ? 5 : 3};
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
                           .want = want,
                           .fails = fails},
                  .mixed = {.rank = soak->seat,
                            .size = soak->nranks,
                            .in = calloc(MOST, sizeof *p.mixed.in),
                            .out = calloc(MOST, sizeof *p.mixed.out),
                            .on_device = device_calls > 0,
                            .arg = &p,
                            .wrong = wrong}};
    for (uint32_t r = 0; r < soak->nranks; r++) {
        p.mixed.seat[r] = r;
    }
    if (p.mixed.in == NULL || p.mixed.out == NULL || !device_open(MOST)) {
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
    device_close();
    free(p.mixed.in);
    free(p.mixed.out);
    return 0;
}
