/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See plan_fixture.h. */
#include "tests/support/plan_fixture.h"

#include <stdarg.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/text.h"
#include "core/plan/verify.h"
#include "tests/support/unit.h"

static void fake_log(const weft_host_t *host, weft_log_level_t level, const char *format, ...)
{
    (void)host, (void)level, (void)format;
}

static weft_status_t fake_set_error(const weft_host_t *host, weft_status_t status, int os_errno,
                                    const char *format, ...)
{
    (void)host;
    va_list args;
    va_start(args, format);
    weft_fail_v(status, os_errno, format, args);
    va_end(args);
    return status;
}

static void *fake_alloc(const weft_host_t *host, size_t bytes, size_t align)
{
    (void)host;
    return weft_os_alloc(bytes, align);
}

static void fake_free(const weft_host_t *host, void *memory)
{
    (void)host;
    weft_os_free(memory);
}

static const void *fake_get_service(const weft_host_t *host, const char *name)
{
    (void)host;
    return strcmp(name, WEFT_SERVICE_PLAN_TEXT) == 0 ? weft_plan_text_service() : NULL;
}

static const weft_host_t fake_host = {
    .size = sizeof fake_host,
    .log = fake_log,
    .set_error = fake_set_error,
    .alloc = fake_alloc,
    .free = fake_free,
    .get_service = fake_get_service,
};

weft_status_t plan_fixture_try(plan_fixture_t *fixture, const char *dir, const char *name,
                               const void *config)
{
    char path[512], why[256];
    snprintf(path, sizeof path, "%s/%s.so", dir, name);
    fixture->object = weft_os_dl_open(path, why, sizeof why);
    if (fixture->object == NULL) {
        fail_msg("%s", why);
    }
    void *symbol = weft_os_dl_symbol(fixture->object, "weft_plugin_entry", why, sizeof why);
    assert_non_null(symbol);
    const weft_plugin_t *(*entry)(void);
    memcpy(&entry, &symbol, sizeof entry);
    fixture->plugin = entry();
    fixture->ops = fixture->plugin->ops;
    fixture->algo = NULL;
    return fixture->ops->create(&fake_host, config, &fixture->algo);
}

void plan_fixture_open(plan_fixture_t *fixture, const char *dir, const char *name)
{
    plan_fixture_open_with(fixture, dir, name, NULL);
}

void plan_fixture_open_with(plan_fixture_t *fixture, const char *dir, const char *name,
                            const void *config)
{
    assert_int_equal(plan_fixture_try(fixture, dir, name, config), WEFT_OK);
}

void plan_fixture_close(plan_fixture_t *fixture)
{
    fixture->ops->destroy(fixture->algo);
    weft_os_dl_close(fixture->object);
}

static weft_plan_t **emit_all(const weft_algo_ops_t *ops, weft_algo_t *algo,
                              const weft_algo_call_t *what, const weft_algo_topo_t *view,
                              const weft_plan_finder_t *finder)
{
    weft_plan_t **plans = weft_os_alloc(what->nranks * sizeof *plans, 0);
    weft_status_t status = WEFT_OK;
    for (uint32_t rank = 0; status == WEFT_OK && rank < what->nranks; rank++) {
        weft_algo_call_t call = *what;
        const weft_algo_param_t *param = ops->params;
        call.size = sizeof call;
        call.rank = rank;
        for (uint32_t i = 0; param != NULL && param[i].name != NULL; i++) {
            call.params[i] = param[i].value;
        }
        status = weft_plan_emit(ops, algo, &call, view, finder, &plans[rank]);
    }
    if (status != WEFT_OK) {
        plan_fixture_free(plans, what->nranks);
        return NULL;
    }
    return plans;
}

static weft_plan_t **emit_on_one_host(const weft_algo_ops_t *ops, weft_algo_t *algo,
                                      weft_algo_call_t call)
{
    uint32_t *hosts = weft_os_alloc(call.nranks * sizeof *hosts, 0);
    weft_algo_topo_t view = {.size = sizeof view, .nhosts = 1, .host = hosts};
    weft_plan_t **plans = emit_all(ops, algo, &call, &view, NULL);
    weft_os_free(hosts);
    return plans;
}

weft_plan_t **plan_fixture_emit(const plan_fixture_t *fixture, weft_coll_t coll, uint32_t nranks,
                                uint32_t root)
{
    return emit_on_one_host(fixture->ops, fixture->algo,
                            (weft_algo_call_t){.coll = coll, .nranks = nranks, .root = root});
}

weft_plan_t **plan_fixture_emit_view(const plan_fixture_t *fixture, const weft_algo_call_t *call,
                                     const weft_algo_topo_t *view, const weft_plan_finder_t *finder)
{
    return emit_all(fixture->ops, fixture->algo, call, view, finder);
}

weft_status_t plan_fixture_find(void *arg, const char *name, const weft_algo_ops_t **ops_p,
                                weft_algo_t **algo_p)
{
    for (plan_fixture_t *const *at = arg; *at != NULL; at++) {
        if (strcmp((*at)->plugin->name, name) == 0) {
            *ops_p = (*at)->ops;
            *algo_p = (*at)->algo;
            return WEFT_OK;
        }
    }
    return weft_fail(WEFT_ERR_UNSUPPORTED, 0, "no algorithm %s among the fixtures", name);
}

