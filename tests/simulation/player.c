/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program of a simulated rank: it joins, makes calls of every kind and compares their numbers,
 * shrinks to those who are left when one fails, goes on, and leaves. It knows nothing of the
 * simulation. */
#include "player.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/boot/fixed_id.h"
#include "tests/simulation/leavers.h"
#include "tests/support/mixed_calls.h"
#include "tests/support/survivor.h"

typedef struct player {
    const player_task_t *task;
    player_board_t *board;
    player_record_t *record;
    uint32_t seat, step, agreements;
    uint64_t recovers; /* since when it has been in a call of its recovery */
    mixed_t mixed;
    survivor_t survivor; /* where the dead are replaced */
    weft_status_t outcome;
    weft_comm_t *half;   /* NULL: none is kept */
    uint64_t half_seats; /* its members */
    uint32_t half_calls; /* made in it */
    bool excluded;       /* the others go on without this rank */
    jmp_buf end;         /* of a rank that cannot go on */
} player_t;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A number that looks like chance and is the same in every replay. */
static uint64_t mix(uint64_t number)
{
    return number * UINT64_C(0x9e3779b97f4a7c15);
}

__attribute__((format(printf, 2, 3))) static void wrong(void *arg, const char *format, ...)
{
    player_t *p = arg;
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (p->record->wrong[0] == '\0') {
        snprintf(p->record->wrong, sizeof p->record->wrong, "step %u: %s", p->step, text);
    }
}

/* A call that began at `begin` has ended. */
static weft_status_t note(player_t *p, const char *call, uint64_t begin, weft_status_t status)
{
    player_record_t *record = p->record;
    uint64_t took = now_ns() - begin;
    weft_error_t error = {.size = sizeof error};
    if (took > record->longest) {
        record->longest = took;
        snprintf(record->longest_call, sizeof record->longest_call, "%s", call);
    }
    if (status == WEFT_OK) {
        return status;
    }
    (void)weft_last_error(&error);
    if (record->errors < PLAYER_ERRORS) {
        player_error_t *kept = &record->error[record->errors];
        *kept = (player_error_t){.at = now_ns(), .status = status, .pid = error.peer_pid};
        snprintf(kept->call, sizeof kept->call, "%s", call);
        snprintf(kept->text, sizeof kept->text, "%.399s", error.text);
    }
    record->errors++;
    return status;
}

static weft_status_t make_id(player_t *p, const weft_comm_options_t *options)
{
    player_board_t *board = p->board;
    uint64_t begin = now_ns();
    weft_unique_id_t id;
    weft_status_t status = note(p, "weft_unique_id_create", begin,
                                board->at != NULL ? weft_fixed_id_make(board->at, &id)
                                                  : weft_unique_id_create(&id, options));
    if (status == WEFT_OK) {
        board->id = id;
        board->ready = true;
    }
    return status;
}

/* Takes the id from where the ranks meet. */
static weft_status_t meet_in_folder(player_t *p, weft_unique_id_t *id,
                                    const weft_comm_options_t *options)
{
    weft_launcher_t launcher = {
        .size = sizeof launcher, .name = "openmpi", .rank = p->seat, .nranks = p->board->nranks};
    weft_status_t status = p->seat == 0 ? weft_unique_id_create(id, options) : WEFT_OK;
    return status == WEFT_OK ? weft_launcher_exchange_id(&launcher, id, options) : status;
}

static weft_status_t join_once(player_t *p, weft_comm_t **comm_p,
                               const weft_comm_options_t *options)
{
    const player_board_t *board = p->board;
    weft_unique_id_t id = board->id;
    uint64_t begin = now_ns();
    weft_status_t status = WEFT_OK;
    if (board->meets) {
        status = note(p, "an init's exchange", begin, meet_in_folder(p, &id, options));
        begin = now_ns();
    }
    if (status == WEFT_OK) {
        status = note(p, "weft_comm_init_rank", begin,
                      weft_comm_init_rank(comm_p, board->nranks, &id, p->seat, options));
    }
    p->record->joined = now_ns();
    return status;
}

