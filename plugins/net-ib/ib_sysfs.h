/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the kernel tells of adapters, and libibverbs does not. Thread: [any]. */
#ifndef WEFT_PLUGINS_NET_IB_SYSFS_H
#define WEFT_PLUGINS_NET_IB_SYSFS_H

#include <stddef.h>
#include <stdint.h>

#define IB_SYSFS_VERBS "/sys/class/infiniband_verbs"

/* Returns the rate of port `port` in bytes per second, 0 if it is not known. `device` is the
 * adapter's folder, as /sys/class/infiniband/mlx5_0. */
uint64_t ib_sysfs_rate(const char *device, uint32_t port);

/* Writes into `names` the adapters that stand in `folder`, which is IB_SYSFS_VERBS, and not in
 * `known`, a list of `count` names; "" if there are none. What does not fit is left out. */
void ib_sysfs_others(const char *folder, const char *const *known, uint32_t count, char *names,
                     size_t bytes);

#endif
