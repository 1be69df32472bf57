/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Looks what the processor is good at. */
#include "core/base/copy.h"

#ifdef __x86_64__
#include <cpuid.h>

#define COPY_LEAF 7u
#define COPY_FSRM (1u << 4) /* in EDX */
#endif

bool weft_copy_by_string = false;

__attribute__((constructor)) static void copy_look(void)
{
#ifdef __x86_64__
    unsigned a, b, c, d = 0;
    weft_copy_by_string =
        __get_cpuid_count(COPY_LEAF, 0, &a, &b, &c, &d) != 0 && (d & COPY_FSRM) != 0;
#endif
}
