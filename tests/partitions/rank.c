/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A member. It compares every number, and knows whether others went on without it when a call of it
 * succeeds. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/os/os.h"
#include "partitions.h"
#include "tests/support/mixed_calls.h"

enum { ELEMENTS_MOST = 1 << 13, STEP_MS = 2 };

typedef struct player {
    const task_t *task;
    board_t *board;
    member_t *record;
    uint32_t place; /* of the set of its communicator */
    survivor_t self;
    mixed_t mixed;
} player_t;

__attribute__((noreturn)) static void end(const player_t *p, state_t state, const char *format,
                                          va_list args)
{
    char what[WORDS / 3];
    weft_error_t error = {.size = sizeof error};
    vsnprintf(what, sizeof what, format, args);
    (void)weft_last_error(&error);
    snprintf(p->record->why, sizeof p->record->why, "step %u: %s; the last error: %s: %.300s",
             p->self.step, what, weft_status_name(error.status), error.text);
    atomic_store(&p->record->state, state);
    _exit(state == WRONG);
}

__attribute__((noreturn, format(printf, 2, 3))) static void wrong(void *arg, const char *format,
                                                                  ...)
{
    va_list args;
    va_start(args, format);
    end(arg, WRONG, format, args);
}

__attribute__((noreturn, format(printf, 2, 3))) static void lost(const player_t *p,
                                                                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    end(p, LOST, format, args);
}

/* Who finds itself without a quorum, or declared dead, hears it when it shrinks. */
static void give_up(void *arg, const char *what)
{
    weft_error_t error = {.size = sizeof error};
    (void)weft_last_error(&error);
    if (strcmp(what, "weft_comm_shrink") == 0 && error.status == WEFT_ERR_PEER_DEAD) {
        lost(arg, "%s", what);
    }
    wrong(arg, "%s", what);
}

static void want(void *arg, uint32_t seat, const weft_ticket_t *ticket)
{
    const player_t *p = arg;
    p->board->seats[seat].ticket = *ticket;
    atomic_fetch_add(&p->board->seats[seat].wanted, 1);
}

/* Playing -------------------------------------------------------------------------------------- */

/* A call that all have to be in. */
static weft_status_t ask_stop(player_t *p, uint32_t *stop_p)
{
    uint32_t stop = atomic_load(&p->board->stop);
    return weft_all_reduce(&stop, stop_p, 1, WEFT_UINT32, WEFT_MAX, p->self.comm, NULL);
}

static weft_status_t meet(player_t *p)
{
    uint32_t mine = p->task->member, all[HOSTS_MOST] = {0};
    weft_status_t status = survivor_meet(&p->self);
    if (status == WEFT_OK) {
        status = weft_all_gather(&mine, all, 1, WEFT_UINT32, p->self.comm, NULL);
    }
    if (status == WEFT_OK) {
        p->place = sets_place(p->board, all, p->self.size);
    }
    return status;
}

static weft_status_t work(player_t *p)
{
    mixed_t *m = &p->mixed;
    uint64_t mixed = (p->self.step + p->task->seed) * UINT64_C(0x9e3779b97f4a7c15);
    m->comm = p->self.comm;
    m->step = p->self.step;
    return mixed_call(m, p->self.step,
                      1 + (mixed >> 40) % ((ELEMENTS_MOST - SURVIVOR_MOST) >> (mixed >> 20) % 12));
}

static void note_time(player_t *p, uint64_t began)
{
    uint64_t took = weft_os_clock_ns() - began;
    if (took > atomic_load(&p->record->longest)) {
        atomic_store(&p->record->longest, took);
    }
}

/* One step. The first call cannot end before all others are in it, and the last one not before all
 * others have ended the first one, so all were here after this rank began. */
