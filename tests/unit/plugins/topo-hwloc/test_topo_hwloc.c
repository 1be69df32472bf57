/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin topo-hwloc on files: what it describes, what it refuses with line and element, and
 * that no damaged file breaks it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weft/plugin/topo.h>

#include "core/base/error.h"
#include "core/plugin/discover.h"
#include "core/topo/paths.h"
#include "tests/support/fake_host.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define MACHINES WEFT_SOURCE_DIR "/tests/tools/topo/"

static const weft_plugin_t *plugin;
static fake_host_t fake;
static weft_machine_t machine;
static char error[512];

/* Describes the machine of one option, "xml=…" or "synthetic=…". */
static weft_status_t describe(const char *option)
{
    const char *settings[] = {option, NULL};
    char why[256];
    weft_topo_t *topo = NULL;
    void *config = fake_config_create(plugin, settings, why, sizeof why);
    assert_non_null(config);
    const weft_topo_ops_t *ops = plugin->ops;
    weft_status_t status = ops->create(&fake.host, config, &topo);
    error[0] = '\0';
    if (status == WEFT_OK) {
        status = weft_discover_by(ops, topo, plugin->name, &machine);
        ops->destroy(topo);
    }
    if (status != WEFT_OK) {
        fake_host_take_error(&fake, error, sizeof error);
    }
    fake_config_destroy(config);
    assert_int_equal(fake.live, 0);
    return status;
}

static weft_status_t describe_file(const char *path)
{
    char option[700];
    snprintf(option, sizeof option, "xml=%s", path);
    return describe(option);
}

static void forget(void)
{
    weft_machine_fini(&machine);
}

static char *read_machine(const char *name, size_t *bytes_p)
{
    char path[600];
    snprintf(path, sizeof path, MACHINES "%s", name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    *bytes_p = fread(text, 1, (1 << 20) - 1, file);
    fclose(file);
    return text;
}

/* What is described ---------------------------------------------------------------------------- */

static void links_and_bridges_have_bandwidths(void **state)
{
    (void)state;
    assert_int_equal(describe_file(MACHINES "two_sockets.xml"), WEFT_OK);
    assert_int_equal(machine.ngpus, 8);
    /* 450 GB/s to each of seven GPUs is a switch. */
    assert_int_equal(machine.nlinks, 8);
    assert_int_equal(machine.links[0].to, WEFT_MACHINE_NONE);
    weft_path_t path = weft_path_between(&machine, 0, 7);
    assert_int_equal(path.class, WEFT_ALGO_PATH_NV);
    assert_true(path.bandwidth == 450e9);
    path = weft_path_between(&machine, 0, 9);
    assert_int_equal(path.class, WEFT_ALGO_PATH_PIX);
    assert_true(path.bandwidth > 1e9 && path.bandwidth < 64e9);
    forget();
}

static void a_synthetic_description_is_a_machine(void **state)
{
    (void)state;
    assert_int_equal(describe("synthetic=pack:2 [numa(memory=4GB)] l3:1 core:8 pu:2"), WEFT_OK);
    assert_int_equal(machine.npackages, 2);
    assert_int_equal(machine.nnodes, 2);
    assert_int_equal(machine.ncores, 16);
    assert_int_equal(machine.nodes[1].pus, 16);
    assert_int_equal(machine.nodes[1].usable, 16);
    assert_int_equal(machine.nodes[1].package, 1);
    assert_string_equal(machine.nodes[1].caches[0].name, "L3");
    forget();
}

/* What is refused ------------------------------------------------------------------------------ */

static void refused(const char *option, const char *words)
{
    assert_int_equal(describe(option), WEFT_ERR_CONFIG);
    assert_says(error, words);
}

static void refused_text(const char *text, size_t bytes, const char *words)
{
    char option[700];
    snprintf(option, sizeof option, "xml=%s", scratch_write("wrong.xml", text, bytes));
    refused(option, words);
}

#define HEAD "<?xml version=\"1.0\"?>\n<topology version=\"2.0\">\n"
#define SETS "cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" complete_nodeset=\"0x1\""
#define ROOT "<object type=\"Machine\" " SETS ">\n"

static void a_wrong_file_names_line_and_element(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "wrong.xml:1: this is no XML: no element found"},
        {"<svg/>", ":1: <svg> where <topology> is expected"},
        {"<topology/>", ":1: <topology>: version is \"missing\"; 2.0"},
        {HEAD "</topology>", ":3: </topology>: no <object> of type PU"},
        {HEAD "<object type=\"PU\"/>",
         ":3: <object type=\"PU\">: the outermost object is a Machine"},
        {HEAD "<object/>", ":3: <object>: type is missing"},
        {HEAD "<object type=\"Mashine\"/>", ":3: <object>: hwloc has no type \"Mashine\""},
        {HEAD ROOT "<object type=\"Machine\" " SETS "/>",
         ":4: <object type=\"Machine\">: a Machine"},
        {HEAD ROOT "<info>\n<object type=\"PU\"/>",
         ":5: <object> inside an element that holds none"},
        {HEAD ROOT "<object type=\"PU\" " SETS "/>",
         ":4: <object type=\"PU\">: os_index is missing"},
        {HEAD ROOT "<object type=\"PU\" os_index=\"2000000000\" " SETS "/>",
         "os_index is \"2000000000\"; a number from 0 to 8191"},
        {HEAD ROOT "<object type=\"PU\" os_index=\"-1\" " SETS "/>", "os_index is \"-1\""},
        {HEAD ROOT "<object type=\"PU\" os_index=\"0\" cpuset=\"0xg\"/>",
         ":4: <object type=\"PU\">: cpuset \"0xg\" is no set"},
        {HEAD ROOT "<object type=\"PU\" os_index=\"0\"/>", "PU\">: cpuset is missing"},
        {HEAD ROOT "<object type=\"PU\" os_index=\"0\" " SETS ">\n<object type=\"Core\" " SETS "/>",
         ":5: <object type=\"Core\"> inside a PU, which has no parts"},
        {HEAD ROOT "<object type=\"PCIDev\" pci_busid=\"15:00\"/>", "pci_busid \"15:00\" is none"},
        {HEAD ROOT "<object type=\"PCIDev\" pci_busid=\"0000:15:00.0\" pci_link_speed=\"inf\"/>",
         "pci_link_speed \"inf\" is no number"},
        {HEAD ROOT "<object type=\"Bridge\" bridge_type=\"2-1\"/>", "bridge_type is \"2-1\""},
        {HEAD ROOT "<object type=\"Bridge\" bridge_type=\"0-1\"/>",
         "bridge_pci \"missing\" is none"},
        {HEAD ROOT "<object type=\"PCIDev\" pci_busid=\"0000:15:00.0\">"
                   "<object type=\"Core\" " SETS "/>",
         "<object type=\"Core\"> inside a PCIDev, which holds devices only"},
        {"<!DOCTYPE a [<!ENTITY b \"c\">]>\n<topology/>", ":1: a document type"},
        {HEAD "<distances2 nbobjs=\"1000000000\"/>", ":3: <distances2>: nbobjs is \"1000000000\""},
        {HEAD ROOT "</topology>", ":4: this is no XML: mismatched tag"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        refused_text(cases[i].text, strlen(cases[i].text), cases[i].words);
    }
}