/* Each rank makes communicators before the one that it keeps. */
static weft_status_t join_before(player_t *p, const weft_comm_options_t *options)
{
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 1; status == WEFT_OK && i < p->board->joins; i++) {
        weft_comm_t *comm = NULL;
        status = join_once(p, &comm, options);
        uint64_t begin = now_ns();
        if (status == WEFT_OK) {
            status = note(p, "weft_comm_destroy", begin, weft_comm_destroy(comm));
        }
    }
    return status;
}

static weft_status_t join(player_t *p)
{
    player_board_t *board = p->board;
    weft_comm_options_t options = {.size = sizeof options,
                                   .config = "/dev/null",
                                   .settings = board->setting,
                                   .settings_count = board->nsettings};
    uint64_t begin = now_ns();
    if (p->task->newcomer) {
        return note(p, "weft_comm_join", begin,
                    weft_comm_join(&p->mixed.comm, &p->task->ticket, &options));
    }
    weft_status_t status = p->seat == 0 && !board->meets ? make_id(p, &options) : WEFT_OK;
    if (status != WEFT_OK) {
        return status;
    }
    while (!board->ready && !board->meets && now_ns() - begin < 20 * UINT64_C(1000000000)) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    if (!board->ready && !board->meets) {
        return WEFT_ERR_TIMEOUT; /* rank 0 did not live to make it */
    }
    status = join_before(p, &options);
    return status == WEFT_OK ? join_once(p, &p->mixed.comm, &options) : status;
}

/* Who is here, and where the slowest of them is: a gather of seats and steps. */
static weft_status_t meet(player_t *p)
{
    mixed_t *m = &p->mixed;
    uint64_t mine = (uint64_t)p->seat << 32 | p->step, all[PLAYERS] = {0};
    if (weft_comm_rank(m->comm, &m->rank) != WEFT_OK ||
        weft_comm_size(m->comm, &m->size) != WEFT_OK || m->size > PLAYERS) {
        wrong(p, "rank and size of a communicator");
        return WEFT_ERR_INTERNAL;
    }
    uint64_t begin = now_ns();
    weft_status_t status = note(p, "all_gather of seats", begin,
                                weft_all_gather(&mine, all, 1, WEFT_UINT64, m->comm, NULL));
    p->record->members = status == WEFT_OK ? 0 : p->record->members;
    for (uint32_t r = 0; status == WEFT_OK && r < m->size; r++) {
        m->seat[r] = (uint32_t)(all[r] >> 32);
        p->record->members |= UINT64_C(1) << m->seat[r];
        p->step = (uint32_t)all[r] < p->step ? (uint32_t)all[r] : p->step;
        if (r > 0 && m->seat[r] <= m->seat[r - 1]) {
            wrong(p, "rank %u of the communicator is %u, rank %u is %u", r - 1, m->seat[r - 1], r,
                  m->seat[r]);
        }
    }
    return status;
}

static weft_status_t destroy(player_t *p)
{
    weft_comm_t *comm = p->mixed.comm;
    uint64_t begin = now_ns();
    p->mixed.comm = NULL;
    return note(p, "weft_comm_destroy", begin, weft_comm_destroy(comm));
}

/* Where only a child has failed the others do not know of it. */
static void tell(player_t *p)
{
    weft_error_t failure = {.size = sizeof failure};
    if (weft_comm_error(p->mixed.comm, &failure) == WEFT_OK && failure.status == WEFT_OK &&
        weft_comm_revoke(p->mixed.comm) != WEFT_OK) {
        wrong(p, "weft_comm_revoke");
    }
}

/* A communicator that has failed says so on its descriptor, whether it was asked for before or
 * after. */
static void watch(player_t *p)
{
    struct pollfd entry = {.fd = -1, .events = POLLIN};
    int ready;
    if (!p->board->watches) {
        return;
    }
    if (weft_comm_error_fd(p->mixed.comm, &entry.fd) != WEFT_OK) {
        wrong(p, "weft_comm_error_fd");
        return;
    }
    do {
        ready = poll(&entry, 1, 1000);
    } while (ready < 0 && errno == EINTR);
    if (ready != 1 || entry.revents != POLLIN) {
        wrong(p, "the descriptor of a communicator that has failed is silent");
    }
}

