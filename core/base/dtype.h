/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sizes of data types, inline for the path of every call. weft_dtype_size() is the entry point
 * of the same answer. */
#ifndef WEFT_BASE_DTYPE_H
#define WEFT_BASE_DTYPE_H

#include <stddef.h>

#include <weft/types.h>

/* Returns the bytes of an element; 0 for a number that is no data type. */
static inline size_t weft_dtype_bytes(weft_dtype_t dtype)
{
#define BYTES(value, name, bytes, text) [value] = (bytes),
    static const uint8_t sizes[] = {WEFT_DTYPE_MAP(BYTES)};
#undef BYTES
    return (unsigned)dtype < WEFT_DTYPE_COUNT ? sizes[dtype] : 0;
}

#endif
