/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a process runs: on which boot of which kernel, in which network namespace. Compiled into each
 * plugin that needs it, as gate.h. */
#ifndef WEFT_PLUGINS_SHARED_PLACE_H
#define WEFT_PLUGINS_SHARED_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#define PLACE_BYTES 24 /* boot id, inode of the network namespace */

/* What: fills `place`, equal for two processes exactly if they share loopback and abstract sockets.
 * Returns false, zeroes and errno when /proc does not tell. */
bool place_read(uint8_t place[PLACE_BYTES]);

#endif
