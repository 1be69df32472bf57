/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conformance of topo plugins, given as arguments: what they describe is a machine, twice the same,
 * whatever the builder answers, and whatever memory fails. With the options that a plugin has by
 * default, which is this machine. */
#include <stdio.h>
#include <string.h>

#include <weft/plugin/topo.h>

#include "core/plugin/discover.h"
#include "tests/support/fake_host.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

typedef struct instance {
    const weft_plugin_t *plugin;
    const weft_topo_ops_t *ops;
    weft_topo_t *topo;
    void *config;
    fake_host_t fake;
} instance_t;

/* Fills a machine, or returns false where the plugin says that it knows nothing. */
static bool discover(instance_t *instance, weft_machine_t *machine)
{
    weft_status_t status =
        weft_discover_by(instance->ops, instance->topo, instance->plugin->name, machine);
    if (status == WEFT_ERR_UNSUPPORTED) {
        return false;
    }
    assert_int_equal(status, WEFT_OK);
    return true;
}

static void the_machine_passes_all_checks(void **state)
{
    weft_machine_t machine;
    uint32_t usable = 0;
    if (!discover(*state, &machine)) {
        skip();
    }
    assert_true(machine.nnodes >= 1);
    assert_true(machine.name[0] != '\0');
    assert_true(machine.source[0] != '\0');
    for (uint32_t i = 0; i < machine.nnodes; i++) {
        usable += machine.nodes[i].usable;
    }
    assert_true(usable >= 1);
    weft_machine_fini(&machine);
}

static void a_second_description_is_the_same(void **state)
{
    weft_machine_t one, two;
    if (!discover(*state, &one)) {
        skip();
    }
    assert_true(discover(*state, &two));
    assert_int_equal(one.nnodes, two.nnodes);
    assert_int_equal(one.ncores, two.ncores);
    assert_int_equal(one.nbranches, two.nbranches);
    assert_int_equal(one.ndevices, two.ndevices);
    assert_int_equal(one.nlinks, two.nlinks);
    for (uint32_t i = 0; i < one.ndevices; i++) {
        assert_string_equal(one.devices[i].address, two.devices[i].address);
        assert_int_equal(one.devices[i].branch, two.devices[i].branch);
    }
    weft_machine_fini(&one);
    weft_machine_fini(&two);
}

/* A builder that refuses its n-th call. -------------------------------------------------------- */

typedef struct refusal {
    uint32_t calls, at, after; /* calls behind the refusal */
    uint32_t counts[5];
} refusal_t;

static weft_status_t refusal_step(const weft_topo_builder_t *builder, uint32_t kind,
                                  uint32_t *index_p)
{
    refusal_t *refusal = builder->core;
    refusal->after += refusal->at != 0 && refusal->calls >= refusal->at;
    if (++refusal->calls == refusal->at) {
        return WEFT_ERR_RESOURCE;
    }
    if (index_p != NULL) {
        *index_p = refusal->counts[kind];
    }
    refusal->counts[kind]++;
    return WEFT_OK;
}

static weft_status_t refuse_machine(const weft_topo_builder_t *builder, const char *name,
                                    const char *source, double socket)
{
    assert_non_null(name);
    assert_non_null(source);
    assert_true(socket >= 0);
    return refusal_step(builder, 4, NULL);
}

static weft_status_t refuse_package(const weft_topo_builder_t *builder,
                                    const weft_topo_package_t *package, uint32_t *index_p)
{
    assert_int_equal(package->size, sizeof *package);
    return refusal_step(builder, 0, index_p);
}

static weft_status_t refuse_node(const weft_topo_builder_t *builder, const weft_topo_node_t *node,
                                 uint32_t *index_p)
{
    assert_int_equal(node->size, sizeof *node);
    return refusal_step(builder, 1, index_p);
}

static weft_status_t refuse_core(const weft_topo_builder_t *builder, const weft_topo_core_t *core)
{
    assert_int_equal(core->size, sizeof *core);
    assert_true(core->usable <= core->pus);
    return refusal_step(builder, 4, NULL);
}

static weft_status_t refuse_branch(const weft_topo_builder_t *builder,
                                   const weft_topo_branch_t *branch, uint32_t *index_p)
{
    assert_int_equal(branch->size, sizeof *branch);
    return refusal_step(builder, 2, index_p);
}

static weft_status_t refuse_device(const weft_topo_builder_t *builder,
                                   const weft_topo_device_t *device, uint32_t *index_p)
{
    assert_int_equal(device->size, sizeof *device);
    return refusal_step(builder, 3, index_p);
}

static weft_status_t refuse_link(const weft_topo_builder_t *builder, const weft_topo_link_t *link)
{
    assert_int_equal(link->size, sizeof *link);
    return refusal_step(builder, 4, NULL);
}

