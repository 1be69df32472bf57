/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Algorithm plugins in tests: loaded from the build folder, with a host of a few lines. */
#ifndef TESTS_SUPPORT_PLAN_FIXTURE_H
#define TESTS_SUPPORT_PLAN_FIXTURE_H

#include "core/plan/plan_cache.h"

typedef struct plan_fixture {
    void *object;
    const weft_plugin_t *plugin;
    const weft_algo_ops_t *ops;
    weft_algo_t *algo;
} plan_fixture_t;

/* Loads dir/name.so, or fails the test. */
void plan_fixture_open(plan_fixture_t *fixture, const char *dir, const char *name);
/* The same with the plugin's config struct, which outlives the fixture. */
void plan_fixture_open_with(plan_fixture_t *fixture, const char *dir, const char *name,
                            const void *config);
/* The same with a config struct of the plugin; returns the status of create(). To be closed
 * anyway. */
weft_status_t plan_fixture_try(plan_fixture_t *fixture, const char *dir, const char *name,
                               const void *config);
void plan_fixture_close(plan_fixture_t *fixture);

/* The plans of all ranks, or NULL if emit or its check fails (see weft_error_record()). */
weft_plan_t **plan_fixture_emit(const plan_fixture_t *fixture, weft_coll_t coll, uint32_t nranks,
                                uint32_t root);
/* The same for any hosts, parameters, and other algorithms; call->rank does not matter. */
weft_plan_t **plan_fixture_emit_view(const plan_fixture_t *fixture, const weft_algo_call_t *call,
                                     const weft_algo_topo_t *view,
                                     const weft_plan_finder_t *finder);
/* For weft_plan_finder_t; arg is an array of fixtures that ends with NULL. */
weft_status_t plan_fixture_find(void *arg, const char *name, const weft_algo_ops_t **ops_p,
                                weft_algo_t **algo_p);
void plan_fixture_free(weft_plan_t **plans, uint32_t nranks);

/* A deep copy, to be damaged. */
weft_plan_t *plan_fixture_copy(const weft_plan_t *plan);
weft_move_t plan_fixture_move(const weft_plan_t *plan, uint32_t index);
/* Its waits stay as they are. */
void plan_fixture_set_move(weft_plan_t *plan, uint32_t index, const weft_move_t *move);

weft_verify_report_t plan_fixture_verify(weft_plan_t *const *plans, uint32_t nranks, uint32_t slots,
                                         uint32_t slices, int in_place);

/* An algorithm given as a function, for tests that write plans by hand. */
typedef void (*plan_fixture_fn_t)(const weft_algo_call_t *call, weft_plan_builder_t *builder);
weft_plan_t **plan_fixture_write(plan_fixture_fn_t write, weft_coll_t coll, uint32_t nranks);
/* Verifies it as an all-reduce of two ranks; a plan that cannot be emitted fails the test. */
weft_verify_report_t plan_fixture_verify_written(plan_fixture_fn_t write, uint32_t slots,
                                                 uint32_t slices, int in_place);
/* A MOVE of one operand, or of the fold of two (`two` of kind NONE: of one). Returns its pc. */
uint32_t plan_fixture_put(weft_plan_builder_t *b, uint32_t lane, weft_operand_t to,
                          weft_operand_t one, weft_operand_t two, uint32_t flags);

#endif
