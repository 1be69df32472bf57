/* SPDX-License-Identifier: BSD-3-Clause
 *
 * gpu-kernel KERNEL-CUDA.so KERNEL-CPU.so [quick]: the arithmetic of a device against that of a
 * processor, then how fast it is; no core, no other rank. Exit code 77: no device can be used
 * here. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "tests/support/fake_host.h"

static fake_host_t host;

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
    weft_status_t status = check->ops[i]->create(&host.host, config, &check->kernel[i]);
    fake_config_destroy(config);
    return status;
}

int main(int argc, char **argv)
{
    check_t check = {.quick = argc > 3 && strcmp(argv[3], "quick") == 0};
    if (argc < 3) {
        fprintf(stderr, "usage: %s KERNEL-CUDA.so KERNEL-CPU.so [quick]\n", argv[0]);
        return 2;
    }
    fake_host_init(&host, "gpu-kernel");
    host.verbose = true;
    weft_status_t status = open_kernel(&check, 0, argv[1]);
    if (status == WEFT_ERR_UNSUPPORTED) {
        return 77;
    }
    if (status != WEFT_OK || open_kernel(&check, 1, argv[2]) != WEFT_OK) {
        return 1;
    }
    check_bits(&check);
    if (!check.quick) {
        check_rates(&check);
    }
    check.ops[0]->destroy(check.kernel[0]);
    check.ops[1]->destroy(check.kernel[1]);
    fake_host_fini(&host);
    return check.failures != 0;
}