static weft_status_t step(player_t *p, bool fresh, uint32_t *stop_p)
{
    const uint64_t began = weft_os_clock_ns();
    const uint32_t newest = sets_newest(p->board);
    uint32_t nothing = 0;
    weft_status_t status = fresh ? meet(p) : ask_stop(p, &nothing);
    status = status == WEFT_OK ? work(p) : status;
    if (status == WEFT_OK) {
        p->self.step++;
        status = ask_stop(p, stop_p);
    }
    note_time(p, began);
    if (status != WEFT_OK && !survivor_has_failed(&p->self)) {
        wrong(p, "a call failed (%s), and its communicator did not", weft_status_name(status));
    }
    if (status == WEFT_OK && newest + 1 > p->place + 1) {
        wrong(p, "two sides go on: set %u works, and set %u was there before", p->place, newest);
    }
    if (status == WEFT_OK) {
        atomic_store(&p->record->right_at, weft_os_clock_ns());
        atomic_fetch_add(&p->board->steps, 1);
    }
    return status;
}

static void play(player_t *p)
{
    uint32_t stop = 0;
    bool fresh = true;
    while (stop == 0) {
        fresh = step(p, fresh, &stop) != WEFT_OK;
        if (fresh) {
            stop = 0;
            survivor_recover(&p->self);
        }
        weft_os_sleep_ns(STEP_MS * WEFT_NS_PER_MS);
    }
}

/* Joining -------------------------------------------------------------------------------------- */

static weft_status_t join(player_t *p)
{
    const task_t *task = p->task;
    char times[4][40];
    const char *settings[] = {"core.net=net-socket",
                              "core.log=error",
                              "boot.interface==eth0",
                              "boot.quorum=majority",
                              times[0],
                              times[1],
                              times[2],
                              times[3]};
    snprintf(times[0], sizeof times[0], "boot.unresponsive=%us", task->limit_s);
    snprintf(times[1], sizeof times[1], "boot.init_timeout=%us", task->limit_s + 7);
    snprintf(times[2], sizeof times[2], "boot.connect_timeout=%us", task->limit_s + 3);
    snprintf(times[3], sizeof times[3], "exec.op_timeout=%us", task->limit_s * 2 + 18);
    weft_comm_options_t options = {.size = sizeof options,
                                   .config = "/dev/null",
                                   .settings = settings,
                                   .settings_count = sizeof settings / sizeof *settings};
    if (!task->first) {
        weft_ticket_t ticket = p->board->seats[task->seat].ticket;
        return weft_comm_join(&p->self.comm, &ticket, &options);
    }
    if (task->seat == 0) {
        if (weft_unique_id_create(&p->board->id, &options) != WEFT_OK) {
            wrong(p, "weft_unique_id_create");
        }
        atomic_store(&p->board->ready, 1);
    }
    while (atomic_load(&p->board->ready) == 0) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    return weft_comm_init_rank(&p->self.comm, p->self.size, &p->board->id, task->seat, &options);
}

int member_live(const task_t *task)
{
    player_t p = {.task = task,
                  .board = task->board,
                  .record = &task->board->members[task->member],
                  .self = {.seat = task->seat,
                           .size = task->nranks,
                           .step = task->first ? 0 : SURVIVOR_NO_STEP,
                           .arg = &p,
                           .give_up = give_up,
                           .want = want},
                  .mixed = {.rank = task->seat,
                            .size = task->nranks,
                            .in = calloc(ELEMENTS_MOST, sizeof *p.mixed.in),
                            .out = calloc(ELEMENTS_MOST, sizeof *p.mixed.out),
                            .arg = &p,
                            .wrong = wrong}};
    for (uint32_t r = 0; r < task->nranks; r++) {
        p.mixed.seat[r] = r;
    }
    if (p.mixed.in == NULL || p.mixed.out == NULL) {
        wrong(&p, "no memory");
    }
    if (join(&p) != WEFT_OK) {
        lost(&p, "it does not join");
    }
    play(&p);
    survivor_take(&p.self, NULL);
    free(p.mixed.in);
    free(p.mixed.out);
    atomic_store(&p.record->state, ENDED);
    return 0;
}
