/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of faults, transports and moments. */
#include "matrix.h"

#define MATRIX_NAME(constant, name) name,

const char *fault_name(fault_t fault)
{
    static const char *const names[] = {MATRIX_FAULTS(MATRIX_NAME)};
    return names[fault];
}

const char *transport_name(transport_t transport)
{
    static const char *const names[] = {MATRIX_TRANSPORTS(MATRIX_NAME)};
    return names[transport];
}

const char *moment_name(moment_t moment)
{
    static const char *const names[] = {MATRIX_MOMENTS(MATRIX_NAME)};
    return names[moment];
}
