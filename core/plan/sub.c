/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The builder's sub(): has another loaded algorithm write its plan for some of the ranks, as if
 * they were a job of their own. The plan is kept with the draft until call() writes it out
 * (splice.c). */
#include "core/plan/sub.h"

#include <string.h>

#include "core/base/error.h"
#include "core/config/nearest.h"
#include "core/os/os.h"
#include "core/plan/topo_view.h"

typedef struct asking {
    weft_plan_draft_t *draft;
    const weft_plan_sub_t *sub;
    const weft_algo_ops_t *ops;
    weft_algo_t *algo;
    uint32_t place; /* of this rank in the group; the group's size if it is outside */
} asking_t;

weft_status_t weft_plan_no_algo(const char *name, const char *const *loaded, uint32_t n)
{
    char list[256] = "", hint[96] = "";
    weft_nearest_t nearest;
    weft_nearest_start(&nearest, name);
    for (uint32_t i = 0; i < n; i++) {
        size_t at = strlen(list);
        snprintf(list + at, sizeof list - at, "%s%s", i == 0 ? "" : ", ", loaded[i]);
        weft_nearest_offer(&nearest, loaded[i], strlen(loaded[i]));
    }
    weft_nearest_hint(&nearest, "", "", hint, sizeof hint);
    return weft_fail(WEFT_ERR_UNSUPPORTED, 0, "no algorithm \"%s\" is loaded%s; loaded: %s", name,
                     hint, n == 0 ? "none" : list);
}

/* The words of a failure that came from elsewhere. */
static bool sub_pass_on(weft_plan_draft_t *draft, weft_status_t status, const char *algo)
{
    if (status != WEFT_OK) {
        weft_plan_mistake(draft, status, "sub-plan by %s: %s", algo, weft_error_record()->text);
    }
    return status == WEFT_OK;
}

static bool sub_check_coll(weft_plan_draft_t *draft, const weft_plan_sub_t *sub)
{
    if (!weft_coll_has_plan(sub->coll)) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "sub-plan by %s: collective %d has no plans",
                          sub->algo, (int)sub->coll);
        return false;
    }
    if (sub->n < 2 || sub->n > draft->plan->nranks || sub->root >= sub->n) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN,
                          "sub-plan by %s: a group of %u of %u ranks with root %u; 2 at least",
                          sub->algo, sub->n, draft->plan->nranks, sub->root);
        return false;
    }
    return true;
}

/* Ranks exist, none twice; finds the place of this one. */
static bool sub_check_group(asking_t *asking)
{
    weft_plan_draft_t *draft = asking->draft;
    const weft_plan_sub_t *sub = asking->sub;
    uint32_t nranks = draft->plan->nranks;
    uint8_t *seen = weft_os_alloc(nranks, 0);
    if (seen == NULL) {
        weft_plan_mistake(draft, WEFT_ERR_RESOURCE, "no memory for a group of %u ranks", sub->n);
        return false;
    }
    asking->place = sub->n;
    uint32_t i = 0;
    for (; i < sub->n && sub->group[i] < nranks && !seen[sub->group[i]]; i++) {
        seen[sub->group[i]] = 1;
        asking->place = sub->group[i] == draft->plan->rank ? i : asking->place;
    }
    weft_os_free(seen);
    if (i < sub->n) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "sub-plan by %s: rank %u of the group is %s",
                          sub->algo, sub->group[i],
                          sub->group[i] < nranks ? "named twice" : "not in the job");
    }
    return i == sub->n;
}

static bool sub_find_algo(asking_t *asking)
{
    weft_plan_draft_t *draft = asking->draft;
    const weft_plan_emitter_t *emitter = draft->emitter;
    const char *name = asking->sub->algo;
    if (emitter == NULL || emitter->finder == NULL) {
        weft_plan_mistake(draft, WEFT_ERR_UNSUPPORTED,
                          "sub-plan by %s: whoever asks for this plan offers no other algorithms",
                          name);
        return false;
    }
    if (emitter->depth + 1 > WEFT_PLAN_DEPTH) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "sub-plan by %s: more than %d plans in each other",
                          name, WEFT_PLAN_DEPTH);
        return false;
    }
    return sub_pass_on(
        draft, emitter->finder->find(emitter->finder->arg, name, &asking->ops, &asking->algo),
        name);
}