static void files_that_are_none_are_refused(void **state)
{
    char option[700];
    (void)state;
    refused("xml=/nowhere/x.xml", "/nowhere/x.xml: cannot be opened: No such file");
    refused("xml=/tmp", "/tmp: this is no file");
    snprintf(option, sizeof option, "xml=%s", scratch_write("large.xml", "<", 1));
    assert_int_equal(truncate(option + 4, 1 << 30), 0);
    refused(option, "large.xml: the file is larger than 32 MiB");
}

/* hwloc 2.9 reads no file of hwloc 3; later ones do. */
static void a_file_of_hwloc_3_is_called_that(void **state)
{
    static const char before[] = "<topology version=\"2.0\">";
    size_t bytes;
    char *text = read_machine("two_sockets.xml", &bytes);
    char *root = strstr(text, before);
    (void)state;
    assert_non_null(root);
    root[strlen("<topology version=\"")] = '3';
    if (describe_file(scratch_write("newer.xml", text, bytes)) == WEFT_OK) {
        forget();
    } else {
        assert_non_null(strstr(error, "newer.xml: this is of hwloc 3"));
        assert_non_null(strstr(error, "lstopo --export-xml-flags 2"));
    }
    free(text);
}

/* Writes `count` times `open`, and as often `shut`. */
static void refused_many(size_t count, const char *open, const char *shut, const char *words)
{
    const size_t bytes = 1000 + count * (strlen(open) + strlen(shut));
    char *text = malloc(bytes), *at = text;
    assert_non_null(text);
    at += sprintf(at, "%s", HEAD ROOT);
    for (size_t i = 0; i < count; i++) {
        at += sprintf(at, "%s", open);
    }
    for (size_t i = 0; i < count; i++) {
        at += sprintf(at, "%s", shut);
    }
    at += sprintf(at, "</object></topology>");
    refused_text(text, (size_t)(at - text), words);
    free(text);
}

static void sizes_and_depths_are_bounded(void **state)
{
    (void)state;
    refused_many(70000, "<object type=\"Group\" " SETS "/>", "", "more than 65536 objects");
    refused_many(1000000, "<object type=\"Misc\"/>", "", "more than 65536 objects");
    refused_many(1100000, "<info name=\"a\"/>", "", "more than 1048576 elements");
    refused_many(10000, "<object type=\"Misc\">", "</object>", "elements lie deeper than 128");
    char *text = calloc(1, 200000);
    assert_non_null(text);
    strcpy(text, HEAD "<object type=\"Machine\" cpuset=\"0x1");
    memset(text + strlen(text), '0', 70000);
    strcat(text, "\"/></topology>");
    refused_text(text, strlen(text), "cpuset is longer than 65536 bytes");
    strcpy(text, HEAD "<object type=\"Machine\" cpuset=\"0x1");
    for (int i = 0; i < 300; i++) {
        strcat(text, ",0x0");
    }
    strcat(text, "\"/></topology>");
    refused_text(text, strlen(text), "cpuset has more than 8192 bits");
    free(text);
}

