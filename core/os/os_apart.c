/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See os_apart.h. */
#include "core/os/os_apart.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/os/os_socket.h"

static void apart_child(void (*run)(void *arg, void *answer), void *arg, void *answer, size_t bytes,
                        int to)
{
    const uint8_t *at = answer;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    run(arg, answer);
    while (bytes > 0) {
        ssize_t written = write(to, at, bytes);
        if (written < 0 && errno != EINTR) {
            break;
        }
        at += written > 0 ? written : 0;
        bytes -= written > 0 ? (size_t)written : 0;
    }
    _exit(0);
}

/* Reads `bytes` bytes. TIMEOUT: not by then; ABORTED; SYSTEM: there were no more. */
static weft_status_t apart_read(int from, uint8_t *to, size_t bytes, uint64_t until)
{
    while (bytes > 0) {
        struct pollfd entry = {.fd = from, .events = POLLIN};
        int ready = weft_os_poll(&entry, 1, until);
        if (ready < 0) {
            return weft_error_record()->status;
        }
        if (ready == 0 && weft_os_clock_ns() >= until) {
            return weft_fail(WEFT_ERR_TIMEOUT, 0, "a process of weft's own did not answer in time");
        }
        ssize_t got = ready > 0 ? read(from, to, bytes) : 0;
        if (ready > 0 && (got == 0 || (got < 0 && errno != EINTR))) {
            return WEFT_ERR_SYSTEM;
        }
        to += got > 0 ? got : 0;
        bytes -= got > 0 ? (size_t)got : 0;
    }
    return WEFT_OK;
}

weft_status_t weft_os_run_apart(void (*run)(void *arg, void *answer), void *arg, void *answer,
                                size_t bytes, uint64_t until)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return weft_fail(WEFT_ERR_RESOURCE, errno, "cannot make a pipe to a process");
    }
    pid_t pid = fork();
    if (pid < 0) {
        int error = errno;
        (void)close(ends[0]);
        (void)close(ends[1]);
        return weft_fail(WEFT_ERR_RESOURCE, error, "cannot make a process");
    }
    if (pid == 0) {
        (void)close(ends[0]);
        apart_child(run, arg, answer, bytes, ends[1]);
    }
    (void)close(ends[1]);
    weft_status_t status = apart_read(ends[0], answer, bytes, until);
    (void)close(ends[0]);
    if (status != WEFT_OK) {
        (void)kill(pid, SIGKILL);
    }
    int how = 0;
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR) {
    }
    return status != WEFT_ERR_SYSTEM
               ? status
               : weft_fail(WEFT_ERR_SYSTEM, 0,
                           "a process of weft's own ended without an answer, by %s %d",
                           WIFSIGNALED(how) ? "signal" : "exit code",
                           WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how));
}
