/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the two halves of net-wrong share. */
#ifndef TESTS_CHECK_NET_RIGHT_H
#define TESTS_CHECK_NET_RIGHT_H

#include <stdbool.h>

#include <weft/plugin/net.h>

/* The plugin without a mistake. */
extern const weft_net_ops_t net_right_ops;

/* NULL; the compiler does not know. */
extern int *wrong_nowhere;

/* Returns whether the mistake of that name is to be made at all, and whether this is its moment:
 * the twentieth time that it is asked for. */
bool wrong_is(const char *name);
bool wrong_now(const char *name);

#endif
