/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Faults. Each is an event of the machine; so is its end. */
#include "faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"
#include "stream.h"

enum { FAULTS_MOST = 12 };

/* Two seconds before run.c's boot.unresponsive of these runs. */
#define FLAP_MOST (8 * SIM_S)

typedef struct fault {
    faults_t *faults;
    uint32_t victim, other;
    uint64_t lasts;
} fault_t;

static fault_t pool[FAULTS_MOST];

const char *run_kind_name(run_kind_t kind)
{
    static const char *const names[RUN_KINDS] = {
        "calm",    "revoked", "deaths", "replaced", "network", "scarce",  "resets", "storm",
        "regrown", "fixed",   "folder", "leaving",  "flaps",   "joining", "cuts",   "frames"};
    return names[kind];
}

bool run_kind_is_short(run_kind_t kind)
{
    return kind == RUN_FLAPS || kind == RUN_JOINING;
}

/* Of the sixteen combinations most are quiet: rare events that come together hide each other. */
void faults_oddities(void)
{
    uint64_t which = machine_random();
    machine.odd = (oddities_t){.interrupted = (which & 3) == 0 ? 1u << machine_below(12) : 0,
                               .partial = (which >> 2 & 3) == 0 ? 1u << machine_below(15) : 0,
                               .spurious = (which >> 4 & 3) == 0 ? 1u << machine_below(14) : 0,
                               .preempted = (which >> 6 & 3) == 0 ? 1u << machine_below(11) : 0};
    uint64_t most = (which >> 8 & 3) == 0 ? 5 * SIM_MS : 200 * SIM_US;
    for (uint32_t a = 0; a < SIM_HOSTS; a++) {
        for (uint32_t b = 0; b <= a; b++) {
            machine.latency[a][b] = machine.latency[b][a] = machine_between(10 * SIM_US, most);
        }
    }
}

static void guilt_begin(faults_t *faults, uint32_t rank)
{
    guilt_t *guilt = &faults->guilt[rank];
    guilt->since = machine.now < guilt->since ? machine.now : guilt->since;
}

static void fault_ends(faults_t *faults)
{
    faults->last = machine.now > faults->last ? machine.now : faults->last;
}

/* Deaths --------------------------------------------------------------------------------------- */

/* Newcomers may be struck, too. */
static void fault_redraw(fault_t *f)
{
    run_kind_t kind = f->faults->kind;
    if (kind == RUN_REPLACED || kind == RUN_STORM || kind == RUN_REGROWN) {
        f->victim = (uint32_t)machine_below(f->faults->members);
    }
}

static void fault_kill(void *arg)
{
    fault_t *f = arg;
    fault_redraw(f);
    guilt_begin(f->faults, f->victim);
    f->faults->guilt[f->victim].killed = true;
    process_kill(f->faults->process[f->victim], false);
    fault_ends(f->faults);
}

void faults_kill_all(faults_t *faults)
{
    for (uint32_t r = 0; r < faults->members; r++) {
        guilt_begin(faults, r);
        faults->guilt[r].killed = true;
        process_kill(faults->process[r], false);
    }
}

static void fault_go_on(void *arg)
{
    fault_t *f = arg;
    process_go_on(f->faults->process[f->victim]);
    fault_ends(f->faults);
}

static void fault_stop(void *arg)
{
    fault_t *f = arg;
    fault_redraw(f);
    if (f->faults->process[f->victim]->dead) {
        return;
    }
    guilt_begin(f->faults, f->victim);
    f->faults->guilt[f->victim].stopped = true;
    process_stop(f->faults->process[f->victim]);
    machine_at(machine.now + f->lasts, fault_go_on, f);
}

/* Too short for anybody to call it dead. */
static void fault_pause(void *arg)
{
    fault_t *f = arg;
    fault_redraw(f);
    f->lasts = machine_between(SIM_MS, 800 * SIM_MS);
    if (!f->faults->process[f->victim]->dead) {
        process_stop(f->faults->process[f->victim]);
        machine_at(machine.now + f->lasts, fault_go_on, f);
    }
}

/* The network ---------------------------------------------------------------------------------- */

static bool is_host_of(const fault_t *f, uint32_t host)
{
    return host == f->victim || f->other == SIM_HOSTS || host == f->other;
}

static void rank_is_cut(faults_t *faults, uint32_t rank)
{
    guilt_begin(faults, rank);
    faults->guilt[rank].cut = true;
}

/* The ranks that are there, and those that are started on these hosts until the cut has ended. */
static void hosts_are_guilty(fault_t *f)
{
    for (uint32_t r = 0; r < f->faults->members; r++) {
        if (is_host_of(f, f->faults->process[r]->host)) {
            rank_is_cut(f->faults, r);
        }
    }
    for (uint32_t h = 0; h < f->faults->nhosts; h++) {
        f->faults->cuts[h] += is_host_of(f, h);
    }
}

