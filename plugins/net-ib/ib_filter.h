/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The choice of adapters and ports as an option: "mlx5" is a prefix, "=mlx5_0:1,mlx5_2" are
 * exact names, "^mlx5_bond" is all but these, "" is all. */
#ifndef WEFT_PLUGINS_NET_IB_FILTER_H
#define WEFT_PLUGINS_NET_IB_FILTER_H

#include <stdbool.h>
#include <stdint.h>

/* Returns whether `text` admits port `port` of adapter `name`. ":PORT" after a name limits it to
 * that port. */
bool ib_filter_admits(const char *text, const char *name, uint32_t port);

#endif
