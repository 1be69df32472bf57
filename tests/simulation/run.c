/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A run, from its seed to its verdict. */
#include "run.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "changes.h"
#include "folder.h"
#include "memory.h"
#include "stream.h"

/* What the settings promise: after this a call has ended. */
#define CALL_MOST (45 * SIM_S)
/* A cut of 6 s, and what ranks need to find each other or to give each other up. */
#define LEAVING_MOST (20 * SIM_S)
/* After a cut. */
#define JOIN_MOST (3 * SIM_S)
#define RUN_MOST (400 * SIM_S)
#define SHRINKS_MOST 80
/* Where ranks differ for good, each shrink ends in the same error. */
#define FRAMES_SHRINKS 8
/* Most of 300 seeds make 3 to 15 calls in a turn, one 37. */
#define CALLS_PER_TURN UINT64_C(100)
#define CALLS_FREE UINT64_C(5000000)

typedef struct run {
    const run_options_t *options;
    run_result_t *result;
    uint64_t seed;
    player_board_t board;
    player_task_t task[PLAYERS];
    faults_t faults;
    char net[64], plugins[512], at[96];
    bool quorum;
    run_kind_t kind; /* as it was asked for; faults.kind: what it comes to */
    /* What each left behind when it ended by itself. */
    memory_holdings_t left[PLAYERS];
    uint32_t files[PLAYERS], threads[PLAYERS];
    uint32_t granted[PLAYERS]; /* wishes */
} run_t;

static run_t run;
static image_t *images[PLAYERS + 1];

__attribute__((format(printf, 1, 2))) static void run_find(const char *format, ...)
{
    va_list args;
    if (run.result->good) {
        va_start(args, format);
        vsnprintf(run.result->what, sizeof run.result->what, format, args);
        va_end(args);
    }
    run.result->good = false;
}

/* The job -------------------------------------------------------------------------------------- */

static uint32_t threads_alive(const process_t *process)
{
    uint32_t alive = 0;
    for (const thread_t *t = process->threads; t != NULL; t = t->next) {
        alive += !t->ended;
    }
    return alive;
}

/* The root of a join stays for ranks that are late, and ends by itself. */
static void rank_settle(const process_t *process)
{
    uint64_t until = machine.now + CALL_MOST;
    while (threads_alive(process) > 1 && machine.now < until) {
        (void)thread_sleep("the end of other threads", machine.now + 100 * SIM_MS);
    }
}

static void *rank_run(void *arg)
{
    player_task_t *task = arg;
    process_t *process = machine.self->process;
    player_main_t *main_of;
    machine.apart++;
    *(void **)&main_of = image_symbol(process->image, "player_main");
    machine.apart--;
    void *code = main_of(task);
    rank_settle(process);
    run.left[task->member] = memory_holds(process);
    run.files[task->member] = process->files_open;
    run.threads[task->member] = threads_alive(process);
    if (machine.loud && run.left[task->member].allocations > 0) {
        fprintf(stderr, "left by %u:\n", task->member);
        memory_print(process);
    }
    return code;
}

static void run_set(const char *setting)
{
    run.board.setting[run.board.nsettings++] = setting;
}

/* Their waits are ended by others, and kernels have patience. */
static bool some_leave(void)
{
    return run.faults.kind == RUN_LEAVING || run_kind_is_short(run.faults.kind);
}

static void run_settle(void)
{
    static const char *const nets[] = {"core.net=net-shm net-socket", "core.net=net-socket",
                                       "core.net=net-shm net-socket"};
    snprintf(run.plugins, sizeof run.plugins, "core.plugin_dir=%s", run.options->plugins);
    snprintf(run.net, sizeof run.net, "core.net=%s",
             run.options->net != NULL ? run.options->net : "");
    run_set(run.options->net != NULL ? run.net : nets[machine_below(3)]);
    run_set(run.plugins);
    run_set("core.topo=");
    run_set(run.options->loud ? "core.log=debug" : "core.log=error");
    /* Who spins for seconds of virtual time takes many of the real one. */
    run_set(run.faults.kind <= RUN_REPLACED && machine_below(4) == 0 ? "exec.wait=auto"
                                                                     : "exec.wait=sleep");
    run_set("boot.init_timeout=30s");
    run_set(run_kind_is_short(run.faults.kind) ? "boot.connect_timeout=30s"
                                               : "boot.connect_timeout=10s");
    run_set(run_kind_is_short(run.faults.kind) ? "boot.unresponsive=10s" : "boot.unresponsive=3s");
    /* Longer than a call may last: the failure of others must end it. */
    run_set(some_leave() ? "exec.op_timeout=100s" : "exec.op_timeout=20s");
    run.quorum = (run.faults.kind == RUN_NETWORK || run.board.parts) && machine_below(2) == 0;
    run_set(run.quorum ? "boot.quorum=majority" : "boot.quorum=none");
}

