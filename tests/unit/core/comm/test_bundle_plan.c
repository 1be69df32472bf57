/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans of bundles: which lane moves which message, through which port. */
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/comm/bundle_plan.h"
#include "tests/support/unit.h"

/* Writes the plan in words: lanes by "|", what progresses together in "()", "3>p0" message 3 into
 * port 0. */
static void write_operand(char *text, size_t bytes, const weft_plan_operand_t *o)
{
    const char *kind = o->kind == WEFT_OPERAND_PORT ? "p" : o->kind == WEFT_OPERAND_IN ? "i" : "o";
    snprintf(text + strlen(text), bytes - strlen(text), "%s%u", kind, o->index);
}

static const char *words_of(const weft_plan_t *plan)
{
    static char text[512];
    text[0] = '\0';
    for (uint32_t l = 0; l < plan->nlanes; l++) {
        const weft_plan_lane_t *lane = &plan->lanes[l];
        for (uint32_t pc = 0; pc < lane->ncode; pc++) {
            const weft_code_t *c = &lane->code[pc];
            if (c->opcode == WEFT_CODE_PAR) {
                snprintf(text + strlen(text), sizeof text - strlen(text), "%u:", c->n);
            } else if (c->opcode == WEFT_CODE_STOP) {
                strcat(text, l + 1 < plan->nlanes ? "|" : "");
            } else {
                const weft_plan_operand_t *o = &plan->operands[plan->moves[c->n].operand];
                write_operand(text, sizeof text, &o[1]);
                strcat(text, ">");
                write_operand(text, sizeof text, &o[0]);
                strcat(text, " ");
            }
        }
    }
    return text;
}

static const weft_bundle_entry_t entries[] = {{1, 1, 1}, {2, 0, 1}, {0, 1, 1},
                                              {1, 0, 1}, {0, 0, 1}, {2, 1, 1}};
enum { ENTRIES = sizeof entries / sizeof entries[0] };

static void each_peer_and_direction_has_a_lane(void **state)
{
    weft_bundle_plan_t *x = NULL;
    (void)state;
    assert_int_equal(weft_bundle_plan_create(entries, ENTRIES, 0, 16, 16, &x), WEFT_OK);
    assert_string_equal(words_of(&x->plan), "i0>p0 |p1>o1 |i2>o4 |p2>o3 |i5>p3 ");
    assert_int_equal(x->plan.nports, 4);
    for (uint32_t p = 0; p < 4; p++) {
        static const weft_bundle_entry_t of[] = {{1, 1, 1}, {2, 0, 1}, {1, 0, 1}, {2, 1, 1}};
        assert_int_equal(x->plan.ports[p].peer, of[p].peer);
        assert_int_equal(x->plan.ports[p].sends, of[p].sends);
    }
    assert_true(weft_bundle_plan_is_of(x, entries, ENTRIES));
    assert_false(weft_bundle_plan_is_of(x, entries, ENTRIES - 1));
    assert_false(weft_bundle_plan_is_of(x, entries + 1, ENTRIES - 1));
    weft_bundle_plan_destroy(x);
    weft_bundle_plan_destroy(NULL);
}

static void few_lanes_take_several_at_once(void **state)
{
    weft_bundle_plan_t *x = NULL;
    (void)state;
    assert_int_equal(weft_bundle_plan_create(entries, ENTRIES, 0, 2, 16, &x), WEFT_OK);
    assert_string_equal(words_of(&x->plan), "3:i0>p0 i2>o4 i5>p1 |2:p2>o1 p3>o3 ");
    weft_bundle_plan_destroy(x);
}

static void messages_of_one_peer_and_direction_are_one_behind_the_other(void **state)
{
    static const weft_bundle_entry_t several[] = {{1, 1, 1}, {1, 0, 1}, {1, 1, 1}, {0, 0, 1},
                                                  {0, 1, 1}, {0, 1, 1}, {0, 0, 1}};
    weft_bundle_plan_t *x = NULL;
    (void)state;
    assert_int_equal(weft_bundle_plan_create(several, 7, 0, 3, 16, &x), WEFT_OK);
    assert_string_equal(words_of(&x->plan), "i0>p0 i2>p0 |p1>o1 |i4>o3 i5>o6 ");
    weft_bundle_plan_destroy(x);
    x = NULL;
    assert_int_equal(weft_bundle_plan_create(several, 7, 0, 2, 16, &x), WEFT_ERR_UNSUPPORTED);
    assert_non_null(strstr(weft_error_record()->text, "3 peers and directions"));
    assert_null(x);
}

