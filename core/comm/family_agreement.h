/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What all ranks must have alike before they may work together. */
#ifndef WEFT_COMM_FAMILY_AGREEMENT_H
#define WEFT_COMM_FAMILY_AGREEMENT_H

#include "core/comm/family.h"

/* Compares the build, plugins and options with those of all ranks. Blocks as the join does. Errors:
 * ERR_CONFIG with the first difference and the ranks that have it; those of the control tree. */
weft_status_t weft_family_agree(const weft_family_t *family);

#endif