void faults_started(faults_t *faults, uint32_t rank)
{
    if (faults->cuts[faults->process[rank]->host] > 0) {
        rank_is_cut(faults, rank);
    }
}

/* `other` SIM_HOSTS: all others. */
static void hosts_cut(const fault_t *f, bool cut)
{
    for (uint32_t h = 0; h < f->faults->nhosts; h++) {
        if (h != f->victim && (f->other == SIM_HOSTS || h == f->other)) {
            stream_cut(f->victim, h, cut);
            stream_cut(h, f->victim, cut);
        }
    }
}

static void fault_mend(void *arg)
{
    fault_t *f = arg;
    hosts_cut(f, false);
    for (uint32_t h = 0; h < f->faults->nhosts; h++) {
        f->faults->cuts[h] -= is_host_of(f, h);
    }
    fault_ends(f->faults);
}

static void fault_cut(void *arg)
{
    fault_t *f = arg;
    hosts_are_guilty(f);
    hosts_cut(f, true);
    machine_at(machine.now + f->lasts, fault_mend, f);
}

static void fault_one_way(void *arg)
{
    fault_t *f = arg;
    f->other = (f->victim + 1) % f->faults->nhosts;
    hosts_are_guilty(f);
    stream_cut(f->victim, f->other, true);
    machine_at(machine.now + f->lasts, fault_mend, f);
}

static bool may_be_reset(const object_t *o)
{
    return o->kind == OBJECT_STREAM && !o->local && !o->broken && o->peer != NULL &&
           o->holders > 0 && o->owner != NULL;
}

/* In one of four cases only this end hears of it. The other one is told when it sends, or when its
 * keepalive does. */
static void reset_one(const fault_t *f, object_t *stream)
{
    for (uint32_t r = 0; r < f->faults->members; r++) {
        const process_t *process = f->faults->process[r];
        if (process == stream->owner || process == stream->peer->owner) {
            guilt_begin(f->faults, r);
            f->faults->guilt[r].reset = true;
        }
    }
    stream_reset(stream, machine_below(4) != 0);
}

static void fault_reset(void *arg)
{
    fault_t *f = arg;
    object_t *found = NULL;
    uint32_t seen = 0;
    for (object_t *o = descriptor_first(); o != NULL; o = o->next) {
        if (may_be_reset(o) && machine_below(++seen) == 0) {
            found = o;
        }
    }
    if (found != NULL) {
        reset_one(f, found);
    }
    fault_ends(f->faults);
}

/* All connections of a rank. */
static void fault_reset_all(void *arg)
{
    fault_t *f = arg;
    fault_redraw(f);
    const process_t *victim = f->faults->process[f->victim];
    for (object_t *o = descriptor_first(); o != NULL; o = o->next) {
        if (may_be_reset(o) && (o->owner == victim || o->peer->owner == victim)) {
            reset_one(f, o);
        }
    }
    fault_ends(f->faults);
}

/* What is scarce ------------------------------------------------------------------------------- */

static void fault_fed(void *arg)
{
    fault_t *f = arg;
    f->faults->process[f->victim]->files_most = SIM_FILES_MOST;
    fault_ends(f->faults);
}

static void fault_starve(void *arg)
{
    fault_t *f = arg;
    process_t *process = f->faults->process[f->victim];
    if (process->dead) {
        return;
    }
    machine_note("starve %u", f->victim);
    guilt_begin(f->faults, f->victim);
    f->faults->guilt[f->victim].starved = true;
    if (f->other % 2 == 0) {
        process->memory_from = machine.now;
        process->memory_until = machine.now + f->lasts;
    } else {
        process->files_most = process->files_open;
    }
    machine_at(machine.now + f->lasts, fault_fed, f);
}

/* The plan ------------------------------------------------------------------------------------- */

static void faults_of_hosts(const faults_t *faults, fault_t *f, void (*happens)(void *),
                            uint64_t at)
{
    bool of_hosts = happens == fault_cut || happens == fault_one_way;
    f->victim = of_hosts ? (uint32_t)machine_below(faults->nhosts) : f->victim;
    machine_at(at, happens, f);
}

