/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One rank of `weft run`. It leads a session, so that a signal reaches also what it starts, and
 * dies with the agent. */
#include "tools/run_rank.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/config/env.h"
#include "tools/tool.h"

/* Of launchers that may have started this program: their ranks are not ours. */
static const char *const foreign[] = {"OMPI_",
                                      "PMIX_",
                                      "PMI_",
                                      "MPI_LOCAL",
                                      "SLURM_",
                                      "HYDRA_",
                                      "PRTE_",
                                      "TORCHELASTIC_",
                                      "GROUP_RANK",
                                      "GROUP_WORLD_SIZE",
                                      "JOB_COMPLETION_INDEX",
                                      "WEFT_RANK",
                                      "WEFT_NRANKS",
                                      "WEFT_LOCAL_",
                                      "WEFT_UNIQUE_ID",
                                      NULL};

static void run_rank_forget_foreign(void)
{
    for (size_t i = 0; foreign[i] != NULL; i++) {
        for (const char *found = weft_env_prefixed(foreign[i], 0); found != NULL;
             found = weft_env_prefixed(foreign[i], 0)) {
            char name[256];
            snprintf(name, sizeof name, "%.*s", (int)strcspn(found, "="), found);
            if (unsetenv(name) != 0 || weft_env_prefixed(foreign[i], 0) == found) {
                break; /* a name that is too long: nobody reads it */
            }
        }
    }
}

static void run_rank_number(const char *name, uint32_t value)
{
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    setenv(name, text, 1);
}

/* weft's own variables, and those of torchrun, which programs of torch read. */
static void run_rank_environment(const run_place_t *place, uint32_t index)
{
    const run_task_t *task = place->task;
    run_rank_forget_foreign();
    for (const char *const *variable = task->variables; *variable != NULL; variable++) {
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*variable, "="), *variable);
        setenv(name, *variable + strcspn(*variable, "=") + 1, 1);
    }
    run_rank_number("WEFT_RANK", task->first + index);
    run_rank_number("WEFT_NRANKS", task->nranks);
    run_rank_number("WEFT_LOCAL_RANK", index);
    run_rank_number("WEFT_LOCAL_NRANKS", task->count);
    setenv("WEFT_UNIQUE_ID", place->id, 1);
    run_rank_number("RANK", task->first + index);
    run_rank_number("WORLD_SIZE", task->nranks);
    run_rank_number("LOCAL_RANK", index);
    run_rank_number("LOCAL_WORLD_SIZE", task->count);
    setenv("MASTER_ADDR", place->host, 1);
    run_rank_number("MASTER_PORT", place->port);
}

/* The lowest processor of the core that has `cpu`. */
static size_t run_rank_core_of(size_t cpu)
{
    char path[96];
    size_t first = cpu;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%zu/topology/thread_siblings_list",
             cpu);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fscanf(file, "%zu", &first) != 1) {
            first = cpu;
        }
        fclose(file);
    }
    return first;
}

/* Puts the processors of the `index`-th core of `all` into *mine. Returns how many cores there
 * are. */
static uint32_t run_rank_choose_core(const cpu_set_t *all, uint32_t index, cpu_set_t *mine)
{
    size_t core = CPU_SETSIZE;
    uint32_t seen = 0;
    CPU_ZERO(mine);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, all)) {
            continue;
        }
        /* A core counts at the first of its processors that may be used. */
        size_t first = run_rank_core_of(cpu);
        bool known = false;
        for (size_t before = 0; before < cpu && !known; before++) {
            known = CPU_ISSET(before, all) && run_rank_core_of(before) == first;
        }
        core = !known && seen++ == index ? first : core;
        if (first == core) {
            CPU_SET(cpu, mine);
        }
    }
    return seen;
}