/* Starts a process at that time. */
static void member_start(uint32_t seat, const weft_ticket_t *ticket, uint64_t at)
{
    faults_t *faults = &run.faults;
    uint32_t member = faults->members, i = 0;
    while (images[i] != NULL && images[i]->used) {
        i++;
    }
    if (images[i] == NULL) {
        images[i] = image_load(run.options->image);
    }
    run.task[member] = (player_task_t){
        .board = &run.board, .seat = seat, .member = member, .newcomer = ticket != NULL};
    if (ticket != NULL) {
        run.task[member].ticket = *ticket;
    }
    faults->process[member] = process_start(images[i], (uint32_t)machine_below(faults->nhosts),
                                            member, rank_run, &run.task[member], at);
    faults_started(faults, member);
    faults->members++;
}

/* Newcomers that are wanted are started, as long as there are images. */
static void run_look(void *nothing)
{
    for (uint32_t s = 0; s < run.faults.nranks; s++) {
        const player_wish_t *wish = &run.board.wish[s];
        if (wish->count != run.granted[s] && run.faults.members < PLAYERS) {
            run.granted[s] = wish->count;
            member_start(s, &wish->ticket, machine.now + machine_between(SIM_US, 20 * SIM_MS));
        }
    }
    machine_at(machine.now + 2 * SIM_MS, run_look, nothing);
}

/* Not drawn from the run's numbers: the runs of seeds that are kept stay what they were. */
static void run_choose(void)
{
    uint64_t bits = run.seed * UINT64_C(0x9e3779b97f4a7c15) >> 48;
    bool nobody_comes = run.faults.kind == RUN_REVOKED || run.faults.kind == RUN_DEATHS ||
                        (run.faults.kind == RUN_FRAMES && !run.board.parts);
    run.board.excludes = nobody_comes && (bits & 3) == 0;
    run.board.keeps = nobody_comes && (bits >> 2 & 3) == 0;
    run.board.pause = run.board.parts ? 20 * SIM_MS
                      : some_leave() && run.faults.kind != RUN_JOINING
                          ? 50 * SIM_MS
                          : 0; /* or all steps are over when the first host is cut off */
    run.board.watches = (nobody_comes || run.board.parts) && (bits >> 4 & 1) != 0;
}

static bool joins_often(void)
{
    return run.faults.kind == RUN_FIXED || run.faults.kind == RUN_FOLDER;
}

/* Where the ranks of the job meet. */
static void run_make_folder(void)
{
    folder_make();
    machine.names_all = machine_below(2) == 0;
    snprintf(run.at, sizeof run.at, "boot.rendezvous=%s", machine.folder);
    run.board.meets = true;
    run_set("boot.exchange=folder");
    run_set(run.at);
}

/* The job is killed and started anew, in the same folder and under the same name. Ranks of one job
 * are taken for such if they start within two seconds of each other. */
static void run_restart(void *nothing)
{
    (void)nothing;
    faults_t *faults = &run.faults;
    uint64_t at = machine.now + machine_between(5 * SIM_S / 2, 10 * SIM_S);
    faults_kill_all(faults);
    for (uint32_t r = 0; r < faults->nranks; r++) {
        member_start(r, NULL, at + machine_between(SIM_US, 20 * SIM_MS));
    }
}

