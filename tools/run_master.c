/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job of `weft run`. Agents start the ranks, one agent for each host; this process makes the id,
 * writes what the ranks write, and ends all when one fails. */
#include "tools/run_master.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/plural.h"
#include "core/boot/fixed_id.h"
#include "core/os/os.h"
#include "tools/run_far.h"
#include "tools/run_lines.h"
#include "tools/run_out.h"
#include "tools/run_signals.h"
#include "tools/run_wire.h"
#include "tools/tool.h"

enum { RUN_NOT_STARTED = 127, RUN_SIGNALLED = 128 };
/* Descriptors to wait for, in front of those of the agents: signals, input, output. */
enum { RUN_POLLS = 2 + RUN_OUT_LISTS };
/* Seconds for the agents to be ready; for ranks that weft tells of a failure, to say so; for an
 * agent to end after its ranks were killed. */
static const double ready_patience = 60, last_words = 0.5, give_up = 3;

/* How far the job has come towards its end. */
typedef enum run_stage { RUN_GOES, RUN_LAST_WORDS, RUN_ASKED, RUN_KILLED } run_stage_t;

typedef struct run_master {
    const run_job_t *job;
    run_far_t *agents;
    run_lines_t *lines; /* stdout and stderr of each rank */
    run_out_t out;
    struct pollfd *polls;
    uint32_t open;    /* agents whose ranks have not all ended */
    uint32_t unready; /* agents that have not said so */
    int signals, code;
    uint32_t suspect;   /* the likely cause of a failure; nranks: it was named as the first */
    int suspect_status; /* how it ended, or was stopped; 0: there is none */
    run_stage_t stage;
    uint64_t next; /* when the next stage begins; while agents are not ready: their deadline */
    bool feed;     /* rank 0 takes more input */
    bool ended;    /* there is no more input */
    bool quiet;    /* ranks that end now were told to */
    bool told;     /* a signal wants the end */
    bool lost;     /* something could not be written */
} run_master_t;

/* One line on stderr, behind what ranks have written there. */
static void run_master_say(run_master_t *master, const char *format, ...) WEFT_PRINTF(2, 3);
static void run_master_say(run_master_t *master, const char *format, ...)
{
    char text[1024] = "weft run: ";
    const size_t at = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + at, sizeof text - at - 1, format, args);
    va_end(args);
    strcat(text, "\n");
    run_out_put(&master->out, STDERR_FILENO, text, strlen(text));
}

static void run_master_signal(run_master_t *master, int number)
{
    for (uint32_t i = 0; i < master->job->host_count; i++) {
        if (master->agents[i].to >= 0) {
            (void)run_wire_send(master->agents[i].to, RUN_SIGNAL, (uint32_t)number, NULL, 0);
        }
    }
}

/* No time is none here, and not for ever as weft_os_deadline() has it. */
static uint64_t run_master_deadline(double seconds)
{
    return seconds > 0 ? weft_os_deadline(seconds) : weft_os_clock_ns();
}

static void run_master_end(run_master_t *master, run_stage_t stage)
{
    static const int numbers[] = {[RUN_ASKED] = SIGTERM, [RUN_KILLED] = SIGKILL};
    if (stage <= master->stage) {
        return;
    }
    master->stage = stage;
    if (stage == RUN_LAST_WORDS) {
        master->next = weft_os_deadline(last_words);
        return;
    }
    master->quiet = true;
    master->next = run_master_deadline(stage == RUN_ASKED ? master->job->grace : give_up);
    run_master_signal(master, numbers[stage]);
}

/* A rank has failed, or a host is lost. The first failure is the job's. */
static void run_master_fail(run_master_t *master, int code)
{
    if (master->job->keep_going) {
        master->code = master->quiet ? master->code : code;
        return;
    }
    master->code = master->code == 0 ? code : master->code;
    run_master_end(master, RUN_LAST_WORDS);
}

static int run_master_code(int status)
{
    return WIFSIGNALED(status) ? RUN_SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
}

static const char *run_master_where(const run_master_t *master, const run_far_t *far, char *text,
                                    size_t bytes)
{
    bool several = master->job->host_count > 1 || !far->host->here;
    snprintf(text, bytes, "%s%s", several ? " on " : "", several ? far->host->name : "");
    return text;
}

