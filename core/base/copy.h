/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies of host memory that other ranks have in their caches (decision 146). */
#ifndef WEFT_BASE_COPY_H
#define WEFT_BASE_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Sanitizers know memcpy(), and nothing of instructions. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) ||                         \
    __has_feature(thread_sanitizer)
#define WEFT_COPY_IS_WATCHED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEFT_COPY_IS_WATCHED
#endif

/* In between `rep movsb` is used, where the processor is good at it. Below it is no faster. Above,
 * C libraries use it themselves: glibc 2.36 from 2 to 8 KiB on, by processor. */
#define WEFT_COPY_STRING_LEAST 1025u
#define WEFT_COPY_STRING_MOST 8192u

/* The processor has fast short `rep movsb` (FSRM). Constant once the library is loaded. */
extern bool weft_copy_by_string;

/* Copies `bytes` bytes between areas that do not overlap. */
static inline void weft_copy(void *to, const void *from, uint64_t bytes)
{
#if defined(__x86_64__) && !defined(WEFT_COPY_IS_WATCHED)
    if (weft_copy_by_string && bytes >= WEFT_COPY_STRING_LEAST && bytes <= WEFT_COPY_STRING_MOST) {
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
        return;
    }
#endif
    memcpy(to, from, bytes);
}

#endif
