/* SPDX-License-Identifier: BSD-3-Clause
 *
 * -P: forks the processes of a job on this machine before any thread exists. The parent runs no
 * rank: it carries the unique id from the first child to the others and watches. A child holds the
 * write end of its `up` pipe for its whole life, so end of file there means that it ended. A byte
 * before that says that it did its part: a plugin may call exit(). Another one says that nobody
 * reads what it prints: then all end, without a word, as one process does that is ended by
 * SIGPIPE. */
#include "tools/perf_fork.h"

#include <errno.h>
#include <poll.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/boot/claim.h"
#include "core/boot/unique_id.h"
#include "core/os/os.h"
#include "core/os/os_socket.h"
#include "tools/perf_ranks.h"
#include "tools/tool.h"
#include "tools/values.h"

typedef struct child {
    pid_t pid;
    int up[2], down[2];
    bool finished; /* its part of the job */
    bool ended;
} child_t;

typedef struct family {
    const perf_fork_job_t *job;
    child_t *children;
    uint32_t count;
    weft_unique_id_t id;
    bool have_id;
    bool unread;       /* nobody takes what a rank prints */
    int code;          /* exit code of the job so far */
    uint64_t deadline; /* when the rest is killed; WEFT_NEVER while all is well */
} family_t;

/* Bytes that a child sends. */
enum { WORD_DONE = 0, WORD_UNREAD = 1 };

/* What a shell tells of a process that a signal ended. */
enum { SIGNALLED = 128 };

/* Survivors need this long at most to find out and say so. */
static const double patience = 10;

static bool perf_fork_read_all(int fd, void *out, size_t bytes)
{
    uint8_t *p = out;
    while (bytes > 0) {
        ssize_t got = read(fd, p, bytes);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        p += got;
        bytes -= (size_t)got;
    }
    return true;
}

/* An id is smaller than PIPE_BUF: a pipe takes it whole or not at all. */
static bool perf_fork_write_id(int fd, const weft_unique_id_t *id)
{
    ssize_t put;
    do {
        put = write(fd, id, sizeof *id);
    } while (put < 0 && errno == EINTR);
    return put == (ssize_t)sizeof *id;
}

static void perf_fork_close_pipe_end(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

/* In child `index`: closes the ends that belong to others. */
static void perf_fork_keep_own_ends(family_t *family, uint32_t index)
{
    for (uint32_t i = 0; i < family->count; i++) {
        child_t *c = &family->children[i];
        perf_fork_close_pipe_end(&c->up[0]);
        perf_fork_close_pipe_end(&c->down[1]);
        if (i != index) {
            perf_fork_close_pipe_end(&c->up[1]);
            perf_fork_close_pipe_end(&c->down[0]);
        }
    }
}

/* Where a child says that it is unread; a handler has no argument. */
static volatile sig_atomic_t unread_at = -1;

/* Its rank stays here until the parent ends it: the others are not to see it end, and report
 * that. */
static void perf_fork_on_broken_pipe(int number)
{
    const char word = WORD_UNREAD;
    (void)number;
    if (write(unread_at, &word, 1) != 1) {
        _exit(SIGNALLED + SIGPIPE);
    }
    for (;;) {
        pause();
    }
}

/* Where SIGPIPE is ignored, a write that fails is told as on a full disk. */
static void perf_fork_watch_output(const child_t *me)
{
    const struct sigaction broken = {.sa_handler = perf_fork_on_broken_pipe};
    struct sigaction now;
    unread_at = me->up[1];
    if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
        (void)sigaction(SIGPIPE, &broken, NULL);
    }
}

static int perf_fork_child_main(family_t *family, uint32_t index, pid_t parent)
{
    weft_unique_id_t id;
    child_t *me = &family->children[index];
    weft_comm_options_t settings = tool_settings_options(family->job->settings);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
        fprintf(stderr, "weft: rank %u cannot end with its parent (prctl PR_SET_PDEATHSIG): %s\n",
                index, strerror(errno));
        return TOOL_INTERNAL;
    }
    if (getppid() != parent) {
        return TOOL_INTERNAL;
    }
    perf_fork_keep_own_ends(family, index);
    if (index == 0) {
        weft_status_t status = weft_unique_id_create(&id, &settings);
        status = status == WEFT_OK ? weft_id_mark_rank_0(&id) : status;
        if (status != WEFT_OK) {
            return tool_report(status);
        }
        if (!perf_fork_write_id(me->up[1], &id)) {
            return TOOL_INTERNAL;
        }
    } else if (!perf_fork_read_all(me->down[0], &id, sizeof id)) {
        return TOOL_LIBRARY; /* the first rank has reported why there is no id */
    }
    perf_fork_watch_output(me);
    const int code = family->job->run(family->job->arg, index, &id);
    const char word = WORD_DONE;
    return write(me->up[1], &word, 1) == 1 ? code : TOOL_INTERNAL;
}