/* Who agrees each time has made as many agreements as the others: all have heard the same. */
static void compare_agreement(player_t *p, uint64_t bits)
{
    if (p->agreements >= PLAYER_AGREEMENTS) {
        return;
    }
    uint64_t *known = &p->board->agreed[p->agreements++];
    if (*known == 0) {
        *known = bits;
    } else if (*known != bits) {
        wrong(p, "agreement %u is %llx, others have %llx", p->agreements - 1,
              (unsigned long long)bits, (unsigned long long)*known);
    }
}

/* Whether all that live have come out of a call well; a bit for each seat. */
static weft_status_t agree(player_t *p, weft_status_t status)
{
    uint64_t mine = UINT64_C(1) << p->seat, bits = status == WEFT_OK ? UINT64_MAX : ~mine;
    if (!p->board->agrees) {
        return status;
    }
    if (status != WEFT_OK) {
        tell(p);
    }
    uint64_t begin = now_ns();
    weft_status_t agreed = note(p, "weft_comm_agree", begin, weft_comm_agree(p->mixed.comm, &bits));
    if (agreed != WEFT_OK) {
        return agreed;
    }
    if (((bits & mine) != 0) != (status == WEFT_OK)) {
        wrong(p, "agreement has another vote of this rank: %llx", (unsigned long long)bits);
    }
    compare_agreement(p, bits);
    return bits == UINT64_MAX ? WEFT_OK : WEFT_ERR_PEER_DEAD;
}

/* For reasons of its own, a few times in a run. */
static void revoke_perhaps(player_t *p)
{
    player_record_t *record = p->record;
    if (!p->board->revokes || record->shrinks >= 10 ||
        mix(mix(p->board->seed + p->seat) + p->step + record->shrinks) >> 59 != 0) {
        return;
    }
    record->revoked = record->revoked == 0 ? now_ns() : record->revoked;
    if (weft_comm_revoke(p->mixed.comm) != WEFT_OK) {
        wrong(p, "weft_comm_revoke");
    }
}

/* Halves --------------------------------------------------------------------------------------- */

static void drop_half(player_t *p)
{
    if (p->half != NULL && weft_comm_destroy(p->half) != WEFT_OK) {
        wrong(p, "weft_comm_destroy of a half that was kept");
    }
    p->half = NULL;
}

/* Once, before the first call, however the ranks have met: all have a half, or nobody has. */
static weft_status_t keep_half(player_t *p, weft_status_t status)
{
    mixed_t *m = &p->mixed;
    if (!p->board->keeps) {
        return status;
    }
    uint64_t begin = now_ns();
    if (status == WEFT_OK) {
        status = note(p, "weft_comm_split", begin,
                      weft_comm_split(m->comm, (int32_t)(p->seat % 2), 0, &p->half));
    }
    for (uint32_t r = 0; r < m->size; r++) {
        p->half_seats |= m->seat[r] % 2 == p->seat % 2 ? UINT64_C(1) << m->seat[r] : 0;
    }
    if (status != WEFT_OK) {
        tell(p);
    }
    uint64_t all = status == WEFT_OK;
    begin = now_ns();
    weft_status_t agreed = note(p, "weft_comm_agree", begin, weft_comm_agree(m->comm, &all));
    if (agreed != WEFT_OK || all == 0) {
        drop_half(p);
    }
    return agreed != WEFT_OK ? agreed : all == 0 ? WEFT_ERR_PEER_DEAD : WEFT_OK;
}

/* After each shrink: who is in the half was not asked about what the whole has lost. */
static void use_half(player_t *p)
{
    uint64_t mine = mixed_number(p->seat, p->half_calls, 0), sum = 0, right = 0;
    if (p->half == NULL) {
        return;
    }
    for (uint32_t seat = 0; seat < PLAYERS; seat++) {
        right += (p->half_seats >> seat & 1) != 0 ? mixed_number(seat, p->half_calls, 0) : 0;
    }
    p->half_calls++;
    uint64_t begin = now_ns();
    if (note(p, PLAYER_HALF_CALL, begin,
             weft_all_reduce(&mine, &sum, 1, WEFT_UINT64, WEFT_SUM, p->half, NULL)) != WEFT_OK) {
        drop_half(p);
    } else if (sum != right) {
        wrong(p, "all_reduce of a kept half is %llu, not %llu", (unsigned long long)sum,
              (unsigned long long)right);
    }
}

/* Shrinking ------------------------------------------------------------------------------------ */

