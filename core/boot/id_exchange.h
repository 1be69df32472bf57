/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The choice among the ways of a unique id: a table in order of preference, and the option
 * boot.exchange. */
#ifndef WEFT_BOOT_ID_EXCHANGE_H
#define WEFT_BOOT_ID_EXCHANGE_H

#include "core/boot/id_exchange_entry.h"

/* Returns the i-th way, the preferred one first; NULL past the last one. */
const weft_id_exchange_t *weft_id_exchange_get(uint32_t i);
/* Finds the way that the exchange of this job takes, and why (may be NULL). ERR_CONFIG: the one
 * that the option names is not open; ERR_UNSUPPORTED: none is. The text gives the remedy. */
weft_status_t weft_id_exchange_choose(const weft_id_exchange_job_t *job, char *why, size_t bytes,
                                      const weft_id_exchange_t **way_p);

#endif
