/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SDK: threads of a library. The signals that others send are for the threads of the program, whose
 * handlers may expect to run there. Those of a thread's own faults stay open: blocked, they end the
 * process without its handler, which a program has that protects pages of buffers (collectors of
 * garbage, checkpoints), traps calls of the system (sandboxes), or tells of its crashes. */
#ifndef WEFT_SDK_QUIET_THREAD_H
#define WEFT_SDK_QUIET_THREAD_H

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As pthread_create(), which see for the errors: 0 or an errno. The caller's own mask is as before
 * when it returns. Does not block. [any] */
int weft_quiet_thread_create(pthread_t *thread, const pthread_attr_t *attributes,
                             void *(*run)(void *), void *arg);

#ifdef __cplusplus
}
#endif

#endif