/* A rank that all leave out, as they have agreed; the number of ranks: nobody. */
static weft_status_t choose_excluded(player_t *p, uint32_t *rank_p)
{
    const mixed_t *m = &p->mixed;
    uint64_t bits = mix(mix(p->board->seed + p->step) + m->size) >> 32;
    *rank_p = m->size;
    if (!p->board->excludes || m->size < 3) {
        return WEFT_OK;
    }
    uint64_t begin = now_ns();
    weft_status_t status = note(p, "weft_comm_agree", begin, weft_comm_agree(m->comm, &bits));
    *rank_p = (uint32_t)(bits % (2 * m->size));
    *rank_p = *rank_p < m->size ? *rank_p : m->size;
    return status;
}

/* Those who leave out a rank call; the rank leaves, its half too. */
static weft_status_t shrink(player_t *p, uint32_t excluded)
{
    mixed_t *m = &p->mixed;
    weft_comm_t *fewer = NULL;
    bool any = excluded < m->size;
    p->excluded = any && excluded == m->rank;
    if (any) {
        drop_half(p);
    }
    if (p->excluded) {
        return WEFT_OK;
    }
    uint64_t begin = now_ns();
    weft_status_t status =
        note(p, "weft_comm_shrink", begin, weft_comm_shrink(m->comm, &excluded, any, &fewer));
    p->record->shrinks++;
    if (status == WEFT_OK) {
        status = destroy(p);
        m->comm = fewer;
        use_half(p);
    }
    return status;
}

/* Goes on with those who are left. */
static weft_status_t recover(player_t *p)
{
    uint32_t excluded = 0;
    tell(p);
    watch(p);
    weft_status_t status = choose_excluded(p, &excluded);
    return status == WEFT_OK ? shrink(p, excluded) : status;
}

/* The job -------------------------------------------------------------------------------------- */

/* The seats of those who have left or are about to; a bit for each. */
static uint64_t gone(const player_t *p)
{
    return p->step >= p->board->leave_at ? p->board->leavers : 0;
}

static weft_status_t work(player_t *p)
{
    mixed_t *m = &p->mixed;
    uint64_t mixed = mix(p->step + p->board->seed);
    revoke_perhaps(p);
    uint64_t begin = now_ns();
    m->step = p->step;
    if (leavers_pass_by(m, gone(p), (uint32_t)(mixed >> 50))) {
        return note(p, "a ring of those who stay", begin, leavers_ring(m, gone(p)));
    }
    return note(p, "a call", begin,
                mixed_call(m, (uint32_t)(mixed >> 50), 1 + (mixed >> 20) % p->board->most));
}

static void wait_for(uint64_t ns)
{
    const struct timespec t = {.tv_sec = (time_t)(ns / 1000000000),
                               .tv_nsec = (long)(ns % 1000000000)};
    if (ns > 0) {
        nanosleep(&t, NULL);
    }
}

static weft_status_t play(player_t *p)
{
    weft_status_t status = keep_half(p, agree(p, meet(p)));
    while (p->step < p->board->steps && p->record->shrinks < p->board->shrinks) {
        wait_for(p->board->pause);
        if (status == WEFT_OK && (gone(p) >> p->seat & 1) != 0) {
            wait_for(p->board->leave_pause);
            return WEFT_OK;
        }
        status = status == WEFT_OK ? agree(p, work(p)) : status;
        if (status == WEFT_OK) {
            p->step++;
            p->record->steps++;
            continue;
        }
        status = recover(p);
        if (status != WEFT_OK || p->excluded) {
            return status;
        }
        status = agree(p, meet(p));
    }
    return p->step < p->board->steps ? WEFT_ERR_TIMEOUT : WEFT_OK;
}

/* Replacement ---------------------------------------------------------------------------------- */

/* Where hosts are cut off, who finds itself without a quorum or declared dead has to. */
static void give_up(void *arg, const char *what)
{
    player_t *p = arg;
    weft_error_t error = {.size = sizeof error};
    (void)weft_last_error(&error);
    if (!p->board->parts) {
        wrong(p, "%s: %.200s", what, error.text);
    }
    longjmp(p->end, 1);
}

static void want(void *arg, uint32_t seat, const weft_ticket_t *ticket)
{
    player_t *p = arg;
    p->board->wish[seat].ticket = *ticket;
    p->board->wish[seat].count++;
}

