/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Functions of the core that simulate_boot.c stands before: see --wrap of ld. */
#ifndef WEFT_TESTS_SIMULATE_BOOT_WRAPS_H
#define WEFT_TESTS_SIMULATE_BOOT_WRAPS_H

#include <stddef.h>

#include "tests/scale/wrap.h"

void *boot_real_weft_os_alloc(size_t bytes, size_t align) WEFT_TEST_REAL(weft_os_alloc);
void *boot_weft_os_alloc(size_t bytes, size_t align) WEFT_TEST_WRAP(weft_os_alloc);
void boot_real_weft_os_free(void *memory) WEFT_TEST_REAL(weft_os_free);
void boot_weft_os_free(void *memory) WEFT_TEST_WRAP(weft_os_free);

#endif
