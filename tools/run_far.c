/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agents of a job. An agent is this program again, with --agent. What it is told goes through
 * its input, so that nothing of it stands on a command line. */
#include "tools/run_far.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/os/os.h"
#include "tools/tool.h"

enum { RUN_FAR_WORDS = 32, RUN_FAR_PATH = 4096 };

static bool run_far_own_path(char *path, size_t bytes)
{
    ssize_t length = readlink("/proc/self/exe", path, bytes - 1);
    path[length > 0 ? length : 0] = '\0';
    return length > 0;
}

/* In the new process: becomes the agent, or the remote shell that starts it. */
static void run_far_become(const run_job_t *job, const run_host_t *host, char *path)
{
    char command[RUN_FAR_PATH + 64], agent[] = "--agent", run[] = "run", name[RUN_HOST_NAME];
    char *here[] = {path, run, agent, NULL};
    char *words[RUN_FAR_WORDS + 3], *rest = NULL;
    size_t count = 0;
    /* Signals of the terminal come to `weft run`, which passes them on. */
    (void)setpgid(0, 0);
    if (host->here) {
        execv(path, here);
        return;
    }
    char *copy = strdup(job->rsh);
    for (char *word = copy != NULL ? strtok_r(copy, " ", &rest) : NULL;
         word != NULL && count < RUN_FAR_WORDS; word = strtok_r(NULL, " ", &rest)) {
        words[count++] = word;
    }
    snprintf(name, sizeof name, "%s", host->name);
    snprintf(command, sizeof command, "exec '%s' run --agent", path);
    words[count++] = name;
    words[count++] = command;
    words[count] = NULL;
    execvp(words[0], words);
    free(copy);
}

bool run_far_start(run_far_t *far, const run_job_t *job, const run_host_t *host)
{
    char path[RUN_FAR_PATH];
    int down[2] = {-1, -1}, up[2] = {-1, -1};
    size_t bytes = 0;
    *far = (run_far_t){.host = host, .to = -1, .from = -1, .left = host->count};
    if (!run_far_own_path(path, sizeof path)) {
        fprintf(stderr, "weft run: cannot find its own program: /proc/self/exe cannot be read, is "
                        "/proc mounted?\n");
        return false;
    }
    if (!host->here && strchr(path, '\'') != NULL) {
        fprintf(stderr,
                "weft run: %s has an apostrophe in its path, which a remote shell cannot take\n",
                path);
        return false;
    }
    if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0 || (far->pid = fork()) < 0) {
        fprintf(stderr, "weft run: cannot start an agent: %s%s\n", strerror(errno),
                tool_fork_limits(errno));
        far->pid = 0;
        return false;
    }
    if (far->pid == 0) {
        if (dup2(down[0], 0) == 0 && dup2(up[1], 1) == 1) {
            run_far_become(job, host, path);
        }
        fprintf(stderr, "weft run: cannot start %s: %s\n", host->here ? path : job->rsh,
                strerror(errno));
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    far->to = down[1];
    far->from = up[0];
    char *text = run_task_write(job, host, &bytes);
    bool fine = text != NULL && bytes <= RUN_FRAME_MOST;
    if (!fine) {
        fprintf(stderr, "weft run: command and variables are too long\n");
    } else {
        const uint32_t among = (uint32_t)job->ports.first | (uint32_t)job->ports.last << 16;
        (void)run_wire_send(far->to, RUN_JOB, among, text,
                            bytes); /* its end is seen at far->from */
    }
    free(text);
    return fine;
}

static const char greeting[] = RUN_GREETING;

/* Whole lines that are no greeting, and a long one that goes on, are passed on as they come: a
 * remote shell may say much. */
static void run_far_pass_on(run_reader_t *in)
{
    const char *text = in->data + in->at;
    const size_t bytes = in->used - in->at;
    const char *line = memrchr(text, '\n', bytes);
    size_t done = line != NULL ? (size_t)(line + 1 - text) : 0;
    if (bytes - done >= RUN_CHUNK) {
        done = bytes - sizeof greeting;
    }
    fwrite(text, 1, done, stderr);
    in->at += done;
}

bool run_far_greet(run_far_t *far)
{
    const size_t length = sizeof greeting - 1;
    char version[64];
    run_reader_t *in = &far->reader;
    char *start =
        in->used > in->at ? memmem(in->data + in->at, in->used - in->at, greeting, length) : NULL;
    char *end = start != NULL ? memchr(start, '\n', (size_t)(in->data + in->used - start)) : NULL;
    if (start == NULL) {
        run_far_pass_on(in);
        return true;
    }
    const size_t rest = (size_t)(in->data + in->used - start) - length;
    if (end == NULL && rest < sizeof version) {
        return true;
    }
    fwrite(in->data + in->at, 1, (size_t)(start - in->data) - in->at, stderr);
    snprintf(version, sizeof version, "%.*s",
             end != NULL ? (int)(end - start - (long)length) : (int)rest, start + length);
    in->at = end != NULL ? (size_t)(end + 1 - in->data) : in->used;
    far->greeted = strcmp(version, weft_version()) == 0;
    if (!far->greeted) {
        fprintf(stderr, "weft run: %s has weft %s, this is weft %s\n", far->host->name, version,
                weft_version());
    }
    return far->greeted;
}

int run_far_end(run_far_t *far, double seconds)
{
    const uint64_t deadline = weft_os_deadline(seconds);
    const struct timespec nap = {.tv_nsec = 2000000};
    int status = 0;
    pid_t got = 0;
    if (far->to >= 0) {
        close(far->to);
    }
    if (far->from >= 0) {
        close(far->from);
    }
    far->to = far->from = -1;
    while (far->pid > 0 && (got = waitpid(far->pid, &status, WNOHANG)) == 0) {
        if (weft_os_clock_ns() >= deadline) {
            (void)kill(-far->pid, SIGKILL);
        }
        (void)nanosleep(&nap, NULL);
    }
    far->pid = 0;
    run_reader_free(&far->reader);
    return got > 0 ? status : 0;
}
