/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread takes the mask of the one that creates it. */
#include <weft/sdk/quiet_thread.h>

#include <signal.h>
#include <stddef.h>

int weft_quiet_thread_create(pthread_t *thread, const pthread_attr_t *attributes,
                             void *(*run)(void *), void *arg)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t others, before;
    (void)sigfillset(&others);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        (void)sigdelset(&others, faults[i]);
    }
    (void)pthread_sigmask(SIG_SETMASK, &others, &before);
    int error = pthread_create(thread, attributes, run, arg);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
