/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Machines that a user describes to topo-hwloc: an XML of hwloc, or, behind the byte '=', a line of
 * text. What is taken is a machine that holds, and reads back from its text as the same; what is
 * refused names the file. Where the input ends with the byte 255 and a number, that allocation
 * fails. */
#include <hwloc.h>

#include "core/base/error.h"
#include "core/plugin/discover.h"
#include "core/topo/machine_text.h"
#include "fuzz.h"
#include "hwloc_instance.h"
#include "tests/support/fake_host.h"

static fake_host_t fake;

/* hwloc forgets what it had read of a file that it refuses. */
__attribute__((visibility("default"))) const char *
__lsan_default_suppressions(void);            /* NOLINT: the name is the sanitizer's */
const char *__lsan_default_suppressions(void) /* NOLINT */
{
    return "leak:libhwloc\n";
}

/* hwloc reads its own plugins with the first topology and forgets them with the last: one stays. */
static void start(void)
{
    hwloc_topology_t keeps;
    if (fake.name == NULL) {
        FUZZ_NEED(setenv("HWLOC_HIDE_ERRORS", "2", 1) == 0);
        FUZZ_NEED(hwloc_topology_init(&keeps) == 0);
        fake_host_init(&fake, "fuzz");
    }
}

static char *printed(const weft_machine_t *machine)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    FUZZ_NEED(out != NULL);
    weft_machine_print(machine, out);
    fclose(out);
    return text;
}

static void taken(weft_machine_t *machine)
{
    weft_machine_t again;
    FUZZ_NEED(weft_machine_check(machine) == WEFT_OK);
    char *first = printed(machine);
    if (weft_machine_parse("fuzz", first, &again) != WEFT_OK) {
        fprintf(stderr, "%s\n%s\n", weft_error_record()->text, first);
        abort();
    }
    char *second = printed(&again);
    fuzz_same(first, second);
    weft_machine_fini(&again);
    free(first);
    free(second);
}

static void refused(weft_status_t status, const char *file)
{
    const char *why = fake.error[0] != '\0' ? fake.error : weft_error_record()->text;
    FUZZ_NEED(why[0] != '\0' || status == WEFT_ERR_RESOURCE);
    if (status != WEFT_ERR_RESOURCE && strstr(why, file) == NULL) {
        fprintf(stderr, "no word of %s: %s\n", file, why);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const weft_topo_ops_t *ops = weft_plugin_entry()->ops;
    weft_machine_t machine;
    weft_topo_t *topo = NULL;
    uint64_t fails = 0;
    start();
    if (bytes >= 2 && data[bytes - 2] == 255) {
        fails = atomic_load(&fake.allocs) + data[bytes - 1] + 1;
        bytes -= 2;
    }
    const bool line = bytes > 0 && data[0] == '=';
    char *text = line ? fuzz_text(data + 1, bytes - 1) : NULL;
    const topo_hwloc_config_t config = {.xml = line ? "" : fuzz_file(data, bytes),
                                        .synthetic = line && *text != '\0' ? text
                                                     : line                ? "?"
                                                                           : ""};
    fake.error[0] = '\0';
    weft_error_clear(weft_error_record());
    atomic_store(&fake.fail_at, fails);
    weft_status_t status = ops->create(&fake.host, &config, &topo);
    if (status == WEFT_OK) {
        status = weft_discover_by(ops, topo, "topo-hwloc", &machine);
        ops->destroy(topo);
    }
    atomic_store(&fake.fail_at, 0);
    if (status == WEFT_OK) {
        taken(&machine);
        weft_machine_fini(&machine);
    } else {
        refused(status, line ? "synthetic" : config.xml);
    }
    FUZZ_NEED(atomic_load(&fake.live) == 0);
    free(text);
    return 0;
}
