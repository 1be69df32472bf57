/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The XML of a program, by expat. Elements are algo > gpu > tb > step, ids count from 0 in the
 * order of the file. A document type is refused, and with it every entity that a file could define:
 * what is read is never larger than the file. */
#include "msccl_parse.h"

#include <errno.h>
#include <expat.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "msccl.h"

enum { DEPTH_ALGO, DEPTH_GPU, DEPTH_TB, DEPTH_STEP, DEPTH_MAX };

typedef struct reader {
    msccl_program_t *program;
    XML_Parser parser;
    uint32_t depth; /* elements that are open */
    weft_status_t status;
} reader_t;

static const char *const elements[] = {"algo", "gpu", "tb", "step", NULL};

/* NULL: unknown attributes of `algo` describe things that weft has no use for. */
static const char *const gpu_attributes[] = {"id", "i_chunks", "o_chunks", "s_chunks", NULL};
static const char *const tb_attributes[] = {"id", "send", "recv", "chan", NULL};
static const char *const step_attributes[] = {
    "s", "type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt", "depid", "deps", "hasdep", NULL};

static uint32_t msccl_parse_line_of(const reader_t *reader)
{
    return (uint32_t)XML_GetCurrentLineNumber(reader->parser);
}

static void msccl_parse_refuse(reader_t *reader, const char *format, ...) WEFT_PRINTF(2, 3);

static void msccl_parse_refuse(reader_t *reader, const char *format, ...)
{
    if (reader->status != WEFT_OK) {
        return;
    }
    char why[240];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    reader->status = msccl_fail(reader->program, msccl_parse_line_of(reader), "%s", why);
    XML_StopParser(reader->parser, XML_FALSE);
}

static const char *msccl_parse_find(const char **attributes, const char *name)
{
    for (; *attributes != NULL; attributes += 2) {
        if (strcmp(attributes[0], name) == 0) {
            return attributes[1];
        }
    }
    return NULL;
}

/* A number in [min, max]. */
static int32_t msccl_parse_number(reader_t *reader, const char **attributes, const char *name,
                                  int32_t min, int32_t max)
{
    const char *text = msccl_parse_find(attributes, name);
    if (text == NULL) {
        msccl_parse_refuse(reader, "attribute %s is missing", name);
        return min;
    }
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < min || value > max) {
        msccl_parse_refuse(reader, "%s is \"%.40s\"; a number from %d to %d is expected", name,
                           text, min, max);
        return min;
    }
    return (int32_t)value;
}

static uint32_t msccl_parse_count(reader_t *reader, const char **attributes, const char *name,
                                  uint32_t max)
{
    return (uint32_t)msccl_parse_number(reader, attributes, name, 0, (int32_t)max);
}

static void msccl_parse_check_attributes(reader_t *reader, const char **attributes,
                                         const char *const *known)
{
    for (; *attributes != NULL; attributes += 2) {
        const char *near = msccl_nearest(attributes[0], known);
        if (strcmp(near, attributes[0]) != 0) {
            msccl_parse_refuse(reader, "unknown attribute %.40s of <%s>; the nearest is %s",
                               attributes[0], elements[reader->depth], near);
        }
    }
}

/* Room for one more: capacities are powers of two. */
static void *msccl_parse_grown(reader_t *reader, void *items, uint32_t used, size_t size)
{
    const weft_host_t *host = reader->program->host;
    if (used != 0 && (used < 8 || (used & (used - 1)) != 0)) {
        return items;
    }
    void *more = host->alloc(host, (used == 0 ? 8 : 2 * (size_t)used) * size, 0);
    if (more == NULL) {
        reader->status = WEFT_ERR_RESOURCE;
        XML_StopParser(reader->parser, XML_FALSE);
        return NULL;
    }
    if (used != 0) {
        memcpy(more, items, used * size);
    }
    host->free(host, items);
    return more;
}

