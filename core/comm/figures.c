/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parser of the section [figures]. */
#include "core/comm/figures.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/config/nearest.h"
#include "core/config/number.h"
#include "core/config/option.h"

#define WORD_MAX 96
#define EDGE_WORDS 7u
#define FIGURES_LAUNCH WEFT_FIGURES_RATES /* behind the rates of a kernel */
#define KERNEL_WORDS (WEFT_FIGURES_RATES + 1)
#define EDGE_TIMES 4u  /* of them, the first, are times */
#define RATE_LEAST 1.0 /* bytes per second */
#define RATE_MOST 1e15
#define TIME_HINT ", expected a time such as 300ns, at most 60s"
#define RATE_HINT ", expected a rate such as 7.9GB/s, at most 1000TB/s"

/* A line that is being read. */
typedef struct figures_line {
    const char *key; /* of the option */
    char origin[512];
    const char *next, *end; /* of its value */
    char word[WORD_MAX];
    uint32_t given;                    /* a bit for each word that it has had */
    const weft_figures_names_t *names; /* NULL: any */
} figures_line_t;

static weft_status_t figures_refuse(const figures_line_t *line, const char *what, const char *hint)
{
    return weft_fail(WEFT_ERR_CONFIG, 0, "%s: [figures] %s: %s \"%s\"%s", line->origin, line->key,
                     what, line->word, hint);
}

static weft_status_t figures_refuse_of(const figures_line_t *line, const char *what,
                                       const char *wrong, const char *const *words, uint32_t count)
{
    char hint[100];
    weft_nearest_t nearest;
    weft_nearest_start(&nearest, wrong);
    for (uint32_t i = 0; i < count; i++) {
        weft_nearest_offer(&nearest, words[i], strlen(words[i]));
    }
    weft_nearest_hint(&nearest, "", "", hint, sizeof hint);
    return figures_refuse(line, what, hint);
}

static weft_status_t figures_note_given(figures_line_t *line, uint32_t which)
{
    const uint32_t bit = UINT32_C(1) << which;
    if ((line->given & bit) != 0) {
        return figures_refuse(line, "given twice:", "");
    }
    line->given |= bit;
    return WEFT_OK;
}

/* A file may be shared by hosts that have other plugins: lines of a name that nothing has here say
 * nothing. A name that is one letter away from one that is here is a mistake. */
static weft_status_t figures_check_name(const figures_line_t *line, weft_plugin_kind_t kind,
                                        const char *name)
{
    const weft_figures_names_t *names = line->names;
    const weft_loaded_t *loaded;
    weft_nearest_t nearest;
    if (names == NULL || weft_registry_has_spare(names->registry, kind, name) ||
        weft_config_given(names->config, name, "path")[0] != '\0') {
        return WEFT_OK;
    }
    const char *what = kind == WEFT_KIND_NET ? "transport" : "kernel";
    weft_nearest_start(&nearest, name);
    for (uint32_t i = 0; (loaded = weft_registry_get(names->registry, kind, i)) != NULL; i++) {
        if (strcmp(loaded->plugin->name, name) == 0) {
            return WEFT_OK;
        }
        weft_nearest_offer(&nearest, loaded->plugin->name, strlen(loaded->plugin->name));
    }
    if (nearest.best != NULL && nearest.limit <= 1) {
        char hint[100];
        weft_nearest_hint(&nearest, "", "", hint, sizeof hint);
        return weft_fail(WEFT_ERR_CONFIG, 0, "%s: [figures] %s: no %s is called \"%s\"%s",
                         line->origin, line->key, what, name, hint);
    }
    weft_log(WEFT_LOG_INFO, "config", "%s: [figures] %s: no %s is called \"%s\" here", line->origin,
             line->key, what, name);
    return WEFT_OK;
}

/* Copies the next word; false at the end of the line. A word that is too long is cut, and so is
 * unknown. */
