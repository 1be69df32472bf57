/* SPDX-License-Identifier: BSD-3-Clause
 *
 * weft-conformance-net [-m MESSAGES] PATH [key=value…]: tests one net plugin against the contract of
 * weft/plugin/net.h. Each case runs in a process of its own under a watchdog. Exit code 0: every case
 * that the plugin claims to serve holds. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit.h"

#define WATCHDOG_S 60

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MESSAGES 1500
#else
#define MESSAGES 10000
#endif

typedef struct tally {
    uint32_t passed, skipped, failed;
} tally_t;

static const struct {
    uint32_t bit;
    const char *name;
} caps[] = {{WEFT_NET_CAP_MESSAGES, "WEFT_NET_CAP_MESSAGES (post and poll)"},
            {WEFT_NET_CAP_MAP, "WEFT_NET_CAP_MAP (mapped memory)"}};

/* What libraries below a plugin keep for the life of the process, as librdmacm its adapters, is no leak of
 * an instance: a first one, with nothing but its life, makes them settle. */
static void libraries_settle(const kit_t *kit)
{
    kit_side_t side;
    memset(&side, 0, sizeof side);
    if (side_try_open(kit, &side, kit->settings) == WEFT_OK) {
        side_close(&side);
    }
}

static void case_child(const kit_t *kit, const kit_case_t *item)
{
    alarm(WATCHDOG_S);
    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
        if ((item->needs & caps[i].bit & ~kit->ops->caps) != 0) {
            kit_skip(caps[i].name);
        }
    }
    libraries_settle(kit);
    uint32_t before = kit_fd_count();
    item->run(kit);
    uint32_t after = kit_fd_count();
    kit_note("%u descriptors before, %u after", before, after);
    REQUIRE(before == after);
    exit(0);
}

static void case_run(const kit_t *kit, const kit_case_t *item, tally_t *tally)
{
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        case_child(kit, item);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        perror("weft-conformance-net");
        exit(2);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        tally->passed++;
        printf("ok    %s\n", item->name);
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == KIT_SKIPPED) {
        tally->skipped++;
        printf("SKIP  %s\n", item->name);
    } else {
        tally->failed++;
        printf("FAIL  %s", item->name);
        if (WIFSIGNALED(status)) {
            printf(" (signal %d%s)", WTERMSIG(status),
                   WTERMSIG(status) == SIGALRM ? ", watchdog" : "");
        }
        printf("\n");
    }
}

/* What the loader demands, and cannot be tested once the cases run. */
static bool table_check(const kit_t *kit)
{
    const weft_net_ops_t *ops = kit->ops;
    bool life = ops->create && ops->destroy && ops->device_count && ops->device_props &&
                ops->device_open && ops->device_close;
    bool conn = ops->listen && ops->listener_close && ops->reachable && ops->connect_begin &&
                ops->connect_poll && ops->accept && ops->conn_info && ops->conn_check &&
                ops->conn_close;
    bool messages =
        (ops->caps & WEFT_NET_CAP_MESSAGES) == 0 || (ops->post && ops->poll && ops->cancel);
    bool map = (ops->caps & WEFT_NET_CAP_MAP) == 0 || WEFT_HAS(ops, weft_net_ops_t, get_extension);
    bool some = (ops->caps & (WEFT_NET_CAP_MESSAGES | WEFT_NET_CAP_MAP)) != 0;
    if (!life || !conn || !messages || !map || !some) {
        printf("FAIL  table: a mandatory slot is empty, or no capability is claimed\n");
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    static const kit_case_t *const groups[] = {connect_cases, hostile_cases, message_cases,
                                               payload_cases, failure_cases, map_cases,
                                               life_cases};
    char why[400];
    tally_t tally = {0, 0, 0};
    const struct rlimit no_core = {0, 0};
    uint32_t messages = MESSAGES;
    if (argc > 2 && strcmp(argv[1], "-m") == 0) {
        messages = (uint32_t)strtoul(argv[2], NULL, 10);
        argc -= 2;
        argv += 2;
    }
    if (argc < 2 || argv[1][0] == '-' || messages < 100) {
        fprintf(stderr,
                "usage: weft-conformance-net [-m MESSAGES] PLUGIN.so [key=value...]\n"
                "  -m  messages of the longest exchange, 100 or more (default %d)\n",
                MESSAGES);
        return 2;
    }
    setrlimit(RLIMIT_CORE, &no_core);
    kit_t kit = {.settings = (const char *const *)argv + 2, .messages = messages};
    kit.plugin = fake_plugin_open(argv[1], WEFT_KIND_NET, why, sizeof why);
    if (kit.plugin == NULL) {
        fprintf(stderr, "weft-conformance-net: %s\n", why);
        return 2;
    }
    kit.ops = kit.plugin->ops;
    printf("weft conformance: %s %s, net ABI %d.%d\n", kit.plugin->name, kit.plugin->version,
           kit.plugin->abi_major, kit.plugin->abi_minor);
    if (!table_check(&kit)) {
        return 1;
    }
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        for (const kit_case_t *item = groups[g]; item->name != NULL; item++) {
            case_run(&kit, item, &tally);
        }
    }
    printf("%u held, %u skipped, %u failed\n", tally.passed, tally.skipped, tally.failed);
    return tally.failed > 0 ? 1 : 0;
}
