/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data types, reduction operators and collectives, used by the user API and the plugin ABI. The
 * numeric values cross the wire and the plugin ABI. They never change; new ones are appended. */
#ifndef WEFT_TYPES_H
#define WEFT_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

#if defined(__GNUC__)
#define WEFT_EXPORT __attribute__((visibility("default")))
#define WEFT_MUST_CHECK __attribute__((warn_unused_result))
#define WEFT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define WEFT_EXPORT
#define WEFT_MUST_CHECK
#define WEFT_PRINTF(fmt, args)
#endif

typedef struct weft_comm weft_comm_t; /* one rank's end of a communicator */

/* X(value, NAME, bytes, text): size of one element in bytes, and the name as text. The texts are
 * those of nccl-tests where it has the type. */
#define WEFT_DTYPE_MAP(X)                                                                          \
    X(0, INT8, 1, "int8")                                                                          \
    X(1, UINT8, 1, "uint8")                                                                        \
    X(2, INT16, 2, "int16")                                                                        \
    X(3, UINT16, 2, "uint16")                                                                      \
    X(4, INT32, 4, "int32")                                                                        \
    X(5, UINT32, 4, "uint32")                                                                      \
    X(6, INT64, 8, "int64")                                                                        \
    X(7, UINT64, 8, "uint64")                                                                      \
    X(8, FP16, 2, "half")                                                                          \
    X(9, FP32, 4, "float")                                                                         \
    X(10, FP64, 8, "double")                                                                       \
    X(11, BF16, 2, "bfloat16")                                                                     \
    X(12, FP8_E4M3, 1, "f8e4m3")                                                                   \
    X(13, FP8_E5M2, 1, "f8e5m2")

/* Element types. FP8_E4M3 is the OCP "FN" format: it has no infinity, S.1111.111 is NaN, and the
 * largest value is 448. FP8_E5M2 is the OCP format with infinities; the largest finite value is
 * 57,344. */
typedef enum weft_dtype {
#define WEFT_DTYPE_ENUM(value, name, bytes, text) WEFT_##name = (value),
    WEFT_DTYPE_MAP(WEFT_DTYPE_ENUM)
#undef WEFT_DTYPE_ENUM
        WEFT_DTYPE_COUNT = 14
} weft_dtype_t;

/* X(value, NAME, text): the name as text. */
#define WEFT_OP_MAP(X)                                                                             \
    X(0, SUM, "sum")                                                                               \
    X(1, PROD, "prod")                                                                             \
    X(2, MIN, "min")                                                                               \
    X(3, MAX, "max")                                                                               \
    X(4, AVG, "avg")                                                                               \
    X(5, PREMULSUM, "mulsum")                                                                      \
    X(6, BAND, "band")                                                                             \
    X(7, BOR, "bor")                                                                               \
    X(8, BXOR, "bxor")

/* Reduction operators.
 *
 * BAND, BOR and BXOR combine the bits of integers; floats have none of them (ERR_ARG).
 *
 * Integers wrap (two's complement). AVG divides the sum by the number of ranks once, at the end;
 * for integers the quotient is truncated toward zero. PREMULSUM multiplies each rank's input by
 * that rank's scalar (weft_call_t.scalar), rounds each product to the data type, and sums the
 * products. All ranks of an all-reduce get the same bits, unless a plan of a file or of another's
 * algorithm adds in different orders on its ranks: `weft plan` says whether it does.
 *
 * MIN and MAX of floats return NaN if any input is NaN, and treat -0 as less than +0. 16- and
 * 8-bit floats are combined in fp32 and rounded to nearest, ties to even, once per combination of
 * up to four inputs. A result that is too large for its type becomes infinity, or NaN in FP8_E4M3,
 * which has no infinity. Nothing saturates, so an overflow is visible. The sign and payload of a
 * NaN are unspecified, except that data that is only moved keeps every bit. Subnormal numbers are
 * kept and sums of all floats rounded to nearest, whatever mode the program computes in itself
 * (-ffast-math, fesetround()), and none of its traps is sprung. */
typedef enum weft_op {
#define WEFT_OP_ENUM(value, name, text) WEFT_##name = (value),
    WEFT_OP_MAP(WEFT_OP_ENUM)
#undef WEFT_OP_ENUM
        WEFT_OP_COUNT = 9,
    WEFT_OP_USER = 64,     /* first number that weft_op_create() gives out */
    WEFT_OP_USER_END = 256 /* one past the last */
} weft_op_t;

/* X(value, NAME, text, reduces, rooted, base)
 *
 * `reduces` and `rooted` are 0 or 1. `base` is the base collective: the one whose plans the
 * collective runs. Algorithms are asked for base collectives only. A vector collective runs the
 * plan of its base collective with a count and a displacement for every block. A barrier is an
 * all-reduce of no data. SEND_RECV has no plan. */
#define WEFT_COLL_MAP(X)                                                                           \
    X(0, ALL_REDUCE, "all_reduce", 1, 0, ALL_REDUCE)                                               \
    X(1, REDUCE_SCATTER, "reduce_scatter", 1, 0, REDUCE_SCATTER)                                   \
    X(2, ALL_GATHER, "all_gather", 0, 0, ALL_GATHER)                                               \
    X(3, BROADCAST, "broadcast", 0, 1, BROADCAST)                                                  \
    X(4, REDUCE, "reduce", 1, 1, REDUCE)                                                           \
    X(5, BARRIER, "barrier", 0, 0, ALL_REDUCE)                                                     \
    X(6, ALL_TO_ALL, "all_to_all", 0, 0, ALL_TO_ALL)                                               \
    X(7, GATHER, "gather", 0, 1, GATHER)                                                           \
    X(8, SCATTER, "scatter", 0, 1, SCATTER)                                                        \
    X(9, ALL_GATHER_V, "all_gather_v", 0, 0, ALL_GATHER)                                           \
    X(10, REDUCE_SCATTER_V, "reduce_scatter_v", 1, 0, REDUCE_SCATTER)                              \
    X(11, ALL_TO_ALL_V, "all_to_all_v", 0, 0, ALL_TO_ALL)                                          \
    X(12, GATHER_V, "gather_v", 0, 1, GATHER)                                                      \
    X(13, SCATTER_V, "scatter_v", 0, 1, SCATTER)                                                   \
    X(14, SEND_RECV, "send_recv", 0, 0, SEND_RECV)

/* Collectives. */
typedef enum weft_coll {
#define WEFT_COLL_ENUM(value, name, text, reduces, rooted, base) WEFT_##name = (value),
    WEFT_COLL_MAP(WEFT_COLL_ENUM)
#undef WEFT_COLL_ENUM
        WEFT_COLL_COUNT = 15
} weft_coll_t;

#endif
