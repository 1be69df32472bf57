/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Adding up what the bootstrap holds. The health thread publishes what it alone may look at. */
#include "core/boot/boot_memory.h"

#include "core/boot/health_state.h"

/* The listener, its epoll set and the descriptor that wakes the health thread. */
#define FIXED_DESCRIPTORS 3u

void weft_boot_memory(const weft_boot_t *boot, weft_boot_memory_t *memory)
{
    const weft_health_t *health = boot->health;
    uint64_t n = boot->nranks;
    *memory = (weft_boot_memory_t){.descriptors = 0};
    memory->tables = sizeof *boot + n * (sizeof *boot->peers + sizeof *boot->requests);
    if (health == NULL) {
        return;
    }
    memory->tables += n * weft_membership_bytes_per_rank();
    memory->descriptors =
        FIXED_DESCRIPTORS + atomic_load_explicit(&health->held.descriptors, memory_order_relaxed);
    memory->descriptors_limit = FIXED_DESCRIPTORS + 2 * WEFT_TREE_LINKS;
    memory->control =
        sizeof *health + atomic_load_explicit(&health->held.control, memory_order_relaxed);
    memory->events = atomic_load_explicit(&health->held.events, memory_order_relaxed);
    memory->events_limit = weft_event_log_most_bytes(boot->nranks);
}
