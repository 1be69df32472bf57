/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GPUDirect: slots of message ports in memory of the device, which adapters read and write
 * themselves (api/weft/plugin/draft/gpudirect.h). Here is the decision for a transport, and the
 * registration of the memory. Nothing is agreed with the peer, as messages are the same wherever
 * they lie. A failure leaves the slots on the host. */
#ifndef WEFT_EXEC_GPUDIRECT_H
#define WEFT_EXEC_GPUDIRECT_H

#include <stdbool.h>

#include <weft/plugin/draft/gpudirect.h>
#include <weft/plugin/memory.h>
#include <weft/plugin/net.h>

/* The option exec.gpudirect. */
typedef enum weft_gpudirect_mode {
    WEFT_GPUDIRECT_AUTO = 0, /* where adapter and device are near */
    WEFT_GPUDIRECT_YES = 1,  /* where both are able to */
    WEFT_GPUDIRECT_NO = 2,
} weft_gpudirect_mode_t;

/* The kernel of this rank, as far as adapters may use its memory. */
typedef struct weft_gpudirect {
    const weft_kernel_gpudirect_t *ops; /* NULL: they may not */
    const weft_kernel_memory_t *memory;
    weft_kernel_t *kernel;
    weft_gpudirect_mode_t mode;
} weft_gpudirect_t;

struct weft_transport;

/* Returns whether the slots of this transport's ports shall lie on the device. Logs the answer and
 * the reason. */
bool weft_gpudirect_suits(const weft_gpudirect_t *gpudirect,
                          const struct weft_transport *transport);

/* Returns whether two devices share a bridge of the PCI bus, that is a root port or a switch. The
 * arguments are their folders in sysfs. */
bool weft_gpudirect_is_near(const char *one, const char *other);

/* Registers memory of the kernel's alloc() with an adapter of that transport. The caller owns the
 * registration and ends it with the transport's dereg(). Returns the failure of kernel or
 * transport; ERR_UNSUPPORTED if neither knows a way. Pinning takes time. */
weft_status_t weft_gpudirect_register(const weft_gpudirect_t *gpudirect,
                                      const struct weft_transport *transport,
                                      weft_net_device_t *adapter, void *memory, uint64_t bytes,
                                      weft_net_region_t **region_p);

#endif
