/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin plain-kernel, for tests: a kernel that gives its arithmetic no name. Ranks that agree
 * on it find that it cannot be used. */
#include <weft/plugin/plugin.h>
#include <weft/plugin/kernel.h>

static weft_status_t plain_create(const weft_host_t *host, const void *config,
                                  weft_kernel_t **kernel_p)
{
    (void)config;
    (void)kernel_p;
    return host->set_error(host, WEFT_ERR_UNSUPPORTED, 0, "plain-kernel computes nothing");
}

static void plain_destroy(weft_kernel_t *kernel)
{
    (void)kernel;
}

static weft_status_t plain_props(weft_kernel_t *kernel, weft_kernel_props_t *props)
{
    (void)kernel;
    (void)props;
    return WEFT_ERR_UNSUPPORTED;
}

static weft_status_t plain_select(weft_kernel_t *kernel, weft_dtype_t dtype, weft_op_t op,
                                  weft_combine_fn_t *fn_p)
{
    (void)kernel;
    (void)dtype;
    (void)op;
    (void)fn_p;
    return WEFT_ERR_UNSUPPORTED;
}

static const weft_kernel_ops_t plain_ops = {.size = sizeof(weft_kernel_ops_t),
                                            .create = plain_create,
                                            .destroy = plain_destroy,
                                            .props = plain_props,
                                            .select = plain_select};

const weft_plugin_t *weft_plugin_entry(void)
{
    static const weft_option_t options[] = {{.name = "kind",
                                             .type = WEFT_OPT_INT,
                                             .value = "1",
                                             .help = "all ranks must have the same"},
                                            {.name = NULL}};
    static const weft_plugin_t plugin = {.magic = WEFT_PLUGIN_MAGIC,
                                         .abi_major = WEFT_ABI_KERNEL_MAJOR,
                                         .abi_minor = WEFT_ABI_KERNEL_MINOR,
                                         .size = sizeof(weft_plugin_t),
                                         .kind = WEFT_KIND_KERNEL,
                                         .name = "plain-kernel",
                                         .version = "7",
                                         .help = "a kernel whose arithmetic has no name",
                                         .options = options,
                                         .config_size = sizeof(int64_t),
                                         .ops = &plain_ops};
    return &plugin;
}