/* Two stay at least, and one leaves. */
static void run_choose_leavers(void)
{
    faults_t *faults = &run.faults;
    faults->nranks = faults->nranks < 3 ? 3 : faults->nranks;
    faults->nhosts = faults->nhosts < 2 ? 2 : faults->nhosts;
    uint32_t count = 1 + (uint32_t)machine_below(faults->nranks - 2);
    for (uint32_t i = 0; i < count; i++) {
        run.board.leavers |= UINT64_C(1) << machine_below(faults->nranks);
    }
    machine.patience = 60 * SIM_S; /* the kernel's is minutes: only the detector can end a wait */
    run.board.leave_at = 1 + (uint32_t)machine_below(3);
    run.board.leave_pause = SIM_S + machine_below(2 * SIM_S);
}

/* Whatever ranks say to each other is said in some of the runs. */
static void run_choose_frames(void)
{
    changes_begin(run.faults.nranks);
    run.board.parts = machine_below(4) == 0; /* who is given up may live, and is replaced */
    run.board.revokes = !run.board.parts && machine_below(2) == 0;
    run.board.agrees = !run.board.parts && machine_below(2) == 0;
}

static void run_begin(void)
{
    faults_t *faults = &run.faults;
    bool large = machine_below(16) == 0;
    faults->nranks =
        run.options->ranks > 0 ? run.options->ranks : 2 + (uint32_t)machine_below(large ? 15 : 4);
    faults->nhosts = 1 + (uint32_t)machine_below(faults->nranks < 4 ? faults->nranks : 4);
    faults->kind = run.options->kind >= 0 ? (run_kind_t)run.options->kind
                                          : (run_kind_t)machine_below(RUN_KINDS);
    run.kind = faults->kind;
    if (run.kind == RUN_CUTS) {
        faults->twice = true;
        faults->kind = machine_below(2) == 0 ? RUN_FLAPS : RUN_JOINING;
    }
    run.board.parts = faults->kind == RUN_REGROWN;
    if ((faults->kind == RUN_NETWORK || run.board.parts) && faults->nhosts < 2) {
        faults->nhosts = 2;
    }
    if (some_leave()) {
        run_choose_leavers();
    }
    if (faults->kind == RUN_JOINING || (faults->kind == RUN_FLAPS && machine_below(2) == 0)) {
        run.board.leavers = 0; /* all leave at the end */
    }
    if ((run.board.parts || faults->kind == RUN_FRAMES) && faults->nranks > 6) {
        faults->nranks = 6; /* on both sides of a cut as many newcomers may come */
    }
    faults_oddities();
    machine_note("%s, interrupted %u, partial %u, spurious %u, preempted %u",
                 run_kind_name(faults->kind), machine.odd.interrupted, machine.odd.partial,
                 machine.odd.spurious, machine.odd.preempted);
    run.board.shrinks = faults->kind == RUN_FRAMES ? FRAMES_SHRINKS : SHRINKS_MOST;
    run.board.nranks = faults->nranks;
    run.board.seed = run.seed;
    run.board.steps = 5 + (uint32_t)machine_below(25);
    run.board.most = machine_below(8) == 0 ? 100000 : 3000;
    run.board.nobody_dies = faults->kind == RUN_CALM;
    run.board.revokes =
        faults->kind == RUN_REVOKED || (faults->kind == RUN_STORM && machine_below(3) == 0);
    /* Where a network is cut, both sides may go on. */
    run.board.agrees =
        (faults->kind <= RUN_DEATHS || faults->kind == RUN_RESETS) && machine_below(3) == 0;
    if (faults->kind == RUN_FRAMES) {
        run_choose_frames();
    }
    run_choose();
    run_settle();
    if (joins_often()) {
        run.board.joins = 1 + (uint32_t)machine_below(3);
    }
    if (faults->kind == RUN_FOLDER) {
        run_make_folder();
    }
    for (uint32_t r = 0; r < faults->nranks; r++) {
        member_start(r, NULL, machine.now + machine_between(SIM_US, 20 * SIM_MS));
    }
    if (faults->kind == RUN_FIXED || (faults->kind == RUN_JOINING && machine_below(2) == 0)) {
        struct sockaddr_in in;
        socklen_t bytes = sizeof in;
        char host[INET_ADDRSTRLEN];
        stream_address(faults->process[0]->host, 0, (struct sockaddr *)&in, &bytes);
        inet_ntop(AF_INET, &in.sin_addr, host, sizeof host);
        snprintf(run.at, sizeof run.at, "%s:4711", host);
        run.board.at = run.at;
    }
    if (faults->kind == RUN_FOLDER && machine_below(2) == 0) {
        machine_at(machine.now + machine_between(SIM_MS, 60 * SIM_MS), run_restart, NULL);
    }
    if (faults->kind == RUN_REPLACED || faults->kind == RUN_STORM || run.board.parts) {
        run.board.replaces = true;
        run_look(NULL);
    }
    faults_plan(faults, (10 * SIM_MS) << machine_below(6));
}

