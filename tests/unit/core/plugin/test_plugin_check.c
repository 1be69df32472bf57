/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checks of a descriptor, kind by kind. Tables are filled with bytes that are no addresses: the
 * checks must read them and call nothing. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <weft/plugin/algo.h>
#include <weft/plugin/kernel.h>
#include <weft/plugin/net.h>
#include <weft/plugin/topo.h>
#include <weft/plugin/tuner.h>

#include "core/base/error.h"
#include "core/plugin/plugin_check.h"
#include "tests/support/unit.h"

static weft_plugin_t descriptor(weft_plugin_kind_t kind, const void *ops)
{
    static const uint16_t majors[] = {
        [WEFT_KIND_NET] = WEFT_ABI_NET_MAJOR,       [WEFT_KIND_ALGO] = WEFT_ABI_ALGO_MAJOR,
        [WEFT_KIND_KERNEL] = WEFT_ABI_KERNEL_MAJOR, [WEFT_KIND_TUNER] = WEFT_ABI_TUNER_MAJOR,
        [WEFT_KIND_TOPO] = WEFT_ABI_TOPO_MAJOR,
    };
    return (weft_plugin_t){
        .magic = WEFT_PLUGIN_MAGIC,
        .abi_major = majors[kind],
        .size = sizeof(weft_plugin_t),
        .kind = (uint32_t)kind,
        .name = "sample",
        .version = "1",
        .help = "a sample",
        .ops = ops,
    };
}

static weft_status_t check(weft_plugin_kind_t kind, const weft_plugin_t *plugin)
{
    weft_error_clear(weft_error_record());
    return weft_plugin_check(plugin, kind, "sample", "/x/sample.so", "weft.ini:3");
}

/* Refused, in one line with place and the given words. */
static void refused(weft_plugin_kind_t kind, const weft_plugin_t *plugin, const char *words)
{
    assert_int_equal(check(kind, plugin), WEFT_ERR_PLUGIN);
    const char *text = weft_error_record()->text;
    if (strstr(text, words) == NULL || strstr(text, "/x/sample.so") == NULL ||
        strstr(text, "weft.ini:3") == NULL || strstr(text, "expected") == NULL ||
        strstr(text, "found") == NULL || strchr(text, '\n') != NULL) {
        fail_msg("\"%s\" lacks \"%s\" or a part of the place", text, words);
    }
}

/* All bytes of the table are filled; `size` is right. */
static void fill(void *ops, size_t bytes)
{
    memset(ops, 0x5a, bytes);
    memcpy(ops, &bytes, sizeof bytes);
}

static void clear_slot(void *ops, size_t offset)
{
    memset((char *)ops + offset, 0, sizeof(void (*)(void)));
}

#define SLOT(type, field, needed)                                                                  \
    {                                                                                              \
#field, offsetof(type, field), needed                                                      \
    }

typedef struct slot_case {
    const char *name;
    size_t offset;
    bool needed;
} slot_case_t;

static void try_slots(weft_plugin_kind_t kind, void *ops, const slot_case_t *slots, size_t count)
{
    const weft_plugin_t plugin = descriptor(kind, ops);
    char words[64];
    assert_int_equal(check(kind, &plugin), WEFT_OK);
    for (size_t i = 0; i < count; i++) {
        char kept[sizeof(void (*)(void))];
        memcpy(kept, (char *)ops + slots[i].offset, sizeof kept);
        clear_slot(ops, slots[i].offset);
        if (slots[i].needed) {
            snprintf(words, sizeof words, "missing slot: found NULL, expected a function %s ",
                     slots[i].name);
            refused(kind, &plugin, words);
        } else if (check(kind, &plugin) != WEFT_OK) {
            fail_msg("%s", weft_error_record()->text);
        }
        memcpy((char *)ops + slots[i].offset, kept, sizeof kept);
    }
}

static void net_slots_are_mandatory_by_caps(void **state)
{
    (void)state;
    for (uint32_t caps = 1; caps <= 3; caps++) {
        const bool messages = (caps & WEFT_NET_CAP_MESSAGES) != 0;
        const slot_case_t slots[] = {
            SLOT(weft_net_ops_t, create, true),
            SLOT(weft_net_ops_t, destroy, true),
            SLOT(weft_net_ops_t, device_count, true),
            SLOT(weft_net_ops_t, device_props, true),
            SLOT(weft_net_ops_t, device_open, true),
            SLOT(weft_net_ops_t, device_close, true),
            SLOT(weft_net_ops_t, listen, true),
            SLOT(weft_net_ops_t, listener_close, true),
            SLOT(weft_net_ops_t, reachable, true),
            SLOT(weft_net_ops_t, connect_begin, true),
            SLOT(weft_net_ops_t, connect_poll, true),
            SLOT(weft_net_ops_t, accept, true),
            SLOT(weft_net_ops_t, conn_info, true),
            SLOT(weft_net_ops_t, conn_check, true),
            SLOT(weft_net_ops_t, conn_close, true),
            SLOT(weft_net_ops_t, post, messages),
            SLOT(weft_net_ops_t, poll, messages),
            SLOT(weft_net_ops_t, cancel, messages),
            SLOT(weft_net_ops_t, wait_fd, false),
            SLOT(weft_net_ops_t, get_extension, (caps & WEFT_NET_CAP_MAP) != 0),
        };
        weft_net_ops_t ops;
        fill(&ops, sizeof ops);
        ops.caps = caps;
        try_slots(WEFT_KIND_NET, &ops, slots, sizeof slots / sizeof slots[0]);
    }
}

