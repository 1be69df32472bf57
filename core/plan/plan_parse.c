/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the text that plan_print.c writes, through the builder, so that a plan from a file passes
 * the same checks as one from a plugin. */
#include "core/plan/plan_parse.h"

#include <ctype.h>
#include <string.h>

#include <weft/weft.h>

#include "core/base/error.h"
#include "core/config/nearest.h"
#include "core/plan/builder.h"

#define WORD_MAX 24

typedef struct parser {
    const char *name; /* of the text in errors, or NULL */
    const char *at;   /* after the current token */
    const char *token;
    size_t length; /* 0: end of the line */
    uint32_t line;
    uint32_t lane, nlanes, nports;
    uint32_t plan_line;
    weft_plan_spot_t sought; /* an instruction whose line is wanted */
    uint32_t sought_line;
    bool has_lane, has_plan;
    weft_plan_draft_t draft;
    weft_status_t status;
} parser_t;

static const char *const keywords[] = {
    "plan",    "port",    "lane",  "move",  "par",    "loop",  "end",    "bar",
    "in",      "out",     "tmp",   "count", "like",   "final", "after",  "ranks",
    "rank",    "root",    "lanes", "send",  "chunks", "to",    "from",   "stop",
    "receive", "channel", "along", "back",  "ring",   "chain", "packed",
};

static void plan_parse_complain(parser_t *parser, const char *format, ...) WEFT_PRINTF(2, 3);

static void plan_parse_complain(parser_t *parser, const char *format, ...)
{
    if (parser->status != WEFT_OK) {
        return;
    }
    char why[200];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    parser->status =
        parser->name == NULL
            ? weft_fail(WEFT_ERR_PLAN, 0, "line %u: %s", parser->line, why)
            : weft_fail(WEFT_ERR_PLAN, 0, "%s:%u: %s", parser->name, parser->line, why);
}

static bool plan_parse_is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The next token of this line: a word, a number, "<-", or one other character. */
static void plan_parse_advance(parser_t *parser)
{
    const char *at = parser->at;
    while (*at == ' ' || *at == '\t' || *at == '\r') {
        at++;
    }
    parser->token = at;
    if (*at == '\0' || *at == '\n' || *at == '#') {
        parser->length = 0;
    } else if (at[0] == '<' && at[1] == '-') {
        at += 2;
    } else if (!plan_parse_is_word(*at)) {
        at++;
    } else {
        while (plan_parse_is_word(*at)) {
            at++;
        }
    }
    parser->length = (size_t)(at - parser->token);
    parser->at = at;
}

static bool plan_parse_at_text(const parser_t *parser, const char *text)
{
    return parser->length == strlen(text) && memcmp(parser->token, text, parser->length) == 0;
}

static bool plan_parse_accept(parser_t *parser, const char *text)
{
    if (!plan_parse_at_text(parser, text)) {
        return false;
    }
    plan_parse_advance(parser);
    return true;
}

/* Returns the word that is most like the token, however little that is. */
static const char *plan_parse_nearest(const parser_t *parser, const char *const *words,
                                      size_t count)
{
    weft_nearest_t best = {
        .wanted = parser->token, .bytes = parser->length, .limit = SIZE_MAX, .best = words[0]};
    for (size_t i = 0; i < count; i++) {
        weft_nearest_offer(&best, words[i], strlen(words[i]));
    }
    return best.best;
}

static void plan_parse_unknown(parser_t *parser, const char *wanted)
{
    int length = (int)(parser->length < 40 ? parser->length : 40);
    const char *nearest = "";
    if (length != 0 && plan_parse_is_word(parser->token[0]) &&
        !isdigit((unsigned char)parser->token[0]) && parser->length <= WORD_MAX) {
        nearest = plan_parse_nearest(parser, keywords, sizeof keywords / sizeof *keywords);
    }
    if (length == 0) {
        plan_parse_complain(parser, "the line ends where %s is expected", wanted);
    } else if (nearest[0] != '\0' && !plan_parse_at_text(parser, nearest)) {
        plan_parse_complain(parser, "`%.*s` where %s is expected; the nearest word is `%s`", length,
                            parser->token, wanted, nearest);
    } else {
        plan_parse_complain(parser, "`%.*s` where %s is expected", length, parser->token, wanted);
    }
}

