/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The three plans. Each tree carries its own chunks, on a channel of its own, in lanes of its own:
 * one in which data goes up and is combined, one in which it goes down. */
#ifndef TREE_PLAN_H
#define TREE_PLAN_H

#include "tree_position.h"

/* Each writes the plan of call->rank. */
void tree_all_reduce(const tree_settings_t *settings, const weft_algo_call_t *call,
                     const weft_algo_topo_t *topo, weft_plan_builder_t *builder);
void tree_broadcast(const tree_settings_t *settings, const weft_algo_call_t *call,
                    const weft_algo_topo_t *topo, weft_plan_builder_t *builder);
void tree_reduce(const tree_settings_t *settings, const weft_algo_call_t *call,
                 const weft_algo_topo_t *topo, weft_plan_builder_t *builder);

#endif
