/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prices. */
#include "tools/plan_price.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <weft/plugin/kernel.h>
#include <weft/plugin/net.h>

#include "core/base/error.h"
#include "core/comm/figures.h"
#include "core/comm/select_price.h"
#include "core/comm/slots.h"
#include "core/plan/meeting.h"
#include "core/plugin/net_props.h"
#include "tools/tool.h"
#include "tools/values.h"

/* Where no transport or kernel can tell: a message over Ethernet, and one core's memory. */
#define ALPHA_DEFAULT 10e-6
#define BETA_DEFAULT (1 / 10e9)
#define GAMMA_DEFAULT (1 / 8e9)
#define SLOT_BYTES_DEFAULT (UINT64_C(512) << 10)
#define SLOT_BYTES_LEAST 64
#define SLOTS_DEFAULT 4

bool price_parse_seconds(const char *what, const char *text, double *value_p)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    char *end = NULL;
    double value = strtod(text, &end);
    for (size_t i = 0; end != text && value >= 0 && value < 1e6 && i < 5; i++) {
        if (strcmp(end, units[i].name) == 0) {
            *value_p = value * units[i].seconds;
            return true;
        }
    }
    tool_usage("%s wants a time such as 1.5us, 300ns or 2e-6 (seconds), got '%s'", what, text);
    return false;
}

