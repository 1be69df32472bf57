/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The id through the store that torchrun serves at MASTER_ADDR:MASTER_PORT. */
#ifndef WEFT_BOOT_ID_EXCHANGE_TCP_H
#define WEFT_BOOT_ID_EXCHANGE_TCP_H

#include "core/boot/id_exchange_entry.h"

/* "tcp": open where torchrun says that its agent serves a store. On one host the folder needs no
 * such thing, and is taken unless boot.exchange names this. */
extern const weft_id_exchange_t weft_id_exchange_tcp;

#endif