/* What ranks have written last may have no line end. */
static void run_master_end_lines(run_master_t *master, uint32_t first, uint32_t count)
{
    for (size_t i = 2 * (size_t)first; i < 2 * ((size_t)first + count); i++) {
        run_lines_end(&master->lines[i], &master->out);
    }
}

static const char *run_master_signal_text(int number, char *text, size_t bytes)
{
    const char *name = sigabbrev_np(number);
    snprintf(text, bytes, "by signal %s%s (%d)", name != NULL ? "SIG" : "",
             name != NULL ? name : "?", number);
    return text;
}

/* Ranks that lose a neighbour end soon after it, and may be seen to end before it. One that was
 * killed, has crashed, or is stopped is the cause then; not one that aborts, since programs do so
 * because of the errors of others, too. */
static void run_master_suspect(run_master_t *master, uint32_t rank, int status, bool first)
{
    const bool known = WIFSIGNALED(master->suspect_status);
    if (WIFCONTINUED(status)) {
        master->suspect_status = known || master->suspect != rank ? master->suspect_status : 0;
    } else if (!known &&
               (WIFSTOPPED(status) || (WIFSIGNALED(status) && WTERMSIG(status) != SIGABRT))) {
        master->suspect = first ? master->job->nranks : rank;
        master->suspect_status = status;
    }
}

/* The last word on a job that failed, unless it was the first, too. */
static void run_master_tell_suspect(run_master_t *master)
{
    char how[64];
    const int status = master->suspect_status;
    if (status == 0 || master->suspect == master->job->nranks || master->code == 0 ||
        master->told || master->job->keep_going) {
        return;
    }
    run_master_signal_text(WIFSTOPPED(status) ? WSTOPSIG(status) : WTERMSIG(status), how,
                           sizeof how);
    run_master_say(master, "the cause is probably rank %u, which %s %s", master->suspect,
                   WIFSTOPPED(status) ? "was stopped" : "ended", how);
    master->suspect_status = 0;
}

/* A rank is stopped, or goes on. */
static void run_master_note_stop(run_master_t *master, const run_far_t *far, uint32_t rank,
                                 int status)
{
    char where[RUN_HOST_NAME + 8], how[64];
    run_master_where(master, far, where, sizeof where);
    if (master->quiet) {
        return;
    }
    if (WIFSTOPPED(status)) {
        run_master_signal_text(WSTOPSIG(status), how, sizeof how);
        run_master_say(master, "rank %u%s was stopped %s", rank, where, how);
    } else {
        run_master_say(master, "rank %u%s goes on", rank, where);
    }
    run_master_suspect(master, rank, status, false);
}

/* A rank has ended. */
static void run_master_note(run_master_t *master, run_far_t *far, uint32_t rank, int status)
{
    char where[RUN_HOST_NAME + 8], how[64];
    const bool first = master->code == 0 && master->job->nranks > 1 && !master->job->keep_going;
    const char *rest = first ? "; the others are ended" : "";
    far->left -= far->left > 0;
    run_master_end_lines(master, rank, 1);
    if (status == 0 && master->job->keep_going && !master->quiet) {
        master->code = 0; /* the one that ends last decides */
    }
    if (status == 0 || master->quiet) {
        return;
    }
    if (WIFSIGNALED(status)) {
        run_master_signal_text(WTERMSIG(status), how, sizeof how);
    } else {
        snprintf(how, sizeof how, "with code %d", WEXITSTATUS(status));
    }
    run_master_say(master, "rank %u%s ended %s%s", rank,
                   run_master_where(master, far, where, sizeof where), how, rest);
    run_master_suspect(master, rank, status, first);
    run_master_fail(master, run_master_code(status));
    if (WIFSIGNALED(master->suspect_status) && !master->job->keep_going) {
        master->code = run_master_code(master->suspect_status);
    }
}

/* All agents are ready: makes the id, with the port that the first one holds, and lets them
 * start. */