static weft_coll_t msccl_parse_read_coll(reader_t *reader, const char **attributes)
{
    static const struct {
        const char *name;
        weft_coll_t coll;
    } known[] = {
        {"allreduce", WEFT_ALL_REDUCE},
        {"allgather", WEFT_ALL_GATHER},
        {"reduce_scatter", WEFT_REDUCE_SCATTER},
        {"reducescatter", WEFT_REDUCE_SCATTER},
        {"alltoall", WEFT_ALL_TO_ALL},
        {"broadcast", WEFT_BROADCAST},
        {"reduce", WEFT_REDUCE},
    };
    const char *names[sizeof known / sizeof *known + 1] = {NULL};
    const char *text = msccl_parse_find(attributes, "coll");
    for (size_t i = 0; text != NULL && i < sizeof known / sizeof *known; i++) {
        names[i] = known[i].name;
        if (strcmp(text, known[i].name) == 0) {
            return known[i].coll;
        }
    }
    if (text == NULL) {
        msccl_parse_refuse(reader, "attribute coll is missing");
    } else if (strcmp(text, "custom") == 0) {
        msccl_parse_refuse(
            reader, "coll is \"custom\": what such a program computes is not in the file, so it "
                    "cannot be checked");
    } else {
        msccl_parse_refuse(reader, "unknown coll \"%.40s\"; the nearest is %s", text,
                           msccl_nearest(text, names));
    }
    return WEFT_ALL_REDUCE;
}

static void msccl_parse_open_algo(reader_t *reader, const char **attributes)
{
    msccl_program_t *program = reader->program;
    program->coll = msccl_parse_read_coll(reader, attributes);
    program->n = (uint32_t)msccl_parse_number(reader, attributes, "ngpus", 2, MSCCL_RANKS_MAX);
    program->loop_chunks =
        (uint32_t)msccl_parse_number(reader, attributes, "nchunksperloop", 1, MSCCL_CHUNKS_MAX);
    program->nchannels = (uint32_t)msccl_parse_number(reader, attributes, "nchannels", 0, 1 << 16);
    program->in_place = msccl_parse_number(reader, attributes, "inplace", 0, 1) == 1;
    program->out_of_place = msccl_parse_find(attributes, "outofplace") != NULL
                                ? msccl_parse_number(reader, attributes, "outofplace", 0, 1) == 1
                                : !program->in_place;
    program->root = MSCCL_NONE;
    if (!program->in_place && !program->out_of_place) {
        msccl_parse_refuse(reader, "inplace and outofplace are both 0: the program serves no call");
    }
}

static void msccl_parse_check_id(reader_t *reader, const char **attributes, const char *name,
                                 uint32_t expected)
{
    uint32_t id = msccl_parse_count(reader, attributes, name, INT32_MAX);
    if (id != expected) {
        msccl_parse_refuse(reader, "%s %s is %u, but the next one is %u", elements[reader->depth],
                           name, id, expected);
    }
}

static void msccl_parse_open_gpu(reader_t *reader, const char **attributes)
{
    msccl_program_t *program = reader->program;
    msccl_parse_check_attributes(reader, attributes, gpu_attributes);
    msccl_parse_check_id(reader, attributes, "id", program->ngpus);
    if (program->ngpus == program->n) {
        msccl_parse_refuse(reader, "gpu %u, but ngpus is %u", program->ngpus, program->n);
    }
    if (reader->status != WEFT_OK) {
        return;
    }
    msccl_gpu_t *gpus = msccl_parse_grown(reader, program->gpus, program->ngpus, sizeof *gpus);
    if (gpus == NULL) {
        return;
    }
    program->gpus = gpus;
    gpus[program->ngpus++] = (msccl_gpu_t){
        .line = msccl_parse_line_of(reader),
        .first = program->ntbs,
        .chunks = {msccl_parse_count(reader, attributes, "i_chunks", MSCCL_CHUNKS_MAX),
                   msccl_parse_count(reader, attributes, "o_chunks", MSCCL_CHUNKS_MAX),
                   msccl_parse_count(reader, attributes, "s_chunks", MSCCL_CHUNKS_MAX)}};
}