/* Leaves this process one of the cores that it may use. */
static bool run_rank_bind(uint32_t index, char *text, size_t bytes)
{
    cpu_set_t all, mine;
    if (sched_getaffinity(0, sizeof all, &all) != 0) {
        snprintf(text, bytes, "cannot ask for its processors: %s", strerror(errno));
        return false;
    }
    uint32_t cores = run_rank_choose_core(&all, index, &mine);
    if (cores <= index) {
        snprintf(text, bytes, "--bind-to core: %u cores may be used here, which is too few", cores);
        return false;
    }
    if (sched_setaffinity(0, sizeof mine, &mine) != 0) {
        snprintf(text, bytes, "--bind-to core: %s", strerror(errno));
        return false;
    }
    return true;
}

/* In the new process. Returns only if it cannot become the program. */
static void run_rank_become(const run_place_t *place, uint32_t index, char *text, size_t bytes)
{
    const run_task_t *task = place->task;
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number < NSIG; number++) {
        (void)signal(number, SIG_DFL);
    }
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    /* A group, to end what it starts, and no session: Linux shares cores between sessions first,
     * and a rank that yields its core passes it to its own session only. */
    (void)setpgid(0, 0);
    if (chdir(task->folder) != 0) {
        snprintf(text, bytes, "cannot go to the folder %s: %s", task->folder, strerror(errno));
        return;
    }
    if (task->bind && !run_rank_bind(index, text, bytes)) {
        return;
    }
    run_rank_environment(place, index);
    execvp(task->command[0], task->command);
    const int error = errno;
    const char *program = task->command[0];
    /* The system has one error for both. */
    bool half = error == ENOENT && strchr(program, '/') != NULL && access(program, F_OK) == 0;
    snprintf(text, bytes, "cannot start %s: %s%s", program, strerror(error),
             half ? " (the interpreter or loader that it names)" : "");
}

static void run_rank_close(int pair[2])
{
    for (int i = 0; i < 2; i++) {
        if (pair[i] >= 0) {
            close(pair[i]);
            pair[i] = -1;
        }
    }
}

/* Reads the complaint of the new process: nothing once it has become the program. */
static bool run_rank_listen(int fd, char *text, size_t bytes)
{
    ssize_t got;
    do {
        got = read(fd, text, bytes - 1);
    } while (got < 0 && errno == EINTR);
    text[got > 0 ? got : 0] = '\0';
    return got <= 0;
}

/* The new process: `ends` are its input, its outputs and where it complains. */
static void run_rank_begin(const run_place_t *place, uint32_t index, pid_t parent,
                           const int ends[4])
{
    char text[512] = "its parent has gone";
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
        snprintf(text, sizeof text, "cannot end with its parent (prctl PR_SET_PDEATHSIG): %s",
                 strerror(errno));
    } else if (dup2(ends[0], 0) != 0 || dup2(ends[1], 1) != 1 || dup2(ends[2], 2) != 2) {
        snprintf(text, sizeof text, "cannot have its input and outputs (dup2): %s",
                 strerror(errno));
    } else if (getppid() == parent) {
        run_rank_become(place, index, text, sizeof text);
    }
    (void)!write(ends[3], text, strlen(text));
    _exit(127);
}

bool run_rank_start(const run_place_t *place, uint32_t index, run_rank_t *rank, char *text,
                    size_t bytes)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1}, say[2] = {-1, -1};
    const pid_t parent = getpid();
    bool fine = pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 &&
                pipe2(err, O_CLOEXEC) == 0 && pipe2(say, O_CLOEXEC) == 0;
    const pid_t pid = fine ? fork() : -1;
    if (pid == 0) {
        run_rank_begin(place, index, parent, (const int[]){in[0], out[1], err[1], say[1]});
    }
    *rank = (run_rank_t){.pid = pid > 0 ? pid : 0, .out = out[0], .err = err[0], .in = -1};
    out[0] = err[0] = -1;
    if (place->task->first + index == 0) { /* the others read the end at once */
        rank->in = in[1];
        in[1] = -1;
    }
    if (pid < 0) {
        snprintf(text, bytes, "cannot start a process: %s%s", strerror(errno),
                 tool_fork_limits(errno));
    } else {
        close(say[1]);
        say[1] = -1;
    }
    fine = pid > 0 && run_rank_listen(say[0], text, bytes);
    run_rank_close(say);
    run_rank_close(in);
    run_rank_close(out);
    run_rank_close(err);
    return fine;
}
