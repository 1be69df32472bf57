/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MSCCL XML: the example programs are proved, steps become the MOVEs they mean, mistakes are named
 * with their line. */
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plan/plan_parse.h"
#include "core/plan/plan_print.h"
#include "tests/support/plan_files.h"
#include "tests/support/unit.h"

static char *text_of(const plan_fixture_t *fixture, weft_coll_t coll, uint32_t nranks,
                     uint32_t root, uint32_t rank)
{
    weft_plan_t **plans = plan_fixture_emit(fixture, coll, nranks, root);
    if (plans == NULL) {
        fail_msg("%s", weft_error_record()->text);
    }
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    weft_plan_print(plans[rank], out);
    fclose(out);
    plan_fixture_free(plans, nranks);
    return text;
}

static void expect_text(const char *program, weft_coll_t coll, uint32_t nranks, uint32_t root,
                        uint32_t rank, const char *words)
{
    plan_fixture_t fixture;
    if (plan_files_open_text(&fixture, program) != WEFT_OK) {
        fail_msg("%s", weft_error_record()->text);
    }
    char *text = text_of(&fixture, coll, nranks, root, rank);
    assert_says(text, words);
    free(text);
    int most = strstr(program, "inplace=\"1\"") != NULL;
    for (int in_place = 0; in_place <= most; in_place++) {
        weft_verify_report_t report =
            plan_files_verify(&fixture, coll, nranks, root, 4, 2, in_place);
        if (report.verdict != WEFT_VERDICT_OK) {
            fail_msg("in place %d: %s", in_place, report.text);
        }
    }
    plan_fixture_close(&fixture);
}

static void examples_are_proved(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        weft_coll_t coll;
        uint32_t root;
    } cases[] = {
        {"allpairs-all-reduce-4.xml", WEFT_ALL_REDUCE, 0},
        {"ring-all-gather-4.xml", WEFT_ALL_GATHER, 0},
        {"ring-reduce-scatter-4.xml", WEFT_REDUCE_SCATTER, 0},
        {"pairs-all-to-all-4.xml", WEFT_ALL_TO_ALL, 0},
        {"chain-broadcast-4-root-1.xml", WEFT_BROADCAST, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[512];
        plan_fixture_t fixture;
        snprintf(path, sizeof path, "%s%s", PLAN_FILES_EXAMPLES, cases[i].file);
        assert_int_equal(plan_files_open(&fixture, path), WEFT_OK);
        for (int in_place = 0; in_place <= 1; in_place++) {
            weft_verify_report_t report =
                plan_files_verify(&fixture, cases[i].coll, 4, cases[i].root, 4, 2, in_place);
            if (report.verdict != WEFT_VERDICT_OK) {
                fail_msg("%s: %s", cases[i].file, report.text);
            }
            assert_true(report.same_on_all_ranks);
        }
        plan_fixture_close(&fixture);
    }
}

static void other_programs_ask_for_no_depth(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    assert_int_equal(plan_files_open(&fixture, PLAN_FILES_EXAMPLES "ring-all-gather-4.xml"),
                     WEFT_OK);
    assert_int_equal(fixture.ops->depth(fixture.algo), 1);
    plan_fixture_close(&fixture);
}

static void the_exchange_hangs_where_a_queue_is_too_short(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    assert_int_equal(plan_files_open(&fixture, PLAN_FILES_EXAMPLES "hangs-all-reduce-2.xml"),
                     WEFT_OK);
    for (uint32_t slots = 2; slots <= 20; slots++) {
        for (uint32_t slices = 1; slices <= 2; slices++) {
            weft_verify_report_t report =
                plan_files_verify(&fixture, WEFT_ALL_REDUCE, 2, 0, slots, slices, 0);
            assert_int_equal(fixture.ops->depth(fixture.algo), 8);
            assert_int_equal(report.verdict,
                             slots >= 8 * slices ? WEFT_VERDICT_OK : WEFT_VERDICT_DEADLOCK);
            if (report.verdict != WEFT_VERDICT_OK) {
                assert_non_null(strstr(report.text, "rank 0 lane 0 pc 0"));
                assert_non_null(strstr(report.text, "slot to rank 1"));
            }
        }
    }
    plan_fixture_close(&fixture);
}