bool price_parse_rate(const char *what, const char *text, double *value_p)
{
    static const struct {
        const char *name;
        double bytes;
    } units[] = {{"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}};
    char *end = NULL;
    double value = strtod(text, &end);
    if (end != text && *end == '\0' && value >= 0 && value < 1) {
        *value_p = value;
        return true;
    }
    for (size_t i = 0; end != text && value > 0 && value < 1e12 && i < 4; i++) {
        if (strcmp(end, units[i].name) == 0) {
            *value_p = 1 / (value * units[i].bytes);
            return true;
        }
    }
    tool_usage("%s wants a rate such as 12GB/s, or seconds per byte such as 8e-11, got '%s'", what,
               text);
    return false;
}

static bool plan_price_take_path(price_request_t *price, const char *text)
{
    int path = plan_path_parse(text);
    price->path = path < 0 ? WEFT_KERNEL_PATH_COUNT : (weft_kernel_path_t)path;
    return path >= 0;
}

static bool plan_price_take_slot(price_request_t *price, const char *text)
{
    if (!tool_parse_size("--slot-bytes", text, &price->slot_bytes)) {
        return false;
    }
    if (price->slot_bytes < SLOT_BYTES_LEAST) {
        tool_usage("--slot-bytes must be at least %d", SLOT_BYTES_LEAST);
        return false;
    }
    return true;
}

bool price_option_take(price_request_t *price, int id, const char *text)
{
    switch (id) {
    case 'b':
        return tool_parse_size("--minbytes", text, &price->first);
    case 'e':
        return tool_parse_size("--maxbytes", text, &price->last);
    case 'f':
        return tool_parse_real("--factor", text, 1.01, &price->factor);
    case 'x':
        return price_parse_seconds("--alpha", text, &price->alpha);
    case 'o':
        return price_parse_seconds("--overhead", text, &price->overhead);
    case 'y':
        return price_parse_rate("--beta", text, &price->beta);
    case 'z':
        return price_parse_rate("--gamma", text, &price->gamma);
    case 'P':
        return plan_price_take_path(price, text);
    case 'w':
        price->windows = true;
        return true;
    default:
        return plan_price_take_slot(price, text);
    }
}

/* What the first device says, or what [figures] say of the transport: the line, or NULL. */
static weft_cost_edge_t plan_price_edge(const weft_net_props_t *props, bool local,
                                        const weft_figures_edge_t *line)
{
    const uint64_t told = weft_net_props_overhead(props, local);
    weft_cost_edge_t edge = {.alpha = (double)props->latency_ns * 1e-9,
                             .beta = 1 / (double)weft_net_props_bandwidth(props, local),
                             .overhead = weft_cost_overhead(props->latency_ns, told)};
    if (line != NULL) {
        edge.alpha = line->edge.alpha > 0 ? line->edge.alpha : edge.alpha;
        edge.beta = line->edge.beta > 0 ? line->edge.beta : edge.beta;
        edge.overhead = line->edge.overhead > 0 ? line->edge.overhead : edge.overhead;
    }
    return edge;
}

/* The worst device that a job of that many hosts may use: one host uses the preferred transport. */
static void plan_price_ask_nets(const tool_session_t *session, const weft_figures_t *given,
                                uint32_t nhosts, price_model_t *model, weft_slots_t *asked)
{
    for (uint32_t i = 0;; i++) {
        const weft_loaded_t *loaded = weft_registry_get(session->registry, WEFT_KIND_NET, i);
        if (loaded == NULL || (nhosts == 1 && model->edge.alpha > 0)) {
            return;
        }
        const weft_net_ops_t *ops = loaded->plugin->ops;
        weft_net_props_t props = {.size = sizeof props};
        weft_net_t *net = NULL;
        uint32_t count = 0;
        if (ops->create(loaded->host, loaded->config, &net) != WEFT_OK) {
            continue;
        }
        if (ops->device_count(net, &count) == WEFT_OK && count > 0 &&
            weft_net_props_read(loaded, net, 0, &props) == WEFT_OK) {
            asked->count = props.slots > asked->count ? props.slots : asked->count;
            asked->bytes = props.slot_bytes > asked->bytes ? props.slot_bytes : asked->bytes;
        } else {
            props.latency_ns = 0;
        }
        const char *name = loaded->plugin->name;
        const weft_figures_edge_t *line =
            weft_figures_find(given, name, nhosts == 1 ? WEFT_LEVEL_INSIDE : WEFT_LEVEL_BETWEEN);
        const weft_cost_edge_t edge = plan_price_edge(&props, nhosts == 1, line);
        if (props.latency_ns > 0 && edge.alpha > model->edge.alpha) {
            model->edge = edge;
            model->by_figures = line != NULL;
            snprintf(model->origin, sizeof model->origin, "%s", name);
        }
        ops->destroy(net);
    }
}

/* The slots for each slice of a chunk that the deepest of the loaded algorithms needs. */
static uint32_t plan_price_ask_depth(const tool_session_t *session)
{
    const weft_loaded_t *loaded;
    uint32_t most = 1;
    for (uint32_t i = 0; (loaded = weft_registry_get(session->registry, WEFT_KIND_ALGO, i)) != NULL;
         i++) {
        uint32_t depth = price_depth(loaded);
        most = depth > most ? depth : most;
    }
    return most < WEFT_SLOTS_MOST ? most : WEFT_SLOTS_MOST;
}

uint32_t price_depth(const weft_loaded_t *loaded)
{
    const weft_algo_ops_t *ops = loaded->plugin->ops;
    weft_algo_t *algo = NULL;
    uint32_t depth = 1;
    if (WEFT_HAS(ops, weft_algo_ops_t, depth) &&
        ops->create(loaded->host, loaded->config, &algo) == WEFT_OK) {
        depth = ops->depth(algo);
        ops->destroy(algo);
    }
    return depth > 0 ? depth : 1;
}

static void plan_price_ask_kernel(const tool_session_t *session, const weft_figures_t *given,
                                  price_model_t *model)
{
    const double gamma = given->kernel.gamma[WEFT_FP32];
    const weft_loaded_t *loaded = weft_registry_get(session->registry, WEFT_KIND_KERNEL, 0);
    weft_kernel_props_t props = {.size = sizeof props};
    weft_kernel_t *kernel = NULL;
    if (loaded == NULL) {
        return;
    }
    const weft_kernel_ops_t *ops = loaded->plugin->ops;
    if (ops->create(loaded->host, loaded->config, &kernel) != WEFT_OK) {
        return;
    }
    if (ops->props(kernel, &props) == WEFT_OK && props.bandwidth > 0) {
        size_t at = strlen(model->origin);
        model->gamma = gamma > 0 ? gamma : 1 / (double)props.bandwidth;
        model->by_figures = model->by_figures || gamma > 0;
        snprintf(model->origin + at, sizeof model->origin - at, "%s%s", at > 0 ? " and " : "",
                 loaded->plugin->name);
    }
    ops->destroy(kernel);
}

/* What the command line says of transports is of no use where there are none. */
static weft_status_t plan_price_take_devices(const price_request_t *request,
                                             const tool_session_t *session, uint32_t nhosts,
                                             price_model_t *model)
{
    bool edges = request->alpha >= 0 || request->overhead >= 0 || request->beta >= 0;
    model->path.path = request->path;
    model->path.windows = request->windows;
    if (!plan_path_is_given(&model->path)) {
        return !request->windows
                   ? WEFT_OK
                   : weft_fail(WEFT_ERR_CONFIG, 0, "--windows is for devices: add --path");
    }
    if (edges && nhosts == 1) {
        return weft_fail(WEFT_ERR_CONFIG, 0,
                         "--alpha, --overhead and --beta are of transports, which --path leaves "
                         "none on one host; lines of [figures] change what a path costs");
    }
    weft_status_t status = plan_path_ask(session, &model->path);
    if (status == WEFT_OK && request->gamma >= 0) {
        model->path.gamma = request->gamma;
    }
    return status;
}

/* What the plugins say, or [figures] in their place. */
static weft_status_t plan_price_ask(const tool_session_t *session, uint32_t nhosts,
                                    price_model_t *model, weft_slots_t *slots)
{
    const weft_figures_settings_t *settings = &session->settings.figures;
    const weft_loaded_t *kernel = weft_registry_get(session->registry, WEFT_KIND_KERNEL, 0);
    const weft_figures_names_t names = {session->registry, session->config};
    weft_figures_t given;
    weft_status_t status =
        weft_figures_read(settings->edge, settings->kernel,
                          kernel != NULL ? kernel->plugin->name : "", &names, &given);
    if (status != WEFT_OK) {
        return status;
    }
    plan_price_ask_nets(session, &given, nhosts, model, slots);
    plan_price_ask_kernel(session, &given, model);
    const size_t at = strlen(model->origin);
    snprintf(model->origin + at, sizeof model->origin - at, "%s",
             model->by_figures ? " by [figures]" : "");
    return WEFT_OK;
}

weft_status_t price_model_make(const price_request_t *request, const tool_session_t *session,
                               uint32_t nhosts, price_model_t *model)
{
    *model = (price_model_t){0};
    weft_slots_t slots = {.count = 0};
    weft_status_t status = plan_price_take_devices(request, session, nhosts, model);
    if (status != WEFT_OK) {
        return status;
    }
    if (session != NULL) {
        status = plan_price_ask(session, nhosts, model, &slots);
        if (status != WEFT_OK) {
            return status;
        }
    }
    slots.count = slots.count > 0 ? slots.count : SLOTS_DEFAULT;
    slots.bytes = slots.bytes > 0 ? slots.bytes : SLOT_BYTES_DEFAULT;
    if (session != NULL) {
        slots = weft_slots_choose(&session->settings.exec, slots, plan_price_ask_depth(session));
    }
    if (model->origin[0] == '\0') {
        snprintf(model->origin, sizeof model->origin, "constants");
    }
    model->edge.alpha = request->alpha >= 0     ? request->alpha
                        : model->edge.alpha > 0 ? model->edge.alpha
                                                : ALPHA_DEFAULT;
    if (request->alpha >= 0 || model->edge.overhead <= 0) {
        model->edge.overhead = model->edge.alpha / 4;
    }
    if (request->overhead >= 0) {
        model->edge.overhead = request->overhead;
    }
    model->edge.beta = request->beta >= 0     ? request->beta
                       : model->edge.beta > 0 ? model->edge.beta
                                              : BETA_DEFAULT;
    model->gamma = request->gamma >= 0 ? request->gamma
                   : model->gamma > 0  ? model->gamma
                                       : GAMMA_DEFAULT;
    if (request->alpha >= 0 && request->beta >= 0 && request->gamma >= 0) {
        snprintf(model->origin, sizeof model->origin, "the command line");
    } else if (request->alpha >= 0 || request->overhead >= 0 || request->beta >= 0 ||
               request->gamma >= 0) {
        size_t at = strlen(model->origin);
        snprintf(model->origin + at, sizeof model->origin - at, " and the command line");
    }
    model->slots = slots.count;
    model->slot_bytes = request->slot_bytes != 0 ? request->slot_bytes : slots.bytes;
    return WEFT_OK;
}

uint64_t price_block(weft_coll_t coll, uint32_t nranks, uint64_t size)
{
    uint32_t in = weft_coll_blocks(coll, nranks, WEFT_OPERAND_IN);
    uint32_t out = weft_coll_blocks(coll, nranks, WEFT_OPERAND_OUT);
    uint32_t blocks = in > out ? in : out;
    return (size + blocks - 1) / blocks;
}

weft_cost_model_t price_model_figures(const price_model_t *model)
{
    weft_cost_model_t figures =
        weft_cost_uniform(model->edge.alpha, model->edge.beta, model->gamma, model->edge.overhead);
    if (plan_path_is_given(&model->path)) {
        plan_path_apply(&model->path, &figures);
    }
    return figures;
}

double price_bus_factor(weft_coll_t coll, uint32_t nranks)
{
    double part = (double)(nranks - 1) / nranks;
    switch (coll) {
    case WEFT_ALL_REDUCE:
        return 2 * part;
    case WEFT_BROADCAST:
    case WEFT_REDUCE:
        return 1;
    default:
        return part;
    }
}

/* A call as the core prices it. Nobody waits for a core. */
static weft_priced_t plan_price_of(const price_plan_t *plan, const price_model_t *model)
{
    return (weft_priced_t){.cost = *plan->cost,
                           .model = price_model_figures(model),
                           .crowd = {.ranks = 1, .cores = 1},
                           .slice_most = UINT64_MAX,
                           .slices_most = UINT32_MAX,
                           .k = plan->k,
                           .whole = model->path.windows && plan->meets && plan->nhosts == 1 &&
                                    plan->nranks <= WEFT_MEETING_RANKS};
}

static uint32_t plan_price_channels(const price_plan_t *plan, const price_model_t *model,
                                    uint64_t block)
{
    return plan_path_is_given(&model->path)
               ? weft_price_channels_of(model->path.channels, plan->cost->lanes,
                                        block / model->path.channel_bytes)
               : 1;
}

price_time_t price_time(const price_plan_t *plan, const price_model_t *model, uint64_t size)
{
    const uint64_t block = price_block(plan->coll, plan->nranks, size);
    const uint32_t packed = plan->cost->packed > 1 ? plan->cost->packed : 1;
    const weft_priced_t priced = plan_price_of(plan, model);
    const weft_tuner_call_t call = {
        .coll = plan->coll, .dtype = WEFT_UINT8, .count = block, .bytes = block};
    const weft_tuner_candidate_t candidate = {.core = &priced,
                                              .channels = plan_price_channels(plan, model, block)};
    price_time_t best = {.seconds = INFINITY, .channels = candidate.channels};
    const double room = (double)model->slot_bytes / packed, most = room > 1 ? room : 1;
    const double least = most < SLOT_BYTES_LEAST ? most : SLOT_BYTES_LEAST;
    for (uint32_t slices = 1; slices < plan->slots || slices == 1; slices *= 2) {
        /* Multiples of a cache line, about 19 % apart, or what fits below a line. */
        for (double at = least; at <= most; at *= 1.189207115) {
            uint64_t bytes = (uint64_t)(at + 0.5);
            bytes = bytes < SLOT_BYTES_LEAST ? bytes : bytes / SLOT_BYTES_LEAST * SLOT_BYTES_LEAST;
            double t = weft_price_call(&call, &candidate, slices, bytes * packed);
            if (t < best.seconds) {
                best.seconds = t;
                best.slices = slices;
                best.slice_bytes = bytes;
            }
        }
    }
    best.travel = plan_path_travel(
        weft_price_protocol(&call, &candidate, best.slices, best.slice_bytes * packed),
        weft_price_longest(&call, &candidate, best.slices, best.slice_bytes * packed));
    return best;
}

int price_request_check(const price_request_t *price)
{
    if (price->first == 0 || price->first > price->last) {
        return tool_usage("--minbytes must be at least 1 and at most --maxbytes");
    }
    return TOOL_OK;
}

bool price_next_size(const price_request_t *request, uint64_t *size_p)
{
    if (*size_p == 0) {
        *size_p = request->first;
        return request->first <= request->last;
    }
    double next = (double)*size_p * request->factor;
    if (next > (double)request->last) {
        return false;
    }
    *size_p = (uint64_t)next > *size_p ? (uint64_t)next : *size_p + 1;
    return true;
}

static void plan_price_add_port_chunks(const weft_plan_t *plan, uint64_t *chunks,
                                       price_facts_t *facts)
{
    uint64_t moves = 0;
    for (uint32_t l = 0; l < plan->nlanes; l++) {
        uint64_t times = 1;
        for (uint32_t pc = 0; pc < plan->lanes[l].ncode; pc++) {
            const weft_code_t *code = &plan->lanes[l].code[pc];
            times = code->opcode == WEFT_CODE_LOOP  ? code->n
                    : code->opcode == WEFT_CODE_END ? 1
                                                    : times;
            if (code->opcode != WEFT_CODE_MOVE) {
                continue;
            }
            weft_plan_view_t move = weft_plan_view(plan, code->n);
            uint64_t count = times * move.cnt;
            moves += times;
            facts->touched += count * (move.ndst + move.nsrc);
            facts->packed =
                weft_plan_packs(&move) && move.cnt > facts->packed ? move.cnt : facts->packed;
            for (uint32_t i = 0; i < move.ndst; i++) {
                if (move.dst[i].kind == WEFT_OPERAND_PORT) {
                    chunks[move.dst[i].index] += count;
                    facts->messages += times * weft_plan_messages(&move);
                }
            }
        }
    }
    facts->moves_most = moves > facts->moves_most ? moves : facts->moves_most;
}

typedef struct peer_chunks {
    uint32_t peer;
    uint64_t chunks;
} peer_chunks_t;

static int plan_price_compare_peers(const void *a, const void *b)
{
    const peer_chunks_t *x = a, *y = b;
    return x->peer == y->peer ? 0 : x->peer < y->peer ? -1 : 1;
}

static void plan_price_add_links(const weft_plan_t *plan, const uint64_t *chunks,
                                 peer_chunks_t *peers, price_facts_t *facts)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->nports; i++) {
        if (plan->ports[i].sends) {
            peers[count++] = (peer_chunks_t){.peer = plan->ports[i].peer, .chunks = chunks[i]};
        }
    }
    qsort(peers, count, sizeof *peers, plan_price_compare_peers);
    for (uint32_t i = 0; i < count;) {
        uint64_t sum = 0;
        uint32_t peer = peers[i].peer;
        for (; i < count && peers[i].peer == peer; i++) {
            sum += peers[i].chunks;
        }
        facts->links++;
        facts->chunks += sum;
        if (sum > facts->chunks_most) {
            facts->chunks_most = sum;
            facts->from = plan->rank;
            facts->to = peer;
        }
    }
}

