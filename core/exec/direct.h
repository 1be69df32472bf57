/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots of message ports in memory of the device, which adapters read and write themselves
 * (api/weft/plugin/direct.h): whether a transport's are, and how they are registered. Nothing is agreed with
 * the peer, as messages are the same wherever they lie; what fails here leaves the slots on the host. */
#ifndef WEFT_EXEC_DIRECT_H
#define WEFT_EXEC_DIRECT_H

#include <stdbool.h>

#include <weft/plugin/direct.h>
#include <weft/plugin/memory.h>
#include <weft/plugin/net.h>

typedef enum weft_direct_mode {                       /* exec.direct */
                                WEFT_DIRECT_AUTO = 0, /* where adapter and device are near */
                                WEFT_DIRECT_YES = 1,  /* where both can */
                                WEFT_DIRECT_NO = 2
} weft_direct_mode_t;

/* The kernel of this rank, as far as adapters may use its memory. */
typedef struct weft_direct {
    const weft_kernel_direct_t *ops; /* NULL: they may not */
    const weft_kernel_memory_t *memory;
    weft_kernel_t *kernel;
    weft_direct_mode_t mode;
} weft_direct_t;

struct weft_links_net;

/* Whether the slots of this transport's ports shall lie on the device. Says so in the log, and why. */
bool weft_direct_suits(const weft_direct_t *direct, const struct weft_links_net *net);

/* Whether two devices share a bridge of the PCI bus, a root port or a switch, by their folders in sysfs. */
bool weft_direct_is_near(const char *one, const char *other);

/* What: registers memory of the kernel's alloc() with a device of that transport. Failure: the kernel's, the
 * transport's; ERR_UNSUPPORTED if neither knows a way. Ownership: the caller's, until the transport's
 * dereg(). Blocks: pinning takes time. */
weft_status_t weft_direct_register(const weft_direct_t *direct, const struct weft_links_net *net,
                                   weft_net_device_t *device, void *memory, uint64_t bytes,
                                   weft_net_region_t **region_p);

#endif