#define STEP(s, type, sb, so, db, d, cnt, depid, deps)                                             \
    "<step s=\"" #s "\" type=\"" type "\" srcbuf=\"" sb "\" srcoff=\"" #so "\" dstbuf=\"" db       \
    "\" dstoff=\"" #d "\" cnt=\"" #cnt "\" depid=\"" #depid "\" deps=\"" #deps                     \
    "\" hasdep=\"0\"/>\n"
#define ALGO(coll, n, chunks, in, out)                                                             \
    "<algo name=\"t\" proto=\"LL\" nchannels=\"2\" nchunksperloop=\"" #chunks "\" ngpus=\"" #n     \
    "\" coll=\"" coll "\" inplace=\"" #in "\" outofplace=\"" #out                                  \
    "\" minBytes=\"0\" maxBytes=\"64\">\n"
#define GPU(id, i, o, s)                                                                           \
    "<gpu id=\"" #id "\" i_chunks=\"" #i "\" o_chunks=\"" #o "\" s_chunks=\"" #s "\">\n"
#define TB(id, send, recv, chan)                                                                   \
    "<tb id=\"" #id "\" send=\"" #send "\" recv=\"" #recv "\" chan=\"" #chan "\">\n"
#define NOP(s, depid, deps) STEP(s, "nop", "i", -1, "o", -1, 0, depid, deps)

/* In place the own block of an all-gather lies in the output from the start. */
static void an_in_place_gather_copies_its_own_block(void **state)
{
    (void)state;
#define AG(id, peer, mine, theirs)                                                                 \
    GPU(id, 0, 4, 0)                                                                               \
    TB(0, peer, peer, 1)                                                                           \
    STEP(0, "s", "o", mine, "o", mine, 2, -1, -1)                                                  \
    STEP(1, "r", "o", theirs, "o", theirs, 2, -1, -1) "</tb></gpu>"
    static const char program[] =
        ALGO("allgather", 2, 4, 1, 0) AG(0, 1, 0, 2) AG(1, 0, 2, 0) "</algo>";
    expect_text(program, WEFT_ALL_GATHER, 2, 0, 1,
                "lane 0\n"
                "   0: move port 0 <- in[0] count 2\n"
                "   1: move out[0] <- port 1 count 2\n"
                "   2: move out[2] <- in[0] count 2\n");
}

/* What an in-place program writes over parts of its input that are no output lands in scratch. */
static void overwritten_input_that_is_no_output_becomes_scratch(void **state)
{
    (void)state;
#define RS(id, peer, mine, theirs)                                                                 \
    GPU(id, 2, 0, 1)                                                                               \
    TB(0, peer, peer, 0)                                                                           \
    STEP(0, "s", "i", theirs, "i", theirs, 1, -1, -1)                                              \
    STEP(1, "r", "i", theirs, "i", theirs, 1, -1, -1)                                              \
    STEP(2, "re", "i", theirs, "i", mine, 1, -1, -1) "</tb></gpu>"
    static const char program[] =
        ALGO("reduce_scatter", 2, 2, 1, 0) RS(0, 1, 0, 1) RS(1, 0, 1, 0) "</algo>";
    expect_text(program, WEFT_REDUCE_SCATTER, 2, 0, 1,
                "tmp 2 lanes 1\n"
                "port 0 lane 0 send to 0 channel 0\n"
                "port 1 lane 0 receive from 0 channel 0\n"
                "lane 0\n"
                "   0: move port 0 <- in[0]\n"
                "   1: move tmp[1] <- port 1 like in[1]\n"
                "   2: move out[0] <- in[1], tmp[1] final\n");
}

