/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dissemination: what one rank learns of failed or left communicators and of left or dead ranks is
 * remembered, flooded over the tree and told to our own side. What is known already goes no
 * further. `from` is the neighbour that told us, NULL for ourselves.
 *
 * Thread: the health thread's. */
#ifndef WEFT_BOOT_DISSEMINATION_H
#define WEFT_BOOT_DISSEMINATION_H

#include "core/boot/boot_state.h"
#include "core/boot/neighbour.h"

/* Communicator comm_id failed. `missing` may be NULL. */
void weft_disseminate_failure(weft_health_t *health, const weft_neighbour_t *from, uint64_t comm_id,
                              const weft_error_t *error, const weft_missing_t *missing);
/* `rank` left communicator comm_id in order, after these operations. */
void weft_disseminate_leave_comm(weft_health_t *health, const weft_neighbour_t *from,
                                 uint64_t comm_id, uint32_t rank, const weft_leave_t *leave);
/* Tells neighbours that this rank was declared dead: they may not have heard of it, and would go on
 * until they do. */
void weft_disseminate_own_death(weft_health_t *health);
/* `rank` left the family, which is nothing new of one that was declared dead. If that is this rank,
 * neighbours are told of its death. */
void weft_disseminate_leave_family(weft_health_t *health, const weft_neighbour_t *from,
                                   uint32_t rank);
/* Rank error->peer is dead, also if it is known to have left. The gap in the tree is closed. */
void weft_disseminate_death(weft_health_t *health, const weft_neighbour_t *from,
                            const weft_error_t *error);

/* Tells a new neighbour everything: its part of the tree may know other things. */
void weft_disseminate_all_to(weft_health_t *health, weft_neighbour_t *neighbour);
/* Tells our own side all that is known of comm_id. */
void weft_disseminate_replay(weft_health_t *health, uint64_t comm_id);

/* An ASK, ANSWER or WORD frame: serves it, or passes it on towards rank frame->sequence. ERR_PROTO
 * with the bad field in *why. */
weft_status_t weft_disseminate_route(weft_health_t *health, const weft_frame_t *frame,
                                     const uint8_t *payload, const char **why);

#endif