static bool figures_next_word(figures_line_t *line)
{
    while (line->next < line->end && (*line->next == ' ' || *line->next == '\t')) {
        line->next++;
    }
    size_t used = 0;
    for (; line->next < line->end && *line->next != ' ' && *line->next != '\t'; line->next++) {
        if (used + 1 < sizeof line->word) {
            line->word[used++] = *line->next;
        }
    }
    line->word[used] = '\0';
    return used > 0;
}

/* Starts the line at *text_p, which moves behind it. */
static void figures_line_start(figures_line_t *line, const char *key,
                               const weft_figures_names_t *names, const char **text_p)
{
    size_t bytes = strcspn(*text_p, "\n");
    const char *tab = memchr(*text_p, '\t', bytes);
    *line = (figures_line_t){.key = key, .names = names, .next = tab != NULL ? tab + 1 : *text_p};
    line->end = *text_p + bytes;
    snprintf(line->origin, sizeof line->origin, "%.*s", tab != NULL ? (int)(tab - *text_p) : 0,
             *text_p);
    *text_p = line->end + (*line->end == '\n');
}

/* "312ns" as seconds; 0 says nothing. */
static bool figures_read_time(const char *text, double *value_p)
{
    char why[160];
    const weft_option_t option = {.name = "time", .type = WEFT_OPT_DURATION, .max = 60};
    return weft_option_parse(&option, text, value_p, why, sizeof why);
}

/* "7.9GB/s" as seconds per byte. A rate beyond RATE_MOST would vanish in sums, where 0 is "not
 * measured". */
static bool figures_read_rate(const char *text, double *value_p)
{
    static const struct {
        const char *name;
        double bytes;
    } units[] = {{"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}};
    double value = 0;
    const char *rest = NULL;
    if (weft_number_real(text, &value, &rest) != WEFT_NUMBER_OK || !(value > 0)) {
        return false;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(rest, units[i].name) == 0) {
            const double rate = value * units[i].bytes;
            *value_p = 1 / rate;
            return rate >= RATE_LEAST && rate <= RATE_MOST;
        }
    }
    return false;
}

/* Cuts "key=value" into two; NULL if there is no '='. */
static char *figures_cut(char *word)
{
    char *equals = strchr(word, '=');
    if (equals != NULL) {
        *equals = '\0';
    }
    return equals != NULL ? equals + 1 : NULL;
}

static uint32_t figures_index(const char *word, const char *const *words, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && strcmp(word, words[i]) != 0) {
        i++;
    }
    return i;
}

/* In the order of weft_kernel_protocol_t. */
static const char *const figures_protocols[] = {"simple", "ll", "ll128", "whole"};
_Static_assert(sizeof figures_protocols / sizeof figures_protocols[0] == WEFT_KERNEL_PROTOCOL_COUNT,
               "one word for each");

const char *weft_figures_protocol_name(weft_kernel_protocol_t protocol)
{
    return figures_protocols[protocol];
}

/* A protocol, behind the path of a line of a kernel. */
static weft_status_t figures_read_protocol(figures_line_t *line, weft_figures_edge_t *edge)
{
    uint32_t which = figures_index(line->word, figures_protocols, WEFT_KERNEL_PROTOCOL_COUNT);
    if (which == WEFT_KERNEL_PROTOCOL_COUNT) {
        return figures_refuse_of(line, "expected simple, ll, ll128, whole or WORD=VALUE, not",
                                 line->word, figures_protocols, WEFT_KERNEL_PROTOCOL_COUNT);
    }
    edge->protocol = (weft_kernel_protocol_t)which;
    return WEFT_OK;
}

static weft_status_t figures_read_edge_word(figures_line_t *line, weft_figures_edge_t *edge)
{
    static const char *const words[] = {"latency", "overhead",  "turn", "slice",
                                        "work",    "bandwidth", "wire"};
    double *const fields[] = {&edge->edge.alpha, &edge->edge.overhead, &edge->busy.turn,
                              &edge->busy.slice, &edge->busy.beta,     &edge->edge.beta,
                              &edge->wire};
    char word[WORD_MAX];
    memcpy(word, line->word, sizeof word);
    char *value = figures_cut(word);
    uint32_t which = figures_index(word, words, EDGE_WORDS);
    if (value == NULL || which == EDGE_WORDS) {
        return figures_refuse_of(
            line, "expected latency, overhead, turn, slice, work, bandwidth or wire, not", word,
            words, EDGE_WORDS);
    }
    weft_status_t status = figures_note_given(line, which);
    if (status != WEFT_OK) {
        return status;
    }
    bool good = which < EDGE_TIMES ? figures_read_time(value, fields[which])
                                   : figures_read_rate(value, fields[which]);
    return good ? WEFT_OK
                : figures_refuse(line, "bad value,", which < EDGE_TIMES ? TIME_HINT : RATE_HINT);
}

