/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Properties of a device in the words of NCCL: the newest, of which older versions take their
 * part. */
#ifndef WEFT_BINDINGS_NCCL_NET_PROPS_H
#define WEFT_BINDINGS_NCCL_NET_PROPS_H

#include "offer.h"

/* Returns a result. Texts live as long as the process. */
int offer_props(int dev, weft_nccl_props_v12_t *props);

#endif
