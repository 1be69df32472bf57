/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A word to a root in this process that no connection carries. Rank 0 reaches its own root as all
 * ranks do, and where it cannot, the root would know only that rank 0 has not come. */
#ifndef WEFT_BOOT_ROOT_WORD_H
#define WEFT_BOOT_ROOT_WORD_H

#include "core/boot/wire.h"

/* A root's place for it. */
typedef struct weft_root_word {
    struct weft_root_word *next; /* of the roots in this process */
    uint64_t comm_id;
    weft_error_t error; /* status OK: nothing was said */
} weft_root_word_t;

/* The root of comm_id is here, until weft_root_word_close(), which may also come without this. The
 * place is the caller's and stays where it is. */
void weft_root_word_open(weft_root_word_t *word, uint64_t comm_id);
void weft_root_word_close(weft_root_word_t *word);
/* Gives out what was said last. False: nothing. */
bool weft_root_word_heard(const weft_root_word_t *word, weft_error_t *error);

/* Says to the root of comm_id in this process why rank 0 does not come, in place of what was said
 * before; NULL takes it back. At init_timeout all others are told. Any thread. Does nothing if
 * there is no such root. */
void weft_root_word_say(uint64_t comm_id, const weft_error_t *error);
/* Waits until that root has ended, and so told all, at most until `until`. Any thread. */
void weft_root_word_wait(uint64_t comm_id, uint64_t until);

#endif
