/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbering the hosts of a job. */
#ifndef WEFT_BOOT_HOST_NUMBERS_H
#define WEFT_BOOT_HOST_NUMBERS_H

#include "core/boot/boot_types.h"

/* Sets `host` of every rank: ranks with equal host ids get the same number, in order of first
 * appearance by rank. *hosts_p: how many there are. O(nranks). ERR_RESOURCE. */
weft_status_t weft_boot_number_hosts(weft_boot_peer_t *peers, uint32_t nranks, uint32_t *hosts_p);

#endif