static weft_algo_call_t sub_call_of(const asking_t *asking)
{
    const weft_plan_sub_t *sub = asking->sub;
    weft_algo_call_t call = {.size = sizeof call,
                             .coll = sub->coll,
                             .nranks = sub->n,
                             .rank = asking->place < sub->n ? asking->place : 0,
                             .root = sub->root};
    const weft_plan_finder_t *finder = asking->draft->emitter->finder;
    const int64_t *configured =
        finder->params != NULL ? finder->params(finder->arg, sub->algo) : NULL;
    const weft_algo_param_t *params =
        WEFT_HAS(asking->ops, weft_algo_ops_t, params) ? asking->ops->params : NULL;
    for (uint32_t i = 0; params != NULL && i < WEFT_ALGO_PARAMS_MAX && params[i].name != NULL;
         i++) {
        call.params[i] = configured != NULL ? configured[i] : params[i].value;
    }
    return call;
}

static weft_status_t sub_emit(const asking_t *asking, const weft_algo_topo_t *view,
                              weft_plan_t **plan_p)
{
    const weft_plan_emitter_t *above = asking->draft->emitter;
    weft_algo_call_t call = sub_call_of(asking);
    weft_plan_emitter_t emitter = {.ops = asking->ops,
                                   .algo = asking->algo,
                                   .finder = above->finder,
                                   .view = view,
                                   .depth = above->depth + 1,
                                   .emit = above->emit};
    weft_status_t status = asking->ops->supports(asking->algo, &call);
    return status == WEFT_OK ? above->emit(&emitter, &call, plan_p) : status;
}

/* The group is a job of its own to the algorithm, and so is what it sees of the topology. */
static weft_plan_t *sub_emit_part(asking_t *asking)
{
    weft_plan_draft_t *draft = asking->draft;
    weft_plan_t *plan = NULL;
    weft_topo_view_t view;
    weft_status_t status =
        weft_topo_view_init(&view, draft->emitter->view, asking->sub->group, asking->sub->n);
    if (status == WEFT_OK) {
        status = sub_emit(asking, &view.topo, &plan);
    }
    weft_topo_view_fini(&view);
    return sub_pass_on(draft, status, asking->sub->algo) ? plan : NULL;
}

static bool sub_is_partial(const weft_plan_sub_t *sub)
{
    return sub->size >= offsetof(weft_plan_sub_t, partial) + sizeof sub->partial &&
           sub->partial != 0;
}

/* Takes the plan in any case. */
static uint32_t sub_keep(const asking_t *asking, weft_plan_t *plan)
{
    weft_plan_draft_t *draft = asking->draft;
    const weft_plan_sub_t *sub = asking->sub;
    void *parts = weft_plan_grown(draft, draft->parts, draft->nparts, sizeof *draft->parts);
    uint32_t *group = weft_os_alloc(sub->n * sizeof *group, 0);
    if (parts != NULL) {
        draft->parts = parts;
    }
    if (parts == NULL || group == NULL) {
        weft_plan_mistake(draft, WEFT_ERR_RESOURCE, "no memory for a sub-plan");
        weft_os_free(group);
        weft_plan_destroy(plan);
        return 0;
    }
    memcpy(group, sub->group, sub->n * sizeof *group);
    if (asking->place == sub->n) {
        weft_plan_destroy(plan);
        plan = NULL;
    }
    weft_plan_part_t *part = &draft->parts[draft->nparts];
    *part = (weft_plan_part_t){.plan = plan, .group = group, .partial = sub_is_partial(sub)};
    snprintf(part->algo, sizeof part->algo, "%s", sub->algo);
    return draft->nparts++;
}

uint32_t weft_plan_build_sub(weft_plan_builder_t *builder, const weft_plan_sub_t *sub,
                             uint32_t *k_p, uint32_t *tmp_p)
{
    weft_plan_draft_t *draft = builder->core;
    asking_t asking = {.draft = draft, .sub = sub};
    *k_p = 1;
    *tmp_p = 0;
    if (weft_plan_is_dropped(draft) || !sub_check_coll(draft, sub) || !sub_check_group(&asking) ||
        !sub_find_algo(&asking)) {
        return 0;
    }
    weft_plan_t *plan = sub_emit_part(&asking);
    if (plan == NULL) {
        return 0;
    }
    *k_p = plan->k;
    *tmp_p = plan->tmp_chunks;
    return sub_keep(&asking, plan);
}
