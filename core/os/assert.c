/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of a process that broke one of its own rules. */
#include <stdio.h>
#include <stdlib.h>

#include "core/os/assert.h"

void weft_assert_failed(const char *condition, const char *file, int line, const char *function)
{
    fprintf(stderr, "weft: %s:%d: %s: assertion failed: %s\n", file, line, function, condition);
    abort();
}
