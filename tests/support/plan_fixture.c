/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See plan_fixture.h. */
#include "tests/support/plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/error.h"
#include "core/os/os.h"

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

static const weft_host_t fake_host = {
    .size = sizeof fake_host,
    .log = fake_log,
    .set_error = fake_set_error,
    .alloc = fake_alloc,
    .free = fake_free,
};

void plan_fixture_open(plan_fixture_t *fixture, const char *dir, const char *name)
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
    assert_int_equal(fixture->ops->create(&fake_host, NULL, &fixture->algo), WEFT_OK);
}

void plan_fixture_close(plan_fixture_t *fixture)
{
    fixture->ops->destroy(fixture->algo);
    weft_os_dl_close(fixture->object);
}

static weft_plan_t **emit_all(const weft_algo_ops_t *ops, weft_algo_t *algo, weft_coll_t coll,
                              uint32_t nranks, uint32_t root)
{
    weft_plan_t **plans = weft_os_alloc(nranks * sizeof *plans, 0);
    uint32_t *hosts = weft_os_alloc(nranks * sizeof *hosts, 0);
    weft_algo_view_t view = {.size = sizeof view, .nhosts = 1, .host = hosts};
    weft_status_t status = WEFT_OK;
    for (uint32_t rank = 0; status == WEFT_OK && rank < nranks; rank++) {
        weft_algo_call_t call = {
            .size = sizeof call, .coll = coll, .nranks = nranks, .rank = rank, .root = root};
        status = weft_plan_emit(ops, algo, &call, &view, &plans[rank]);
    }
    weft_os_free(hosts);
    if (status != WEFT_OK) {
        plan_fixture_free(plans, nranks);
        return NULL;
    }
    return plans;
}

weft_plan_t **plan_fixture_emit(const plan_fixture_t *fixture, weft_coll_t coll, uint32_t nranks,
                                uint32_t root)
{
    return emit_all(fixture->ops, fixture->algo, coll, nranks, root);
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
    return copy;
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
                                  const weft_algo_view_t *view, weft_plan_builder_t *builder)
{
    (void)view;
    algo->write(call, builder);
    return WEFT_OK;
}

weft_plan_t **plan_fixture_write(plan_fixture_fn_t write, weft_coll_t coll, uint32_t nranks)
{
    weft_algo_t algo = {.write = write};
    weft_algo_ops_t ops = {.size = sizeof ops, .emit = written_emit};
    return emit_all(&ops, &algo, coll, nranks, 0);
}