void plan_fixture_free(weft_plan_t **plans, uint32_t nranks)
{
    for (uint32_t rank = 0; plans != NULL && rank < nranks; rank++) {
        weft_plan_destroy(plans[rank]);
    }
    weft_os_free(plans);
}

static void *duplicate(const void *from, size_t bytes)
{
    void *to = weft_os_alloc(bytes, 0);
    if (bytes != 0) {
        memcpy(to, from, bytes);
    }
    return to;
}

weft_plan_t *plan_fixture_copy(const weft_plan_t *plan)
{
    weft_plan_t *copy = duplicate(plan, sizeof *plan);
    copy->lanes = duplicate(plan->lanes, plan->nlanes * sizeof *plan->lanes);
    for (uint32_t i = 0; i < plan->nlanes; i++) {
        copy->lanes[i].code =
            duplicate(plan->lanes[i].code, plan->lanes[i].ncode * sizeof *plan->lanes[i].code);
    }
    copy->ports = duplicate(plan->ports, plan->nports * sizeof *plan->ports);
    copy->moves = duplicate(plan->moves, plan->nmoves * sizeof *plan->moves);
    copy->operands = duplicate(plan->operands, plan->noperands * sizeof *plan->operands);
    copy->afters = duplicate(plan->afters, plan->nafters * sizeof *plan->afters);
    return copy;
}

weft_move_t plan_fixture_move(const weft_plan_t *plan, uint32_t index)
{
    weft_plan_view_t view = weft_plan_view(plan, index);
    return weft_plan_expand(&view);
}

void plan_fixture_set_move(weft_plan_t *plan, uint32_t index, const weft_move_t *move)
{
    weft_plan_move_t *to = &plan->moves[index];
    uint32_t count = move->ndst + move->nsrc, all = plan->noperands + count + 1;
    weft_plan_operand_t *operands = weft_os_alloc(all * sizeof *operands, 0);
    memcpy(operands, plan->operands, plan->noperands * sizeof *operands);
    for (uint32_t i = 0; i < count + 1; i++) {
        operands[plan->noperands + i] =
            weft_plan_pack_operand(i < move->ndst ? &move->dst[i]
                                   : i < count    ? &move->src[i - move->ndst]
                                                  : &move->like);
    }
    assert_int_equal(to->nafter, move->nafter);
    to->operand = plan->noperands;
    to->ndst = (uint8_t)move->ndst;
    to->nsrc = (uint8_t)move->nsrc;
    to->cnt = move->cnt;
    to->flags =
        (uint8_t)(move->flags | (move->like.kind != WEFT_OPERAND_NONE ? WEFT_PLAN_LIKE : 0));
    weft_os_free(plan->operands);
    plan->operands = operands;
    plan->noperands = all;
}

weft_verify_report_t plan_fixture_verify(weft_plan_t *const *plans, uint32_t nranks, uint32_t slots,
                                         uint32_t slices, int in_place)
{
    weft_verify_input_t input = {
        .plans = plans, .nranks = nranks, .slots = slots, .slices = slices, .in_place = in_place};
    weft_verify_report_t report;
    assert_int_equal(weft_plan_verify(&input, &report), WEFT_OK);
    return report;
}

struct weft_algo {
    plan_fixture_fn_t write;
};

static weft_status_t written_emit(weft_algo_t *algo, const weft_algo_call_t *call,
                                  const weft_algo_topo_t *view, weft_plan_builder_t *builder)
{
    (void)view;
    algo->write(call, builder);
    return WEFT_OK;
}

weft_plan_t **plan_fixture_write(plan_fixture_fn_t write, weft_coll_t coll, uint32_t nranks)
{
    weft_algo_t algo = {.write = write};
    weft_algo_ops_t ops = {.size = sizeof ops, .emit = written_emit};
    return emit_on_one_host(&ops, &algo, (weft_algo_call_t){.coll = coll, .nranks = nranks});
}

uint32_t plan_fixture_put(weft_plan_builder_t *b, uint32_t lane, weft_operand_t to,
                          weft_operand_t one, weft_operand_t two, uint32_t flags)
{
    weft_move_t move = {.dst = {to},
                        .src = {one, two},
                        .ndst = 1,
                        .nsrc = two.kind == WEFT_OPERAND_NONE ? 1 : 2,
                        .flags = flags,
                        .like = weft_in(0, 0)};
    return b->move(b, lane, &move);
}

weft_verify_report_t plan_fixture_verify_written(plan_fixture_fn_t write, uint32_t slots,
                                                 uint32_t slices, int in_place)
{
    weft_plan_t **plans = plan_fixture_write(write, WEFT_ALL_REDUCE, 2);
    if (plans == NULL) {
        fail_msg("%s", weft_error_record()->text);
    }
    weft_verify_report_t report = plan_fixture_verify(plans, 2, slots, slices, in_place);
    plan_fixture_free(plans, 2);
    return report;
}
