/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Resetting through a copy of the other process's descriptor. */
#include "resets.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#define SYS_pidfd_getfd 438
#endif

static bool reset_connection(int process, int fd)
{
    struct sockaddr_storage peer;
    socklen_t bytes = sizeof peer;
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    int copy = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
    bool tcp = copy >= 0 && getpeername(copy, (struct sockaddr *)&peer, &bytes) == 0 &&
               (peer.ss_family == AF_INET || peer.ss_family == AF_INET6);
    bool done = tcp && connect(copy, &none, sizeof none) == 0;
    if (copy >= 0) {
        close(copy);
    }
    return done;
}

uint32_t reset_connections(pid_t pid)
{
    char path[64];
    uint32_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    DIR *dir = opendir(path);
    const struct dirent *entry;
    kill(pid, SIGSTOP);
    while (dir != NULL && process >= 0 && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') {
            count += reset_connection(process, atoi(entry->d_name));
        }
    }
    kill(pid, SIGCONT);
    if (dir != NULL) {
        closedir(dir);
    }
    if (process >= 0) {
        close(process);
    }
    return count;
}
