/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checked invariants. They are active where WEFT_CHECKED is defined: in Debug builds and under
 * sanitizers (cmake/options.cmake). Elsewhere they compile to nothing, and their conditions are not
 * evaluated. Use them for rules that only a mistake in weft can break, never for arguments of a
 * user, answers of the system or bytes of a peer. */
#ifndef WEFT_OS_ASSERT_H
#define WEFT_OS_ASSERT_H

/* Prints the condition and where it stands to stderr, and aborts. */
_Noreturn void weft_assert_failed(const char *condition, const char *file, int line,
                                  const char *function);

#ifdef WEFT_CHECKED
#define weft_assert(condition)                                                                     \
    ((condition) ? (void)0 : weft_assert_failed(#condition, __FILE__, __LINE__, __func__))
#else
#define weft_assert(condition) ((void)sizeof((condition) ? 1 : 0))
#endif

#endif
