/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agent of `weft run` on one host. It has one thread. When its input ends, whoever started it
 * is gone: then the ranks are asked to end, and killed after a moment. */
#include "tools/run_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/plural.h"
#include "core/os/os.h"
#include "core/os/os_socket.h"
#include "tools/run_ports.h"
#include "tools/run_rank.h"
#include "tools/run_signals.h"
#include "tools/run_warden.h"
#include "tools/run_wire.h"
#include "tools/tool.h"

enum { RUN_AGENT_IN = 0, RUN_AGENT_OUT = 1, RUN_AGENT_TEXT = 512 };
/* Seconds for the ranks of an agent that is left alone. */
static const double orphan_grace = 2;

typedef struct run_agent {
    run_reader_t reader;
    run_task_t task;
    run_rank_t *ranks;
    run_warden_t warden;
    struct pollfd *polls;
    uint32_t alive;
    uint32_t turn;  /* the rank whose output comes first */
    int64_t window; /* bytes of output that may go; those of dead ranks go in any case */
    int signals;
    int sockets[2];   /* hold the ports of rank 0 */
    bool alone;       /* nobody reads what is written here */
    bool ended;       /* of the input of rank 0 */
    bool paused;      /* the ranks are stopped, as was asked for */
    uint64_t kill_at; /* WEFT_NEVER: not yet */
    char input[RUN_CHUNK];
    size_t input_at, input_bytes;
} run_agent_t;

static void run_agent_signal(run_agent_t *agent, int number)
{
    for (uint32_t i = 0; agent->ranks != NULL && i < agent->task.count; i++) {
        if (agent->ranks[i].pid > 0) {
            (void)kill(-agent->ranks[i].pid, number);
        }
    }
}

/* Nobody is there to hear of the ranks: they end. */
static void run_agent_leave_alone(run_agent_t *agent)
{
    if (!agent->alone) {
        agent->alone = true;
        run_agent_signal(agent, SIGTERM);
        agent->kill_at = weft_os_deadline(orphan_grace);
    }
}

static void run_agent_send(run_agent_t *agent, run_kind_t kind, uint32_t number, const void *data,
                           size_t bytes)
{
    if (!agent->alone && !run_wire_send(RUN_AGENT_OUT, kind, number, data, bytes)) {
        run_agent_leave_alone(agent);
    }
}

