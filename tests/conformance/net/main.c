/* SPDX-License-Identifier: BSD-3-Clause
 *
 * weft-conformance-net [OPTIONS] PATH [key=value…]: tests one net plugin against the contract of
 * weft/plugin/net.h. Each case runs in a process of its own under a watchdog; what it forked ends
 * with it. Exit code 0: every case that the plugin claims to serve holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"
#include "kit_frame.h"
#include "measure.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MESSAGES 1500
#else
#define MESSAGES 10000
#endif

static const struct {
    uint32_t bit;
    const char *name;
} caps[] = {{WEFT_NET_CAP_MESSAGES, "WEFT_NET_CAP_MESSAGES (post and poll)"},
            {WEFT_NET_CAP_MAP, "WEFT_NET_CAP_MAP (mapped memory)"}};

static const kit_case_t *const groups[] = {checked_cases, connect_cases, device_cases,
                                           hostile_cases, message_cases, payload_cases,
                                           failure_cases, map_cases,     life_cases};
#define GROUPS (sizeof groups / sizeof groups[0])

static const kit_case_t *net_case(uint32_t number)
{
    for (size_t g = 0; g < GROUPS; g++) {
        for (const kit_case_t *item = groups[g]; item->name != NULL; item++) {
            if (number-- == 0) {
                return item;
            }
        }
    }
    return NULL;
}

static const char *net_name(uint32_t number)
{
    const kit_case_t *item = net_case(number);
    return item != NULL ? item->name : NULL;
}

/* What libraries below a plugin keep for the life of the process, as librdmacm its adapters, is no
 * leak of an instance: a first one, with nothing but its life, makes them settle. */
static void libraries_settle(const kit_t *kit)
{
    kit_side_t side;
    memset(&side, 0, sizeof side);
    if (side_try_open(kit, &side, kit->settings) == WEFT_OK) {
        side_close(&side);
    }
}

static kit_t net_kit(const kit_run_t *run)
{
    return (kit_t){.plugin = run->plugin,
                   .ops = run->plugin->ops,
                   .settings = run->settings,
                   .messages = run->messages,
                   .seed = run->seed,
                   .path = run->path};
}

static void net_measure(const kit_run_t *run)
{
    const kit_t kit = net_kit(run);
    measure_print(&kit);
}

static void net_run(const kit_run_t *run, uint32_t number)
{
    const kit_case_t *item = net_case(number);
    const kit_t kit = net_kit(run);
    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
        if ((item->needs & caps[i].bit & ~kit.ops->caps) != 0) {
            kit_skip(caps[i].name);
        }
    }
    if (number < KIT_CHECKED) { /* the layer has a thread and may keep descriptors */
        item->run(&kit);
        return;
    }
    libraries_settle(&kit);
    uint32_t before = kit_fd_count();
    item->run(&kit);
    uint32_t after = kit_fd_count();
    kit_note("%u descriptors before, %u after", before, after);
    REQUIRE(before == after);
}

int main(int argc, char **argv)
{
    static const kit_suite_t suite = {.program = "weft-conformance-net",
                                      .kind = WEFT_KIND_NET,
                                      .messages = MESSAGES,
                                      .first = KIT_CHECKED,
                                      .name = net_name,
                                      .run = net_run,
                                      .measure = net_measure};
    return kit_main(&suite, argc, argv);
}
