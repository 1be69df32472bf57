/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Texts of many plans: cuts a text at its `plan` lines, has the parser read one part, and says a
 * plan that was read to a builder again. */
#include "core/plan/text.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/plan_parse.h"

static const char *text_line_end(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline != NULL ? newline + 1 : end;
}

static bool text_begins_plan(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    return end - at >= 4 && memcmp(at, "plan", 4) == 0 &&
           (end - at == 4 || (!isalnum((unsigned char)at[4]) && at[4] != '_'));
}

/* The part goes up to the second `plan` line; what stands before the first belongs to it. */
static size_t text_part_length(const char *text, const char *end)
{
    const char *at = text;
    uint32_t plans = 0;
    for (; at < end; at = text_line_end(at, end)) {
        plans += (uint32_t)text_begins_plan(at, end);
        if (plans == 2) {
            break;
        }
    }
    return (size_t)(at - text);
}

static uint32_t text_lines_in(const char *text, size_t bytes)
{
    uint32_t lines = 0;
    for (const char *at = text; at < text + bytes; at = text_line_end(at, text + bytes)) {
        lines++;
    }
    return lines;
}

static weft_status_t text_parse_part(const weft_plan_text_t *text, size_t offset, size_t bytes,
                                     uint32_t line, weft_plan_t **plan_p)
{
    const char *zero = memchr(text->text + offset, '\0', bytes);
    if (zero != NULL) {
        line += text_lines_in(text->text + offset, (size_t)(zero - (text->text + offset)) + 1) - 1;
        return weft_fail(WEFT_ERR_PLAN, 0, "%s:%u: a byte of value 0; a plan is text", text->name,
                         line);
    }
    char *copy = weft_os_alloc(bytes + 1, 0);
    if (copy == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "%s: no memory for %zu bytes", text->name,
                         bytes + 1);
    }
    memcpy(copy, text->text + offset, bytes);
    weft_status_t status = weft_plan_parse_part(copy, text->name, line, plan_p);
    weft_os_free(copy);
    return status;
}

static weft_status_t text_next(const weft_host_t *host, const weft_plan_text_t *text,
                               weft_plan_text_entry_t *entry)
{
    (void)host;
    size_t offset = entry->offset + entry->bytes;
    uint32_t line = entry->bytes == 0
                        ? 1
                        : entry->line + text_lines_in(text->text + entry->offset, entry->bytes);
    if (entry->bytes != 0 && offset == text->bytes) {
        *entry = (weft_plan_text_entry_t){.size = entry->size};
        return WEFT_OK;
    }
    size_t bytes = text_part_length(text->text + offset, text->text + text->bytes);
    weft_plan_t *plan = NULL;
    weft_status_t status = text_parse_part(text, offset, bytes, line, &plan);
    if (status != WEFT_OK) {
        return status;
    }
    *entry = (weft_plan_text_entry_t){.size = entry->size,
                                      .coll = plan->coll,
                                      .nranks = plan->nranks,
                                      .rank = plan->rank,
                                      .root = plan->root,
                                      .line = line,
                                      .offset = offset,
                                      .bytes = bytes};
    weft_plan_destroy(plan);
    return WEFT_OK;
}

static void text_write_code(const weft_plan_t *plan, uint32_t lane, const weft_code_t *code,
                            weft_plan_builder_t *builder)
{
    weft_plan_view_t view;
    weft_move_t move;
    switch (code->opcode) {
    case WEFT_CODE_MOVE:
        view = weft_plan_view(plan, code->n);
        move = weft_plan_expand(&view);
        builder->move(builder, lane, &move);
        break;
    case WEFT_CODE_PAR:
        builder->par(builder, lane, code->n);
        break;
    case WEFT_CODE_LOOP:
        builder->loop(builder, lane, code->n);
        break;
    case WEFT_CODE_END:
        builder->end(builder, lane);
        break;
    case WEFT_CODE_BAR:
        builder->bar(builder, lane, code->mask);
        break;
    default: /* the builder adds STOP */
        break;
    }
}

static void text_write_plan(const weft_plan_t *plan, weft_plan_builder_t *builder)
{
    builder->grid(builder, plan->k, plan->tmp_chunks);
    for (uint32_t lane = 0; lane < plan->nlanes; lane++) {
        builder->lane(builder);
    }
    for (uint32_t i = 0; i < plan->nports; i++) {
        const weft_plan_port_t *port = &plan->ports[i];
        uint32_t number =
            builder->port(builder, port->lane, port->peer, port->channel, port->sends);
        builder->along(builder, number, port->way);
    }
    for (uint32_t lane = 0; lane < plan->nlanes; lane++) {
        for (uint32_t pc = 0; pc < plan->lanes[lane].ncode; pc++) {
            text_write_code(plan, lane, &plan->lanes[lane].code[pc], builder);
        }
    }
}

static weft_status_t text_write(const weft_host_t *host, const weft_plan_text_t *text,
                                const weft_plan_text_entry_t *entry,
                                struct weft_plan_builder *builder)
{
    (void)host;
    weft_plan_t *plan = NULL;
    weft_status_t status = text_parse_part(text, entry->offset, entry->bytes, entry->line, &plan);
    if (status != WEFT_OK) {
        return status;
    }
    text_write_plan(plan, builder);
    weft_plan_destroy(plan);
    return WEFT_OK;
}

const weft_plan_text_service_t *weft_plan_text_service(void)
{
    static const weft_plan_text_service_t service = {
        .size = sizeof service, .next = text_next, .write = text_write};
    return &service;
}