static void msccl_parse_open_tb(reader_t *reader, const char **attributes)
{
    msccl_program_t *program = reader->program;
    msccl_gpu_t *gpu = &program->gpus[program->ngpus - 1];
    msccl_parse_check_attributes(reader, attributes, tb_attributes);
    msccl_parse_check_id(reader, attributes, "id", gpu->ntbs);
    if (gpu->ntbs == WEFT_LANE_MAX) {
        msccl_parse_refuse(reader, "gpu %u has more than %d tbs", program->ngpus - 1,
                           WEFT_LANE_MAX);
    }
    msccl_tb_t tb = {.gpu = program->ngpus - 1,
                     .line = msccl_parse_line_of(reader),
                     .first = program->nsteps,
                     .send = msccl_parse_number(reader, attributes, "send", -1, INT32_MAX),
                     .recv = msccl_parse_number(reader, attributes, "recv", -1, INT32_MAX),
                     .channel = msccl_parse_count(reader, attributes, "chan", INT32_MAX),
                     .dummy = MSCCL_NONE};
    if (tb.channel >= program->nchannels) {
        msccl_parse_refuse(reader, "chan is %u, but nchannels is %u", tb.channel,
                           program->nchannels);
    }
    if (reader->status != WEFT_OK) {
        return;
    }
    msccl_tb_t *tbs = msccl_parse_grown(reader, program->tbs, program->ntbs, sizeof *tbs);
    if (tbs != NULL) {
        program->tbs = tbs;
        tbs[program->ntbs++] = tb;
        gpu->ntbs++;
    }
}

static uint8_t msccl_parse_read_type(reader_t *reader, const char **attributes)
{
    const char *names[MSCCL_TYPES + 1] = {NULL};
    const char *text = msccl_parse_find(attributes, "type");
    for (uint32_t i = 0; i < MSCCL_TYPES; i++) {
        names[i] = msccl_acts[i].name;
        if (text != NULL && strcmp(text, names[i]) == 0) {
            return (uint8_t)i;
        }
    }
    if (text == NULL) {
        msccl_parse_refuse(reader, "attribute type is missing");
    } else {
        msccl_parse_refuse(
            reader,
            "unknown step type \"%.40s\"; the nearest is %s (known: s r rcs rrc rrs rrcs "
            "cpy re nop)",
            text, msccl_nearest(text, names));
    }
    return MSCCL_NOP;
}

static uint8_t msccl_parse_read_buffer(reader_t *reader, const char **attributes, const char *name)
{
    const char *text = msccl_parse_find(attributes, name);
    for (uint32_t i = MSCCL_IN; text != NULL && i <= MSCCL_TMP; i++) {
        if (strcmp(text, msccl_buffer_name(i)) == 0) {
            return (uint8_t)i;
        }
    }
    msccl_parse_refuse(reader, "%s is \"%.40s\"; i, o or s is expected", name,
                       text != NULL ? text : "missing");
    return MSCCL_IN;
}

