/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The order of the types differs, and that of the smaller and the greater. */
#include "bindings/nccl/tables.h"

#include "bindings/nccl/errors.h"

ncclResult_t nccl_table_dtype(const char *call, ncclDataType_t dtype, weft_dtype_t *dtype_p)
{
    static const weft_dtype_t dtypes[ncclNumTypes] = {
        [ncclInt8] = WEFT_INT8,           [ncclUint8] = WEFT_UINT8,
        [ncclInt32] = WEFT_INT32,         [ncclUint32] = WEFT_UINT32,
        [ncclInt64] = WEFT_INT64,         [ncclUint64] = WEFT_UINT64,
        [ncclFloat16] = WEFT_FP16,        [ncclFloat32] = WEFT_FP32,
        [ncclFloat64] = WEFT_FP64,        [ncclBfloat16] = WEFT_BF16,
        [ncclFloat8e4m3] = WEFT_FP8_E4M3, [ncclFloat8e5m2] = WEFT_FP8_E5M2,
    };
    if ((unsigned)dtype >= ncclNumTypes) {
        return nccl_fail(ncclInvalidArgument, "%s: no data type %d, there are 0 to %d", call,
                         (int)dtype, ncclNumTypes - 1);
    }
    *dtype_p = dtypes[dtype];
    return ncclSuccess;
}

ncclResult_t nccl_table_op(const char *call, ncclRedOp_t op, weft_op_t *op_p)
{
    static const weft_op_t ops[ncclNumOps] = {
        [ncclSum] = WEFT_SUM, [ncclProd] = WEFT_PROD, [ncclMax] = WEFT_MAX,
        [ncclMin] = WEFT_MIN, [ncclAvg] = WEFT_AVG,
    };
    if ((unsigned)op >= ncclNumOps) {
        return nccl_fail(ncclInvalidArgument, "%s: no operator %d", call, (int)op);
    }
    *op_p = ops[op];
    return ncclSuccess;
}
