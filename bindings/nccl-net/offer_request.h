/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations. All functions are those of NCCL's table and return a result. */
#ifndef WEFT_BINDINGS_NCCL_NET_REQUEST_H
#define WEFT_BINDINGS_NCCL_NET_REQUEST_H

#include "offer_comm.h"

int offer_send(void *comm, void *data, size_t size, void *mhandle, void **request);
int offer_receive(void *comm, void *data, size_t size, void *mhandle, void **request);
int offer_flush(void *comm, int n, void **data, int *sizes, void **mhandles, void **request);
int offer_test(void *request, int *done, int *sizes);

#endif