/* Levels of transports, then paths of kernels in the order of weft_kernel_path_t. */
static const char *const figures_levels[] = {"inside", "between", "same", "direct", "bus", "host"};
#define PLACES (WEFT_LEVELS + WEFT_KERNEL_PATH_COUNT)
_Static_assert(sizeof figures_levels / sizeof figures_levels[0] == PLACES, "one word for each");

const char *weft_figures_path_name(weft_kernel_path_t path)
{
    return figures_levels[WEFT_LEVELS + path];
}

static weft_status_t figures_read_place(figures_line_t *line, weft_figures_edge_t *edge)
{
    (void)figures_next_word(line);
    uint32_t place = figures_index(line->word, figures_levels, PLACES);
    if (place == PLACES) {
        return figures_refuse_of(line,
                                 "expected inside or between, or same, direct, bus or host, not",
                                 line->word, figures_levels, PLACES);
    }
    bool path = place >= WEFT_LEVELS;
    edge->level = path ? WEFT_LEVEL_INSIDE : (weft_level_t)place;
    edge->path = path ? (weft_kernel_path_t)(place - WEFT_LEVELS) : WEFT_KERNEL_PATH_COUNT;
    return WEFT_OK;
}

/* A transport has no wire inside a host, and a device no core. */
static weft_status_t figures_check_place(const figures_line_t *line,
                                         const weft_figures_edge_t *edge)
{
    const bool device = edge->path != WEFT_KERNEL_PATH_COUNT;
    if (device && (edge->busy.turn > 0 || edge->busy.slice > 0 || edge->busy.beta > 0)) {
        return figures_refuse(line, "devices take no core:", " is for transports");
    }
    return !device && edge->level == WEFT_LEVEL_INSIDE && edge->wire > 0
               ? figures_refuse(line, "no wire inside a host:", " is for edges between hosts")
               : WEFT_OK;
}

static weft_status_t figures_read_edge(figures_line_t *line, weft_figures_edge_t *edge)
{
    (void)figures_next_word(line);
    snprintf(edge->net, sizeof edge->net, "%.48s", line->word);
    weft_status_t status = figures_read_place(line, edge);
    if (status == WEFT_OK) {
        const bool net = edge->path == WEFT_KERNEL_PATH_COUNT;
        status = figures_check_name(line, net ? WEFT_KIND_NET : WEFT_KIND_KERNEL, edge->net);
    }
    while (status == WEFT_OK && figures_next_word(line)) {
        bool device = edge->path != WEFT_KERNEL_PATH_COUNT;
        status = device && strchr(line->word, '=') == NULL ? figures_read_protocol(line, edge)
                                                           : figures_read_edge_word(line, edge);
        status = status == WEFT_OK ? figures_check_place(line, edge) : status;
    }
    return status;
}

