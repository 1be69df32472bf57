/* SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel-wrong, tuner-wrong and algo-wrong: each is a plugin of the tree, which its option `right`
 * names, with the mistake that its option `wrong` names. OTHER_KIND chooses. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weft/plugin/algo.h>
#include <weft/plugin/kernel.h>
#include <weft/plugin/tuner.h>

struct other_config {
    const char *right; /* path */
    const char *wrong;
};

static char mistake[64]; /* a copy: instances come and go */
static const weft_host_t *host;
static const weft_plugin_t *right; /* of the tree */
int *other_nowhere;                /* NULL; the compiler does not know */

/* A crash of the plugin. The undefined-behaviour sanitizer would end the process before it. */
__attribute__((no_sanitize("undefined", "address"))) static void other_crash(void)
{
    *other_nowhere = 1;
}

static bool wrong_is(const char *name)
{
    return strcmp(mistake, name) == 0;
}

static weft_status_t other_open(const weft_host_t *h, const struct other_config *config)
{
    const weft_plugin_t *(*entry)(void) = NULL;
    void *object = dlopen(config->right, RTLD_NOW | RTLD_LOCAL);
    void *symbol = object != NULL ? dlsym(object, "weft_plugin_entry") : NULL;
    snprintf(mistake, sizeof mistake, "%s", config->wrong);
    host = h;
    if (symbol == NULL) {
        return h->set_error(h, WEFT_ERR_CONFIG, 0, "cannot open %s", config->right);
    }
    memcpy(&entry, &symbol, sizeof entry);
    right = entry();
    return WEFT_OK;
}

/* Settings of the right plugin: its numbers as they are by default, zeros will do for the rest. */
__attribute__((unused)) static void other_defaults(uint64_t *settings)
{
    for (const weft_option_t *o = right->options; o != NULL && o->name != NULL; o++) {
        if (o->type == WEFT_OPT_INT) {
            settings[o->offset / sizeof *settings] = (uint64_t)strtoll(o->value, NULL, 10);
        }
    }
}

static weft_status_t other_mistake(void)
{
    if (wrong_is("create-number"))
        return (weft_status_t)77;
    if (wrong_is("create-silent"))
        return WEFT_ERR_RESOURCE;
    if (wrong_is("create-crash"))
        other_crash();
    if (wrong_is("create-exit"))
        exit(0);
    if (wrong_is("create-leak"))
        (void)host->alloc(host, 10, 0);
    return WEFT_OK;
}

#if OTHER_KIND == 3

static const weft_kernel_ops_t *kernel_right;
static uint64_t other_settings[512];

static weft_status_t kernel_wrong_create(const weft_host_t *h, const void *config,
                                         weft_kernel_t **kernel_p)
{
    weft_status_t status = other_open(h, config);
    status = status == WEFT_OK ? other_mistake() : status;
    if (status != WEFT_OK || wrong_is("create-nothing")) {
        return status;
    }
    kernel_right = right->ops;
    other_defaults(other_settings);
    return kernel_right->create(h, other_settings, kernel_p);
}

static void kernel_wrong_destroy(weft_kernel_t *kernel)
{
    if (!wrong_is("destroy-nothing")) {
        kernel_right->destroy(kernel);
    }
}

static weft_status_t kernel_wrong_props(weft_kernel_t *kernel, weft_kernel_props_t *props)
{
    weft_status_t status = kernel_right->props(kernel, props);
    if (wrong_is("props-number"))
        return (weft_status_t)1;
    if (wrong_is("props-variant"))
        memset(props->variant, 'x', sizeof props->variant);
    if (wrong_is("props-kind"))
        props->memory_kind = 0;
    if (wrong_is("props-bandwidth"))
        props->bandwidth = 0;
    if (wrong_is("props-size"))
        props->size = 8;
    return status;
}

static weft_combine_fn_t combine_right;