static void plan_parse_expect(parser_t *parser, const char *text)
{
    if (parser->status == WEFT_OK && !plan_parse_accept(parser, text)) {
        char wanted[WORD_MAX + 3];
        snprintf(wanted, sizeof wanted, "`%.*s`", WORD_MAX, text);
        plan_parse_unknown(parser, wanted);
    }
}

/* No word is near to a number. */
static void plan_parse_not_a_number(parser_t *parser)
{
    int length = (int)(parser->length < 40 ? parser->length : 40);
    plan_parse_complain(parser, "`%.*s` where a number is expected", length, parser->token);
}

static uint32_t plan_parse_expect_number(parser_t *parser)
{
    uint64_t value = 0;
    if (parser->status != WEFT_OK) {
        return 0;
    }
    for (size_t i = 0; i < parser->length; i++) {
        if (!isdigit((unsigned char)parser->token[i])) {
            plan_parse_not_a_number(parser);
            return 0;
        }
        value = value > UINT32_MAX ? value : value * 10 + (uint64_t)(parser->token[i] - '0');
    }
    if (parser->length == 0 || value > UINT32_MAX) {
        plan_parse_unknown(parser, "a number below 2^32");
        return 0;
    }
    plan_parse_advance(parser);
    return (uint32_t)value;
}

static uint32_t plan_parse_expect_field(parser_t *parser, const char *name)
{
    plan_parse_expect(parser, name);
    return plan_parse_expect_number(parser);
}

static weft_coll_t plan_parse_expect_coll(parser_t *parser)
{
    const char *names[WEFT_COLL_COUNT];
    for (uint32_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        names[coll] = weft_coll_name((weft_coll_t)coll);
        if (plan_parse_accept(parser, names[coll])) {
            return (weft_coll_t)coll;
        }
    }
    int length = (int)(parser->length < WORD_MAX ? parser->length : WORD_MAX);
    parser->length = (size_t)length;
    plan_parse_complain(parser, "unknown collective `%.*s`; the nearest is `%s`", length,
                        parser->token, plan_parse_nearest(parser, names, WEFT_COLL_COUNT));
    return WEFT_COLL_COUNT;
}

static void parse_plan(parser_t *parser)
{
    if (parser->has_plan) {
        plan_parse_complain(parser, "a second `plan`; one text is the plan of one rank");
        return;
    }
    parser->plan_line = parser->line;
    weft_algo_call_t call = {.size = sizeof call, .coll = plan_parse_expect_coll(parser)};
    call.nranks = plan_parse_expect_field(parser, "ranks");
    call.rank = plan_parse_expect_field(parser, "rank");
    call.root = plan_parse_expect_field(parser, "root");
    uint32_t chunks = plan_parse_expect_field(parser, "chunks");
    uint32_t tmp = plan_parse_expect_field(parser, "tmp");
    parser->nlanes = plan_parse_expect_field(parser, "lanes");
    if (parser->status != WEFT_OK) {
        return;
    }
    parser->status = weft_plan_builder_init(&parser->draft, &call);
    parser->has_plan = parser->status == WEFT_OK;
    weft_plan_builder_t *builder = &parser->draft.builder;
    if (parser->has_plan) {
        builder->grid(builder, chunks, tmp);
    }
    for (uint32_t i = 0; parser->has_plan && i < parser->nlanes && i <= WEFT_LANE_MAX; i++) {
        builder->lane(builder);
    }
}

