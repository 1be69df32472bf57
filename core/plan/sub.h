/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The builder's sub(), and how it reaches the other loaded algorithms. */
#ifndef WEFT_PLAN_SUB_H
#define WEFT_PLAN_SUB_H

#include "core/plan/draft.h"

typedef struct weft_plan_finder {
    /* Finds a loaded algorithm by name. Fails with a text that lists them. */
    weft_status_t (*find)(void *arg, const char *name, const weft_algo_ops_t **ops_p,
                          weft_algo_t **algo_p);
    /* Returns the configured values of its parameters. NULL, or without it: the defaults. */
    const int64_t *(*params)(void *arg, const char *name);
    void *arg;
} weft_plan_finder_t;

/* Returns the failure of find(): ERR_UNSUPPORTED with the loaded names and the one most like
 * `name`. */
weft_status_t weft_plan_no_algo(const char *name, const char *const *loaded, uint32_t n);

/* Has another algorithm emit; the arguments are those of weft_plan_builder_t.sub. */
uint32_t weft_plan_build_sub(weft_plan_builder_t *builder, const weft_plan_sub_t *sub,
                             uint32_t *k_p, uint32_t *tmp_p);

#endif
