/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: poll(2) by select(2). The sets are as long as the highest descriptor needs; those of the
 * C library end at 1024. */
#include "core/os/os_select.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/select.h>

#include "core/os/os.h"

#define WORD_BITS (8 * sizeof(unsigned long))

typedef struct os_sets {
    unsigned long *in; /* one block: what is read, then what is written */
    unsigned long *out;
    int above; /* the highest descriptor, and one more */
} os_sets_t;

/* poll(2) says which entry is not open, and select(2) fails for all of them. */
static uint32_t os_select_check(struct pollfd *entries, uint32_t count, os_sets_t *sets)
{
    uint32_t closed = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct pollfd *entry = &entries[i];
        entry->revents = 0;
        if (entry->fd >= 0 && fcntl(entry->fd, F_GETFD) < 0) {
            entry->revents = POLLNVAL;
            closed++;
        } else if (entry->fd >= sets->above) {
            sets->above = entry->fd + 1;
        }
    }
    return closed;
}

static bool os_select_asks(const struct pollfd *entry, short event)
{
    return entry->fd >= 0 && entry->revents != POLLNVAL && (entry->events & event) != 0;
}

static void os_select_fill(const struct pollfd *entries, uint32_t count, const os_sets_t *sets)
{
    for (uint32_t i = 0; i < count; i++) {
        const unsigned long bit = 1ul << ((unsigned)entries[i].fd % WORD_BITS);
        if (os_select_asks(&entries[i], POLLIN)) {
            sets->in[(unsigned)entries[i].fd / WORD_BITS] |= bit;
        }
        if (os_select_asks(&entries[i], POLLOUT)) {
            sets->out[(unsigned)entries[i].fd / WORD_BITS] |= bit;
        }
    }
}

static uint32_t os_select_collect(struct pollfd *entries, uint32_t count, const os_sets_t *sets)
{
    uint32_t ready = 0;
    for (uint32_t i = 0; i < count; i++) {
        const unsigned at = (unsigned)entries[i].fd / WORD_BITS;
        const unsigned long bit = 1ul << ((unsigned)entries[i].fd % WORD_BITS);
        const bool in = os_select_asks(&entries[i], POLLIN) && (sets->in[at] & bit) != 0;
        const bool out = os_select_asks(&entries[i], POLLOUT) && (sets->out[at] & bit) != 0;
        if (in || out) {
            entries[i].revents = (short)((in ? POLLIN : 0) | (out ? POLLOUT : 0));
            ready++;
        }
    }
    return ready;
}

int weft_os_select(struct pollfd *entries, uint32_t count, const struct timespec *left)
{
    os_sets_t sets = {.above = 0};
    const struct timespec none = {0};
    uint32_t closed = os_select_check(entries, count, &sets);
    size_t words = (unsigned)sets.above / WORD_BITS + 1;
    sets.in = weft_os_alloc(2 * words * sizeof *sets.in, 0);
    if (sets.in == NULL) {
        errno = ENOMEM;
        return -1;
    }
    sets.out = sets.in + words;
    os_select_fill(entries, count, &sets);
    int ready = pselect(sets.above, (fd_set *)sets.in, (fd_set *)sets.out, NULL,
                        closed > 0 ? &none : left, NULL);
    int error = errno;
    if (ready >= 0) {
        ready = (int)(os_select_collect(entries, count, &sets) + closed);
    }
    weft_os_free(sets.in);
    errno = error;
    return ready;
}
