/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agreement check: all ranks must have the same plugins, versions and configuration. */
#ifndef WEFT_BOOT_AGREEMENT_H
#define WEFT_BOOT_AGREEMENT_H

#include "core/boot/boot_types.h"

/* Compares `text`, lines of "key=value", with rank 0's. If any rank differs all ranks fail with
 * ERR_MISMATCH, which names that rank, the first key that differs and both values. Else as an
 * exchange (exchange.h), also for when to call it. */
weft_status_t weft_boot_agree(weft_boot_t *boot, const char *text);

#endif