static void the_root_of_a_reduce_is_found(void **state)
{
    (void)state;
    static const char program[] = ALGO("reduce", 3, 1, 0, 1) GPU(0, 1, 1, 0) TB(0, 2, -1, 0)
        STEP(0, "s", "i", 0, "o", 0, 1, -1, -1) "</tb></gpu>" GPU(1, 1, 1, 0) TB(0, -1, 2, 1)
            STEP(0, "rrc", "i", 0, "o", 0, 1, -1, -1) "</tb></gpu>" GPU(2, 1, 1, 0) TB(0, 1, -1, 1)
                STEP(0, "s", "s", 0, "o", 0, 1, 1, 0) "</tb>" TB(1, -1, 0, 0)
                    STEP(0, "rrc", "i", 0, "s", 0, 1, -1, -1) "</tb></gpu></algo>";
    char fixed[sizeof program];
    memcpy(fixed, program, sizeof fixed);
    /* gpu 2 needs a chunk of scratch */
    char *at = strstr(strstr(fixed, "<gpu id=\"2\""), "s_chunks=\"0");
    at[strlen("s_chunks=\"")] = '1';
    expect_text(fixed, WEFT_REDUCE, 3, 1, 1, "move out[0] <- port 0, in[0] final\n");
    expect_text(fixed, WEFT_REDUCE, 3, 1, 2, "   0: move port 0 <- tmp[0] like in[0] after 1:0\n");
}

/* Waits of nops go to the next step; waiting for a nop is waiting for what stands before it and for
 * what it waits for. */
static void nops_carry_waits(void **state)
{
    (void)state;
#define AR(id, peer)                                                                               \
    GPU(id, 1, 1, 2)                                                                               \
    TB(0, peer, -1, 0)                                                                             \
    STEP(0, "s", "i", 0, "s", 0, 1, -1, -1)                                                        \
    NOP(1, 1, 0)                                                                                   \
    "</tb>" TB(1, -1, peer, 0) STEP(0, "r", "i", 0, "s", 0, 1, -1, -1) "</tb>" TB(2, -1, -1, 0)    \
        STEP(0, "cpy", "i", 0, "o", 0, 1, -1, -1) "</tb>" TB(3, -1, -1, 1) NOP(0, 0, 1)            \
            STEP(1, "re", "s", 0, "o", 0, 1, 2, 0) "</tb></gpu>"
    static const char program[] = ALGO("allreduce", 2, 1, 0, 1) AR(0, 1) AR(1, 0) "</algo>";
    expect_text(program, WEFT_ALL_REDUCE, 2, 0, 0,
                "lane 3\n   0: move out[0] <- out[0], tmp[0] final after 0:0 1:0 2:0\n"
                "   1: bar 1, 3\n");
}

/* Without its barrier: lane 1 receives for the next pass what lane 3 still reads. */
static void lanes_that_share_scratch_meet(void **state)
{
    (void)state;
    static const char program[] = ALGO("allreduce", 2, 1, 0, 1) AR(0, 1) AR(1, 0) "</algo>";
    plan_fixture_t fixture;
    assert_int_equal(plan_files_open_text(&fixture, program), WEFT_OK);
    weft_verify_report_t report = plan_files_verify(&fixture, WEFT_ALL_REDUCE, 2, 0, 4, 2, 0);
    assert_int_equal(report.verdict, WEFT_VERDICT_OK);
    weft_plan_t *plans[2] = {NULL};
    for (uint32_t rank = 0; rank < 2; rank++) {
        char *text = text_of(&fixture, WEFT_ALL_REDUCE, 2, 0, rank);
        for (char *bar; (bar = strstr(text, "   1: bar 1, 3")) != NULL;) {
            memset(bar, ' ', strcspn(bar, "\n"));
        }
        assert_int_equal(weft_plan_parse(text, &plans[rank]), WEFT_OK);
        free(text);
    }
    report = plan_fixture_verify(plans, 2, 4, 2, 0);
    assert_int_equal(report.verdict, WEFT_VERDICT_RACE);
    weft_plan_destroy(plans[0]);
    weft_plan_destroy(plans[1]);
    plan_fixture_close(&fixture);
}

