/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fixed ids: made before the job, with a host and a port in place of addresses. Rank 0 of whoever
 * joins with one becomes its root and listens there, so all that the ranks need is the id. One
 * fixed id makes any number of communicators, one after the other. */
#ifndef WEFT_BOOT_FIXED_ID_H
#define WEFT_BOOT_FIXED_ID_H

#include "core/boot/unique_id.h"
#include "core/config/settings.h"

/* Makes an id with a new secret. `at` is "host:port", "10.0.0.1:4711" or "[fd00::1]:4711"; the
 * name is looked up by the ranks, when they join. ERR_ARG says what is wrong with `at`;
 * ERR_SYSTEM. */
weft_status_t weft_fixed_id_make(const char *at, weft_unique_id_t *id);

/* Turns a fixed id into one that weft_boot_join() takes; leaves any other as it is. Rank 0 starts
 * to listen, the others wait until it does; returns when all ranks have the id. Every rank must
 * use its fixed id as often as the others. ERR_RESOURCE: another program listens on the port;
 * ERR_TIMEOUT names the host that did not answer, or the ranks that did not come; ERR_AUTH,
 * ERR_PEER_DEAD. */
weft_status_t weft_fixed_id_open(const weft_boot_settings_t *settings, uint32_t nranks,
                                 uint32_t rank, const weft_unique_id_t *id,
                                 weft_unique_id_t *opened);

#endif
