/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The proof board: where the processes of a job on one host leave what they have proved, so that a
 * plan is proved once on each host. Values are found by keys; both are bytes. Who asks for a key
 * first makes the value, the others wait for it; if the maker dies, the next one makes it. A
 * process that cannot wait or write makes its values for itself: the board saves work, and nothing
 * depends on it. Only processes of one user that agree on their versions (agreement.h) share a
 * board. */
#ifndef WEFT_PLAN_PROOF_BOARD_H
#define WEFT_PLAN_PROOF_BOARD_H

#include <stddef.h>

#include <weft/types.h>

typedef struct weft_proof_board weft_proof_board_t; /* the board as this process has mapped it */

/* A value that this thread makes. The lengths are the caller's: those in the memory are others'. */
typedef struct weft_proof_ticket {
    void *entry;
    size_t key_bytes, value_bytes;
} weft_proof_ticket_t;

#define WEFT_PROOF_BOARD_BYTES ((size_t)64 << 20) /* addresses; memory is taken when used */

typedef enum weft_proof_answer {
    WEFT_PROOF_ALONE, /* the board cannot help */
    WEFT_PROOF_FOUND, /* the value was copied */
    WEFT_PROOF_OURS   /* this thread makes the value, and then says so with the ticket */
} weft_proof_answer_t;

/* Makes an empty board in zeroed memory that several processes share. ERR_SYSTEM, ERR_RESOURCE. */
weft_status_t weft_proof_board_init(void *memory, size_t bytes, weft_proof_board_t **board_p);
/* Returns the board that another process made there; NULL: there is none. No number in the memory
 * is believed: a board that somebody has damaged helps nobody, and leads nowhere else. */
weft_proof_board_t *weft_proof_board_at(void *memory, size_t bytes);
/* Ends the use of the board here, before its memory goes. NULL is allowed. */
void weft_proof_board_close(weft_proof_board_t *board);

/* Finds the value of a key, which has `value_bytes` on all ranks. Waits while another process makes
 * it, at most `seconds`. `board` may be NULL. Thread: any; the one that has a ticket gives it
 * back. */
weft_proof_answer_t weft_proof_board_ask(weft_proof_board_t *board, const void *key,
                                         size_t key_bytes, void *value, size_t value_bytes,
                                         double seconds, weft_proof_ticket_t *ticket);
/* Ends the making: `value` is there for all, or NULL: there is none, and the next one tries. */
void weft_proof_board_answer(const weft_proof_ticket_t *ticket, const void *value);

#endif
