/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections to the root of a unique id by somebody who does not hold it. */
#ifndef TESTS_SCALE_STRANGERS_H
#define TESTS_SCALE_STRANGERS_H

#include <stdatomic.h>
#include <stdint.h>

#include <weft/weft.h>

/* Connects `rate` times a second, for ever: silent, slow, random bytes, a recorded hello in part,
 * as a whole and with a wrong proof. Counts the connections that stood. */
_Noreturn void strangers_run(const weft_unique_id_t *id, uint32_t rate, _Atomic uint32_t *count);

#endif
