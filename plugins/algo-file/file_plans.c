/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files hold: the plans of all ranks of some shapes, each shape once. */
#include "file_plans.h"

#include <string.h>

#include "file.h"
#include "msccl_read.h"

/* The plans found in one text. */
typedef struct found {
    weft_plan_text_entry_t *heads;
    uint32_t count;
} found_t;

weft_plan_text_t file_text_of(const file_source_t *source)
{
    return (weft_plan_text_t){.size = sizeof(weft_plan_text_t),
                              .name = source->path,
                              .text = source->text,
                              .bytes = source->bytes};
}

/* Puts plans in front, unless the list has some of the same shape. */
static weft_status_t file_plans_add(const weft_host_t *host, file_plans_t *plans,
                                    file_plans_t **list_p)
{
    for (const file_plans_t *other = *list_p; other != NULL; other = other->next) {
        if (other->coll == plans->coll && other->nranks == plans->nranks &&
            other->root == plans->root) {
            return host->set_error(host, WEFT_ERR_PLAN, 0,
                                   "%s: holds %s over %u ranks with root %u, which %s holds too; "
                                   "list one of them",
                                   plans->source->path, weft_algo_coll_text(plans->coll),
                                   plans->nranks, plans->root, other->source->path);
        }
    }
    plans->next = *list_p;
    *list_p = plans;
    return WEFT_OK;
}

void file_plans_destroy(const weft_host_t *host, file_plans_t *plans)
{
    if (plans != NULL) {
        host->free(host, plans->heads);
        host->free(host, plans);
    }
}

static weft_status_t file_plans_find_all(const weft_host_t *host,
                                         const weft_plan_text_service_t *service,
                                         const weft_plan_text_t *text, found_t *found)
{
    weft_plan_text_entry_t entry = {.size = sizeof entry};
    for (;;) {
        weft_status_t status = service->next(host, text, &entry);
        if (status != WEFT_OK || entry.bytes == 0) {
            return status;
        }
        if ((found->count & (found->count - 1)) == 0) {
            uint32_t room = found->count == 0 ? 1 : 2 * found->count;
            weft_plan_text_entry_t *more = host->alloc(host, room * sizeof *more, 0);
            if (more == NULL) {
                return WEFT_ERR_RESOURCE;
            }
            if (found->count != 0) {
                memcpy(more, found->heads, found->count * sizeof *more);
            }
            host->free(host, found->heads);
            found->heads = more;
        }
        entry.root = weft_algo_coll_is_rooted(entry.coll) ? entry.root : 0;
        found->heads[found->count++] = entry;
    }
}

static bool file_plans_same_shape(const weft_plan_text_entry_t *a, const weft_plan_text_entry_t *b)
{
    return a->coll == b->coll && a->nranks == b->nranks && a->root == b->root;
}

/* Sorts the plans of the shape of heads[first] by rank and takes them out of the list (bytes 0). */
static weft_status_t file_plans_take_shape(const weft_host_t *host, const file_source_t *source,
                                           found_t *found, uint32_t first, file_plans_t *plans)
{
    const weft_plan_text_entry_t shape = found->heads[first];
    for (uint32_t i = first; i < found->count; i++) {
        weft_plan_text_entry_t *entry = &found->heads[i];
        if (entry->bytes == 0 || !file_plans_same_shape(entry, &shape)) {
            continue;
        }
        if (plans->heads[entry->rank].bytes != 0) {
            return host->set_error(host, WEFT_ERR_PLAN, 0,
                                   "%s:%u: a second plan of rank %u of %s over %u ranks; the first "
                                   "is at line %u",
                                   source->path, entry->line, entry->rank,
                                   weft_algo_coll_text(entry->coll), entry->nranks,
                                   plans->heads[entry->rank].line);
        }
        plans->heads[entry->rank] = *entry;
        entry->bytes = 0;
    }
    for (uint32_t rank = 0; rank < shape.nranks; rank++) {
        if (plans->heads[rank].bytes == 0) {
            return host->set_error(host, WEFT_ERR_PLAN, 0,
                                   "%s:%u: %s over %u ranks, but the plan of rank %u is missing",
                                   source->path, shape.line, weft_algo_coll_text(shape.coll),
                                   shape.nranks, rank);
        }
    }
    return WEFT_OK;
}

static weft_status_t file_plans_add_shape(const weft_host_t *host, const file_source_t *source,
                                          found_t *found, uint32_t first, file_plans_t **list_p)
{
    const weft_plan_text_entry_t *entry = &found->heads[first];
    if (entry->nranks > found->count) {
        return host->set_error(host, WEFT_ERR_PLAN, 0,
                               "%s:%u: %s over %u ranks, but the file holds %u plans; those of all "
                               "ranks are needed",
                               source->path, entry->line, weft_algo_coll_text(entry->coll),
                               entry->nranks, found->count);
    }
    file_plans_t *plans = host->alloc(host, sizeof *plans, 0);
    if (plans == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    weft_status_t status = WEFT_ERR_RESOURCE;
    *plans = (file_plans_t){
        .coll = entry->coll, .nranks = entry->nranks, .root = entry->root, .source = source};
    plans->heads = host->alloc(host, plans->nranks * sizeof *plans->heads, 0);
    if (plans->heads == NULL) {
        goto err_plans;
    }
    status = file_plans_take_shape(host, source, found, first, plans);
    status = status != WEFT_OK ? status : file_plans_add(host, plans, list_p);
    if (status != WEFT_OK) {
        goto err_plans;
    }
    return WEFT_OK;
err_plans:
    file_plans_destroy(host, plans);
    return status;
}

weft_status_t file_text_read(const weft_host_t *host, const weft_plan_text_service_t *service,
                             const file_source_t *source, file_plans_t **list_p)
{
    const weft_plan_text_t text = file_text_of(source);
    found_t found = {.count = 0};
    weft_status_t status = file_plans_find_all(host, service, &text, &found);
    for (uint32_t i = 0; i < found.count && status == WEFT_OK; i++) {
        if (found.heads[i].bytes != 0) {
            status = file_plans_add_shape(host, source, &found, i, list_p);
        }
    }
    host->free(host, found.heads);
    return status;
}

weft_status_t file_msccl_read(const weft_host_t *host, file_source_t *source, file_plans_t **list_p)
{
    weft_status_t status =
        msccl_read(host, source->path, source->text, source->bytes, &source->program);
    if (status != WEFT_OK) {
        return status;
    }
    file_plans_t *plans = host->alloc(host, sizeof *plans, 0);
    if (plans == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    *plans = (file_plans_t){.coll = source->program->coll,
                            .nranks = source->program->n,
                            .root = source->program->root,
                            .source = source};
    status = file_plans_add(host, plans, list_p);
    if (status != WEFT_OK) {
        file_plans_destroy(host, plans);
    }
    return status;
}
