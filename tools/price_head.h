/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What stands above prices: the figures that they are made of, and where these come from. */
#ifndef WEFT_TOOLS_PRICE_HEAD_H
#define WEFT_TOOLS_PRICE_HEAD_H

#include "tools/json.h"
#include "tools/plan_price.h"

/* Prints what each protocol between devices costs, a line each behind `head`; `weft why` too. */
void price_head_protocols(const weft_cost_model_t *model, const char *head);

/* Prints the model for plans on `nhosts` hosts, the first line behind `first`, others behind
 * `head`. */
void price_head_print(const price_model_t *model, uint32_t nhosts, const char *first,
                      const char *head);

/* Adds the model to an open object. */
void price_head_json(const price_model_t *model, json_t *json);

#endif
