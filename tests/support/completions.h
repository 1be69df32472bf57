/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What tests of completion queues share. */
#ifndef WEFT_TEST_COMPLETIONS_H
#define WEFT_TEST_COMPLETIONS_H

#include "tests/support/ranks.h"

/* Reads the queue until it told `count` times; each entry's context is another value, which is
 * `sum`. Returns how many were wrong. */
int completions_read(weft_completion_queue_t *queue, uint32_t count, uint32_t rank, uint32_t sum);

#endif
