/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The id that every rank has in its environment. */
#ifndef WEFT_BOOT_ID_EXCHANGE_GIVEN_H
#define WEFT_BOOT_ID_EXCHANGE_GIVEN_H

#include "core/boot/id_exchange_entry.h"

/* "id": WEFT_UNIQUE_ID. The maker is another process, or, for an id with a fixed address, rank 0.
 * */
extern const weft_id_exchange_t weft_id_exchange_given;

/* The port of that id if it is a fixed one, else 0. */
uint16_t weft_id_given_port(void);

#endif
