/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Work in a process of its own, for libraries that leave something behind in theirs. */
#ifndef WEFT_OS_APART_H
#define WEFT_OS_APART_H

#include <stddef.h>
#include <stdint.h>

#include "core/os/os.h"

/* Forks, calls run(arg, answer) in the child, and copies the child's answer to `answer`. It is
 * `bytes` long, and what the caller has there is what the child begins with. The child has the
 * calling thread alone, and ends without what the program wants at its exit. It is killed if there
 * is no answer at `until`, when the join is cancelled (os_cancel.h), and when the calling thread
 * ends. Not under TSan, which does not follow such forks.
 * ERR_RESOURCE: no pipe or process; ERR_TIMEOUT; ERR_ABORTED; ERR_SYSTEM: the child ended without
 * an answer. */
weft_status_t weft_os_run_apart(void (*run)(void *arg, void *answer), void *arg, void *answer,
                                size_t bytes, uint64_t until);

#endif