/* Returns the way behind `along`; 0 where there is none. */
static uint32_t parse_way(parser_t *parser)
{
    if (!plan_parse_accept(parser, "along")) {
        return 0;
    }
    uint32_t flags = plan_parse_accept(parser, "back") ? WEFT_PLAN_WAY_BACK : 0;
    if (plan_parse_accept(parser, "chain")) {
        flags |= WEFT_PLAN_WAY_CHAIN;
    } else {
        plan_parse_expect(parser, "ring");
    }
    uint32_t number = plan_parse_expect_number(parser);
    if (parser->status == WEFT_OK && number >= WEFT_PLAN_WAY_ORDERS) {
        plan_parse_complain(parser, "way %u, the last one is %u", number, WEFT_PLAN_WAY_ORDERS - 1);
    }
    return flags | ((number + 1) & WEFT_PLAN_WAY_ORDER_MASK);
}

static void parse_port(parser_t *parser)
{
    weft_plan_builder_t *builder = &parser->draft.builder;
    uint32_t number = plan_parse_expect_number(parser);
    uint32_t lane = plan_parse_expect_field(parser, "lane");
    uint32_t sends = (uint32_t)plan_parse_accept(parser, "send");
    if (!sends && !plan_parse_accept(parser, "receive")) {
        plan_parse_unknown(parser, "`send` or `receive`");
    }
    uint32_t peer = plan_parse_expect_field(parser, sends ? "to" : "from");
    uint32_t channel = plan_parse_expect_field(parser, "channel");
    uint32_t way = parse_way(parser);
    if (parser->status == WEFT_OK && number != parser->nports) {
        plan_parse_complain(parser, "port %u, but the next one is port %u", number, parser->nports);
    }
    if (parser->status == WEFT_OK) {
        builder->along(builder, builder->port(builder, lane, peer, channel, sends), way);
        parser->nports++;
    }
}

static void parse_lane(parser_t *parser)
{
    parser->lane = plan_parse_expect_number(parser);
    parser->has_lane = true;
    if (parser->status == WEFT_OK && parser->lane >= parser->nlanes) {
        plan_parse_complain(parser, "lane %u, but the plan has %u", parser->lane, parser->nlanes);
    }
}

static int32_t parse_stride(parser_t *parser)
{
    bool minus = plan_parse_accept(parser, "-");
    if (!minus && !plan_parse_accept(parser, "+")) {
        return 0;
    }
    uint32_t size = plan_parse_expect_number(parser);
    if (size > INT32_MAX) {
        plan_parse_complain(parser, "stride %u is too large", size);
        return 0;
    }
    return minus ? -(int32_t)size : (int32_t)size;
}

static weft_operand_t parse_operand(parser_t *parser)
{
    weft_operand_t operand = {WEFT_OPERAND_NONE, 0, 0};
    if (parser->status != WEFT_OK) {
        return operand;
    }
    if (plan_parse_accept(parser, "port")) {
        return weft_port(plan_parse_expect_number(parser));
    }
    operand.kind = plan_parse_accept(parser, "in")    ? WEFT_OPERAND_IN
                   : plan_parse_accept(parser, "out") ? WEFT_OPERAND_OUT
                   : plan_parse_accept(parser, "tmp") ? WEFT_OPERAND_TMP
                                                      : WEFT_OPERAND_NONE;
    if (operand.kind == WEFT_OPERAND_NONE) {
        plan_parse_unknown(parser, "in, out, tmp or port");
    }
    plan_parse_expect(parser, "[");
    operand.index = plan_parse_expect_number(parser);
    operand.stride = parse_stride(parser);
    plan_parse_expect(parser, "]");
    return operand;
}

static uint32_t parse_operands(parser_t *parser, weft_operand_t operands[WEFT_MOVE_MAX])
{
    uint32_t count = 0;
    do {
        weft_operand_t operand = parse_operand(parser);
        if (count == WEFT_MOVE_MAX) {
            plan_parse_complain(parser, "more than %d operands on one side", WEFT_MOVE_MAX);
            return count;
        }
        operands[count++] = operand;
    } while (parser->status == WEFT_OK && plan_parse_accept(parser, ","));
    return count;
}

