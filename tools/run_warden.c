/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The warden hears of groups over a pipe: a number begins one, its negative ends it. */
#include "tools/run_warden.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/run_wire.h"

typedef struct run_groups {
    pid_t *all;
    size_t count, room;
} run_groups_t;

static void run_groups_add(run_groups_t *groups, pid_t group)
{
    if (groups->count == groups->room) {
        const size_t room = 2 * groups->room + 64;
        pid_t *more = realloc(groups->all, room * sizeof *more);
        if (more == NULL) {
            return;
        }
        groups->all = more;
        groups->room = room;
    }
    groups->all[groups->count++] = group;
}

static void run_groups_remove(run_groups_t *groups, pid_t group)
{
    for (size_t i = 0; i < groups->count; i++) {
        if (groups->all[i] == group) {
            groups->all[i] = groups->all[--groups->count];
            return;
        }
    }
}

/* The new process. It holds none of the streams, whose end tells others that of the agent. Signals
 * that end the agent in order are blocked here as there. */
static void run_warden_watch(int fd)
{
    run_groups_t groups = {.count = 0};
    pid_t group;
    ssize_t got;
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
        (void)dup2(nothing, stream);
    }
    (void)setpgid(0, 0);
    while ((got = read(fd, &group, sizeof group)) != 0) {
        if (got == (ssize_t)sizeof group && group > 0) {
            run_groups_add(&groups, group);
        } else if (got == (ssize_t)sizeof group) {
            run_groups_remove(&groups, -group);
        } else if (errno != EINTR) {
            break;
        }
    }
    for (size_t i = 0; i < groups.count; i++) {
        (void)kill(-groups.all[i], SIGKILL);
    }
    _exit(0);
}

bool run_warden_start(run_warden_t *warden)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        run_warden_watch(ends[0]);
    }
    const int error = errno;
    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
        errno = error;
        return false;
    }
    *warden = (run_warden_t){.pid = pid, .fd = ends[1]};
    return true;
}

void run_warden_add(const run_warden_t *warden, pid_t group)
{
    (void)run_wire_write(warden->fd, &group, sizeof group);
}

void run_warden_remove(const run_warden_t *warden, pid_t group)
{
    run_warden_add(warden, -group);
}

void run_warden_end(run_warden_t *warden)
{
    if (warden->pid <= 0) {
        return;
    }
    close(warden->fd);
    while (waitpid(warden->pid, NULL, 0) < 0 && errno == EINTR) {
    }
}
