/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NCCL's numbers of data types and operators, in weft's. */
#ifndef BINDINGS_NCCL_TABLES_H
#define BINDINGS_NCCL_TABLES_H

#include <weft/weft.h>

#include "bindings/nccl/types.h"

/* ncclInvalidArgument for other numbers. */
ncclResult_t nccl_table_dtype(const char *call, ncclDataType_t dtype, weft_dtype_t *dtype_p);
/* The built-in operators. */
ncclResult_t nccl_table_op(const char *call, ncclRedOp_t op, weft_op_t *op_p);

#endif
