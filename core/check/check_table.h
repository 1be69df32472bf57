/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which layer an instance belongs to, for kinds whose instances go to the core as they are: their
 * extensions take them. */
#ifndef WEFT_CHECK_CHECK_TABLE_H
#define WEFT_CHECK_CHECK_TABLE_H

#include "core/check/check_layer.h"

/* Notes a new instance. ERR_RESOURCE: too many; ERR_PLUGIN: it is another one too. Thread: any. */
weft_status_t weft_check_table_add(const void *instance, weft_check_t *check);
/* The layer of an instance; NULL: it was not noted. */
weft_check_t *weft_check_table_find(const void *instance);
void weft_check_table_remove(const void *instance);

#endif
