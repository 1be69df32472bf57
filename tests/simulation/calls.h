/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The C library as simulated processes see it. Each function here has the name of one of the
 * library's and comes before it; outside of simulated threads it does what that one does. */
#ifndef WEFT_SIMULATION_CALLS_H
#define WEFT_SIMULATION_CALLS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>

#include "machine.h"

/* Shared objects bind to it. */
#define SIM_CALL __attribute__((visibility("default")))

/* The function of that name behind this one. */
#define SIM_REAL(name)                                                                             \
    ({                                                                                             \
        static __typeof__(&name) real;                                                             \
        if (real == NULL) {                                                                        \
            *(void **)&real = dlsym(RTLD_NEXT, #name);                                             \
        }                                                                                          \
        real;                                                                                      \
    })

/* A call that a rare event interrupts: ends the calling function with −1. */
#define SIM_MAY_BE_INTERRUPTED()                                                                   \
    do {                                                                                           \
        if (machine_odd(machine.odd.interrupted)) {                                                \
            errno = EINTR;                                                                         \
            return -1;                                                                             \
        }                                                                                          \
    } while (0)

/* calls_file.c. Returns a descriptor of the system for a file that the machine makes up, −1 with
 * errno for one that it has not, −2 for files of the system. */
int file_made_up(const char *path);

/* calls_folder.c: the folder in which ranks meet. */
bool folder_has(const char *path);
int folder_own(struct stat *facts, int result); /* returns `result` */
void *folder_open(const char *path);
struct dirent *folder_next(void *opened);
int folder_descriptor(void *opened);
void folder_close(void *opened);

#endif
