/* SPDX-License-Identifier: BSD-3-Clause
 *
 * check KERNEL-CUDA.so KERNEL-CPU.so REPORT.json [quick]: what a device gives against what a processor
 * gives. Needs nothing of the tree but the two plugins, so it runs where the tree cannot be built. Exit
 * code 77: no device can be used here. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "device.h"
#include "tests/support/fake_host.h"

static void host_log(const weft_host_t *host, weft_log_level_t level, const char *format, ...)
{
    va_list args;
    (void)host;
    va_start(args, format);
    if (level <= WEFT_LOG_INFO) {
        vfprintf(stderr, format, args);
        fputc('\n', stderr);
    }
    va_end(args);
}

static weft_status_t host_set_error(const weft_host_t *host, weft_status_t status, int os_errno,
                                    const char *format, ...)
{
    va_list args;
    (void)host;
    (void)os_errno;
    va_start(args, format);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return status;
}

static void *host_alloc(const weft_host_t *host, size_t bytes, size_t align)
{
    const size_t unit = align < 64 ? 64 : align, room = (bytes + unit) / unit * unit;
    void *at = aligned_alloc(unit, room);
    (void)host;
    return at != NULL ? memset(at, 0, room) : NULL;
}

static void host_free(const weft_host_t *host, void *memory)
{
    (void)host;
    free(memory);
}

static uint64_t host_clock(const weft_host_t *host)
{
    (void)host;
    return (uint64_t)(device_seconds() * 1e9);
}

void check_line(check_t *check, const char *name, bool good, double value, const char *unit)
{
    FILE *json = check->json;
    check->failures += !good;
    printf("%-44s %-6s %12.2f %s\n", name, good ? "ok" : "FAILED", value, unit);
    fprintf(json, ",\n  {\"name\": \"%s\", \"ok\": %s, \"value\": %.6g, \"unit\": \"%s\"}", name,
            good ? "true" : "false", value, unit);
    fflush(stdout);
}

static weft_status_t open_kernel(check_t *check, uint32_t i, const char *path)
{
    char why[256];
    const weft_plugin_t *plugin = fake_plugin_open(path, WEFT_KIND_KERNEL, why, sizeof why);
    void *config = plugin != NULL ? fake_config_create(plugin, NULL, why, sizeof why) : NULL;
    if (config == NULL) {
        fprintf(stderr, "%s\n", why);
        return WEFT_ERR_PLUGIN;
    }
    check->ops[i] = plugin->ops;
    weft_status_t status = check->ops[i]->create(&check->host, config, &check->kernel[i]);
    fake_config_destroy(config);
    return status;
}

static void run(check_t *check)
{
    char name[300];
    device_name(name, sizeof name);
    fprintf(check->json, "[\n  {\"device\": \"%s\"}", name);
    printf("%s\n", name);
    check_bits(check);
    if (!check->quick) {
        check_speed(check);
    }
    fprintf(check->json, "\n]\n");
    printf("%s\n", check->failures == 0 ? "all right" : "SOMETHING FAILED");
}

int main(int argc, char **argv)
{
    check_t check = {.host = {.size = sizeof check.host,
                              .log_level = WEFT_LOG_INFO,
                              .log = host_log,
                              .set_error = host_set_error,
                              .alloc = host_alloc,
                              .free = host_free,
                              .clock_ns = host_clock}};
    if (argc < 4) {
        fprintf(stderr, "usage: %s KERNEL-CUDA.so KERNEL-CPU.so REPORT.json [quick]\n", argv[0]);
        return 2;
    }
    check.quick = argc > 4 && strcmp(argv[4], "quick") == 0;
    weft_status_t status = open_kernel(&check, 0, argv[1]);
    if (status == WEFT_ERR_UNSUPPORTED) {
        return 77;
    }
    if (status != WEFT_OK || open_kernel(&check, 1, argv[2]) != WEFT_OK) {
        return 1;
    }
    check.json = fopen(argv[3], "we");
    if (check.json == NULL) {
        perror(argv[3]);
        return 1;
    }
    run(&check);
    fclose(check.json);
    check.ops[0]->destroy(check.kernel[0]);
    check.ops[1]->destroy(check.kernel[1]);
    return check.failures != 0;
}
