/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin: algorithms that are files. All files are read and checked when the instance is
 * created, so that a broken one is known before the first call. */
#include <stdio.h>
#include <string.h>

#include "file.h"
#include "file_plans.h"
#include "file_source.h"
#include "msccl_emit.h"

#define HELD_MAX 400u /* letters of the list of what is held */

typedef struct file_config {
    const char *files;
} file_config_t;

struct weft_algo {
    const weft_host_t *host;
    const weft_plan_text_service_t *service; /* NULL until a text needs it */
    file_source_t *sources;
    file_plans_t *plans;
    uint64_t stamp;
};

static const weft_option_t file_options[] = {
    {.name = "files",
     .type = WEFT_OPT_STRING,
     .offset = offsetof(file_config_t, files),
     .value = "",
     .help = "files with plans or MSCCL XML programs, separated by blanks; \"a path with blanks\""},
    {.name = NULL},
};

static void file_destroy(weft_algo_t *algo)
{
    if (algo == NULL) {
        return;
    }
    const weft_host_t *host = algo->host;
    while (algo->plans != NULL) {
        file_plans_t *plans = algo->plans;
        algo->plans = plans->next;
        file_plans_destroy(host, plans);
    }
    while (algo->sources != NULL) {
        file_source_t *source = algo->sources;
        algo->sources = source->next;
        file_source_close(host, source);
    }
    host->free(host, algo);
}

static bool algo_file_is_xml(const file_source_t *source)
{
    size_t at = source->bytes > 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < source->bytes && strchr(" \t\r\n", source->text[at]) != NULL &&
           source->text[at] != '\0') {
        at++;
    }
    return at < source->bytes && source->text[at] == '<';
}

static weft_status_t algo_file_read_text(weft_algo_t *algo, const file_source_t *source)
{
    const weft_host_t *host = algo->host;
    if (algo->service == NULL) {
        algo->service = host->get_service(host, WEFT_SERVICE_PLAN_TEXT);
    }
    if (algo->service == NULL) {
        return host->set_error(host, WEFT_ERR_UNSUPPORTED, 0,
                               "%s: this core has no service %s to read it with", source->path,
                               WEFT_SERVICE_PLAN_TEXT);
    }
    return file_text_read(host, algo->service, source, &algo->plans);
}

static weft_status_t add_file(weft_algo_t *algo, const char *path, size_t length)
{
    file_source_t *source = NULL;
    weft_status_t status = file_source_open(algo->host, path, length, &source);
    if (status != WEFT_OK) {
        return status;
    }
    source->next = algo->sources;
    algo->sources = source;
    algo->stamp = (algo->stamp << 7 | algo->stamp >> 57) ^ source->hash;
    return algo_file_is_xml(source) ? file_msccl_read(algo->host, source, &algo->plans)
                                    : algo_file_read_text(algo, source);
}

/* Adds the file whose path begins at *at_p, and goes behind it. */
static weft_status_t algo_file_take(weft_algo_t *algo, const char **at_p)
{
    const bool quoted = **at_p == '"';
    const char *path = *at_p + quoted;
    const size_t length = strcspn(path, quoted ? "\"" : " \t");
    if (quoted && path[length] == '\0') {
        return algo->host->set_error(algo->host, WEFT_ERR_CONFIG, 0,
                                     "[algo-file] files: the quote before \"%.200s\" has no end",
                                     path);
    }
    *at_p = path + length + quoted;
    return add_file(algo, path, length);
}

