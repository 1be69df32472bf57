/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From a request to the input of its program: buffers, segmentation, vectors, scalar,
 * signature. */
#ifndef WEFT_COMM_BINDING_H
#define WEFT_COMM_BINDING_H

#include "core/comm/programs.h"
#include "core/comm/request.h"

/* Fills the binding of one run. `segmentation` and the request must outlive the run. */
void weft_request_bind(const weft_prepared_t *prepared, const weft_request_t *request,
                       weft_segmentation_t *segmentation, weft_binding_t *binding);

/* Returns the signature that travels with the data of this operation. */
weft_signature_t weft_request_signature(const weft_prepared_t *prepared,
                                        const weft_request_t *request);

#endif
