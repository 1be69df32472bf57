/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The folder where the ranks of this user's jobs meet. */
#ifndef WEFT_BOOT_RENDEZVOUS_FOLDER_H
#define WEFT_BOOT_RENDEZVOUS_FOLDER_H

#include <stddef.h>

#include <weft/types.h>

/* Finds the folder, a private one below `shared` (boot.rendezvous; NULL or "": not set), else the
 * first in XDG_RUNTIME_DIR, /tmp and /dev/shm that can be made and has room, and makes it.
 * ERR_CONFIG, ERR_SYSTEM. */
weft_status_t weft_rendezvous_folder(const char *shared, char *folder, size_t bytes);

/* Adds the folder in which `rank` meets the others to the error record, if it is not named there:
 * others may look elsewhere, where XDG_RUNTIME_DIR differs or a folder can be had. */
void weft_rendezvous_folder_tell(const char *folder, uint32_t rank);

#endif