static weft_status_t file_create(const weft_host_t *host, const void *config, weft_algo_t **algo_p)
{
    const file_config_t *settings = config;
    const char *at = settings != NULL && settings->files != NULL ? settings->files : "";
    weft_algo_t *algo = host->alloc(host, sizeof *algo, 0);
    if (algo == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    algo->host = host;
    for (at += strspn(at, " \t"); *at != '\0'; at += strspn(at, " \t")) {
        weft_status_t status = algo_file_take(algo, &at);
        if (status != WEFT_OK) {
            file_destroy(algo);
            return status;
        }
    }
    *algo_p = algo;
    return WEFT_OK;
}

static const file_plans_t *algo_file_find(const weft_algo_t *algo, const weft_algo_call_t *call)
{
    const file_plans_t *plans = algo->plans;
    while (plans != NULL && (plans->coll != call->coll || plans->nranks != call->nranks ||
                             (weft_algo_coll_is_rooted(call->coll) && plans->root != call->root))) {
        plans = plans->next;
    }
    return plans;
}

/* "all_reduce over 4, broadcast over 8 from root 2". */
static void algo_file_describe_held(const weft_algo_t *algo, char *text, size_t bytes)
{
    size_t used = 0;
    for (const file_plans_t *plans = algo->plans; plans != NULL; plans = plans->next) {
        char root[32] = "";
        if (weft_algo_coll_is_rooted(plans->coll)) {
            snprintf(root, sizeof root, " with root %u", plans->root);
        }
        int more = snprintf(text + used, bytes - used, "%s%s over %u%s", used == 0 ? "" : ", ",
                            weft_algo_coll_text(plans->coll), plans->nranks, root);
        if (more < 0 || (size_t)more >= bytes - used) {
            break;
        }
        used += (size_t)more;
    }
}

static weft_status_t file_supports(weft_algo_t *algo, const weft_algo_call_t *call)
{
    char held[HELD_MAX] = "nothing: [algo-file] files is empty";
    if (algo_file_find(algo, call) != NULL) {
        return WEFT_OK;
    }
    algo_file_describe_held(algo, held, sizeof held);
    return algo->host->set_error(algo->host, WEFT_ERR_UNSUPPORTED, 0,
                                 "no file holds %s over %u ranks; held: %s",
                                 weft_algo_coll_text(call->coll), call->nranks, held);
}

static weft_status_t file_emit(weft_algo_t *algo, const weft_algo_call_t *call,
                               const weft_algo_topo_t *topo, weft_plan_builder_t *builder)
{
    (void)topo;
    weft_status_t status = file_supports(algo, call);
    if (status != WEFT_OK) {
        return status;
    }
    const file_plans_t *plans = algo_file_find(algo, call);
    if (plans->source->program != NULL) {
        msccl_emit(plans->source->program, call->rank, builder);
        return WEFT_OK;
    }
    const weft_plan_text_t text = file_text_of(plans->source);
    return algo->service->write(algo->host, &text, &plans->heads[call->rank], builder);
}

static uint64_t file_stamp(weft_algo_t *algo)
{
    return algo->stamp;
}

/* Elsewhere a step moves as one piece, and the other side need not take it in the middle. */
static uint32_t file_depth(weft_algo_t *algo)
{
    uint32_t depth = 1;
    for (const file_source_t *source = algo->sources; source != NULL; source = source->next) {
        uint32_t longest = source->program != NULL ? msccl_longest_send(source->program) : 1;
        depth = longest > depth ? longest : depth;
    }
    return depth;
}

static const weft_algo_ops_t file_ops = {
    .size = sizeof file_ops,
    .create = file_create,
    .destroy = file_destroy,
    .supports = file_supports,
    .emit = file_emit,
    .stamp = file_stamp,
    .depth = file_depth,
};

const weft_plugin_t *weft_plugin_entry(void)
{
    static const weft_plugin_t plugin = {
        .magic = WEFT_PLUGIN_MAGIC,
        .abi_major = WEFT_ABI_ALGO_MAJOR,
        .abi_minor = WEFT_ABI_ALGO_MINOR,
        .size = sizeof plugin,
        .kind = WEFT_KIND_ALGO,
        .name = "algo-file",
        .version = "1",
        .help = "plans from files: weft's own text form, or MSCCL XML",
        .options = file_options,
        .config_size = sizeof(file_config_t),
        .ops = &file_ops,
    };
    return &plugin;
}
