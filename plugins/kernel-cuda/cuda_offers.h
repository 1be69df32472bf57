/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptors of memory for other processes. A descriptor passes through a UNIX socket only, so a
 * process with offers has a thread that answers at one, and ends with the last offer. */
#ifndef KERNEL_CUDA_CUDA_OFFERS_H
#define KERNEL_CUDA_CUDA_OFFERS_H

#include "cuda_instance.h"

#define CUDA_PARCEL_DESCRIPTORS 64
#define CUDA_PARCEL_BYTES 4632

/* What another process opens memory by: descriptors of this process, and bytes that say what they
 * are. Whoever has it closes the descriptors by cuda_parcel_close(). */
typedef struct cuda_parcel {
    uint32_t ndescriptors;
    uint32_t nbytes; /* of `bytes`; 0: there is nothing */
    int fd[CUDA_PARCEL_DESCRIPTORS];
    uint8_t bytes[CUDA_PARCEL_BYTES];
} cuda_parcel_t;

void cuda_parcel_close(cuda_parcel_t *parcel);

/* Where an offer is to be had: the socket, and the number that tells it from others. Both are
 * random; who knows them, is of the same user and on the same host may fetch it. */
typedef struct cuda_offer_address {
    uint64_t socket, number;
} cuda_offer_address_t;

/* Offers a parcel; takes its descriptors over if it succeeds.
 * Errors: ERR_RESOURCE, ERR_SYSTEM. Blocking: no. */
weft_status_t cuda_offers_add(const weft_kernel_t *kernel, const cuda_parcel_t *parcel,
                              cuda_offer_address_t *address);

/* Ends an offer. Whoever has fetched it keeps what he has. Blocking: no. */
void cuda_offers_remove(const cuda_offer_address_t *address);

/* Fetches the offer of another process. The caller closes the descriptors.
 * Errors: ERR_UNSUPPORTED with the reason recorded. Blocking: briefly, at most two seconds. */
weft_status_t cuda_offers_fetch(const weft_kernel_t *kernel, const cuda_offer_address_t *address,
                                cuda_parcel_t *parcel);

#endif
