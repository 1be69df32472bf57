/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The proof board: entries behind one another in shared memory, in chains by the hash of their key.
 * References are offsets, for the memory lies at another address in every process. An entry is
 * written before a chain leads to it, and its lock is held by whoever makes its value. */
#include "core/plan/proof_board.h"

#include <stdatomic.h>
#include <string.h>

#include "core/os/os.h"
#include "core/os/os_host_memory.h"
#include "core/plan/hash.h"

#define BOARD_MAGIC UINT64_C(0x77656674626f6172)
#define BOARD_CHAINS 256u
#define BOARD_LOCK_SECONDS 10.0 /* for a look at the chains */

struct weft_proof_board {
    _Atomic uint64_t magic; /* written last */
    uint64_t bytes;
    weft_os_host_lock_t lock; /* guards the rest */
    uint64_t used;
    uint64_t chains[BOARD_CHAINS]; /* offset of the first entry; 0: none */
};

struct weft_proof_ticket {
    uint64_t next; /* offset; 0: the last of its chain */
    uint64_t key_bytes, value_bytes;
    weft_os_host_lock_t lock; /* held while the value is made; guards `made` and the value */
    uint32_t made;
    _Alignas(16) uint8_t data[]; /* the key, then the value */
};

static uint64_t board_round(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static uint64_t board_hash(const uint8_t *key, size_t bytes)
{
    uint64_t hash = WEFT_HASH_START;
    for (size_t at = 0; at < bytes; at += sizeof hash) {
        uint64_t word = 0;
        memcpy(&word, key + at, bytes - at < sizeof word ? bytes - at : sizeof word);
        hash = weft_hash_add(hash, word);
    }
    return hash;
}

weft_status_t weft_proof_board_init(void *memory, size_t bytes, weft_proof_board_t **board_p)
{
    weft_proof_board_t *board = memory;
    weft_status_t status = weft_os_host_lock_init(&board->lock);
    if (status != WEFT_OK) {
        return status;
    }
    board->bytes = bytes;
    board->used = board_round(sizeof *board);
    atomic_store_explicit(&board->magic, BOARD_MAGIC, memory_order_release);
    *board_p = board;
    return WEFT_OK;
}

weft_proof_board_t *weft_proof_board_at(void *memory, size_t bytes)
{
    weft_proof_board_t *board = memory;
    bool whole = atomic_load_explicit(&board->magic, memory_order_acquire) == BOARD_MAGIC &&
                 board->bytes == bytes;
    return whole ? board : NULL;
}

static weft_proof_ticket_t *board_entry(weft_proof_board_t *board, uint64_t at)
{
    return (weft_proof_ticket_t *)((uint8_t *)board + at);
}

static weft_proof_ticket_t *board_find(weft_proof_board_t *board, uint64_t chain, const void *key,
                                       size_t key_bytes, size_t value_bytes)
{
    for (uint64_t at = chain; at != 0; at = board_entry(board, at)->next) {
        weft_proof_ticket_t *entry = board_entry(board, at);
        if (entry->key_bytes == key_bytes && entry->value_bytes == value_bytes &&
            memcmp(entry->data, key, key_bytes) == 0) {
            return entry;
        }
    }
    return NULL;
}

/* Makes an entry that this thread has locked; NULL: the board is full. The caller holds the lock. */
static weft_proof_ticket_t *board_add(weft_proof_board_t *board, uint64_t *chain, const void *key,
                                      size_t key_bytes, size_t value_bytes)
{
    weft_proof_ticket_t *entry = board_entry(board, board->used);
    uint64_t bytes = board_round(sizeof *entry + board_round(key_bytes) + value_bytes);
    if (bytes > board->bytes - board->used || weft_os_host_lock_init(&entry->lock) != WEFT_OK) {
        return NULL;
    }
    entry->next = *chain;
    entry->key_bytes = key_bytes;
    entry->value_bytes = value_bytes;
    entry->made = 0;
    memcpy(entry->data, key, key_bytes);
    (void)weft_os_host_lock(&entry->lock, 0);
    *chain = board->used;
    board->used += bytes;
    return entry;
}

weft_proof_answer_t weft_proof_board_ask(weft_proof_board_t *board, const void *key,
                                         size_t key_bytes, void *value, size_t value_bytes,
                                         double seconds, weft_proof_ticket_t **ticket_p)
{
    if (board == NULL || weft_os_host_lock(&board->lock, weft_os_deadline(BOARD_LOCK_SECONDS)) ==
                             WEFT_OS_LOCK_TIMEOUT) {
        return WEFT_PROOF_ALONE;
    }
    uint64_t *chain = &board->chains[board_hash(key, key_bytes) % BOARD_CHAINS];
    weft_proof_ticket_t *entry = board_find(board, *chain, key, key_bytes, value_bytes);
    bool fresh = entry == NULL;
    if (fresh) {
        entry = board_add(board, chain, key, key_bytes, value_bytes);
    }
    weft_os_host_unlock(&board->lock);
    if (entry == NULL || (!fresh && weft_os_host_lock(&entry->lock, weft_os_deadline(seconds)) ==
                                        WEFT_OS_LOCK_TIMEOUT)) {
        return WEFT_PROOF_ALONE;
    }
    *ticket_p = entry;
    if (entry->made == 0) {
        return WEFT_PROOF_OURS;
    }
    memcpy(value, entry->data + board_round(key_bytes), value_bytes);
    weft_os_host_unlock(&entry->lock);
    return WEFT_PROOF_FOUND;
}

void weft_proof_board_answer(weft_proof_ticket_t *ticket, const void *value)
{
    if (value != NULL) {
        memcpy(ticket->data + board_round(ticket->key_bytes), value, ticket->value_bytes);
        ticket->made = 1;
    }
    weft_os_host_unlock(&ticket->lock);
}