static void call_ended(void *arg, const char *call, weft_status_t status)
{
    player_t *p = arg;
    (void)note(p, call, p->recovers, status);
    p->recovers = now_ns();
}

/* Where the slowest is, and, if a replaced rank may live, who is here. */
static weft_status_t meet_replaced(player_t *p, survivor_t *s)
{
    uint64_t mine = UINT64_C(1) << p->task->member, all = 0, begin = now_ns();
    weft_status_t status = note(p, "survivor_meet", begin, survivor_meet(s));
    if (status != WEFT_OK || !p->board->parts) {
        return status;
    }
    begin = now_ns();
    status = note(p, "all_reduce of members", begin,
                  weft_all_reduce(&mine, &all, 1, WEFT_UINT64, WEFT_BOR, s->comm, NULL));
    p->record->members = status == WEFT_OK ? all : p->record->members;
    return status;
}

/* Until all have made all steps, which all hear at the same one. */
static weft_status_t play_replaced(player_t *p, survivor_t *s)
{
    mixed_t *m = &p->mixed;
    bool fresh = true;
    m->rank = p->seat;
    m->size = p->board->nranks;
    for (uint32_t r = 0; r < m->size; r++) {
        m->seat[r] = r;
    }
    for (;;) {
        uint32_t more = s->step < p->board->steps, all = 0;
        weft_status_t status = fresh ? meet_replaced(p, s) : WEFT_OK;
        m->comm = s->comm;
        p->step = s->step;
        wait_for(p->board->pause);
        status = status == WEFT_OK ? work(p) : status;
        if (status == WEFT_OK) {
            uint64_t begin = now_ns();
            s->step++;
            p->record->steps++;
            status = note(p, "all_reduce at the end", begin,
                          weft_all_reduce(&more, &all, 1, WEFT_UINT32, WEFT_MAX, s->comm, NULL));
        }
        if (status == WEFT_OK && all == 0) {
            return WEFT_OK;
        }
        fresh = status != WEFT_OK;
        if (fresh) {
            p->record->shrinks++;
            tell(p);
            watch(p);
            p->recovers = now_ns();
            survivor_recover(s);
        }
    }
}

static weft_status_t live_replaced(player_t *p)
{
    p->survivor = (survivor_t){.comm = p->mixed.comm,
                               .seat = p->seat,
                               .size = p->board->nranks,
                               .step = p->task->newcomer ? SURVIVOR_NO_STEP : 0,
                               .arg = p,
                               .give_up = give_up,
                               .want = want,
                               .ended = call_ended};
    if (setjmp(p->end) == 0) {
        p->outcome = play_replaced(p, &p->survivor);
    } else {
        p->outcome = WEFT_ERR_STATE; /* see give_up() */
    }
    p->mixed.comm = p->survivor.comm;
    weft_status_t destroyed = destroy(p);
    return p->outcome == WEFT_OK ? destroyed : p->outcome;
}

static weft_status_t live(player_t *p)
{
    weft_status_t status = join(p);
    if (status != WEFT_OK) {
        return status;
    }
    if (p->board->replaces) {
        return live_replaced(p);
    }
    status = play(p);
    drop_half(p);
    weft_status_t destroyed = destroy(p);
    return status == WEFT_OK ? destroyed : status;
}

__attribute__((visibility("default"))) void *player_main(void *arg);

void *player_main(void *arg)
{
    const player_task_t *task = arg;
    uint64_t room = mixed_elements(task->board->most, PLAYERS);
    player_t p = {.task = task,
                  .board = task->board,
                  .record = &task->board->record[task->member],
                  .seat = task->seat,
                  .mixed = {.nobody_dies = task->board->nobody_dies,
                            .in = malloc(room * sizeof(uint64_t)),
                            .out = malloc(room * sizeof(uint64_t)),
                            .arg = &p,
                            .wrong = wrong}};
    if (p.mixed.in == NULL || p.mixed.out == NULL) {
        p.record->gave_up = true;
        return NULL;
    }
    if (live(&p) == WEFT_OK) {
        p.record->finished = true;
    } else {
        p.record->gave_up = true;
    }
    p.record->arena = p.mixed.arena;
    free(p.mixed.in);
    free(p.mixed.out);
    return NULL;
}
