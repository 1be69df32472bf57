/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The signatures of the last operations. */
#include "core/comm/history.h"

void weft_history_put(weft_history_t *history, const weft_signature_t *signature)
{
    weft_signature_t *last = &history->run[(history->runs - 1) & (WEFT_HISTORY - 1)];
    weft_signature_t now = *signature;
    now.sequence = last->sequence;
    if (history->runs > 0 && weft_signature_equal(last, &now) &&
        signature->sequence - last->sequence < WEFT_HISTORY_RUN) {
        atomic_store_explicit(&history->last, signature->sequence, memory_order_release);
        return;
    }
    weft_os_lock(&history->lock);
    history->run[history->runs & (WEFT_HISTORY - 1)] = *signature;
    weft_os_fence_writes(); /* who reads a flight record takes no lock */
    history->runs++;
    weft_os_fence_writes();
    atomic_store_explicit(&history->last, signature->sequence, memory_order_release);
    weft_os_unlock(&history->lock);
}

bool weft_history_get(weft_history_t *history, uint32_t sequence, weft_signature_t *signature)
{
    bool found = false;
    weft_os_lock(&history->lock);
    uint32_t last = atomic_load_explicit(&history->last, memory_order_acquire);
    uint32_t kept = history->runs < WEFT_HISTORY ? history->runs : WEFT_HISTORY;
    for (uint32_t i = 1; i <= kept && !found && history->runs > 0; i++) {
        *signature = history->run[(history->runs - i) & (WEFT_HISTORY - 1)];
        /* Differences of sequence numbers are right across a wrap. */
        found = last - sequence < UINT32_MAX / 2 && sequence - signature->sequence < UINT32_MAX / 2;
    }
    weft_os_unlock(&history->lock);
    signature->sequence = sequence;
    return found;
}

bool weft_history_get_last(weft_history_t *history, weft_signature_t *signature)
{
    uint32_t last = atomic_load_explicit(&history->last, memory_order_acquire);
    return weft_history_get(history, last, signature);
}

void weft_history_get_run(weft_history_t *history, weft_signature_run_t *run)
{
    *run = (weft_signature_run_t){.length = 0};
    weft_os_lock(&history->lock);
    if (history->runs > 0) {
        run->last = history->run[(history->runs - 1) & (WEFT_HISTORY - 1)];
        uint32_t last = atomic_load_explicit(&history->last, memory_order_acquire);
        run->length = last - run->last.sequence + 1;
        run->last.sequence = last;
    }
    weft_os_unlock(&history->lock);
}