static void msccl_parse_open_step(reader_t *reader, const char **attributes)
{
    msccl_program_t *program = reader->program;
    msccl_tb_t *tb = &program->tbs[program->ntbs - 1];
    msccl_parse_check_attributes(reader, attributes, step_attributes);
    msccl_parse_check_id(reader, attributes, "s", tb->nsteps);
    if (program->nsteps == MSCCL_STEPS_MAX) {
        msccl_parse_refuse(reader, "more than %u steps", MSCCL_STEPS_MAX);
    }
    const uint8_t type = msccl_parse_read_type(reader, attributes);
    msccl_step_t step = {
        .type = type,
        .src_buf = msccl_parse_read_buffer(reader, attributes, "srcbuf"),
        .dst_buf = msccl_parse_read_buffer(reader, attributes, "dstbuf"),
        .src = msccl_parse_number(reader, attributes, "srcoff", -1, INT32_MAX),
        .dst = msccl_parse_number(reader, attributes, "dstoff", -1, INT32_MAX),
        .cnt = msccl_parse_number(reader, attributes, "cnt", type != MSCCL_NOP, MSCCL_CHUNKS_MAX),
        .dep_tb = msccl_parse_number(reader, attributes, "depid", -1, INT32_MAX),
        .dep_step = msccl_parse_number(reader, attributes, "deps", -1, INT32_MAX),
        .line = msccl_parse_line_of(reader)};
    if (reader->status != WEFT_OK) {
        return;
    }
    msccl_step_t *steps = msccl_parse_grown(reader, program->steps, program->nsteps, sizeof *steps);
    if (steps != NULL) {
        program->steps = steps;
        steps[program->nsteps++] = step;
        tb->nsteps++;
    }
}

static void XMLCALL msccl_parse_on_open(void *user, const XML_Char *name,
                                        const XML_Char **attributes)
{
    static void (*const openers[])(reader_t *, const char **) = {
        msccl_parse_open_algo, msccl_parse_open_gpu, msccl_parse_open_tb, msccl_parse_open_step};
    reader_t *reader = user;
    if (reader->status != WEFT_OK) {
        return;
    }
    if (reader->depth == DEPTH_MAX) {
        msccl_parse_refuse(reader, "<%.40s> inside <step>; nothing may stand there", name);
    } else if (strcmp(name, elements[reader->depth]) != 0) {
        msccl_parse_refuse(reader, "<%.40s> where <%s> is expected", name, elements[reader->depth]);
    } else {
        openers[reader->depth](reader, attributes);
        reader->depth++;
    }
}

static void XMLCALL msccl_parse_on_close(void *user, const XML_Char *name)
{
    reader_t *reader = user;
    (void)name;
    reader->depth--;
}

static void XMLCALL msccl_parse_on_doctype(void *user, const XML_Char *name, const XML_Char *system,
                                           const XML_Char *public, int internal)
{
    (void)name, (void)system, (void)public, (void)internal;
    msccl_parse_refuse(user, "a document type (<!DOCTYPE>) and entities are not accepted");
}

static weft_status_t msccl_parse_parsed(reader_t *reader, const char *text, size_t bytes)
{
    const msccl_program_t *program = reader->program;
    XML_SetUserData(reader->parser, reader);
    XML_SetElementHandler(reader->parser, msccl_parse_on_open, msccl_parse_on_close);
    XML_SetStartDoctypeDeclHandler(reader->parser, msccl_parse_on_doctype);
    enum XML_Status good = XML_Parse(reader->parser, text, (int)bytes, 1);
    if (reader->status != WEFT_OK) {
        return reader->status;
    }
    if (good != XML_STATUS_OK) {
        return msccl_fail(program, msccl_parse_line_of(reader), "this is no XML: %s",
                          XML_ErrorString(XML_GetErrorCode(reader->parser)));
    }
    if (program->ngpus != program->n) {
        return msccl_fail(program, msccl_parse_line_of(reader),
                          "ngpus is %u, but %u gpus are in the file: "
                          "gpu %u is missing",
                          program->n, program->ngpus, program->ngpus);
    }
    return WEFT_OK;
}

weft_status_t msccl_parse(msccl_program_t *program, const char *text, size_t bytes)
{
    reader_t reader = {.program = program, .parser = XML_ParserCreate(NULL)};
    if (reader.parser == NULL) {
        return program->host->set_error(program->host, WEFT_ERR_RESOURCE, ENOMEM,
                                        "%s: no memory for an XML parser", program->path);
    }
    weft_status_t status = msccl_parse_parsed(&reader, text, bytes);
    XML_ParserFree(reader.parser);
    return status;
}
