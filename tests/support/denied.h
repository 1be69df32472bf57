/* SPDX-License-Identifier: BSD-3-Clause
 *
 * System calls that fail in the calling thread, and in threads that it starts, from now on. */
#ifndef WEFT_TEST_DENIED_H
#define WEFT_TEST_DENIED_H

#include <stdbool.h>

/* Each call with this number (SYS_…) ends with `error`. May be called again for others. False: this
 * system has no filters of calls. */
bool denied_call(unsigned call, unsigned error);

#endif
