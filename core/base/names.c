/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of statuses, data types and operators, from the X-macro lists of api/weft/status.h and
 * types.h. Those of collectives are in coll.c. */
#include <stdbool.h>

#include <weft/weft.h>

#include "core/base/dtype.h"

#define STRING2(x) #x
#define STRING(x) STRING2(x)

const char *weft_version(void)
{
    return STRING(WEFT_VERSION_MAJOR) "." STRING(WEFT_VERSION_MINOR) "." STRING(WEFT_VERSION_PATCH);
}

const char *weft_status_name(weft_status_t status)
{
    switch (status) {
#define NAME(value, name, text)                                                                    \
    case WEFT_##name:                                                                              \
        return #name;
        WEFT_STATUS_MAP(NAME)
#undef NAME
    }
    return "unknown status";
}

const char *weft_status_text(weft_status_t status)
{
    switch (status) {
#define TEXT(value, name, text)                                                                    \
    case WEFT_##name:                                                                              \
        return text;
        WEFT_STATUS_MAP(TEXT)
#undef TEXT
    }
    return "unknown status";
}

const char *weft_dtype_name(weft_dtype_t dtype)
{
#define NAME(value, name, bytes, text) [value] = text,
    static const char *const names[] = {WEFT_DTYPE_MAP(NAME)};
#undef NAME
    return (unsigned)dtype < WEFT_DTYPE_COUNT ? names[dtype] : NULL;
}

size_t weft_dtype_size(weft_dtype_t dtype)
{
    return weft_dtype_bytes(dtype);
}

const char *weft_op_name(weft_op_t op)
{
#define NAME(value, name, text) [value] = text,
    static const char *const names[] = {WEFT_OP_MAP(NAME)};
#undef NAME
    return (unsigned)op < WEFT_OP_COUNT ? names[op] : NULL;
}

static bool names_is_integer(weft_dtype_t dtype)
{
    return dtype <= WEFT_UINT64;
}

int weft_op_has_dtype(weft_op_t op, weft_dtype_t dtype)
{
    bool known = (unsigned)op < WEFT_OP_COUNT && (unsigned)dtype < WEFT_DTYPE_COUNT;
    bool bits = op == WEFT_BAND || op == WEFT_BOR || op == WEFT_BXOR;
    return known && (!bits || names_is_integer(dtype));
}