/* FORK_FAILED, FORK_PARENT, or in a child its index. */
enum { FORK_FAILED = -2, FORK_PARENT = -1 };

static int fork_all(family_t *family)
{
    char what[64];
    snprintf(what, sizeof what, "-P %u, two pipes for each process,", family->count);
    if (weft_os_files_reserve(4 * family->count, what) != WEFT_OK) {
        (void)tool_report(WEFT_ERR_RESOURCE);
        return FORK_FAILED;
    }
    for (uint32_t i = 0; i < family->count; i++) {
        child_t *c = &family->children[i];
        if (pipe2(c->up, O_CLOEXEC) != 0 || pipe2(c->down, O_CLOEXEC) != 0) {
            fprintf(stderr, "weft: cannot make a pipe: %s\n", strerror(errno));
            return FORK_FAILED;
        }
    }
    fflush(NULL);
    for (uint32_t i = 0; i < family->count; i++) {
        child_t *c = &family->children[i];
        c->pid = fork();
        if (c->pid == 0) {
            return (int)i;
        }
        if (c->pid < 0) {
            fprintf(stderr, "weft: cannot fork process %u: %s%s\n", i, strerror(errno),
                    tool_fork_limits(errno));
            return FORK_FAILED;
        }
    }
    return FORK_PARENT;
}

/* Closes the children's ends and gives the id on. */
static void perf_fork_pass_id(family_t *family)
{
    for (uint32_t i = 0; i < family->count; i++) {
        perf_fork_close_pipe_end(&family->children[i].up[1]);
        perf_fork_close_pipe_end(&family->children[i].down[0]);
    }
    family->have_id = perf_fork_read_all(family->children[0].up[0], &family->id, sizeof family->id);
    for (uint32_t i = 0; i < family->count; i++) {
        if (family->have_id && i > 0) {
            perf_fork_write_id(family->children[i].down[1],
                               &family->id); /* a dead child is found by perf_fork_watch() */
        }
        perf_fork_close_pipe_end(&family->children[i].down[1]);
    }
}

static void perf_fork_describe(const family_t *family, uint32_t index, char *text, size_t bytes)
{
    uint32_t threads = family->job->threads;
    if (threads == 1) {
        snprintf(text, bytes, "rank %u", index);
    } else {
        snprintf(text, bytes, "the process of ranks %u to %u", index * threads,
                 (index + 1) * threads - 1);
    }
}

/* What the end of a child is for the job. Says it if the child cannot have. */
static int perf_fork_judge(const family_t *family, uint32_t index, int status)
{
    const child_t *c = &family->children[index];
    char who[64];
    perf_fork_describe(family, index, who, sizeof who);
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "weft: %s (pid %d) was killed by signal %d (%s)\n", who, (int)c->pid,
                WTERMSIG(status), strsignal(WTERMSIG(status)));
        return TOOL_LIBRARY;
    }
    if (!WIFEXITED(status)) {
        return TOOL_INTERNAL;
    }
    /* Without an id nobody's part has begun, and the first rank has said why. */
    const int code = WEXITSTATUS(status);
    if (!c->finished && (family->have_id || code == TOOL_OK)) {
        fprintf(stderr,
                "weft: %s (pid %d) ended early, with exit code %d: it had not done its part; does "
                "a plugin call exit()?\n",
                who, (int)c->pid, code);
        return code != TOOL_OK ? code : TOOL_LIBRARY;
    }
    return code;
}

static void perf_fork_reap(family_t *family, uint32_t index)
{
    child_t *c = &family->children[index];
    int status = 0;
    int code = TOOL_INTERNAL;
    pid_t got;
    do {
        got = waitpid(c->pid, &status, 0);
    } while (got < 0 && errno == EINTR);
    const int cause = errno;
    c->ended = true;
    perf_fork_close_pipe_end(&c->up[0]);
    if (got < 0) {
        fprintf(stderr, "weft: cannot tell how process %d ended: %s\n", (int)c->pid,
                strerror(cause));
    } else {
        code = perf_fork_judge(family, index, status);
    }
    if (code != TOOL_OK && code != TOOL_WRONG && family->deadline == WEFT_NEVER) {
        if (family->have_id) {
            uint32_t threads = family->job->threads;
            weft_claim_report_death(&family->id, family->count * threads, index * threads, c->pid);
        }
        family->deadline = weft_os_deadline(patience);
    }
    family->code = perf_exit_join(family->code, code);
}

