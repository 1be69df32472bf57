/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Events of the family's one health channel, on their way to the communicators that they
 * concern. */
#ifndef WEFT_COMM_HEALTH_EVENTS_H
#define WEFT_COMM_HEALTH_EVENTS_H

#include "core/boot/health.h"

/* For weft_health_prepare(), with the family as argument. Thread: the health thread. */
extern const weft_health_callbacks_t weft_comm_health_events;

#endif
