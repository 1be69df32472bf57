/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The id as a file in a folder that all ranks see. */
#ifndef WEFT_BOOT_ID_EXCHANGE_FOLDER_H
#define WEFT_BOOT_ID_EXCHANGE_FOLDER_H

#include "core/boot/id_exchange_entry.h"

/* "folder": open where the launcher names the job and all ranks are on this host, or
 * boot.rendezvous is set. */
extern const weft_id_exchange_t weft_id_exchange_folder;

#endif