static void faults_draw(faults_t *faults, fault_t *f, uint64_t at)
{
    static void (*const network[])(void *) = {fault_cut, fault_cut, fault_one_way, fault_reset,
                                              fault_stop};
    static void (*const regrown[])(void *) = {fault_cut, fault_one_way, fault_kill, fault_kill,
                                              fault_stop};
    static void (*const leaving[])(void *) = {fault_cut, fault_one_way, fault_reset,
                                              fault_reset_all};
    static void (*const fixed[])(void *) = {fault_kill, fault_reset, fault_reset_all, fault_pause};
    static void (*const storm[])(void *) = {fault_kill,      fault_reset, fault_reset,
                                            fault_reset_all, fault_pause, fault_reset_all};
    *f = (fault_t){.faults = faults,
                   .victim = (uint32_t)machine_below(faults->nranks),
                   .other = (uint32_t)machine_below(SIM_HOSTS + 1),
                   .lasts = machine_between(SIM_MS, 12 * SIM_S)};
    if (faults->kind == RUN_FRAMES) {
        machine_at(at, machine_below(2) == 0 ? fault_kill : fault_reset_all, f);
    } else if (faults->kind == RUN_DEATHS || faults->kind == RUN_REPLACED) {
        machine_at(at, fault_kill, f);
    } else if (faults->kind == RUN_SCARCE) {
        f->lasts = machine_between(100 * SIM_US, SIM_S);
        machine_at(at, fault_starve, f);
    } else if (faults->kind == RUN_RESETS) {
        machine_at(at, machine_below(2) == 0 ? fault_reset : fault_reset_all, f);
    } else if (faults->kind == RUN_REGROWN) {
        f->lasts = machine_between(machine_below(4) == 0 ? SIM_MS : 4 * SIM_S, 12 * SIM_S);
        faults_of_hosts(faults, f, regrown[machine_below(sizeof regrown / sizeof *regrown)], at);
    } else if (faults->kind == RUN_LEAVING && f == pool) {
        /* About as long as ranks look for each other: some have given up one when they meet
         * again. */
        f->lasts = 3 * SIM_S + machine_below(3 * SIM_S);
        f->other = SIM_HOSTS;
        faults_of_hosts(faults, f, fault_cut, at);
    } else if (run_kind_is_short(faults->kind)) {
        f->lasts = machine_between(SIM_S, FLAP_MOST);
        faults_of_hosts(faults, f, machine_below(4) == 0 ? fault_one_way : fault_cut, at);
    } else if (faults->kind == RUN_LEAVING) {
        faults_of_hosts(faults, f, leaving[machine_below(sizeof leaving / sizeof *leaving)], at);
    } else if (faults->kind == RUN_FIXED || faults->kind == RUN_FOLDER) {
        machine_at(at, fixed[machine_below(sizeof fixed / sizeof *fixed)], f);
    } else if (faults->kind == RUN_STORM) {
        machine_at(at, storm[machine_below(sizeof storm / sizeof *storm)], f);
    } else {
        faults_of_hosts(faults, f, network[machine_below(sizeof network / sizeof *network)], at);
    }
}

/* The second one begins when what broke in the first is hardly made again. Together they are no
 * longer than one alone may be: nobody is away for as long as the limit. */
static void faults_follow(faults_t *faults, fault_t *first, fault_t *second, uint64_t at)
{
    uint64_t between = 50 * SIM_MS + machine_below(550 * SIM_MS), least = 100 * SIM_MS;
    uint64_t both = FLAP_MOST - between - machine_below(3 * SIM_S);
    /* Connections break 3 to 4 s after they were cut, at one end before the other. */
    first->lasts = machine_below(2) == 0 ? 3 * SIM_S + machine_below(3 * SIM_S / 2)
                                         : least + machine_below(both - least);
    faults_draw(faults, second, at + first->lasts + between);
    second->lasts = both - first->lasts;
}

void faults_plan(faults_t *faults, uint64_t within)
{
    bool many = faults->kind == RUN_RESETS || faults->kind == RUN_STORM;
    uint32_t most = many ? FAULTS_MOST : faults->kind == RUN_DEATHS ? faults->nranks - 1 : 3;
    most = most < FAULTS_MOST ? most : FAULTS_MOST;
    faults->count = faults->kind <= RUN_REVOKED ? 0 : 1 + (uint32_t)machine_below(most);
    faults->count = run_kind_is_short(faults->kind) ? 1 : faults->count;
    if (faults->kind == RUN_FRAMES) {
        faults->count = (uint32_t)machine_below(2); /* of some a rank dies, too */
    }
    faults->last = machine.now;
    for (uint32_t r = 0; r < PLAYERS; r++) {
        faults->guilt[r].since = SIM_NEVER;
    }
    /* As many in the first milliseconds, when the ranks join, as later. */
    uint64_t at = 0, first = 100 * SIM_US;
    if (faults->kind == RUN_REGROWN) {
        first = 40 * SIM_MS; /* joins that fail end the run */
        within = 400 * SIM_MS;
    }
    if (faults->kind == RUN_LEAVING || faults->kind == RUN_FLAPS) {
        first = (faults->kind == RUN_FLAPS ? 400 : 100) * SIM_MS; /* all have joined */
        within = SIM_S;
    }
    if (faults->kind == RUN_JOINING) {
        within = 60 * SIM_MS; /* most join in less */
    }
    for (uint32_t i = 0; i < faults->count; i++) {
        /* Faults that follow each other closely meet what the one before set going. */
        bool follows = many && i > 0 && machine_below(2) == 0;
        at = follows ? at + machine_between(SIM_US, 5 * SIM_MS)
                     : machine.now + machine_between(first, within);
        faults_draw(faults, &pool[i], at);
    }
    if (faults->twice) {
        faults_follow(faults, &pool[0], &pool[1], at);
    }
}