/* What all-pairs receives last says that the scratch of its peers was read. */
static void lanes_that_are_in_order_need_not_meet(void **state)
{
    (void)state;
    plan_fixture_t fixture;
    assert_int_equal(plan_files_open(&fixture, PLAN_FILES_EXAMPLES "allpairs-all-reduce-4.xml"),
                     WEFT_OK);
    char *text = text_of(&fixture, WEFT_ALL_REDUCE, 4, 0, 0);
    assert_null(strstr(text, "bar"));
    free(text);
    plan_fixture_close(&fixture);
}

/* A step whose chunks lie in IN and OUT, or of which a part completes its sum, is several MOVEs. */
static void steps_of_unlike_chunks_are_split(void **state)
{
    (void)state;
    static const char program[] = ALGO("allreduce", 2, 2, 1, 0) GPU(0, 2, 0, 2) TB(0, 1, 1, 0)
        STEP(0, "s", "i", 0, "s", 0, 2, -1, -1) STEP(1, "r", "i", 0, "s", 0, 2, -1, -1)
            STEP(2, "re", "s", 0, "i", 0, 1, -1, -1) STEP(3, "cpy", "i", 0, "s", 0, 1, -1, -1)
                STEP(4, "re", "s", 1, "i", 1, 1, -1, -1) "</tb></gpu>" GPU(1, 2, 0, 4)
                    TB(0, 0, 0, 0) STEP(0, "s", "i", 0, "s", 0, 2, -1, -1)
                        STEP(1, "r", "i", 0, "s", 0, 2, -1, -1)
                            STEP(2, "re", "s", 0, "i", 0, 1, -1, -1)
                                STEP(3, "cpy", "i", 0, "s", 2, 2, -1, -1)
                                    STEP(4, "re", "s", 1, "i", 1, 1, -1, -1) "</tb></gpu></algo>";
    expect_text(program, WEFT_ALL_REDUCE, 2, 0, 1,
                "   3: move tmp[2] <- out[0]\n"
                "   4: move tmp[3] <- in[1]\n"
                "   5: move out[1] <- in[1], tmp[1] final\n");
}

/* gpu 0 has twenty tbs that receive, and one that waits for all of them. */
static void more_than_fifteen_waits_are_spread(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    fputs(
        "<algo nchannels=\"20\" nchunksperloop=\"20\" ngpus=\"2\" coll=\"allreduce\" inplace=\"0\" "
        "outofplace=\"1\">\n",
        out);
    for (int g = 0; g < 2; g++) {
        fprintf(out, "<gpu id=\"%d\" i_chunks=\"20\" o_chunks=\"20\" s_chunks=\"20\">\n", g);
        for (int t = 0; t < 20; t++) {
            fprintf(out,
                    "<tb id=\"%d\" send=\"%d\" recv=\"%d\" chan=\"%d\">\n"
                    "<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"%d\" dstbuf=\"s\" dstoff=\"0\" "
                    "cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n"
                    "<step s=\"1\" type=\"r\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"s\" dstoff=\"%d\" "
                    "cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n</tb>\n",
                    t, 1 - g, 1 - g, t, t, t);
        }
        fputs("<tb id=\"20\" send=\"-1\" recv=\"-1\" chan=\"0\">\n", out);
        for (int t = 0; t < 20; t++) {
            fprintf(out,
                    "<step s=\"%d\" type=\"nop\" srcbuf=\"i\" srcoff=\"-1\" dstbuf=\"o\" "
                    "dstoff=\"-1\" cnt=\"0\" depid=\"%d\" deps=\"1\" hasdep=\"0\"/>\n",
                    t, t);
        }
        fputs("<step s=\"20\" type=\"cpy\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" "
              "cnt=\"20\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n"
              "<step s=\"21\" type=\"re\" srcbuf=\"s\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" "
              "cnt=\"20\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n</tb></gpu>\n",
              out);
    }
    fputs("</algo>\n", out);
    fclose(out);
    expect_text(
        text, WEFT_ALL_REDUCE, 2, 0, 0,
        "   0: move tmp[20] <- in[0] after 0:1 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1 9:1 10:1 11:1 "
        "12:1 13:1 14:1\n"
        "   1: move out[0] <- in[0] count 20 after 15:1 16:1 17:1 18:1 19:1\n");
    free(text);
}