static void combine_wrong(const weft_combine_t *c)
{
    if (wrong_is("combine-crash"))
        other_crash();
    if (wrong_is("combine-hang"))
        sleep(1000);
    combine_right(c);
    if (c->count == 0)
        return;
    if (wrong_is("combine-first"))
        ((uint8_t *)c->dst[0])[3] ^= 0x40;
    if (wrong_is("combine-last"))
        ((uint8_t *)c->dst[c->ndst - 1])[4 * c->count - 1] ^= 0x20;
    if (wrong_is("combine-source") && c->src[0] != c->dst[0]) {
        ((uint8_t *)(uintptr_t)c->src[0])[0] ^= 1;
    }
}

static weft_status_t kernel_wrong_select(weft_kernel_t *kernel, weft_dtype_t dtype, weft_op_t op,
                                         weft_combine_fn_t *fn_p)
{
    if (wrong_is("select-number"))
        return (weft_status_t)1;
    if (wrong_is("select-again"))
        return WEFT_AGAIN;
    if (wrong_is("select-mismatch"))
        return WEFT_ERR_MISMATCH;
    if (wrong_is("select-silent"))
        return WEFT_ERR_UNSUPPORTED;
    if (wrong_is("select-nothing"))
        return WEFT_OK;
    weft_status_t status = kernel_right->select(kernel, dtype, op, fn_p);
    if (status == WEFT_OK && dtype == WEFT_FP32) {
        combine_right = *fn_p;
        *fn_p = combine_wrong;
    }
    return status;
}

static const weft_kernel_ops_t ops = {.size = sizeof ops,
                                      .create = kernel_wrong_create,
                                      .destroy = kernel_wrong_destroy,
                                      .props = kernel_wrong_props,
                                      .select = kernel_wrong_select};
#define NAME "kernel-wrong"
#define MAJOR WEFT_ABI_KERNEL_MAJOR
#define MINOR WEFT_ABI_KERNEL_MINOR

#elif OTHER_KIND == 4

static uint64_t calls;

struct weft_tuner {
    const weft_host_t *host;
};

static weft_status_t tuner_wrong_create(const weft_host_t *h, const void *config,
                                        weft_tuner_t **tuner_p)
{
    static weft_tuner_t one;
    weft_status_t status = other_open(h, config);
    status = status == WEFT_OK ? other_mistake() : status;
    if (status != WEFT_OK || wrong_is("create-nothing")) {
        return status;
    }
    weft_tuner_t *tuner = wrong_is("create-shared") ? &one : h->alloc(h, sizeof *tuner, 0);
    if (tuner == NULL) {
        return h->set_error(h, WEFT_ERR_RESOURCE, 0, "out of memory");
    }
    tuner->host = tuner != &one ? h : NULL;
    *tuner_p = tuner;
    return WEFT_OK;
}

static void tuner_wrong_destroy(weft_tuner_t *tuner)
{
    if (wrong_is("destroy-crash"))
        other_crash();
    if (tuner != NULL && tuner->host != NULL)
        tuner->host->free(tuner->host, tuner);
}