static void perf_fork_kill_rest(family_t *family)
{
    char who[64];
    for (uint32_t i = 0; i < family->count; i++) {
        child_t *c = &family->children[i];
        if (c->pid > 0 && !c->ended) {
            perf_fork_describe(family, i, who, sizeof who);
            fprintf(stderr, "weft: %s (pid %d) did not end within %.0f s of the first failure\n",
                    who, (int)c->pid, patience);
            kill(c->pid, SIGKILL);
            perf_fork_reap(family, i);
        }
    }
}

static void perf_fork_await(child_t *c, int options)
{
    int status = 0;
    pid_t got;
    do {
        got = waitpid(c->pid, &status, options);
    } while (got < 0 && errno == EINTR);
    c->ended = got < 0 || !WIFSTOPPED(status);
}

/* Those that run end without a word: none runs any more when the first one ends. */
static void perf_fork_take_back(family_t *family)
{
    static const int steps[] = {SIGSTOP, SIGKILL};
    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
        for (uint32_t i = 0; i < family->count; i++) {
            if (family->children[i].pid > 0 && !family->children[i].ended) {
                kill(family->children[i].pid, steps[k]);
            }
        }
        for (uint32_t i = 0; i < family->count; i++) {
            if (family->children[i].pid > 0 && !family->children[i].ended) {
                perf_fork_await(&family->children[i], steps[k] == SIGSTOP ? WUNTRACED : 0);
            }
        }
    }
}

static int perf_fork_wait_ms(const family_t *family)
{
    if (family->deadline == WEFT_NEVER) {
        return -1;
    }
    uint64_t now = weft_os_clock_ns();
    return now >= family->deadline ? 0 : (int)((family->deadline - now) / WEFT_NS_PER_MS) + 1;
}

/* Whether it was a byte that came, and not the end. */
static bool perf_fork_take_word(family_t *family, child_t *c)
{
    char word;
    const bool came = perf_fork_read_all(c->up[0], &word, 1);
    c->finished = c->finished || came;
    family->unread = family->unread || (came && word == WORD_UNREAD);
    return came;
}

static void perf_fork_watch(family_t *family, struct pollfd *polls)
{
    uint32_t alive = family->count;
    while (alive > 0 && !family->unread) {
        for (uint32_t i = 0; i < family->count; i++) {
            polls[i] = (struct pollfd){.fd = family->children[i].up[0], .events = POLLIN};
        }
        int ready = poll(polls, family->count, perf_fork_wait_ms(family));
        if (ready < 0 && errno != EINTR && errno != EAGAIN) {
            fprintf(stderr, "weft: cannot wait for the ranks (poll): %s\n", strerror(errno));
            perf_fork_take_back(family);
            family->code = TOOL_INTERNAL;
            return;
        }
        if (ready == 0) {
            perf_fork_kill_rest(family);
            return;
        }
        for (uint32_t i = 0; ready > 0 && i < family->count; i++) {
            if (polls[i].revents != 0 && !perf_fork_take_word(family, &family->children[i])) {
                perf_fork_reap(family, i);
                alive--;
            }
        }
    }
}

/* Each rank of a launcher would fork a job of its own. */
static int perf_fork_check_launcher(void)
{
    weft_launcher_t launcher = {.size = sizeof launcher};
    weft_status_t status = weft_launcher_detect(&launcher);
    if (status != WEFT_OK) {
        return tool_report(status);
    }
    return launcher.nranks < 2
               ? TOOL_OK
               : tool_usage(
                     "-P is for one machine without a launcher, and this is rank %u of %u of %s",
                     launcher.rank, launcher.nranks, launcher.name);
}

/* The parent's part. */
static void perf_fork_lead(family_t *family, struct pollfd *polls)
{
    signal(SIGPIPE, SIG_IGN);
    perf_fork_pass_id(family);
    perf_fork_watch(family, polls);
    if (family->unread) {
        perf_fork_take_back(family);
        family->code = SIGNALLED + SIGPIPE;
    }
}

int perf_fork_run(const perf_fork_job_t *job)
{
    family_t family = {.job = job, .count = job->processes, .deadline = WEFT_NEVER};
    pid_t parent = getpid();
    family.code = perf_fork_check_launcher();
    if (family.code != TOOL_OK) {
        return family.code;
    }
    struct pollfd *polls = calloc(family.count, sizeof *polls);
    family.children = calloc(family.count, sizeof *family.children);
    if (polls == NULL || family.children == NULL) {
        fprintf(stderr, "weft: no memory for %u processes\n", family.count);
        family.code = TOOL_INTERNAL;
        goto err_free;
    }
    int index = fork_all(&family);
    if (index >= 0) {
        family.code = perf_fork_child_main(&family, (uint32_t)index, parent);
    } else if (index == FORK_FAILED) {
        family.code = TOOL_INTERNAL;
        perf_fork_take_back(&family);
    } else {
        perf_fork_lead(&family, polls);
    }
err_free:
    free(family.children);
    free(polls);
    return family.code;
}