static void slots_of_the_other_kinds_are_mandatory(void **state)
{
    static const slot_case_t algo[] = {
        SLOT(weft_algo_ops_t, create, true),   SLOT(weft_algo_ops_t, destroy, true),
        SLOT(weft_algo_ops_t, supports, true), SLOT(weft_algo_ops_t, emit, true),
        SLOT(weft_algo_ops_t, params, false),  SLOT(weft_algo_ops_t, get_extension, false),
    };
    static const slot_case_t kernel[] = {
        SLOT(weft_kernel_ops_t, create, true),         SLOT(weft_kernel_ops_t, destroy, true),
        SLOT(weft_kernel_ops_t, props, true),          SLOT(weft_kernel_ops_t, select, true),
        SLOT(weft_kernel_ops_t, get_extension, false),
    };
    static const slot_case_t tuner[] = {
        SLOT(weft_tuner_ops_t, create, true),
        SLOT(weft_tuner_ops_t, destroy, true),
        SLOT(weft_tuner_ops_t, choose, true),
    };
    static const slot_case_t topo[] = {
        SLOT(weft_topo_ops_t, create, true),
        SLOT(weft_topo_ops_t, destroy, true),
        SLOT(weft_topo_ops_t, discover, true),
        SLOT(weft_topo_ops_t, save, false),
    };
    weft_algo_ops_t algo_ops;
    weft_kernel_ops_t kernel_ops;
    weft_tuner_ops_t tuner_ops;
    weft_topo_ops_t topo_ops;
    (void)state;
    fill(&algo_ops, sizeof algo_ops);
    algo_ops.params = NULL;
    try_slots(WEFT_KIND_ALGO, &algo_ops, algo, sizeof algo / sizeof algo[0]);
    fill(&kernel_ops, sizeof kernel_ops);
    try_slots(WEFT_KIND_KERNEL, &kernel_ops, kernel, sizeof kernel / sizeof kernel[0]);
    fill(&tuner_ops, sizeof tuner_ops);
    try_slots(WEFT_KIND_TUNER, &tuner_ops, tuner, sizeof tuner / sizeof tuner[0]);
    fill(&topo_ops, sizeof topo_ops);
    try_slots(WEFT_KIND_TOPO, &topo_ops, topo, sizeof topo / sizeof topo[0]);
}

static void net_caps_must_make_sense(void **state)
{
    weft_net_ops_t ops = {.caps = 0};
    const weft_plugin_t plugin = descriptor(WEFT_KIND_NET, &ops);
    (void)state;
    fill(&ops, sizeof ops);
    ops.caps = 0;
    refused(WEFT_KIND_NET, &plugin, "bad caps: found 0x0");
    ops.caps = 7;
    refused(WEFT_KIND_NET, &plugin, "bad caps: found 0x7");
    ops.caps = WEFT_NET_CAP_MESSAGES;
    clear_slot(&ops, offsetof(weft_net_ops_t, dereg));
    refused(WEFT_KIND_NET, &plugin, "reg and dereg");
    clear_slot(&ops, offsetof(weft_net_ops_t, reg));
    assert_int_equal(check(WEFT_KIND_NET, &plugin), WEFT_OK);
}

/* A table that ends before its optional slots is that of an older plugin; one that ends before a
 * mandatory slot is refused whatever lies behind it. */
static void table_may_end_before_optional_slots_only(void **state)
{
    weft_net_ops_t ops = {.caps = 0};
    const weft_plugin_t plugin = descriptor(WEFT_KIND_NET, &ops);
    (void)state;
    fill(&ops, sizeof ops);
    ops.caps = WEFT_NET_CAP_MESSAGES;
    ops.size = offsetof(weft_net_ops_t, wait_fd);
    assert_int_equal(check(WEFT_KIND_NET, &plugin), WEFT_OK);
    ops.size -= 1;
    refused(WEFT_KIND_NET, &plugin, "operation table too short");
    ops.size = 8;
    refused(WEFT_KIND_NET, &plugin, "operation table too short");
    ops.size = 0;
    refused(WEFT_KIND_NET, &plugin, "bad operation table: found 0 ");
    ops.size = SIZE_MAX;
    refused(WEFT_KIND_NET, &plugin, "bad operation table");
}

