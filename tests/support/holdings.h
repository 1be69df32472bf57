/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What this process holds of the system: for tests in which nothing may be more afterwards. */
#ifndef WEFT_TEST_HOLDINGS_H
#define WEFT_TEST_HOLDINGS_H

#include <stdint.h>

typedef struct holdings {
    uint32_t fds, threads, maps; /* maps: without the stacks of threads */
    uint64_t kib;                /* resident */
} holdings_t;

holdings_t holdings_now(void);
/* Waits until there are no more descriptors than `fds` and no more threads than `threads`, at most
 * 20 s: a thread that was joined may be counted for a moment. Returns what there is then. */
holdings_t holdings_settled(uint32_t fds, uint32_t threads);

#endif