static void run_master_start(run_master_t *master, uint32_t ports)
{
    const run_far_t *first = &master->agents[0];
    weft_unique_id_t id;
    char host[RUN_HOST_NAME], at[sizeof host + 16], text[WEFT_ID_HEX + sizeof host];
    bool alone = master->job->host_count == 1 && first->host->here;
    snprintf(host, sizeof host, "%s", alone ? "127.0.0.1" : first->host->name);
    if (!alone && first->host->here) {
        weft_os_host_name(host, sizeof host);
    }
    const char *bracket = strchr(host, ':') != NULL ? "[" : "";
    snprintf(at, sizeof at, "%s%s%s:%u", bracket, host, bracket[0] != '\0' ? "]" : "",
             ports & 0xffff);
    weft_status_t status = weft_fixed_id_make(at, &id);
    if (status != WEFT_OK) {
        run_master_fail(master, tool_report(status));
        run_master_end(master, RUN_KILLED);
        return;
    }
    weft_id_to_hex(&id, text);
    size_t bytes = strlen(text) + 1;
    memcpy(text + bytes, host, strlen(host) + 1);
    bytes += strlen(host) + 1;
    master->next = master->stage == RUN_GOES ? WEFT_NEVER : master->next;
    for (uint32_t i = 0; i < master->job->host_count; i++) {
        (void)run_wire_send(master->agents[i].to, RUN_START, ports >> 16, text, bytes);
    }
}

static void run_master_ready(run_master_t *master, run_far_t *far, uint32_t ports)
{
    if (far->ready) {
        return;
    }
    far->ready = true;
    far->ports = ports;
    master->unready--;
    if (master->unready == 0 && master->stage == RUN_GOES) {
        run_master_start(master, master->agents[0].ports);
    }
}

static void run_master_take(run_master_t *master, run_far_t *far, const run_frame_t *frame,
                            const char *data)
{
    const run_host_t *host = far->host;
    char where[RUN_HOST_NAME + 8];
    int status;
    const bool of_rank = frame->number >= host->first && frame->number - host->first < host->count;
    switch (frame->kind) {
    case RUN_READY:
        run_master_ready(master, far, frame->number);
        break;
    case RUN_TAKEN:
        master->feed = true;
        if (master->ended) { /* it was before rank 0 came */
            (void)run_wire_send(far->to, RUN_INPUT, 0, NULL, 0);
        }
        break;
    case RUN_OUT:
    case RUN_ERR:
        if (of_rank) {
            run_lines_put(&master->lines[2 * (size_t)frame->number + (frame->kind == RUN_ERR)],
                          &master->out, data, frame->bytes);
            far->owed += frame->bytes;
        }
        break;
    case RUN_EXIT:
        if (of_rank && frame->bytes == sizeof status) {
            memcpy(&status, data, sizeof status);
            if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
                run_master_note_stop(master, far, frame->number, status);
            } else {
                run_master_note(master, far, frame->number, status);
            }
        }
        break;
    default:
        run_master_where(master, far, where, sizeof where);
        run_master_say(master, "%s%s%.*s", where[0] != '\0' ? where + 1 : "",
                       where[0] != '\0' ? " " : "", (int)frame->bytes, data);
        run_master_fail(master, RUN_NOT_STARTED);
        run_master_end(master, RUN_KILLED);
        far->left = 0;
    }
}

/* An agent whose connection has ended, or all of whose ranks have. */
static void run_master_close(run_master_t *master, run_far_t *far)
{
    const uint32_t left = far->left;
    const bool greeted = far->greeted;
    const int status = run_far_end(far, give_up);
    master->open--;
    far->left = 0;
    run_master_end_lines(master, far->host->first, far->host->count);
    if (left == 0) {
        return;
    }
    if (!greeted) {
        run_master_say(master, "no agent of weft could be started on %s: %s ended with code %d",
                       far->host->name, far->host->here ? "it" : master->job->rsh,
                       WIFEXITED(status) ? WEXITSTATUS(status) : RUN_SIGNALLED + WTERMSIG(status));
    } else if (!master->quiet) {
        run_master_say(master, "the connection to %s ended, with %u rank%s there", far->host->name,
                       left, weft_plural(left));
    }
    run_master_fail(master, TOOL_LIBRARY);
}