static void descriptor_is_checked_field_by_field(void **state)
{
    static const weft_option_t taken[] = {{"path", WEFT_OPT_STRING, 0, "", "h", NULL, 0, 0, 0, 0},
                                          {NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0}};
    static const weft_option_t outside[] = {{"port", WEFT_OPT_INT, 8, "1", "h", NULL, 0, 0, 0, 0},
                                            {NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0}};
    weft_tuner_ops_t ops;
    fill(&ops, sizeof ops);
    const weft_plugin_t good = descriptor(WEFT_KIND_TUNER, &ops);
    weft_plugin_t p = good;
    (void)state;
    assert_int_equal(check(WEFT_KIND_TUNER, &p), WEFT_OK);
    refused(WEFT_KIND_TUNER, NULL, "no descriptor");
    p.magic = 0x12345678;
    refused(WEFT_KIND_TUNER, &p, "wrong magic: found 0x12345678, expected 0x74666577");
    p = good;
    refused(WEFT_KIND_NET, &p, "wrong kind: found tuner, expected net");
    p.kind = 77;
    refused(WEFT_KIND_TUNER, &p, "wrong kind: found 77, expected tuner");
    p = good;
    p.abi_major = 3;
    refused(WEFT_KIND_TUNER, &p, "other ABI of the tuner kind: found 3.0, expected 2.0");
    p = good;
    p.abi_minor = 9;
    refused(WEFT_KIND_TUNER, &p, "newer ABI of the tuner kind: found 2.9, expected 2.0");
    p = good;
    p.size = 8;
    refused(WEFT_KIND_TUNER, &p, "wrong size of the descriptor: found 8 bytes");
    p = good;
    p.name = NULL;
    refused(WEFT_KIND_TUNER, &p, "bad name: found none");
    p.name = "No Good";
    refused(WEFT_KIND_TUNER, &p, "bad name: found No Good");
    p.name = "simple";
    refused(WEFT_KIND_TUNER, &p, "other name: found simple, expected sample");
    p = good;
    p.version = NULL;
    refused(WEFT_KIND_TUNER, &p, "no version");
    p = good;
    p.help = NULL;
    refused(WEFT_KIND_TUNER, &p, "no help");
    p = good;
    p.ops = NULL;
    refused(WEFT_KIND_TUNER, &p, "no operation table");
    p = good;
    p.config_size = SIZE_MAX;
    refused(WEFT_KIND_TUNER, &p, "bad config_size");
    p = good;
    p.config_size = 8;
    p.options = taken;
    refused(WEFT_KIND_TUNER, &p, "taken by the loader");
    p.options = outside;
    refused(WEFT_KIND_TUNER, &p, "option port ends at byte 16, expected at most config_size 8");
}

static void name_may_be_left_open_by_tools(void **state)
{
    weft_tuner_ops_t ops;
    (void)state;
    fill(&ops, sizeof ops);
    const weft_plugin_t plugin = descriptor(WEFT_KIND_TUNER, &ops);
    assert_int_equal(weft_plugin_check(&plugin, WEFT_KIND_TUNER, NULL, "/x", "here"), WEFT_OK);
    assert_int_equal(weft_plugin_check(&plugin, (weft_plugin_kind_t)9, NULL, "/x", "here"),
                     WEFT_ERR_ARG);
}

static void parameters_of_algorithms_must_make_sense(void **state)
{
    weft_algo_param_t params[WEFT_ALGO_PARAMS_MAX + 2] = {{"k", "chunks", 1, 9, 4}};
    weft_algo_ops_t ops;
    (void)state;
    fill(&ops, sizeof ops);
    ops.params = params;
    const weft_plugin_t plugin = descriptor(WEFT_KIND_ALGO, &ops);
    assert_int_equal(check(WEFT_KIND_ALGO, &plugin), WEFT_OK);
    params[0].value = 10;
    refused(WEFT_KIND_ALGO, &plugin, "bad parameters: found k: 10 in 1 to 9");
    params[0].value = 4;
    params[0].name = "path";
    refused(WEFT_KIND_ALGO, &plugin, "bad parameters: found path, expected names");
    params[0].name = "K";
    refused(WEFT_KIND_ALGO, &plugin, "bad parameters: found K, expected names");
    params[0].name = "k";
    params[0].help = NULL;
    refused(WEFT_KIND_ALGO, &plugin, "bad parameters: found k");
    params[0].help = "chunks";
    params[1] = params[0];
    refused(WEFT_KIND_ALGO, &plugin, "bad parameters: found k, expected names of");
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    for (unsigned i = 0; i <= WEFT_ALGO_PARAMS_MAX; i++) {
        params[i] = (weft_algo_param_t){names[i], "chunks", 1, 9, 4};
    }
    refused(WEFT_KIND_ALGO, &plugin, "bad parameters: found more than 8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(net_slots_are_mandatory_by_caps),
        cmocka_unit_test(slots_of_the_other_kinds_are_mandatory),
        cmocka_unit_test(net_caps_must_make_sense),
        cmocka_unit_test(table_may_end_before_optional_slots_only),
        cmocka_unit_test(descriptor_is_checked_field_by_field),
        cmocka_unit_test(name_may_be_left_open_by_tools),
        cmocka_unit_test(parameters_of_algorithms_must_make_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