static weft_status_t tuner_wrong_choose(weft_tuner_t *tuner, const weft_tuner_call_t *call,
                                        const weft_tuner_candidate_t *candidates, uint32_t count,
                                        weft_tuner_cost_fn_t cost, weft_tuner_choice_t *choice)
{
    (void)tuner;
    (void)cost;
    choice->index = 0;
    choice->slices = 1;
    choice->slice_bytes = call->slot_bytes / 64 * 64;
    strcpy(choice->reason, "the first");
    if (wrong_is("choose-number"))
        return (weft_status_t)77;
    if (wrong_is("choose-again"))
        return WEFT_AGAIN;
    if (wrong_is("choose-mismatch"))
        return WEFT_ERR_MISMATCH;
    if (wrong_is("choose-silent"))
        return WEFT_ERR_UNSUPPORTED;
    if (wrong_is("choose-hang"))
        sleep(1000);
    if (wrong_is("choose-index"))
        choice->index = count;
    if (wrong_is("choose-slices"))
        choice->slices = call->slots;
    if (wrong_is("choose-slices-none"))
        choice->slices = 0;
    if (wrong_is("choose-bytes"))
        choice->slice_bytes = call->slot_bytes + 64;
    if (wrong_is("choose-odd"))
        choice->slice_bytes = 100;
    if (wrong_is("choose-channels"))
        choice->channels = call->channels + 1;
    if (wrong_is("choose-next"))
        choice->next = count;
    if (wrong_is("choose-reason"))
        memset(choice->reason, 'x', sizeof choice->reason);
    if (wrong_is("choose-by-lot") && calls++ % 2 == 1)
        choice->slice_bytes = 64;
    if (wrong_is("choose-by-process"))
        choice->slice_bytes = 64 + 64 * ((uint64_t)getpid() % (call->slot_bytes / 64));
    if (wrong_is("choose-by-rank") && getenv("WEFT_RANK") != NULL)
        choice->slice_bytes -= 64 * (strtoull(getenv("WEFT_RANK"), NULL, 10) % 2);
    if (wrong_is("choose-writes")) {
        ((weft_tuner_candidate_t *)(uintptr_t)candidates)[0].steps++;
    }
    return WEFT_OK;
}

static const char *tuner_wrong_variant(weft_tuner_t *tuner, uint32_t index, const char **origin_p)
{
    (void)tuner;
    (void)origin_p;
    if (wrong_is("variant-crash"))
        other_crash();
    if (wrong_is("variant-hang"))
        sleep(1000);
    if (wrong_is("variant-endless"))
        return "algo-pat:";
    if (wrong_is("variant-no-parameters") && index == 0)
        return "algo-ring";
    return NULL;
}

static const weft_tuner_ops_t ops = {.size = sizeof ops,
                                     .create = tuner_wrong_create,
                                     .destroy = tuner_wrong_destroy,
                                     .choose = tuner_wrong_choose,
                                     .variant = tuner_wrong_variant};
#define NAME "tuner-wrong"
#define MAJOR WEFT_ABI_TUNER_MAJOR
#define MINOR WEFT_ABI_TUNER_MINOR

#else

static const weft_algo_ops_t *algo_right;
static uint64_t other_settings[512];
static uint64_t calls;

static weft_status_t algo_wrong_create(const weft_host_t *h, const void *config,
                                       weft_algo_t **algo_p)
{
    weft_status_t status = other_open(h, config);
    status = status == WEFT_OK ? other_mistake() : status;
    if (status != WEFT_OK || wrong_is("create-nothing")) {
        return status;
    }
    algo_right = right->ops;
    other_defaults(other_settings);
    return algo_right->create(h, other_settings, algo_p);
}

static void algo_wrong_destroy(weft_algo_t *algo)
{
    if (!wrong_is("destroy-nothing")) {
        algo_right->destroy(algo);
    }
}

static weft_status_t algo_wrong_supports(weft_algo_t *algo, const weft_algo_call_t *call)
{
    if (wrong_is("supports-number"))
        return (weft_status_t)2;
    if (wrong_is("supports-crash"))
        other_crash();
    return algo_right->supports(algo, call);
}

/* Says what the right algorithm says, but for one mistake. First the table, by which its functions
 * find the rest. */
typedef struct wrong_plan {
    weft_plan_builder_t builder;
    weft_plan_builder_t *to;
    const weft_algo_call_t *call;
    uint32_t moves;
    uint32_t kept_lane;
    weft_move_t kept;
} wrong_plan_t;

static wrong_plan_t *wrong_plan_of(weft_plan_builder_t *b)
{
    return (wrong_plan_t *)(void *)b;
}

static void plan_wrong_grid(weft_plan_builder_t *b, uint32_t k, uint32_t tmp_chunks)
{
    weft_plan_builder_t *to = wrong_plan_of(b)->to;
    if (!wrong_is("plan-grid-none"))
        to->grid(to, wrong_is("plan-grid") ? k + 1 : k, tmp_chunks);
}