static weft_status_t discover_refused(instance_t *instance, refusal_t *refusal)
{
    const weft_topo_builder_t builder = {.size = sizeof builder,
                                         .core = refusal,
                                         .set_machine = refuse_machine,
                                         .add_package = refuse_package,
                                         .add_node = refuse_node,
                                         .add_core = refuse_core,
                                         .add_branch = refuse_branch,
                                         .add_device = refuse_device,
                                         .add_link = refuse_link};
    return instance->ops->discover(instance->topo, &builder);
}

static void a_refusal_of_the_builder_ends_the_description(void **state)
{
    refusal_t all = {0};
    weft_status_t status = discover_refused(*state, &all);
    if (status == WEFT_ERR_UNSUPPORTED) {
        skip();
    }
    assert_int_equal(status, WEFT_OK);
    for (uint32_t at = 1; at <= all.calls; at++) {
        refusal_t refusal = {.at = at};
        assert_int_equal(discover_refused(*state, &refusal), WEFT_ERR_RESOURCE);
        assert_int_equal(refusal.after, 0);
    }
}

static void a_failed_allocation_is_reported_and_leaks_nothing(void **state)
{
    instance_t *instance = *state;
    fake_host_t fake;
    weft_status_t status = WEFT_ERR_RESOURCE;
    fake_host_init(&fake, "topo");
    for (uint64_t n = 1; status == WEFT_ERR_RESOURCE; n++) {
        weft_topo_t *topo = NULL;
        refusal_t all = {0};
        instance_t one = *instance;
        fake.allocs = 0;
        fake.fail_at = n;
        status = instance->ops->create(&fake.host, instance->config, &topo);
        if (status == WEFT_OK) {
            one.topo = topo;
            status = discover_refused(&one, &all);
            instance->ops->destroy(topo);
        }
        assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE ||
                    status == WEFT_ERR_UNSUPPORTED);
        assert_int_equal(fake.live, 0);
    }
    instance->ops->destroy(NULL);
    fake_host_fini(&fake);
}

static void options_may_differ_between_ranks(void **state)
{
    const instance_t *instance = *state;
    const weft_option_t *option = instance->plugin->options;
    for (; option != NULL && option->name != NULL; option++) {
        assert_true((option->flags & (WEFT_OPTION_LOCAL | WEFT_OPTION_ALIAS)) != 0);
    }
}

static void the_machine_can_be_saved_where_the_plugin_can(void **state)
{
    instance_t *instance = *state;
    char text[256];
    if (!WEFT_HAS(instance->ops, weft_topo_ops_t, save)) {
        skip();
    }
    const char *path = scratch_path("machine");
    assert_int_equal(instance->ops->save(instance->topo, path), WEFT_OK);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_true(fgetc(file) != EOF);
    fclose(file);
    assert_int_equal(instance->ops->save(instance->topo, scratch_path("none/machine")),
                     WEFT_ERR_SYSTEM);
    fake_host_take_error(&instance->fake, text, sizeof text);
    assert_non_null(strstr(text, "none/machine"));
}

static int run_plugin(const char *path)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(the_machine_passes_all_checks),
        cmocka_unit_test(a_second_description_is_the_same),
        cmocka_unit_test(a_refusal_of_the_builder_ends_the_description),
        cmocka_unit_test(a_failed_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(options_may_differ_between_ranks),
        cmocka_unit_test(the_machine_can_be_saved_where_the_plugin_can),
    };
    instance_t instance = {0};
    char why[512];
    int failures = 1;

    printf("TESTING %s\n", path);
    instance.plugin = fake_plugin_open(path, WEFT_KIND_TOPO, why, sizeof why);
    if (instance.plugin != NULL) {
        instance.config = fake_config_create(instance.plugin, NULL, why, sizeof why);
    }
    if (instance.config == NULL) {
        printf("FAILED %s: %s\n", path, why);
        return 1;
    }
    instance.ops = instance.plugin->ops;
    fake_host_init(&instance.fake, instance.plugin->name);
    if (instance.ops->create(&instance.fake.host, instance.config, &instance.topo) == WEFT_OK) {
        for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
            tests[i].initial_state = &instance;
        }
        failures = cmocka_run_group_tests_name(path, tests, NULL, NULL);
        instance.ops->destroy(instance.topo);
        failures += instance.fake.live != 0;
    }
    fake_host_fini(&instance.fake);
    fake_config_destroy(instance.config);
    return failures;
}

/* hwloc forgets what it had read of a file that it refuses, and libpciaccess frees no names. */
__attribute__((visibility("default"))) const char *
__lsan_default_suppressions(void);            /* NOLINT: the name is the sanitizer's */
const char *__lsan_default_suppressions(void) /* NOLINT */
{
    return "leak:libhwloc\nleak:libpciaccess\n";
}

int main(int argc, char **argv)
{
    int failures = argc < 2;
    for (int i = 1; i < argc; i++) {
        failures += run_plugin(argv[i]);
    }
    return failures != 0;
}
