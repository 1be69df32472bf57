/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which adapters and ports to use: "mlx5" prefix, "=mlx5_0:1,mlx5_2" exact, "^mlx5_bond" all but. */
#ifndef WEFT_PLUGINS_NET_IB_FILTER_H
#define WEFT_PLUGINS_NET_IB_FILTER_H

#include <stdbool.h>
#include <stdint.h>

/* What: whether port `port` of adapter `name` is admitted by `text`. ":port" after a name limits it to
 * that port. Empty: all. */
bool ib_filter_admits(const char *text, const char *name, uint32_t port);

#endif