static uint32_t plan_wrong_lane(weft_plan_builder_t *b)
{
    weft_plan_builder_t *to = wrong_plan_of(b)->to;
    uint32_t lane = to->lane(to);
    if (wrong_is("plan-race") && lane == 0) {
        weft_move_t move = {.dst = {weft_out(0, 0)}, .src = {weft_in(0, 0)}, .ndst = 1, .nsrc = 1};
        to->move(to, to->lane(to), &move);
    }
    return lane;
}

static uint32_t plan_wrong_port(weft_plan_builder_t *b, uint32_t lane, uint32_t peer,
                                uint32_t channel, uint32_t sends)
{
    const wrong_plan_t *plan = wrong_plan_of(b);
    if (wrong_is("plan-peer") && plan->call->rank == 0)
        peer = (peer + 1) % plan->call->nranks;
    if (wrong_is("plan-channel"))
        channel += plan->call->rank;
    return plan->to->port(plan->to, lane, peer, channel, sends);
}

static void plan_wrong_change(const wrong_plan_t *plan, weft_move_t *move)
{
    if (wrong_is("plan-final-none"))
        move->flags &= ~WEFT_MOVE_FINAL;
    if (wrong_is("plan-final-all"))
        move->flags |= WEFT_MOVE_FINAL;
    if (wrong_is("plan-port"))
        move->src[0].index += move->src[0].kind == WEFT_OPERAND_PORT ? 50 : 0;
    if (wrong_is("plan-chunk") && plan->call->rank == 1)
        move->dst[0].index += move->dst[0].kind == WEFT_OPERAND_OUT ? 1 : 0;
    if (wrong_is("plan-many") && move->nsrc == 2 && plan->call->nranks > 64 &&
        plan->call->rank == 0)
        move->nsrc = 1;
    if (wrong_is("plan-lost") && move->nsrc == 2 && plan->call->rank == 0)
        move->nsrc = 1;
}

static uint32_t plan_wrong_move(weft_plan_builder_t *b, uint32_t lane,
                                const weft_move_t *right_move)
{
    wrong_plan_t *plan = wrong_plan_of(b);
    weft_move_t move = *right_move;
    uint32_t number = plan->moves++;
    plan_wrong_change(plan, &move);
    if (wrong_is("plan-skip") && number == 1 && plan->call->rank == 0)
        return 0;
    if (wrong_is("plan-double") && number == 0)
        plan->to->move(plan->to, lane, &move);
    if (wrong_is("plan-deadlock") && number == 0) {
        plan->kept = move;
        plan->kept_lane = lane;
        return 0;
    }
    uint32_t pc = plan->to->move(plan->to, lane, &move);
    if (wrong_is("plan-deadlock") && number == 1)
        plan->to->move(plan->to, plan->kept_lane, &plan->kept);
    return pc;
}

static uint32_t plan_wrong_par(weft_plan_builder_t *b, uint32_t lane, uint32_t members)
{
    return wrong_plan_of(b)->to->par(wrong_plan_of(b)->to, lane, members);
}

static uint32_t plan_wrong_loop(weft_plan_builder_t *b, uint32_t lane, uint32_t times)
{
    times += wrong_is("plan-loop") ? 1 : 0;
    return wrong_plan_of(b)->to->loop(wrong_plan_of(b)->to, lane, times);
}

static uint32_t plan_wrong_end(weft_plan_builder_t *b, uint32_t lane)
{
    return wrong_plan_of(b)->to->end(wrong_plan_of(b)->to, lane);
}

static uint32_t plan_wrong_bar(weft_plan_builder_t *b, uint32_t lane, uint64_t mask)
{
    return wrong_plan_of(b)->to->bar(wrong_plan_of(b)->to, lane, mask);
}