/* The verdict ---------------------------------------------------------------------------------- */

static const guilt_t *guilt_of(int32_t pid, uint32_t *rank_p)
{
    for (uint32_t r = 0; r < run.faults.members; r++) {
        if (run.faults.process[r]->pid == pid) {
            *rank_p = r;
            return &run.faults.guilt[r];
        }
    }
    return NULL;
}

/* A rank that gave up is guilty in the eyes of the others, once it has. */
static bool has_failed_by(uint32_t rank, uint64_t at)
{
    const player_record_t *record = &run.board.record[rank];
    return record->errors > 0 && record->error[0].at <= at;
}

static bool is_touched(uint32_t rank)
{
    return run.faults.guilt[rank].since != SIM_NEVER;
}

static bool has_joined(uint32_t rank)
{
    const player_record_t *record = &run.board.record[rank];
    return record->errors == 0 || strstr(record->error[0].call, "init") == NULL;
}

/* A connection that is reset is lost, and nobody with it. */
static bool is_well(uint32_t rank)
{
    const guilt_t *guilt = &run.faults.guilt[rank];
    return guilt->reset && !guilt->killed && !guilt->stopped && !guilt->cut && !guilt->starved &&
           has_joined(rank);
}

/* Frames were changed on their way. Nobody is to blame but those at their ends; where only time was
 * changed, nobody. */
static void judge_changed(uint32_t rank, const player_error_t *error)
{
    const changes_t *made = changes_made();
    uint32_t culprit = 0;
    const guilt_t *guilt = guilt_of(error->pid, &culprit);
    bool known = guilt == NULL || guilt->since <= error->at || has_failed_by(culprit, error->at);
    bool wordless = error->text[0] == '\0' || strstr(error->text, "(null)") != NULL;
    bool causeless = run.faults.count == 0 && made->count == made->late;
    bool blames = !known && (made->parties >> culprit & 1) == 0;
    if (wordless || (error->status != WEFT_ERR_REVOKED && (causeless || blames))) {
        run_find("rank %u: %s: %s: %s (pid %d), and what has happened is: %s", rank, error->call,
                 weft_status_name(error->status), error->text, (int)error->pid, made->what);
    }
}