static void run_agent_close(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

static void run_agent_complain(run_agent_t *agent, const char *text)
{
    run_agent_send(agent, RUN_FAILED, 0, text, strlen(text));
}

/* Memory and files for the ranks, and who ends what they leave. */
static bool run_agent_reserve(run_agent_t *agent)
{
    const uint32_t count = agent->task.count;
    char what[128];
    snprintf(what, sizeof what, "a job with %u rank%s here", count, weft_plural(count));
    if (weft_os_files_reserve(3 * count + 16, what) != WEFT_OK) {
        weft_error_t error = {.size = sizeof error};
        (void)weft_last_error(&error);
        run_agent_complain(agent, error.text);
        return false;
    }
    agent->ranks = calloc(count, sizeof *agent->ranks);
    agent->polls = calloc(2 + 3 * (size_t)count, sizeof *agent->polls);
    if (agent->ranks == NULL || agent->polls == NULL) {
        run_agent_complain(agent, "no memory for its ranks");
        return false;
    }
    if (!run_warden_start(&agent->warden)) {
        snprintf(what, sizeof what, "cannot start a process: %s%s", strerror(errno),
                 tool_fork_limits(errno));
        run_agent_complain(agent, what);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        agent->ranks[i] = (run_rank_t){.out = -1, .err = -1, .in = -1};
    }
    return true;
}

/* False: reported. */
static bool run_agent_hold_ports(run_agent_t *agent, uint32_t among, uint16_t ports[2])
{
    const weft_port_range_t range = {(uint16_t)among, (uint16_t)(among >> 16)};
    char why[96];
    if (run_ports_hold(&range, agent->sockets, ports)) {
        return true;
    }
    snprintf(why, sizeof why, "no port for rank 0: %s", strerror(errno));
    if (range.first != 0) {
        snprintf(why, sizeof why, "no port for rank 0: all of boot.port_range = %u-%u are in use",
                 range.first, range.last);
    }
    run_agent_complain(agent, why);
    return false;
}

/* `among`: as in RUN_JOB. */
static void run_agent_prepare(run_agent_t *agent, uint32_t among, const char *data, size_t bytes)
{
    uint16_t ports[2] = {0, 0};
    if (agent->ranks != NULL || !run_task_read(data, bytes, &agent->task)) {
        run_agent_complain(agent, "a task it cannot read");
    } else if (run_agent_reserve(agent) &&
               (agent->task.first > 0 || run_agent_hold_ports(agent, among, ports))) {
        run_agent_send(agent, RUN_READY, (uint32_t)ports[0] | (uint32_t)ports[1] << 16, NULL, 0);
    }
}

static void run_agent_start(run_agent_t *agent, uint32_t port, const char *data, size_t bytes)
{
    char text[RUN_AGENT_TEXT] = "";
    if (agent->ranks == NULL || agent->alive > 0 || bytes < 2 || data[bytes - 1] != '\0' ||
        memchr(data, '\0', bytes - 1) == NULL) {
        run_agent_complain(agent, "a start it cannot read");
        return;
    }
    const run_place_t place = {
        .task = &agent->task, .id = data, .host = data + strlen(data) + 1, .port = port};
    for (uint32_t i = 0; i < agent->task.count; i++) {
        run_rank_t *rank = &agent->ranks[i];
        bool fine = run_rank_start(&place, i, rank, text, sizeof text);
        agent->alive += rank->pid > 0;
        if (!fine) {
            run_agent_complain(agent, text);
            run_agent_signal(agent, SIGKILL);
            return;
        }
        run_warden_add(&agent->warden, rank->pid);
        (void)fcntl(rank->out, F_SETFL, O_NONBLOCK);
        (void)fcntl(rank->err, F_SETFL, O_NONBLOCK);
        if (rank->in >= 0) {
            (void)fcntl(rank->in, F_SETFL, O_NONBLOCK);
            run_agent_send(agent, RUN_TAKEN, 0, NULL, 0);
        }
    }
}

/* Gives rank 0 what it takes; asks for more when all is gone. */
static void run_agent_feed(run_agent_t *agent)
{
    run_rank_t *rank = &agent->ranks[0];
    while (rank->in >= 0 && agent->input_at < agent->input_bytes) {
        ssize_t put =
            write(rank->in, agent->input + agent->input_at, agent->input_bytes - agent->input_at);
        if (put < 0 && errno == EAGAIN) {
            return;
        }
        if (put < 0 && errno != EINTR) {
            run_agent_close(&rank->in); /* it reads no more; what comes is dropped */
        }
        agent->input_at += put > 0 ? (size_t)put : 0;
    }
    agent->input_at = agent->input_bytes = 0;
    if (agent->ended) {
        run_agent_close(&rank->in);
    } else {
        run_agent_send(agent, RUN_TAKEN, 0, NULL, 0);
    }
}

static void run_agent_take(run_agent_t *agent, const run_frame_t *frame, const char *data)
{
    switch (frame->kind) {
    case RUN_JOB:
        run_agent_prepare(agent, frame->number, data, frame->bytes);
        break;
    case RUN_START:
        run_agent_start(agent, frame->number, data, frame->bytes);
        break;
    case RUN_SIGNAL:
        agent->paused = frame->number == SIGSTOP || (agent->paused && frame->number != SIGCONT);
        run_agent_signal(agent, (int)frame->number);
        break;
    case RUN_MORE:
        agent->window += frame->number;
        break;
    case RUN_INPUT:
        if (agent->ranks != NULL && frame->bytes <= sizeof agent->input) {
            memcpy(agent->input, data, frame->bytes);
            agent->input_bytes = frame->bytes;
            agent->input_at = 0;
            agent->ended = frame->bytes == 0;
            run_agent_feed(agent);
        }
        break;
    default:
        run_agent_leave_alone(agent);
    }
}

static void run_agent_hear(run_agent_t *agent)
{
    run_frame_t frame;
    const char *data;
    bool broken = false;
    if (!run_reader_fill(&agent->reader, RUN_AGENT_IN)) {
        run_agent_leave_alone(agent);
        return;
    }
    while (run_reader_next(&agent->reader, &frame, &data, &broken)) {
        run_agent_take(agent, &frame, data);
    }
    if (broken) {
        run_agent_leave_alone(agent);
    }
}

/* Passes on what a rank has written; `all`: until nothing is left. */
static void run_agent_carry(run_agent_t *agent, uint32_t index, run_kind_t kind, bool all)
{
    run_rank_t *rank = &agent->ranks[index];
    int *fd = kind == RUN_OUT ? &rank->out : &rank->err;
    char data[RUN_CHUNK];
    ssize_t got = 0;
    while (*fd >= 0) {
        got = read(*fd, data, sizeof data);
        if (got > 0) {
            run_agent_send(agent, kind, agent->task.first + index, data, (size_t)got);
            agent->window -= got;
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            run_agent_close(fd);
        }
        if (!all || (got < 0 && errno != EINTR)) {
            return;
        }
    }
}

/* A rank is over: what it has started ends with it, what it has written is passed on. */
static void run_agent_bury(run_agent_t *agent, uint32_t index)
{
    run_rank_t *rank = &agent->ranks[index];
    int status = 0;
    (void)kill(-rank->pid, SIGKILL);
    run_warden_remove(&agent->warden, rank->pid);
    while (waitpid(rank->pid, &status, 0) < 0 && errno == EINTR) {
    }
    rank->pid = 0;
    agent->alive--;
    run_agent_carry(agent, index, RUN_OUT, true);
    run_agent_carry(agent, index, RUN_ERR, true);
    run_agent_close(&rank->out);
    run_agent_close(&rank->err);
    run_agent_close(&rank->in);
    run_agent_send(agent, RUN_EXIT, agent->task.first + index, &status, sizeof status);
}

/* Somebody else stops a rank, or lets it go on. */
static void run_agent_look_at_stop(run_agent_t *agent, uint32_t index)
{
    run_rank_t *rank = &agent->ranks[index];
    siginfo_t found = {.si_pid = 0};
    if (waitid(P_PID, (id_t)rank->pid, &found, WSTOPPED | WCONTINUED | WNOHANG) != 0 ||
        found.si_pid == 0) {
        return;
    }
    const bool stopped = found.si_code != CLD_CONTINUED;
    const int status = stopped ? W_STOPCODE(found.si_status) : __W_CONTINUED;
    if (stopped ? !agent->paused : rank->stopped) {
        run_agent_send(agent, RUN_EXIT, agent->task.first + index, &status, sizeof status);
        rank->stopped = stopped;
    }
}

static void run_agent_look_for_dead(run_agent_t *agent)
{
    struct signalfd_siginfo info;
    while (read(agent->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo != SIGCHLD) {
            run_agent_leave_alone(agent);
        }
    }
    for (uint32_t i = 0; agent->ranks != NULL && i < agent->task.count; i++) {
        siginfo_t found = {.si_pid = 0};
        /* Its number stays taken until its group has been killed. */
        if (agent->ranks[i].pid > 0 &&
            waitid(P_PID, (id_t)agent->ranks[i].pid, &found, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            found.si_pid != 0) {
            run_agent_bury(agent, i);
        } else if (agent->ranks[i].pid > 0) {
            run_agent_look_at_stop(agent, i);
        }
    }
}

static bool run_agent_has_room(const run_agent_t *agent)
{
    return agent->window > 0 || agent->alone;
}

static nfds_t run_agent_arm(run_agent_t *agent, struct pollfd *polls)
{
    nfds_t count = 2;
    polls[0] = (struct pollfd){.fd = agent->alone ? -1 : RUN_AGENT_IN, .events = POLLIN};
    polls[1] = (struct pollfd){.fd = agent->signals, .events = POLLIN};
    for (uint32_t i = 0; agent->ranks != NULL && i < agent->task.count; i++) {
        run_rank_t *rank = &agent->ranks[i];
        const bool room = run_agent_has_room(agent);
        polls[count++] = (struct pollfd){.fd = room ? rank->out : -1, .events = POLLIN};
        polls[count++] = (struct pollfd){.fd = room ? rank->err : -1, .events = POLLIN};
        bool feed = agent->input_at < agent->input_bytes;
        polls[count++] = (struct pollfd){.fd = feed ? rank->in : -1, .events = POLLOUT};
    }
    return count;
}

static int run_agent_patience_ms(const run_agent_t *agent)
{
    uint64_t now = weft_os_clock_ns();
    if (agent->kill_at == WEFT_NEVER) {
        return -1;
    }
    return now >= agent->kill_at ? 0 : (int)((agent->kill_at - now) / WEFT_NS_PER_MS) + 1;
}

/* `of`: what poll() says of a rank. */
static void run_agent_serve(run_agent_t *agent, uint32_t index, const struct pollfd *of)
{
    if (of[0].revents != 0 && run_agent_has_room(agent)) {
        run_agent_carry(agent, index, RUN_OUT, false);
    }
    if (of[1].revents != 0 && run_agent_has_room(agent)) {
        run_agent_carry(agent, index, RUN_ERR, false);
    }
    if (of[2].revents != 0) {
        run_agent_feed(agent);
    }
}

static void run_agent_step(run_agent_t *agent)
{
    struct pollfd few[2], *polls = agent->polls != NULL ? agent->polls : few;
    nfds_t count = run_agent_arm(agent, polls);
    if (poll(polls, count, run_agent_patience_ms(agent)) < 0) {
        return;
    }
    if (weft_os_clock_ns() >= agent->kill_at) {
        run_agent_signal(agent, SIGKILL);
        agent->kill_at = weft_os_deadline(orphan_grace);
    }
    const uint32_t ranks = (uint32_t)(count - 2) / 3;
    for (uint32_t i = 0; i < ranks; i++) {
        const uint32_t index = (agent->turn + i) % ranks;
        run_agent_serve(agent, index, &polls[2 + 3 * (size_t)index]);
    }
    agent->turn = ranks > 0 ? (agent->turn + 1) % ranks : 0;
    const bool dead = polls[1].revents != 0;
    if (polls[0].revents != 0) {
        run_agent_hear(agent); /* may make the array of polls */
    }
    if (dead) {
        run_agent_look_for_dead(agent);
    }
}

int run_agent(void)
{
    static const int numbers[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, 0};
    run_agent_t agent = {.kill_at = WEFT_NEVER, .window = RUN_WINDOW, .sockets = {-1, -1}};
    agent.signals = run_signals_open(numbers);
    char hello[128];
    int length = snprintf(hello, sizeof hello, RUN_GREETING "%s\n", weft_version());
    if (agent.signals < 0 || !run_wire_write(RUN_AGENT_OUT, hello, (size_t)length)) {
        return TOOL_INTERNAL;
    }
    /* Until whoever started it hangs up, or is gone and no rank is left. */
    while (!agent.alone || agent.alive > 0) {
        run_agent_step(&agent);
    }
    run_agent_close(&agent.sockets[0]);
    run_agent_close(&agent.sockets[1]);
    run_agent_close(&agent.signals);
    run_warden_end(&agent.warden);
    run_reader_free(&agent.reader);
    free(agent.task.memory);
    free(agent.ranks);
    free(agent.polls);
    return TOOL_OK;
}
