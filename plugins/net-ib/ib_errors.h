/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What completion statuses and asynchronous events usually mean, for error texts. */
#ifndef WEFT_PLUGINS_NET_IB_ERRORS_H
#define WEFT_PLUGINS_NET_IB_ERRORS_H

#include <infiniband/verbs.h>

#include <weft/status.h>

typedef struct ib_cause {
    const char *name, *meaning, *remedy;
    weft_status_t status; /* that the operations of the connection get */
} ib_cause_t;

/* Explains a completion status. Never returns NULL. */
const ib_cause_t *ib_cause_of(enum ibv_wc_status status);

/* Names an asynchronous event. Never returns NULL. */
const char *ib_event_text(enum ibv_event_type type);

#endif
