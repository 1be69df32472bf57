/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pages of the host's memory, as the system has them. */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/cuda/fake.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* The pages that have the bytes. Returns how many bytes they are. */
static size_t pages_of(uintptr_t at, size_t bytes, void **begin_p)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t begin = at / page * page;
    *begin_p = (void *)begin;
    return (at + bytes + page - 1) / page * page - begin;
}

/* Linux before 5.14 cannot be asked. */
bool fake_pages_pin(uintptr_t at, size_t bytes)
{
    void *begin;
    const size_t all = pages_of(at, bytes, &begin);
    return madvise(begin, 0, MADV_POPULATE_WRITE) != 0 ||
           madvise(begin, all, MADV_POPULATE_WRITE) == 0;
}

bool fake_pages_are_mapped(uintptr_t at, size_t bytes)
{
    void *begin;
    const size_t all = pages_of(at, bytes, &begin);
    return msync(begin, all, MS_ASYNC) == 0 || errno != ENOMEM;
}