static void judge_error(uint32_t rank, const player_error_t *error)
{
    uint32_t culprit = 0;
    if (run.faults.kind == RUN_FRAMES) {
        judge_changed(rank, error);
        return;
    }
    const guilt_t *guilt = guilt_of(error->pid, &culprit);
    const char *name = weft_status_name(error->status);
    if (guilt != NULL && error->status == WEFT_ERR_REVOKED &&
        run.board.record[culprit].revoked - 1 < error->at) {
        return;
    }
    if (guilt != NULL && error->status == WEFT_ERR_PEER_LEFT &&
        strcmp(error->call, PLAYER_HALF_CALL) == 0 && run.board.record[culprit].finished) {
        return; /* whose last call went well does not hear that others shrink */
    }
    if (guilt != NULL && error->status == WEFT_ERR_PEER_LEFT &&
        (run.board.leavers >> culprit & 1) != 0) {
        return; /* those who stay make a call that needs it */
    }
    if (run.faults.count == 0 || run_kind_is_short(run.faults.kind)) {
        run_find("rank %u: %s: %s: %s, and nothing %s", rank, error->call, name, error->text,
                 run.faults.count == 0 ? "had happened" : "but a short cut had happened");
        return;
    }
    bool joins = strstr(error->call, "init") != NULL || strstr(error->call, "create") != NULL ||
                 strstr(error->call, "join") != NULL;
    if (joins || (guilt == NULL && is_touched(rank))) {
        return; /* what is lacking is lacking here, and ranks that join have no numbers yet */
    }
    if (guilt == NULL && strcmp(error->call, "weft_comm_grow") == 0 &&
        (error->status == WEFT_ERR_TIMEOUT ||
         strstr(error->text, " died while the ranks were joining") != NULL)) {
        return; /* of a newcomer that died before it came only the number is known */
    }
    if (error->status == WEFT_ERR_PROTO || error->status == WEFT_ERR_INTERNAL ||
        error->status == WEFT_ERR_MISMATCH) {
        run_find("rank %u: %s: %s: %s", rank, error->call, name, error->text);
        return; /* nobody does anything wrong in these runs */
    }
    if (guilt == NULL && run.faults.kind == RUN_SCARCE && error->status == WEFT_ERR_RESOURCE) {
        return; /* who has no memory may have none to say its name either */
    }
    if (run.board.parts && guilt == NULL && error->status == WEFT_ERR_PEER_LEFT &&
        strstr(error->text, "all other ranks left") != NULL) {
        return; /* they have given up, one like the other */
    }
    if (run.quorum && strstr(error->text, "no quorum") != NULL) {
        return; /* it names nobody: who is missing here may be well on the other side */
    }
    if (guilt == NULL || (guilt->since > error->at && !has_failed_by(culprit, error->at))) {
        run_find("rank %u: %s: %s: %s: names %s (pid %d)", rank, error->call, name, error->text,
                 guilt == NULL ? "nobody" : "an innocent rank", (int)error->pid);
    } else if (is_well(culprit) && !has_failed_by(culprit, error->at) &&
               (error->status == WEFT_ERR_PEER_DEAD ||
                error->status == WEFT_ERR_PEER_UNRESPONSIVE)) {
        run_find("rank %u: %s: %s: %s: names a rank (pid %d) that lives", rank, error->call, name,
                 error->text, (int)error->pid);
    }
}

/* In a job that some leave, nothing but the failure of others ends a wait, and no shrink waits in
 * vain. */
static bool is_too_long(uint32_t rank, uint64_t ns)
{
    return some_leave() ? ns > LEAVING_MOST : ns > CALL_MOST && !is_touched(rank);
}

static void judge_rank(uint32_t rank)
{
    const player_record_t *record = &run.board.record[rank];
    const process_t *process = run.faults.process[rank];
    /* Who is taken for dead and lives agrees with nobody. */
    bool alone = run.faults.kind == RUN_FRAMES && strstr(record->wrong, ": agreement ") != NULL;
    if (record->wrong[0] != '\0' && !alone) {
        run_find("rank %u: %s", rank, record->wrong);
    }
    if (!process->dead) {
        run_find("rank %u does not end", rank);
        return;
    }
    if (run.faults.kind == RUN_JOINING && record->joined > run.faults.last + JOIN_MOST) {
        run_find("rank %u joined %.1f s after the cut", rank,
                 (double)(record->joined - run.faults.last) / 1e9);
    }
    if (is_too_long(rank, record->longest)) {
        run_find("rank %u: %s took %.1f s", rank, record->longest_call,
                 (double)record->longest / 1e9);
    }
    for (uint32_t e = 0; e < record->errors && e < PLAYER_ERRORS; e++) {
        judge_error(rank, &record->error[e]);
    }
    bool joined = has_joined(rank);
    if (record->gave_up && !is_touched(rank) && joined && run.faults.kind <= RUN_DEATHS &&
        !run.faults.guilt[0].killed) {
        run_find("rank %u gave up: %s", rank,
                 record->errors > 0
                     ? record
                           ->error[record->errors < PLAYER_ERRORS ? record->errors - 1
                                                                  : PLAYER_ERRORS - 1]
                           .text
                     : "without an error");
    }
    /* The root of a join that failed stays for the ranks that are still on their way. */
    if (process->exit_code == 0 && joined &&
        (run.files[rank] > record->arena || run.left[rank].mappings > record->arena ||
         run.threads[rank] > 1)) {
        run_find("rank %u leaves %u descriptors, %llu mappings, %u threads", rank, run.files[rank],
                 (unsigned long long)run.left[rank].mappings, run.threads[rank] - 1);
    }
}

