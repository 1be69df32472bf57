/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checks of net plugins: control calls here, messages in check_net_traffic.c. */
#ifndef WEFT_CHECK_CHECK_NET_H
#define WEFT_CHECK_CHECK_NET_H

#include "core/check/check_layer.h"

/* Fills the table that the core calls in place of `own`. */
void weft_check_net(weft_check_t *check, const weft_net_ops_t *own);

#endif