static void parse_after(parser_t *parser, weft_move_t *move)
{
    do {
        if (move->nafter == WEFT_AFTER_MAX) {
            plan_parse_complain(parser, "more than %d waits", WEFT_AFTER_MAX);
            return;
        }
        weft_after_t *after = &move->after[move->nafter++];
        after->lane = plan_parse_expect_number(parser);
        plan_parse_expect(parser, ":");
        after->pc = plan_parse_expect_number(parser);
    } while (parser->status == WEFT_OK && parser->length != 0 &&
             isdigit((unsigned char)parser->token[0]));
}

enum { SUFFIX_COUNT, SUFFIX_PACKED, SUFFIX_LIKE, SUFFIX_FINAL, SUFFIX_AFTER, SUFFIXES };
static const char *const suffixes[] = {"count", "packed", "like", "final", "after"};

/* Takes the word of a suffix that the MOVE does not have yet; `given` has a bit for each. */
static uint32_t parse_suffix(parser_t *parser, uint32_t *given)
{
    uint32_t suffix = 0;
    while (suffix < SUFFIXES && !plan_parse_accept(parser, suffixes[suffix])) {
        suffix++;
    }
    if (suffix < SUFFIXES && (*given >> suffix & 1) != 0) {
        plan_parse_complain(parser, "a second `%s`", suffixes[suffix]);
    }
    *given |= 1u << suffix;
    return suffix;
}

static void parse_move(parser_t *parser)
{
    weft_move_t move = {.cnt = 1};
    uint32_t given = 0;
    move.ndst = parse_operands(parser, move.dst);
    plan_parse_expect(parser, "<-");
    move.nsrc = parse_operands(parser, move.src);
    while (parser->status == WEFT_OK && parser->length != 0) {
        switch (parse_suffix(parser, &given)) {
        case SUFFIX_COUNT:
            move.cnt = plan_parse_expect_number(parser);
            if (parser->status == WEFT_OK && move.cnt == 0) {
                plan_parse_complain(parser, "count 0, but a move has at least one chunk");
            }
            break;
        case SUFFIX_PACKED:
            move.flags |= WEFT_MOVE_PACKED;
            break;
        case SUFFIX_LIKE:
            move.like = parse_operand(parser);
            break;
        case SUFFIX_FINAL:
            move.flags |= WEFT_MOVE_FINAL;
            break;
        case SUFFIX_AFTER:
            parse_after(parser, &move);
            break;
        default:
            plan_parse_unknown(parser, "count, packed, like, final or after");
        }
    }
    if (parser->status == WEFT_OK) {
        parser->draft.builder.move(&parser->draft.builder, parser->lane, &move);
    }
}

static void parse_bar(parser_t *parser)
{
    uint64_t mask = 0;
    do {
        uint32_t lane = plan_parse_expect_number(parser);
        if (lane >= WEFT_LANE_MAX) {
            plan_parse_complain(parser, "lane %u, at most %d exist", lane, WEFT_LANE_MAX);
            return;
        }
        mask |= UINT64_C(1) << lane;
    } while (parser->status == WEFT_OK && plan_parse_accept(parser, ","));
    if (parser->status == WEFT_OK) {
        parser->draft.builder.bar(&parser->draft.builder, parser->lane, mask);
    }
}

static void parse_instruction(parser_t *parser)
{
    weft_plan_builder_t *builder = &parser->draft.builder;
    const weft_plan_spot_t *sought = &parser->sought;
    if (sought->known && parser->lane == sought->lane &&
        parser->draft.plan->lanes[parser->lane].ncode == sought->pc) {
        parser->sought_line = parser->line;
    }
    if (plan_parse_accept(parser, "move")) {
        parse_move(parser);
    } else if (plan_parse_accept(parser, "par")) {
        builder->par(builder, parser->lane, plan_parse_expect_number(parser));
    } else if (plan_parse_accept(parser, "loop")) {
        builder->loop(builder, parser->lane, plan_parse_expect_number(parser));
    } else if (plan_parse_accept(parser, "end")) {
        builder->end(builder, parser->lane);
    } else if (plan_parse_accept(parser, "bar")) {
        parse_bar(parser);
    } else {
        plan_parse_unknown(parser, "an instruction");
    }
}

