/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The choice of adapters and ports as an option, in the form of <weft/sdk/choice.h>: "mlx5" is a
 * prefix, "=mlx5_0:1, mlx5_2" are exact names, "^mlx5_bond" is all but these, "" is all. */
#ifndef WEFT_PLUGINS_NET_IB_FILTER_H
#define WEFT_PLUGINS_NET_IB_FILTER_H

#include <stdbool.h>
#include <stdint.h>

/* Returns whether `text` admits port `port` of adapter `name`. ":PORT" after a name limits it to
 * that port. */
bool ib_filter_admits(const char *text, const char *name, uint32_t port);

/* Returns whether a word of `text` chooses adapter `name` by its whole name; `port` is one of its
 * ports, or 0 for the adapter itself. */
bool ib_filter_exact(const char *text, const char *name, uint32_t port);

/* Returns whether adapter `one` comes before `two`: as the words of `text` that choose them, or, if
 * it is the same word or none, by name, mlx5_2 before mlx5_10. */
bool ib_filter_before(const char *text, const char *one, const char *two);

#define IB_FILTER_WORD 80 /* bytes of the longest word, with its zero byte; longer ones are cut */

/* Copies word `number` of `text`, as a choice of its own; `*excludes_p` tells whether `text` leaves
 * out what it fits. Returns false if there is none. */
bool ib_filter_word(const char *text, uint32_t number, char word[IB_FILTER_WORD], bool *excludes_p);

#endif
