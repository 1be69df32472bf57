/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The proof board: entries behind one another in shared memory, in chains by the hash of their key.
 * References are offsets, for the memory lies at another address in every process. An entry is
 * written before a chain leads to it, and its lock is held by whoever makes its value. */
#include "core/plan/proof_board.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/os/os_host_memory.h"
#include "core/plan/hash.h"

#define BOARD_MAGIC UINT64_C(0x77656674626f6172)
#define BOARD_CHAINS 256u
#define BOARD_UNIT UINT64_C(64)
#define BOARD_LOCK_SECONDS 10.0 /* for a look at the chains */

/* At the beginning of the memory. */
typedef struct board_shared {
    _Atomic uint64_t magic; /* written last */
    uint64_t bytes;
    weft_os_host_lock_t lock; /* guards the rest */
    uint64_t used;
    uint64_t chains[BOARD_CHAINS]; /* offset of the first entry; 0: none */
} board_shared_t;

/* Numbers in the memory are others' and checked against these. */
struct weft_proof_board {
    board_shared_t *shared;
    uint64_t bytes;
};

typedef struct board_entry {
    uint64_t next; /* offset; 0: the last of its chain */
    uint64_t key_bytes, value_bytes;
    weft_os_host_lock_t lock;    /* held while the value is made; guards `made` and the value */
    _Atomic uint32_t made;       /* set behind the value, in case its maker is killed */
    _Alignas(16) uint8_t data[]; /* the key, then the value */
} board_entry_t;

static uint64_t board_round(uint64_t bytes)
{
    return (bytes + BOARD_UNIT - 1) / BOARD_UNIT * BOARD_UNIT;
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

static weft_proof_board_t *board_open(void *memory, size_t bytes)
{
    weft_proof_board_t *board = weft_os_alloc(sizeof *board, 0);
    if (board != NULL) {
        *board = (weft_proof_board_t){.shared = memory, .bytes = bytes};
    }
    return board;
}

weft_status_t weft_proof_board_init(void *memory, size_t bytes, weft_proof_board_t **board_p)
{
    board_shared_t *shared = memory;
    weft_status_t status = weft_os_host_lock_init(&shared->lock);
    weft_proof_board_t *board = status == WEFT_OK ? board_open(memory, bytes) : NULL;
    if (board == NULL) {
        return status != WEFT_OK ? status : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "a proof board");
    }
    shared->bytes = bytes;
    shared->used = board_round(sizeof *shared);
    atomic_store_explicit(&shared->magic, BOARD_MAGIC, memory_order_release);
    *board_p = board;
    return WEFT_OK;
}

weft_proof_board_t *weft_proof_board_at(void *memory, size_t bytes)
{
    board_shared_t *shared = memory;
    bool whole = atomic_load_explicit(&shared->magic, memory_order_acquire) == BOARD_MAGIC &&
                 shared->bytes == bytes;
    return whole ? board_open(memory, bytes) : NULL;
}

void weft_proof_board_close(weft_proof_board_t *board)
{
    weft_os_free(board);
}

/* Returns the entry at an offset of the memory; NULL: none with such a key and value can be
 * there. */
static board_entry_t *board_at(const weft_proof_board_t *board, uint64_t at, size_t key_bytes,
                               size_t value_bytes)
{
    uint64_t least = board_round(sizeof *board->shared);
    uint64_t bytes = sizeof(board_entry_t) + board_round(key_bytes) + value_bytes;
    bool good =
        at % BOARD_UNIT == 0 && at >= least && at <= board->bytes && bytes <= board->bytes - at;
    return good ? (board_entry_t *)((uint8_t *)board->shared + at) : NULL;
}

/* A damaged chain may lead in circles. Any entry may have a shorter key and value than this one,
 * but none begins where this one would not fit, or it is not the one. */
static board_entry_t *board_find(const weft_proof_board_t *board, uint64_t chain, const void *key,
                                 size_t key_bytes, size_t value_bytes)
{
    uint64_t steps = board->bytes / sizeof(board_entry_t);
    for (uint64_t at = chain; at != 0 && steps > 0; steps--) {
        board_entry_t *entry = board_at(board, at, 0, 0);
        if (entry == NULL) {
            return NULL;
        }
        if (entry->key_bytes == key_bytes && entry->value_bytes == value_bytes &&
            board_at(board, at, key_bytes, value_bytes) != NULL &&
            memcmp(entry->data, key, key_bytes) == 0) {
            return entry;
        }
        at = entry->next;
    }
    return NULL;
}

/* Makes an entry that this thread has locked; NULL: the board is full. The caller holds the
 * lock. Whoever is killed here may leave room that nobody uses, but no entry where the next one
 * goes: `used` is stored before the chain, with the lock's call between them. */
static board_entry_t *board_add(const weft_proof_board_t *board, uint64_t *chain, const void *key,
                                size_t key_bytes, size_t value_bytes)
{
    uint64_t at = board->shared->used;
    board_entry_t *entry = board_at(board, at, key_bytes, value_bytes);
    if (entry == NULL || weft_os_host_lock_init(&entry->lock) != WEFT_OK) {
        return NULL;
    }
    entry->next = *chain;
    entry->key_bytes = key_bytes;
    entry->value_bytes = value_bytes;
    atomic_store_explicit(&entry->made, 0, memory_order_relaxed);
    memcpy(entry->data, key, key_bytes);
    board->shared->used = at + board_round(sizeof *entry + board_round(key_bytes) + value_bytes);
    (void)weft_os_host_lock(&entry->lock, 0);
    *chain = at;
    return entry;
}

weft_proof_answer_t weft_proof_board_ask(weft_proof_board_t *board, const void *key,
                                         size_t key_bytes, void *value, size_t value_bytes,
                                         double seconds, weft_proof_ticket_t *ticket)
{
    board_shared_t *shared = board != NULL ? board->shared : NULL;
    if (shared == NULL || weft_os_host_lock(&shared->lock, weft_os_deadline(BOARD_LOCK_SECONDS)) ==
                              WEFT_OS_LOCK_TIMEOUT) {
        return WEFT_PROOF_ALONE;
    }
    uint64_t *chain = &shared->chains[board_hash(key, key_bytes) % BOARD_CHAINS];
    board_entry_t *entry = board_find(board, *chain, key, key_bytes, value_bytes);
    bool fresh = entry == NULL;
    if (fresh) {
        entry = board_add(board, chain, key, key_bytes, value_bytes);
    }
    weft_os_host_unlock(&shared->lock);
    if (entry == NULL || (!fresh && weft_os_host_lock(&entry->lock, weft_os_deadline(seconds)) ==
                                        WEFT_OS_LOCK_TIMEOUT)) {
        return WEFT_PROOF_ALONE;
    }
    if (atomic_load_explicit(&entry->made, memory_order_acquire) == 0) {
        *ticket = (weft_proof_ticket_t){
            .entry = entry, .key_bytes = key_bytes, .value_bytes = value_bytes};
        return WEFT_PROOF_OURS;
    }
    memcpy(value, entry->data + board_round(key_bytes), value_bytes);
    weft_os_host_unlock(&entry->lock);
    return WEFT_PROOF_FOUND;
}

void weft_proof_board_answer(const weft_proof_ticket_t *ticket, const void *value)
{
    board_entry_t *entry = ticket->entry;
    if (value != NULL) {
        memcpy(entry->data + board_round(ticket->key_bytes), value, ticket->value_bytes);
        atomic_store_explicit(&entry->made, 1, memory_order_release);
    }
    weft_os_host_unlock(&entry->lock);
}