/* "2.1/4": of the lanes that share the message, which; of how many ports. */
static const char *shares_of(const weft_plan_t *plan)
{
    static char text[512];
    text[0] = '\0';
    for (uint32_t i = 0; i < plan->nmoves; i++) {
        const weft_plan_move_t *m = &plan->moves[i];
        const weft_plan_operand_t *o = &plan->operands[m->operand];
        o += o->kind != WEFT_OPERAND_PORT;
        snprintf(text + strlen(text), sizeof text - strlen(text), "%u.%u/%d ", m->cnt, m->after,
                 o->kind == WEFT_OPERAND_PORT ? o->stride : 0);
    }
    return text;
}

static void lanes_that_are_left_share_long_messages(void **state)
{
    static const weft_bundle_entry_t some[] = {{1, 1, 4}, {2, 0, 1}, {1, 1, 2},
                                               {0, 1, 2}, {1, 1, 1}, {0, 0, 2}};
    weft_bundle_plan_t *x = NULL;
    (void)state;
    assert_int_equal(weft_bundle_plan_create(some, 6, 0, 7, 16, &x), WEFT_OK);
    /* Four for rank 1, which has four stripes, two for what it sends to itself. */
    assert_string_equal(words_of(&x->plan),
                        "i0>p0 i2>p0 i4>p0 |i0>p0 i2>p0 |i0>p0 |i0>p0 |p4>o1 |i3>o5 |i3>o5 ");
    assert_string_equal(shares_of(&x->plan), "4.0/4 2.0/2 1.0/1 4.1/4 2.1/2 4.2/4 4.3/4 1.0/1 "
                                             "2.0/0 2.1/0 ");
    assert_int_equal(x->plan.nports, 5);
    for (uint32_t p = 0; p < 4; p++) {
        assert_int_equal(x->plan.ports[p].channel, p);
        assert_int_equal(x->plan.ports[p].lane, p);
    }
    assert_int_equal(x->plan.ports[4].channel, 0);
    assert_int_equal(x->plan.ports[4].lane, 4);
    weft_bundle_plan_destroy(x);
}

static void a_lane_has_several_stripes_where_there_are_few(void **state)
{
    static const weft_bundle_entry_t some[] = {{1, 1, 4}, {1, 0, 4}, {1, 1, 1}};
    weft_bundle_plan_t *x = NULL;
    (void)state;
    assert_int_equal(weft_bundle_plan_create(some, 3, 0, 3, 16, &x), WEFT_OK);
    assert_string_equal(words_of(&x->plan), "i0>p0 i2>p0 |i0>p0 |p4>o1 ");
    assert_string_equal(shares_of(&x->plan), "2.0/4 1.0/1 2.1/4 1.0/4 ");
    for (uint32_t p = 0; p < 8; p++) {
        assert_int_equal(x->plan.ports[p].channel, p % 4);
        assert_int_equal(x->plan.ports[p].lane, p < 4 ? p % 2 : 2);
    }
    weft_bundle_plan_destroy(x);
    x = NULL;
    /* A device that has no room for more keeps a lane for each queue. */
    assert_int_equal(weft_bundle_plan_create(some, 3, 0, 16, 1, &x), WEFT_OK);
    assert_string_equal(words_of(&x->plan), "i0>p0 i2>p0 |p4>o1 ");
    assert_string_equal(shares_of(&x->plan), "1.0/4 1.0/1 1.0/4 ");
    weft_bundle_plan_destroy(x);
    x = NULL;
    /* In one lane there is one message of each queue at most. */
    assert_int_equal(weft_bundle_plan_create(some, 2, 0, 1, 16, &x), WEFT_OK);
    assert_string_equal(words_of(&x->plan), "2:i0>p0 p4>o1 ");
    weft_bundle_plan_destroy(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_that_are_left_share_long_messages),
        cmocka_unit_test(a_lane_has_several_stripes_where_there_are_few),
        cmocka_unit_test(each_peer_and_direction_has_a_lane),
        cmocka_unit_test(few_lanes_take_several_at_once),
        cmocka_unit_test(messages_of_one_peer_and_direction_are_one_behind_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
