/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests that only compute, over very many cases of the same code: a sanitizer would see it for
 * minutes and learn nothing new, so it meets one part of PARTS of them. */
#ifndef WEFT_TESTS_PART_H
#define WEFT_TESTS_PART_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { PARTS = 8 };
#else
enum { PARTS = 1 };
#endif

#endif
