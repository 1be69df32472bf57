/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Signals as a file. One that is blocked is kept even if it is ignored, so only those are blocked
 * that are not. */
#include "tools/run_signals.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

static bool run_signals_are_ignored(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

int run_signals_open(const int *numbers)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; numbers[i] != 0; i++) {
        if (!run_signals_are_ignored(numbers[i])) {
            sigaddset(&set, numbers[i]);
        }
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    const int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) {
        fprintf(stderr, "weft run: cannot read signals as a file (signalfd): %s\n",
                strerror(errno));
    }
    return fd;
}
