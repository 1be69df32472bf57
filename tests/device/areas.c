/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See areas.h. */
#include "tests/device/areas.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define AREAS 4096

typedef struct area {
    uint8_t *seen; /* the user's address; NULL: free */
    uint8_t *real;
    uint64_t bytes;
} area_t;

static struct {
    pthread_mutex_t lock;
    area_t areas[AREAS];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool map_twice(area_t *area, uint64_t bytes)
{
    int fd = memfd_create("areas", MFD_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bool sized = ftruncate(fd, (off_t)bytes) == 0;
    void *seen = sized ? mmap(NULL, bytes, PROT_NONE, MAP_SHARED, fd, 0) : MAP_FAILED;
    void *real = sized ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    close(fd);
    if (seen == MAP_FAILED || real == MAP_FAILED) {
        return false;
    }
    *area = (area_t){.seen = seen, .real = real, .bytes = bytes};
    return true;
}

void *areas_take(uint64_t bytes)
{
    void *memory = NULL;
    pthread_mutex_lock(&all.lock);
    for (uint32_t i = 0; i < AREAS && memory == NULL; i++) {
        if (all.areas[i].seen == NULL) {
            memory = map_twice(&all.areas[i], bytes) ? all.areas[i].seen : NULL;
            break;
        }
    }
    pthread_mutex_unlock(&all.lock);
    return memory;
}

void areas_give(void *memory)
{
    pthread_mutex_lock(&all.lock);
    for (uint32_t i = 0; i < AREAS; i++) {
        area_t *a = &all.areas[i];
        if (a->seen == memory) {
            munmap(a->seen, a->bytes);
            munmap(a->real, a->bytes);
            *a = (area_t){.seen = NULL};
            break;
        }
    }
    pthread_mutex_unlock(&all.lock);
}

void *areas_real(const void *memory)
{
    uint8_t *found = (uint8_t *)(uintptr_t)memory;
    pthread_mutex_lock(&all.lock);
    for (uint32_t i = 0; i < AREAS; i++) {
        const area_t *a = &all.areas[i];
        if (a->seen != NULL && found >= a->seen && found < a->seen + a->bytes) {
            found = a->real + (found - a->seen);
            break;
        }
    }
    pthread_mutex_unlock(&all.lock);
    return found;
}
