/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of a family: configuration, join, plugins, agreement between ranks, transports. */
#ifndef WEFT_COMM_FAMILY_SETUP_H
#define WEFT_COMM_FAMILY_SETUP_H

#include "core/boot/health_callbacks.h"
#include "core/comm/family.h"

/* Makes a family with one reference; everything but the health channel, which is prepared with
 * `events`, works afterwards. Blocks until all ranks have joined, at most [boot] init_timeout. On
 * failure nothing remains. `like`: a configuration whose values count in place of the options, or
 * NULL. */
weft_status_t weft_family_create(uint32_t nranks, const weft_unique_id_t *id, uint32_t rank,
                                 const weft_comm_options_t *options, const weft_config_t *like,
                                 const weft_health_callbacks_t *events, weft_family_t **family_p);

/* Leaves the control tree if the caller has the last reference, and blocks until the others have
 * heard it, as weft_health_leave_family(): before its data connections end, which they would take
 * for a broken network. */
void weft_family_leave(weft_family_t *family);
/* Drops a reference. The last one leaves the control tree and frees the family. */
void weft_family_release(weft_family_t *family);

#endif