static void plan_price_add_memory(const weft_plan_t *plan, price_facts_t *facts)
{
    uint64_t words = (weft_plan_bytes(plan) + 7) / 8;
    facts->words += words;
    facts->words_most = words > facts->words_most ? words : facts->words_most;
}

#define KEEP_MOST(field, value) ((field) = (value) > (field) ? (value) : (field))

weft_status_t price_facts(weft_plan_t *const *plans, uint32_t nranks, price_facts_t *facts)
{
    *facts = (price_facts_t){.k = plans[0]->k, .packed = 1};
    for (uint32_t r = 0; r < nranks; r++) {
        const weft_plan_t *plan = plans[r];
        uint64_t *chunks = calloc(plan->nports + 1, sizeof *chunks);
        peer_chunks_t *peers = calloc(plan->nports + 1, sizeof *peers);
        if (chunks != NULL && peers != NULL) {
            plan_price_add_port_chunks(plan, chunks, facts);
            plan_price_add_links(plan, chunks, peers, facts);
            plan_price_add_memory(plan, facts);
            KEEP_MOST(facts->ports_most, plan->nports);
            KEEP_MOST(facts->lanes_most, plan->nlanes);
            KEEP_MOST(facts->tmp_most, plan->tmp_chunks);
        }
        bool good = chunks != NULL && peers != NULL;
        free(chunks);
        free(peers);
        if (!good) {
            return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for the figures of a plan");
        }
    }
    return WEFT_OK;
}

const char *price_bytes_text(double bytes, char text[24])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++) {
        bytes /= 1024;
    }
    snprintf(text, 24, "%.4g %s", bytes, units[unit]);
    return text;
}

const char *price_size_text(uint64_t size, char text[24])
{
    return price_bytes_text((double)size, text);
}

const char *price_time_text(double seconds, char text[24])
{
    if (isnan(seconds)) {
        snprintf(text, 24, "-");
    } else if (seconds < 1e-3) {
        snprintf(text, 24, "%.4g us", seconds * 1e6);
    } else if (seconds < 1) {
        snprintf(text, 24, "%.4g ms", seconds * 1e3);
    } else {
        snprintf(text, 24, "%.4g s", seconds);
    }
    return text;
}
