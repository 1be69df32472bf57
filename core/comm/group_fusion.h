/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which calls of a group are fused. */
#ifndef WEFT_COMM_GROUP_FUSION_H
#define WEFT_COMM_GROUP_FUSION_H

#include "core/comm/group.h"

/* Fuses short collectives of the same kind that follow each other on a communicator. What decides
 * is equal on all ranks, but for calls that read what calls before them write: those are not
 * fused with them. The caller holds the communicators; nothing has begun. ERR_RESOURCE: what was
 * fused ends with the notes. */
weft_status_t weft_group_fuse(const weft_group_t *group);

#endif