static void synthetic_descriptions_are_bounded(void **state)
{
    char option[1400] = "synthetic=";
    (void)state;
    refused("synthetic=pack:1000 core:1000 pu:1000", "synthetic: more than 8192 PUs");
    refused("synthetic=pack:99999999999999999999", "synthetic: more than 8192 PUs");
    refused("synthetic=8193", "synthetic: more than 8192 PUs");
    refused("synthetic=pack:409l1:21 pu:9", "synthetic: more than 8192 PUs");
    refused("synthetic=pack):9999", "synthetic: more than 8192 PUs");
    refused("synthetic=numa [x:9999 pu:9", "synthetic: more than 8192 PUs");
    refused("synthetic=nothing that it knows", "hwloc does not understand \"nothing that");
    for (int i = 0; i < 40; i++) {
        strcat(option, "group:1 ");
    }
    refused(option, "synthetic: more than 32 levels");
    memset(option + 10, '1', 1100);
    option[1110] = '\0';
    refused(option, "synthetic: more than 1024 characters");
}

static void two_descriptions_are_one_too_many(void **state)
{
    const char *settings[] = {"xml=a", "synthetic=pu:1", NULL};
    char why[256];
    weft_topo_t *topo = NULL;
    (void)state;
    void *config = fake_config_create(plugin, settings, why, sizeof why);
    const weft_topo_ops_t *ops = plugin->ops;
    assert_int_equal(ops->create(&fake.host, config, &topo), WEFT_ERR_CONFIG);
    fake_config_destroy(config);
}

/* Damage --------------------------------------------------------------------------------------- */

static uint32_t random_state = 12345;

static uint32_t draw(uint32_t below)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)random_state * below) >> 32);
}

/* A byte, a digit, or a piece of the file in another place. */
static size_t damage(char *text, size_t bytes)
{
    const size_t at = draw((uint32_t)bytes), from = draw((uint32_t)bytes);
    size_t length = 1 + draw(60);
    switch (draw(5)) {
    case 0:
        text[at] = (char)draw(256);
        return bytes;
    case 1:
        for (size_t i = at; i < bytes && i < at + 200; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                text[i] = (char)('0' + draw(10));
                break;
            }
        }
        return bytes;
    case 2:
        length = at + length < bytes && from + length < bytes ? length : 0;
        memmove(text + at, text + from, length);
        return bytes;
    case 3: /* a whole line goes */
        for (length = 0; at + length < bytes && text[at + length] != '\n'; length++) {
        }
        memmove(text + at, text + at + length, bytes - at - length);
        return bytes - length;
    default:
        return draw(8) == 0 ? at : bytes;
    }
}

static void no_damaged_file_breaks_the_plugin(void **state)
{
    static const char *const names[] = {"two_sockets.xml", "one_package.xml"};
    uint32_t taken = 0, left = 0;
    (void)state;
    for (uint32_t round = 0; round < 600; round++) {
        size_t bytes;
        char *text = read_machine(names[round % 2], &bytes);
        for (uint32_t i = 0; i <= round % 3; i++) {
            bytes = damage(text, bytes);
        }
        if (describe_file(scratch_write("damaged.xml", text, bytes)) == WEFT_OK) {
            assert_int_equal(weft_machine_check(&machine), WEFT_OK);
            forget();
            taken++;
        } else {
            assert_true(error[0] != '\0' || weft_error_record()->text[0] != '\0');
            left++;
        }
        free(text);
    }
    /* Both happen, or the damage is none. */
    assert_true(taken > 10);
    assert_true(left > 10);
}

static int open_plugin(void **state)
{
    char why[256];
    (void)state;
    plugin = fake_plugin_open(WEFT_PLUGIN_DIR "/topo-hwloc.so", WEFT_KIND_TOPO, why, sizeof why);
    fake_host_init(&fake, "topo-hwloc");
    return plugin != NULL ? 0 : -1;
}

/* hwloc forgets what it had read of a file that it refuses, and libpciaccess frees no names. */
__attribute__((visibility("default"))) const char *
__lsan_default_suppressions(void);            /* NOLINT: the name is the sanitizer's */
const char *__lsan_default_suppressions(void) /* NOLINT */
{
    return "leak:libhwloc\nleak:libpciaccess\n";
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_and_bridges_have_bandwidths),
        cmocka_unit_test(a_synthetic_description_is_a_machine),
        cmocka_unit_test(a_wrong_file_names_line_and_element),
        cmocka_unit_test(files_that_are_none_are_refused),
        cmocka_unit_test(a_file_of_hwloc_3_is_called_that),
        cmocka_unit_test(sizes_and_depths_are_bounded),
        cmocka_unit_test(synthetic_descriptions_are_bounded),
        cmocka_unit_test(two_descriptions_are_one_too_many),
        cmocka_unit_test(no_damaged_file_breaks_the_plugin),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL);
}