static void run_master_hear(run_master_t *master, run_far_t *far)
{
    run_frame_t frame;
    const char *data;
    bool broken = false;
    bool open = run_reader_fill(&far->reader, far->from);
    if (open && !far->greeted) {
        open = run_far_greet(far);
    }
    while (far->greeted && run_reader_next(&far->reader, &frame, &data, &broken)) {
        run_master_take(master, far, &frame, data);
    }
    if (!open || broken || far->left == 0) {
        run_master_close(master, far);
    }
}

/* A chunk of the input goes to rank 0, which says when it has taken it. */
static void run_master_feed(run_master_t *master)
{
    char data[RUN_CHUNK];
    ssize_t got = read(STDIN_FILENO, data, sizeof data);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    master->feed = false;
    master->ended = got <= 0;
    if (master->agents[0].to >= 0) {
        (void)run_wire_send(master->agents[0].to, RUN_INPUT, 0, data, got > 0 ? (size_t)got : 0);
    }
}

/* As Ctrl-Z asks: the ranks, which are in groups of their own, stop and go on with this program.
 * Where no shell could let it go on, the kernel does not stop it. */
static void run_master_pause(run_master_t *master)
{
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    run_master_signal(master, SIGSTOP);
    (void)raise(SIGTSTP);
    (void)sigprocmask(SIG_UNBLOCK, &stop, NULL); /* stops here */
    (void)sigprocmask(SIG_BLOCK, &stop, NULL);
    run_master_signal(master, SIGCONT);
}

static void run_master_obey(run_master_t *master)
{
    struct signalfd_siginfo info;
    while (read(master->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        const int number = (int)info.ssi_signo;
        if (number == SIGUSR1 || number == SIGUSR2) {
            run_master_signal(master, number);
            continue;
        }
        if (number == SIGTSTP) {
            run_master_pause(master);
            continue;
        }
        master->code = master->code == 0 ? RUN_SIGNALLED + number : master->code;
        master->told = true;
        if (master->stage < RUN_ASKED && master->unready == 0) {
            master->stage = RUN_ASKED;
            master->quiet = true;
            master->next = run_master_deadline(master->job->grace);
            run_master_signal(master, number);
        } else {
            run_master_end(master, RUN_KILLED); /* a second one: at once */
        }
    }
}

/* The deadline of a stage has passed. */
static void run_master_advance(run_master_t *master)
{
    for (uint32_t i = 0; i < master->job->host_count; i++) {
        run_far_t *far = &master->agents[i];
        if (master->stage == RUN_GOES && !far->ready && far->from >= 0) {
            run_master_say(master, "%s has not answered within %.0f s", far->host->name,
                           ready_patience);
            run_master_fail(master, TOOL_TIMEOUT);
            master->stage = RUN_KILLED;
            break;
        }
    }
    if (master->stage < RUN_KILLED) {
        run_master_end(master, master->stage + 1);
        return;
    }
    for (uint32_t i = 0; i < master->job->host_count; i++) {
        if (master->agents[i].from >= 0) {
            run_master_close(master, &master->agents[i]);
        }
    }
    master->next = WEFT_NEVER;
}

/* What ranks write is lost, so they end. A pipe that nobody reads is no error to speak of. */
static void run_master_lose(run_master_t *master, const char *stream, int error)
{
    const char *rest = master->open > 0 ? "; the ranks are ended" : "";
    master->lost = true;
    if (error != EPIPE) {
        run_master_say(master, "cannot write to standard %s: %s%s", stream, strerror(error), rest);
    }
    run_master_fail(master, error == EPIPE ? RUN_SIGNALLED + SIGPIPE : TOOL_INTERNAL);
    run_master_end(master, RUN_ASKED);
}

/* Writes what can be written. When nothing waits any more, agents may send as much again. */
static void run_master_write(run_master_t *master)
{
    static const char *const streams[] = {[STDOUT_FILENO] = "output", [STDERR_FILENO] = "error"};
    run_out_push(&master->out);
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO && !master->lost; fd++) {
        if (master->out.errors[fd] != 0) {
            run_master_lose(master, streams[fd], master->out.errors[fd]);
        }
    }
    for (uint32_t i = 0; run_out_is_done(&master->out) && i < master->job->host_count; i++) {
        run_far_t *far = &master->agents[i];
        if (far->owed >= RUN_WINDOW / 2 && far->to >= 0) {
            (void)run_wire_send(far->to, RUN_MORE, far->owed, NULL, 0);
            far->owed = 0;
        }
    }
}