static weft_status_t algo_wrong_plan(weft_algo_t *algo, const weft_algo_call_t *call,
                                     const weft_algo_topo_t *topo, weft_plan_builder_t *to)
{
    wrong_plan_t plan = {.builder = {.size = sizeof plan.builder,
                                     .core = to->core,
                                     .grid = plan_wrong_grid,
                                     .lane = plan_wrong_lane,
                                     .port = plan_wrong_port,
                                     .move = plan_wrong_move,
                                     .par = plan_wrong_par,
                                     .loop = plan_wrong_loop,
                                     .end = plan_wrong_end,
                                     .bar = plan_wrong_bar},
                         .to = to,
                         .call = call};
    if (wrong_is("plan-none") && call->rank == 0)
        return WEFT_OK;
    if (wrong_is("plan-refused") && call->rank == 1) {
        return host->set_error(host, WEFT_ERR_UNSUPPORTED, 0, "rank 1 does not take part");
    }
    if (wrong_is("plan-shared")) {
        static weft_algo_call_t shared; /* by all threads */
        shared = *call;
        return algo_right->emit(algo, &shared, topo, &plan.builder);
    }
    return algo_right->emit(algo, call, topo, &plan.builder);
}

static weft_status_t algo_wrong_emit(weft_algo_t *algo, const weft_algo_call_t *call,
                                     const weft_algo_topo_t *topo, weft_plan_builder_t *b)
{
    if (call->params[0] != 0) {
        return host->set_error(host, WEFT_ERR_RESOURCE, 0, "the parameter fail is %lld",
                               (long long)call->params[0]);
    }
    if (wrong_is("emit-number"))
        return (weft_status_t)2;
    if (wrong_is("emit-mismatch"))
        return WEFT_ERR_MISMATCH;
    if (wrong_is("emit-silent"))
        return WEFT_ERR_RESOURCE;
    if (wrong_is("emit-crash"))
        other_crash();
    if (wrong_is("emit-hang"))
        sleep(1000);
    if (wrong_is("emit-exit"))
        exit(0);
    weft_status_t status = algo_wrong_plan(algo, call, topo, b);
    while (wrong_is("emit-endless")) {
        b->bar(b, 0, 1);
    }
    if (wrong_is("emit-by-lot") && calls++ % 2 == 1)
        b->lane(b);
    return status;
}

static const weft_algo_param_t algo_wrong_params[] = {
    {.name = "fail", .help = "emit fails", .min = 0, .max = 3, .value = 0}, {.name = NULL}};
static const weft_algo_ops_t ops = {.size = sizeof ops,
                                    .create = algo_wrong_create,
                                    .destroy = algo_wrong_destroy,
                                    .supports = algo_wrong_supports,
                                    .emit = algo_wrong_emit,
                                    .params = algo_wrong_params};
#define NAME "algo-wrong"
#define MAJOR WEFT_ABI_ALGO_MAJOR
#define MINOR WEFT_ABI_ALGO_MINOR

#endif

static const weft_option_t options[] = {{.name = "right",
                                         .type = WEFT_OPT_STRING,
                                         .offset = offsetof(struct other_config, right),
                                         .value = "",
                                         .help = "path of a plugin without a mistake"},
                                        {.name = "wrong",
                                         .type = WEFT_OPT_STRING,
                                         .offset = offsetof(struct other_config, wrong),
                                         .value = "",
                                         .help = "the mistake to make; empty: none"},
                                        {.name = NULL}};

const weft_plugin_t *weft_plugin_entry(void)
{
    static const weft_plugin_t plugin = {.magic = WEFT_PLUGIN_MAGIC,
                                         .abi_major = MAJOR,
                                         .abi_minor = MINOR,
                                         .size = sizeof plugin,
                                         .kind = OTHER_KIND,
                                         .name = NAME,
                                         .version = "1",
                                         .help = "a plugin with a mistake",
                                         .options = options,
                                         .config_size = sizeof(struct other_config),
                                         .ops = &ops};
    return &plugin;
}
