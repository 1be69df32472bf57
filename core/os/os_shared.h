/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that processes share: an anonymous file, sealed against shrinking, so that no process can
 * be hit by SIGBUS through another one. The system gives it pages when they are touched. Another
 * process of the same user opens it by the numbers of the process and of the descriptor. */
#ifndef WEFT_OS_SHARED_H
#define WEFT_OS_SHARED_H

#include <stdbool.h>

#include <weft/types.h>

/* Makes an anonymous file of `bytes` bytes, zero, sealed in its size; `name` is shown in /proc. The
 * caller closes *fd_p. ERR_RESOURCE (the limit of file sizes among others), ERR_SYSTEM. */
weft_status_t weft_os_sealed_file(const char *name, uint64_t bytes, int *fd_p);

typedef struct weft_os_shared {
    uint8_t *base;  /* aligned to a huge page */
    uint64_t bytes; /* a multiple of a huge page */
    int fd;         /* of the owner; −1 where it is attached */
} weft_os_shared_t;

/* Makes `bytes` bytes, a multiple of WEFT_OS_HUGE_PAGE, which nobody may touch yet. ERR_RESOURCE,
 * ERR_SYSTEM. It stays until the process ends. */
#define WEFT_OS_HUGE_PAGE (UINT64_C(2) << 20)
weft_status_t weft_os_shared_create(uint64_t bytes, weft_os_shared_t *shared);

/* Lets the owner use a range of whole pages, which are zero. ERR_RESOURCE. */
weft_status_t weft_os_shared_commit(const weft_os_shared_t *shared, uint64_t offset,
                                    uint64_t bytes);
/* Gives the pages of a range back to the system. The owner must not touch it any longer. In other
 * processes it reads as zero. */
void weft_os_shared_decommit(const weft_os_shared_t *shared, uint64_t offset, uint64_t bytes);

/* Maps what process `pid` has open as `fd`; nobody may touch it yet. False: there is no such
 * descriptor, it may not be opened, or it is no sealed anonymous file. Records no error. */
bool weft_os_shared_attach(int32_t pid, int32_t fd, weft_os_shared_t *shared);
void weft_os_shared_detach(weft_os_shared_t *shared);
/* Lets this process read and write a range of whole pages. False: the system refuses; errno. */
bool weft_os_shared_open(const weft_os_shared_t *shared, uint64_t offset, uint64_t bytes);

/* Returns the bytes of a page, and of the host's memory. */
uint64_t weft_os_page_bytes(void);
uint64_t weft_os_memory_bytes(void);

#endif
