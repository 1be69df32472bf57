/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The roots of this process, in a list under a mutex. */
#include "core/boot/root_word.h"

#include "core/os/os.h"
#include "core/os/os_fork.h"

#define LOOK_NS (5 * WEFT_NS_PER_MS)

static weft_root_word_t *root_words;

/* The roots are threads of the parent. */
static void root_word_forked(bool held)
{
    (void)held;
    root_words = NULL;
}

static weft_os_process_mutex_t root_words_lock = {.forked = root_word_forked};

/* The mutex is held. */
static weft_root_word_t *root_word_find(uint64_t comm_id)
{
    weft_root_word_t *word = root_words;
    while (word != NULL && word->comm_id != comm_id) {
        word = word->next;
    }
    return word;
}

void weft_root_word_open(weft_root_word_t *word, uint64_t comm_id)
{
    weft_os_process_lock(&root_words_lock);
    *word = (weft_root_word_t){.next = root_words, .comm_id = comm_id};
    root_words = word;
    weft_os_process_unlock(&root_words_lock);
}

void weft_root_word_close(weft_root_word_t *word)
{
    weft_os_process_lock(&root_words_lock);
    weft_root_word_t **at = &root_words;
    while (*at != NULL && *at != word) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = word->next;
    }
    weft_os_process_unlock(&root_words_lock);
}

bool weft_root_word_heard(const weft_root_word_t *word, weft_error_t *error)
{
    weft_os_process_lock(&root_words_lock);
    *error = word->error;
    weft_os_process_unlock(&root_words_lock);
    return error->status != WEFT_OK;
}

void weft_root_word_say(uint64_t comm_id, const weft_error_t *error)
{
    const weft_error_t nothing = {.status = WEFT_OK};
    weft_os_process_lock(&root_words_lock);
    weft_root_word_t *word = root_word_find(comm_id);
    if (word != NULL) {
        word->error = error != NULL ? *error : nothing;
    }
    weft_os_process_unlock(&root_words_lock);
}

void weft_root_word_wait(uint64_t comm_id, uint64_t until)
{
    bool here = true;
    while (here && weft_os_clock_ns() < until) {
        weft_os_sleep_ns(LOOK_NS);
        weft_os_process_lock(&root_words_lock);
        here = root_word_find(comm_id) != NULL;
        weft_os_process_unlock(&root_words_lock);
    }
}