/* With a quorum nobody finishes on two sides of a cut. */
static void judge_sides(void)
{
    const player_record_t *record = run.board.record;
    for (uint32_t a = 0; run.quorum && a < run.faults.members; a++) {
        for (uint32_t b = 0; b < a; b++) {
            if (record[a].finished && record[b].finished &&
                (record[a].members & record[b].members) == 0) {
                run_find("ranks %u and %u both go on, each without the other, with a quorum", b, a);
            }
        }
    }
}

/* True if b is no member of the last communicator of a, though it had not left before. */
static bool has_lost(uint32_t a, uint32_t b)
{
    const player_record_t *record = run.board.record;
    bool together = (record[a].members >> b & 1) != 0;
    return !together && (!record[b].finished || (record[b].members >> a & 1) == 0);
}

static bool is_anybody_killed(void)
{
    uint32_t r = 0;
    while (r < run.faults.members && !run.faults.guilt[r].killed) {
        r++;
    }
    return r < run.faults.members;
}

/* Where nothing but connections is lost, everybody joins and goes on. */
static void judge_resets(void)
{
    const player_record_t *record = run.board.record;
    const bool all = run.faults.kind == RUN_RESETS || (joins_often() && !is_anybody_killed());
    for (uint32_t r = 0; all && r < run.faults.members; r++) {
        if (!record[r].finished) {
            run_find("rank %u does not finish: %s", r,
                     record[r].errors > 0 ? record[r].error[0].text : "without an error");
        }
        for (uint32_t other = 0; other < run.faults.members; other++) {
            if (other != r && has_lost(r, other)) {
                run_find("rank %u goes on without rank %u, which lives", r, other);
            }
        }
    }
}

/* Nothing happens to a job that was started anew. */
static void judge_restarted(void)
{
    const player_record_t *record = run.board.record;
    for (uint32_t r = run.faults.nranks; run.faults.kind == RUN_FOLDER && r < run.faults.members;
         r++) {
        if (!record[r].finished) {
            run_find("rank %u, started anew, does not finish: %s", r - run.faults.nranks,
                     record[r].errors > 0 ? record[r].error[0].text : "without an error");
        }
    }
}

/* Time does not go on while a rank asks again and again. Those that spin do so for a while; one
 * whose sleeps end at once never stops. */
static void judge_calls(void)
{
    if (machine.calls > CALLS_FREE + CALLS_PER_TURN * machine.turns) {
        run_find("%llu calls of the system in %llu turns: a rank that should sleep does not",
                 (unsigned long long)machine.calls, (unsigned long long)machine.turns);
    }
}

static void run_judge(void)
{
    judge_sides();
    judge_calls();
    judge_resets();
    judge_restarted();
    for (uint32_t r = 0; r < run.faults.members; r++) {
        const player_record_t *record = &run.board.record[r];
        run.result->errors += record->errors;
        run.result->shrinks += record->shrinks;
        run.result->steps += record->steps;
        judge_rank(r);
    }
}

void run_seed(const run_options_t *options, uint64_t seed, run_result_t *result)
{
    memset(&run, 0, sizeof run);
    *result = (run_result_t){.good = true};
    run.options = options;
    run.result = result;
    run.seed = seed;
    machine_init(seed, options->loud);
    run_begin();
    uint64_t began = machine.now;
    machine_run(began + RUN_MOST);
    result->kind = run.kind;
    result->nranks = run.faults.nranks;
    result->nhosts = run.faults.nhosts;
    result->turns = machine.turns;
    result->calls = machine.calls;
    result->seconds = (double)((machine.alive == 0 ? machine.ended : machine.now) - began) / 1e9;
    run_judge();
    if (!result->good && options->loud) {
        process_print_all();
    }
    result->trace = machine.trace;
    folder_empty();
    changes_end();
    machine_fini();
}