/* "3: move …": the number is for people, but a wrong one is a mistake. */
static void parse_label(parser_t *parser)
{
    if (!isdigit((unsigned char)parser->token[0])) {
        return;
    }
    uint32_t pc = plan_parse_expect_number(parser);
    plan_parse_expect(parser, ":");
    uint32_t next = parser->has_lane && parser->has_plan && parser->status == WEFT_OK
                        ? parser->draft.plan->lanes[parser->lane].ncode
                        : pc;
    if (pc != next) {
        plan_parse_complain(parser, "label %u, but this is instruction %u of the lane", pc, next);
    }
}

static void parse_line(parser_t *parser)
{
    plan_parse_advance(parser);
    if (parser->length == 0) {
        return;
    }
    parse_label(parser);
    if (parser->status != WEFT_OK) {
        return;
    }
    if (plan_parse_accept(parser, "plan")) {
        parse_plan(parser);
    } else if (!parser->has_plan) {
        plan_parse_unknown(parser, "`plan`");
    } else if (plan_parse_accept(parser, "port")) {
        parse_port(parser);
    } else if (plan_parse_accept(parser, "lane")) {
        parse_lane(parser);
    } else if (parser->has_lane) {
        parse_instruction(parser);
    } else {
        plan_parse_unknown(parser, "`port` or `lane`");
    }
    if (parser->status == WEFT_OK && parser->length != 0) {
        plan_parse_unknown(parser, "the end of the line");
    }
    if (parser->status == WEFT_OK && parser->has_plan && parser->draft.status != WEFT_OK) {
        plan_parse_complain(parser, "%s", parser->draft.why);
    }
}

static void plan_parse_lines(parser_t *parser)
{
    while (parser->status == WEFT_OK && *parser->at != '\0') {
        parser->line++;
        parse_line(parser);
        parser->at += strcspn(parser->at, "\n");
        parser->at += *parser->at == '\n';
    }
}

static void plan_parse_fini(parser_t *parser)
{
    if (parser->has_plan) {
        weft_plan_draft_fini(&parser->draft);
    }
}

/* Returns the line of an instruction of a text whose lines can all be read. Since that is asked for
 * only once, when the plan is refused, the text is read again. */
static uint32_t plan_parse_line_of(const char *text, uint32_t line, const weft_plan_spot_t *spot)
{
    parser_t parser = {.at = text, .line = line - 1, .sought = *spot};
    plan_parse_lines(&parser);
    plan_parse_fini(&parser);
    return parser.sought_line;
}

/* What is wrong with a plan as a whole has no line of its own: it gets that of the plan. */
static void plan_parse_finish(parser_t *parser, const char *text, uint32_t line,
                              weft_plan_t **plan_p)
{
    parser->status = weft_plan_draft_finish(&parser->draft, plan_p);
    if (parser->status == WEFT_OK || parser->name == NULL) {
        return;
    }
    char why[300];
    snprintf(why, sizeof why, "%.299s", weft_error_record()->text);
    uint32_t at =
        parser->draft.spot.known ? plan_parse_line_of(text, line, &parser->draft.spot) : 0;
    weft_fail(parser->status, 0, "%s:%u: %s", parser->name, at != 0 ? at : parser->plan_line, why);
}

weft_status_t weft_plan_parse(const char *text, weft_plan_t **plan_p)
{
    return weft_plan_parse_part(text, NULL, 1, plan_p);
}

weft_status_t weft_plan_parse_part(const char *text, const char *name, uint32_t line,
                                   weft_plan_t **plan_p)
{
    parser_t parser = {.name = name, .at = text, .line = line - 1};
    plan_parse_lines(&parser);
    if (!parser.has_plan && parser.status == WEFT_OK) {
        plan_parse_complain(&parser, "the text has no `plan` line");
    }
    if (parser.status == WEFT_OK) {
        plan_parse_finish(&parser, text, line, plan_p);
    }
    plan_parse_fini(&parser);
    return parser.status;
}