static void run_master_step(run_master_t *master)
{
    const uint32_t count = master->job->host_count;
    struct pollfd *polls = master->polls;
    polls[0] = (struct pollfd){.fd = master->signals, .events = POLLIN};
    bool feed = master->feed && !master->ended;
    polls[1] = (struct pollfd){.fd = feed ? STDIN_FILENO : -1, .events = POLLIN};
    for (int i = 0; i < RUN_OUT_LISTS; i++) {
        polls[2 + i] = (struct pollfd){.fd = run_out_awaits(&master->out, i), .events = POLLOUT};
    }
    for (uint32_t i = 0; i < count; i++) {
        polls[RUN_POLLS + i] = (struct pollfd){.fd = master->agents[i].from, .events = POLLIN};
    }
    uint64_t now = weft_os_clock_ns();
    uint64_t left = master->next > now ? master->next - now : 0;
    int wait = master->next == WEFT_NEVER ? -1 : (int)(left / WEFT_NS_PER_MS) + 1;
    if (poll(polls, count + RUN_POLLS, wait) < 0) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (polls[RUN_POLLS + i].revents != 0 && master->agents[i].from >= 0) {
            run_master_hear(master, &master->agents[i]);
        }
    }
    if (polls[1].revents != 0) {
        run_master_feed(master);
    }
    if (polls[0].revents != 0) {
        run_master_obey(master);
    }
    if (master->next != WEFT_NEVER && weft_os_clock_ns() >= master->next) {
        run_master_advance(master);
    }
    if (master->open == 0) {
        run_master_tell_suspect(master);
    }
    run_master_write(master);
}

/* Until all ranks have ended and what they wrote is out, or the patience of who wants the end
 * is. */
static bool run_master_goes_on(const run_master_t *master)
{
    const bool given_up = master->told && master->stage == RUN_KILLED;
    return master->open > 0 || (!run_out_is_done(&master->out) && !given_up);
}

static void run_master_begin(run_master_t *master)
{
    const run_job_t *job = master->job;
    for (uint32_t i = 0; i < 2 * job->nranks; i++) {
        bool err = i % 2 != 0;
        master->lines[i] = (run_lines_t){.fd = err ? STDERR_FILENO : STDOUT_FILENO,
                                         .rank = i / 2,
                                         .label = job->label || (err && job->nranks > 1),
                                         .raw = job->nranks == 1 && !job->label};
    }
    for (uint32_t i = 0; i < job->host_count; i++) {
        master->open++;
        master->unready++;
        if (!run_far_start(&master->agents[i], job, &job->hosts[i])) {
            run_master_fail(master, TOOL_INTERNAL);
            master->agents[i].left = 0;
            run_master_close(master, &master->agents[i]);
        }
    }
}

int run_master(const run_job_t *job)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, 0};
    run_master_t master = {.job = job, .next = weft_os_deadline(ready_patience)};
    run_out_init(&master.out);
    master.agents = calloc(job->host_count, sizeof *master.agents);
    master.lines = calloc(2 * (size_t)job->nranks, sizeof *master.lines);
    master.polls = calloc((size_t)job->host_count + RUN_POLLS, sizeof *master.polls);
    master.signals = run_signals_open(numbers);
    /* A program in the background may not read the terminal. */
    master.ended = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) != getpgrp();
    const bool memory = master.agents != NULL && master.lines != NULL && master.polls != NULL;
    if (!memory || master.signals < 0) {
        if (!memory) {
            fprintf(stderr, "weft run: no memory for %u ranks\n", job->nranks);
        }
        master.code = TOOL_INTERNAL;
        goto err_free;
    }
    run_master_begin(&master);
    while (run_master_goes_on(&master)) {
        run_master_step(&master);
    }
    close(master.signals);
    run_out_fini(&master.out);
err_free:
    free(master.agents);
    free(master.lines);
    free(master.polls);
    return master.code;
}
