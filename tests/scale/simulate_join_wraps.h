/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Functions of the core that simulate_join.c stands before: see --wrap of ld. */
#ifndef WEFT_TESTS_SIMULATE_JOIN_WRAPS_H
#define WEFT_TESTS_SIMULATE_JOIN_WRAPS_H

#include <stddef.h>

#include "core/boot/join_request.h"
#include "tests/scale/wrap.h"

void *join_real_weft_os_alloc(size_t bytes, size_t align) WEFT_TEST_REAL(weft_os_alloc);
void *join_weft_os_alloc(size_t bytes, size_t align) WEFT_TEST_WRAP(weft_os_alloc);
void join_real_weft_os_free(void *memory) WEFT_TEST_REAL(weft_os_free);
void join_weft_os_free(void *memory) WEFT_TEST_WRAP(weft_os_free);
weft_status_t join_real_weft_join_request_decode(const uint8_t bytes[WEFT_WIRE_JOIN_REQUEST],
                                                 weft_join_request_t *request, const char **why)
    WEFT_TEST_REAL(weft_join_request_decode);
weft_status_t join_weft_join_request_decode(const uint8_t bytes[WEFT_WIRE_JOIN_REQUEST],
                                            weft_join_request_t *request, const char **why)
    WEFT_TEST_WRAP(weft_join_request_decode);

#endif