static weft_status_t figures_read_kernel(figures_line_t *line, weft_figures_kernel_t *kernel)
{
    static const char *const words[] = {
#define FIGURES_DTYPE(value, name, bytes, text) [value] = text,
        WEFT_DTYPE_MAP(FIGURES_DTYPE)
#undef FIGURES_DTYPE
            [WEFT_FIGURES_COPY] = "copy",
        [WEFT_FIGURES_MEMORY] = "memory",
        [FIGURES_LAUNCH] = "launch",
    };
    (void)figures_next_word(line);
    snprintf(kernel->kernel, sizeof kernel->kernel, "%.48s", line->word);
    weft_status_t status = figures_check_name(line, WEFT_KIND_KERNEL, kernel->kernel);
    while (status == WEFT_OK && figures_next_word(line)) {
        char word[WORD_MAX];
        memcpy(word, line->word, sizeof word);
        char *value = figures_cut(word);
        uint32_t which = figures_index(word, words, KERNEL_WORDS);
        if (value == NULL || which == KERNEL_WORDS) {
            return figures_refuse_of(line, "expected a data type, copy, memory or launch, not",
                                     word, words, KERNEL_WORDS);
        }
        if (which == FIGURES_LAUNCH && !figures_read_time(value, &kernel->launch)) {
            return figures_refuse(line, "bad value,", TIME_HINT);
        }
        if (which != FIGURES_LAUNCH && !figures_read_rate(value, &kernel->gamma[which])) {
            return figures_refuse(line, "bad value,", RATE_HINT);
        }
        status = figures_note_given(line, which);
    }
    return status;
}

/* Reads the next line into the next edge, of which there is one for each place. */
static weft_status_t figures_take_edge(figures_line_t *line, weft_figures_t *figures)
{
    if (figures->nedges == WEFT_FIGURES_EDGES) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "%s: [figures] more than %d edges", line->origin,
                         WEFT_FIGURES_EDGES);
    }
    weft_figures_edge_t *edge = &figures->edges[figures->nedges++];
    weft_status_t status = figures_read_edge(line, edge);
    for (uint32_t i = 0; status == WEFT_OK && i + 1 < figures->nedges; i++) {
        const weft_figures_edge_t *other = &figures->edges[i];
        if (other->level == edge->level && other->path == edge->path &&
            other->protocol == edge->protocol && strcmp(other->net, edge->net) == 0) {
            snprintf(line->word, sizeof line->word, "%s", edge->net);
            return figures_refuse(line, "a second line for the same edge of", "");
        }
    }
    return status;
}

static weft_status_t figures_take_kernel(figures_line_t *line, const char *kernel,
                                         weft_figures_t *figures)
{
    weft_figures_kernel_t one = {.kernel = ""};
    weft_status_t status = figures_read_kernel(line, &one);
    if (status != WEFT_OK || strcmp(one.kernel, kernel) != 0) {
        return status;
    }
    if (figures->kernel.kernel[0] != '\0') {
        snprintf(line->word, sizeof line->word, "%s", kernel);
        return figures_refuse(line, "a second line for", "");
    }
    figures->kernel = one;
    return WEFT_OK;
}

weft_status_t weft_figures_read(const char *edges, const char *kernels, const char *kernel,
                                const weft_figures_names_t *names, weft_figures_t *figures)
{
    weft_status_t status = WEFT_OK;
    figures_line_t line;
    *figures = (weft_figures_t){0};
    while (status == WEFT_OK && *edges != '\0') {
        figures_line_start(&line, "edge", names, &edges);
        status = figures_take_edge(&line, figures);
    }
    while (status == WEFT_OK && *kernels != '\0') {
        figures_line_start(&line, "kernel", names, &kernels);
        status = figures_take_kernel(&line, kernel, figures);
    }
    return status;
}

const weft_figures_edge_t *weft_figures_find(const weft_figures_t *figures, const char *net,
                                             weft_level_t level)
{
    for (uint32_t i = 0; i < figures->nedges; i++) {
        const weft_figures_edge_t *edge = &figures->edges[i];
        if (edge->level == level && edge->path == WEFT_KERNEL_PATH_COUNT &&
            strcmp(edge->net, net) == 0) {
            return edge;
        }
    }
    return NULL;
}

const weft_figures_edge_t *weft_figures_find_path(const weft_figures_t *figures, const char *kernel,
                                                  weft_kernel_path_t path,
                                                  weft_kernel_protocol_t protocol)
{
    for (uint32_t i = 0; i < figures->nedges; i++) {
        const weft_figures_edge_t *edge = &figures->edges[i];
        if (edge->path == path && edge->protocol == protocol && strcmp(edge->net, kernel) == 0) {
            return edge;
        }
    }
    return NULL;
}
