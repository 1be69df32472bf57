/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The root's second look at a rank whose connection to it was reset. The root connects to the
 * rank's listener, and closes: a knock. A rank listens from its join request on, and a kernel
 * closes the listener with its process. So where nobody listens the rank has ended, and where
 * somebody does, or nothing answers, the root waits for it to come again.
 *
 * Thread: the root's. Nothing blocks. */
#ifndef WEFT_BOOT_ROOT_KNOCK_H
#define WEFT_BOOT_ROOT_KNOCK_H

#include "core/boot/connector.h"
#include "core/boot/join_request.h"

/* Begins to knock where the request says, with the key of the ranks' listeners, until `until` at
 * most. NULL: the request does not say where, or there is no memory. */
weft_connector_t *weft_root_knock_begin(const uint8_t key[32], const weft_join_request_t *request,
                                        uint64_t until);
/* Goes on with *knock_p, and sets it to NULL when it has ended. IN_PROGRESS; OK: the rank listens;
 * ERR_LINK: nobody does; any other: it is not known. */
weft_status_t weft_root_knock_step(weft_connector_t **knock_p);
/* Gives up *knock_p, which may be NULL, and sets it to NULL. */
void weft_root_knock_end(weft_connector_t **knock_p);

#endif