#define TAIL "</tb></gpu></algo>"
#define GOOD_0 GPU(0, 1, 1, 1) TB(0, 1, 1, 0) STEP(0, "s", "i", 0, "o", 0, 1, -1, -1)
#define GOOD_1                                                                                     \
    STEP(1, "rrc", "i", 0, "o", 0, 1, -1, -1)                                                      \
    "</tb></gpu>" GPU(1, 1, 1, 1) TB(0, 0, 0, 0) STEP(0, "s", "i", 0, "o", 0, 1, -1, -1)           \
        STEP(1, "rrc", "i", 0, "o", 0, 1, -1, -1) TAIL

static void mistakes_are_named_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {ALGO("allreduce", 2, 1, 0, 1) GOOD_0 STEP(1, "rrx", "i", 0, "o", 0, 1, -1, -1),
         "under-test:5: unknown step type \"rrx\"; the nearest is rrc"},
        {"<algo/>", "under-test:1: attribute coll is missing"},
        {"<algo ", "under-test:1: this is no XML"},
        {ALGO("custom", 2, 1, 0, 1), "coll is \"custom\""},
        {ALGO("allredcue", 2, 1, 0, 1), "unknown coll \"allredcue\"; the nearest is allreduce"},
        {ALGO("allreduce", 1, 1, 0, 1), "ngpus is \"1\"; a number from 2 to 1024"},
        {ALGO("allreduce", 2, 1, 0, 0), "inplace and outofplace are both 0"},
        {ALGO("allreduce", 2, 1, 0, 1) "</algo>",
         "2, but 0 gpus are in the file: gpu 0 is missing"},
        {ALGO("allreduce", 2, 1, 0, 1) "<tb/>", "under-test:2: <tb> where <gpu> is expected"},
        {ALGO("allreduce", 2, 1, 0, 1) GPU(1, 1, 1, 0), "gpu id is 1, but the next one is 0"},
        {ALGO("allreduce", 2, 1, 0, 1) "<gpu id=\"0\" i_chunk=\"1\"/>",
         "unknown attribute i_chunk of <gpu>; the nearest is i_chunks"},
        {ALGO("allreduce", 2, 1, 0, 1) GPU(0, 1, 1, x), "s_chunks is \"x\"; a number from 0"},
        {ALGO("allreduce", 2, 2, 0, 1) GOOD_0 GOOD_1, "gpu 0: i_chunks is 1, but nchunksperloop 2"},
        {ALGO("allgather", 2, 3, 0, 1) GOOD_0 GOOD_1, "no multiple of the 2 blocks"},
        {ALGO("allreduce", 2, 1, 0, 1) GPU(0, 1, 1, 0) TB(0, 1, 1, 2),
         "chan is 2, but nchannels is"},
        {ALGO("allreduce", 2, 1, 0, 1) GOOD_0 STEP(
             1, "rrc", "i", 0, "o", 1, 1, -1, -1) "</tb></gpu>" GPU(1, 1, 1, 1) "</gpu></algo>",
         "under-test:5: gpu 0 tb 0 step 1 (rrc): the destination is o[1] to o[1], but o_chunks is "
         "1"},
        {ALGO("allreduce", 2, 1, 0, 1) GOOD_0 STEP(1, "r", "q", 0, "o", 0, 1, -1, -1),
         "srcbuf is \"q\"; i, o or s is expected"},
        {ALGO("allreduce", 2, 1, 0, 1) GOOD_0 STEP(1, "r", "i", 0, "o", 0, -1, -1, -1),
         "under-test:5: cnt is \"-1\"; a number from 1 to 1048576 is expected"},
        {ALGO("allreduce", 2, 1, 0, 1) GOOD_0 STEP(1, "r", "i", 0, "o", 0, 0, -1, -1),
         "under-test:5: cnt is \"0\"; a number from 1 to 1048576 is expected"},
        {ALGO("allreduce", 2, 1, 0, 1) GOOD_0 STEP(1, "nop", "i", 0, "o", 0, -1, -1, -1),
         "under-test:5: cnt is \"-1\"; a number from 0 to 1048576 is expected"},
        {ALGO("allreduce", 2, 1, 0, 1) GOOD_0 STEP(1, "rrc", "i", 0, "o", 0, 1, 3,
                                                   0) "</tb></gpu>" GPU(1, 1, 1, 1) "</gpu></algo>",
         "waits for tb 3, but gpu 0 has 1 tbs"},
        {ALGO("allreduce", 2, 1, 0, 1) GOOD_0 "</tb></gpu>" GPU(1, 1, 1, 1) "</gpu></algo>",
         "under-test:3: gpu 0 tb 0 sends to gpu 1 on channel 0, but no tb of gpu 1 has recv 0"},
        {ALGO("allreduce", 2, 1, 0, 1) GOOD_0 "</tb></gpu>" GPU(1, 1, 1, 1) TB(0, 0, 0, 0)
             STEP(0, "s", "i", 0, "o", 0, 1, -1, -1) TAIL,
         "sends 1 chunks to gpu 1 on channel 0, which receives 0"},
        {ALGO("allreduce", 2, 1, 0, 1) GPU(0, 1, 1, 1)
             TB(0, 2, 1, 0) "</tb></gpu>" GPU(1, 1, 1, 1) "</gpu></algo>",
         "send is 2; another of the 2 gpus or -1 is expected"},
        {ALGO("allreduce", 2, 1, 0, 1) GOOD_0
         "</tb>" TB(1, 1, -1, 0) "</tb></gpu>" GPU(1, 1, 1, 1) "</gpu></algo>",
         "gpu 0: tb 0 and tb 1 both send to gpu 1 on channel 0"},
        {ALGO("allreduce", 2, 1, 0, 1) GOOD_0 STEP(1, "re", "s", 0, "o", 0, 1, -1, -1) GOOD_1,
         "step s is 1, but the next one is 2"},
        {ALGO("allreduce", 2, 1, 0, 1) GPU(0, 1, 1, 1) TB(0, -1, -1, 0) STEP(
             0, "cpy", "s", 0, "o", 0, 1, -1, -1) "</tb></gpu>" GPU(1, 1, 1, 1) "</gpu></algo>",
         "gpu 0 tb 0 step 0 (cpy): reads s[0], which nothing has written"},
        {ALGO("allreduce", 2, 1, 0, 1) GPU(0, 1, 1, 1) TB(0, -1, -1, 0) STEP(0, "cpy", "i", 0, "o",
                                                                             0, 1, -1, -1)
             STEP(1, "re", "i", 0, "o", 0, 1, -1, -1) "</tb></gpu>" GPU(1, 1, 1, 1) "</gpu></algo>",
         "adds the contribution of gpu 0 a second time"},
        {ALGO("allreduce", 2, 1, 0, 1) GPU(0, 1, 1, 1) TB(0, -1, -1, 0) STEP(
             0, "cpy", "i", 0, "o", 0, 1, -1, -1) "</tb></gpu>" GPU(1, 1, 1, 1) "</gpu></algo>",
         "gpu 0: o[0] ends without the contribution of gpu 1"},
        {ALGO("allreduce", 2, 1, 0, 1) GPU(0, 1, 1, 1) "</gpu>" GPU(1, 1, 1, 1) "</gpu></algo>",
         "gpu 0: o[0] is never written"},
        {ALGO("alltoall", 2, 4, 0, 1) GPU(0, 4, 4, 0) TB(0, -1, -1, 0) STEP(
             0, "cpy", "i", 1, "o", 0, 1, -1, -1) "</tb></gpu>" GPU(1, 4, 4, 0) "</gpu></algo>",
         "stores piece 1 of a block in o[0], which is piece 0"},
        {ALGO("broadcast", 2, 1, 0, 1) GPU(0, 1, 1, 0) "</gpu>" GPU(1, 1, 1, 0) "</gpu></algo>",
         "no gpu can be the root"},
        {ALGO("allreduce", 2, 1, 0, 1) GPU(0, 1, 1, 1) TB(0, 1, 1, 0)
             STEP(0, "rrc", "i", 0, "o", 0, 1, -1, -1)
                 STEP(1, "s", "i", 0, "o", 0, 1, -1, -1) "</tb></gpu>" GPU(1, 1, 1, 1)
                     TB(0, 0, 0, 0) STEP(0, "rrc", "i", 0, "o", 0, 1, -1, -1)
                         STEP(1, "s", "i", 0, "o", 0, 1, -1, -1) TAIL,
         "gpu 0 tb 0 step 0 (rrc): hangs at any queue depth: waits for gpu 1 on channel 0, whose "
         "tb 0 "
         "stands at step 0"},
        {ALGO("allreduce", 2, 1, 0, 1) GPU(0, 1, 1, 1) TB(0, -1, -1, 0)
             STEP(0, "cpy", "i", 0, "o", 0, 1, 0, 0) "</tb></gpu>" GPU(1, 1, 1, 1) "</gpu></algo>",
         "hangs at any queue depth: waits for step 0 of tb 0, which stands at step 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plan_files_refused(cases[i].text, cases[i].words);
    }
}

