/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Refusing what weft has nothing for, by name. */
#ifndef BINDINGS_NCCL_REFUSAL_H
#define BINDINGS_NCCL_REFUSAL_H

#include "bindings/nccl/types.h"

/* Records "<call> is not offered by weft: <reason>" as last error and for `weft nccl-run`. Returns
 * ncclInvalidUsage. */
ncclResult_t nccl_refuse(const char *call, const char *reason);

#endif
