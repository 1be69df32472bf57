/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of faults, transports and moments. */
#include "matrix.h"

#define MATRIX_NAME(constant, name) name,

const char *const matrix_faults[] = {MATRIX_FAULTS(MATRIX_NAME)};
const char *const matrix_transports[] = {MATRIX_TRANSPORTS(MATRIX_NAME)};
const char *const matrix_moments[] = {MATRIX_MOMENTS(MATRIX_NAME)};

const char *fault_name(fault_t fault)
{
    return matrix_faults[fault];
}

const char *transport_name(transport_t transport)
{
    return matrix_transports[transport];
}

const char *moment_name(moment_t moment)
{
    return matrix_moments[moment];
}