/* Each level is ten of the one before: without the refusal, gigabytes from a few lines. */
static void entities_are_refused(void **state)
{
    (void)state;
    plan_files_refused("<!DOCTYPE algo [<!ENTITY a \"aaaaaaaaaa\">"
                       "<!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\">"
                       "<!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;\">]>\n<algo coll=\"&c;\"/>",
                       "a document type (<!DOCTYPE>) and entities are not accepted");
    plan_files_refused("<!DOCTYPE algo SYSTEM \"/etc/passwd\"><algo/>", "not accepted");
    plan_files_refused("<algo coll=\"&undefined;\"/>", "this is no XML");
}

static void depth_is_bounded(void **state)
{
    (void)state;
    plan_files_refused(ALGO("allreduce", 2, 1, 0, 1) GOOD_0
                       "<step s=\"1\" type=\"nop\" srcbuf=\"i\" "
                       "srcoff=\"-1\" dstbuf=\"o\" dstoff=\"-1\" cnt=\"0\" depid=\"-1\" "
                       "deps=\"-1\"><deep/>",
                       "<deep> inside <step>; nothing may stand there");
    char deep[4000] = "";
    for (size_t i = 0; i + 4 < sizeof deep; i += 3) {
        memcpy(deep + i, "<a>", 4);
    }
    plan_files_refused(deep, "<a> where <algo> is expected");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_are_proved),
        cmocka_unit_test(the_exchange_hangs_where_a_queue_is_too_short),
        cmocka_unit_test(other_programs_ask_for_no_depth),
        cmocka_unit_test(an_in_place_gather_copies_its_own_block),
        cmocka_unit_test(overwritten_input_that_is_no_output_becomes_scratch),
        cmocka_unit_test(the_root_of_a_reduce_is_found),
        cmocka_unit_test(nops_carry_waits),
        cmocka_unit_test(lanes_that_share_scratch_meet),
        cmocka_unit_test(lanes_that_are_in_order_need_not_meet),
        cmocka_unit_test(steps_of_unlike_chunks_are_split),
        cmocka_unit_test(more_than_fifteen_waits_are_spread),
        cmocka_unit_test(mistakes_are_named_with_their_line),
        cmocka_unit_test(entities_are_refused),
        cmocka_unit_test(depth_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
