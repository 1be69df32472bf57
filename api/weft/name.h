/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of communicators, for people: errors, log lines and weft_comm_explain() have them. Part of
 * weft.h, whose rules hold here.
 *
 * The first communicator of a job is "world", unless weft_comm_options_t.name says another name.
 * Others are called after the one that they are made of: "world/split3:1" is colour 1 of the split
 * that was operation 3 of "world", "world/dup4" a copy, "world/group7" the group with tag 7,
 * "world/shrunk" what a shrink left, "world/grown" what members have grown to. To a newcomer that
 * is its first communicator, "world": a ticket has no names. Nothing compares names; ranks may give
 * different ones. */
#ifndef WEFT_NAME_H
#define WEFT_NAME_H

#include <stddef.h>

#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a name, with the final NUL. */
#define WEFT_COMM_NAME_BYTES 64

/* Names `comm` on this rank; a copy is kept. Longer names are cut, between two characters of UTF-8.
 * Allowed in the failed state, where the text of the error stays as it is.
 * Errors: ERR_ARG (NULL, empty, or with a character below the space), ERR_STATE (handle destroyed,
 * or forked child).
 * Blocking: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_comm_set_name(weft_comm_t *comm, const char *name);

/* Writes the name of `comm` and a final NUL, at most `bytes` bytes; longer names are cut
 * likewise.
 * Errors: ERR_ARG (NULL or no room), ERR_STATE (handle destroyed, or forked child).
 * Blocking: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_comm_name(weft_comm_t *comm, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
