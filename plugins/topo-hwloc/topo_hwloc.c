/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin topo-hwloc: this machine as hwloc reads it, or one that an XML of hwloc or a synthetic
 * description tells. hwloc is read into the core's description once; nothing of it stays. */
#include "hwloc_instance.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "hwloc_load.h"
#include "hwloc_nodes.h"
#include "hwloc_pci.h"

static weft_status_t topo_hwloc_create(const weft_host_t *host, const void *config,
                                       weft_topo_t **topo_p)
{
    const topo_hwloc_config_t *options = config;
    if (options->xml[0] != '\0' && options->synthetic[0] != '\0') {
        return host->set_error(host, WEFT_ERR_CONFIG, 0,
                               "xml and synthetic are both set; a machine has one description");
    }
    weft_topo_t *topo = host->alloc(host, sizeof *topo, 0);
    if (topo == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    topo->host = host;
    topo->config = *options;
    *topo_p = topo;
    return WEFT_OK;
}

static void topo_hwloc_destroy(weft_topo_t *topo)
{
    if (topo != NULL) {
        if (topo->hwloc != NULL) {
            hwloc_topology_destroy(topo->hwloc);
        }
        topo->host->free(topo->host, topo);
    }
}

static weft_status_t topo_hwloc_set_machine(const weft_topo_t *topo,
                                            const weft_topo_builder_t *builder)
{
    const char *host = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topo->hwloc), "HostName");
    const char *file = topo->config.xml, *made_up = topo->config.synthetic;
    const char *source = file[0] != '\0' ? file : made_up[0] != '\0' ? "synthetic" : "hwloc";
    if (host == NULL) {
        host = file[0] != '\0' ? file : made_up[0] != '\0' ? made_up : "here";
    }
    return builder->set_machine(builder, host, source, 0);
}

static weft_status_t topo_hwloc_discover(weft_topo_t *topo, const weft_topo_builder_t *builder)
{
    weft_status_t status = hwloc_load(topo);
    status = status == WEFT_OK ? topo_hwloc_set_machine(topo, builder) : status;
    status = status == WEFT_OK ? hwloc_add_nodes(topo, builder) : status;
    return status == WEFT_OK ? hwloc_add_devices(topo, builder) : status;
}

static bool hwloc_write(const char *text, size_t bytes, const char *file)
{
    FILE *out = strcmp(file, "-") == 0 ? stdout : fopen(file, "we");
    if (out == NULL) {
        return false;
    }
    bool written = fwrite(text, 1, bytes, out) == bytes && fflush(out) == 0;
    int error = errno;
    if (out != stdout && fclose(out) != 0 && written) {
        written = false;
        error = errno;
    }
    errno = error;
    return written;
}

/* hwloc would write the file itself, and does not tell why it could not. */
static weft_status_t topo_hwloc_save(weft_topo_t *topo, const char *file)
{
    char *text;
    int bytes; /* with the 0 at its end */
    weft_status_t status = hwloc_load(topo);
    if (status != WEFT_OK) {
        return status;
    }
    if (hwloc_topology_export_xmlbuffer(topo->hwloc, &text, &bytes, 0) != 0) {
        return topo->host->set_error(topo->host, WEFT_ERR_SYSTEM, errno,
                                     "hwloc cannot describe this machine as XML");
    }
    if (!hwloc_write(text, (size_t)bytes - 1, file)) {
        status = topo->host->set_error(topo->host, WEFT_ERR_SYSTEM, errno, "cannot write %s", file);
    }
    hwloc_free_xmlbuffer(topo->hwloc, text);
    return status;
}

static const weft_option_t options[] = {
    {"xml", WEFT_OPT_STRING, offsetof(topo_hwloc_config_t, xml), "",
     "XML of hwloc that describes the machine; empty: this machine", NULL, 0, 0, WEFT_OPTION_LOCAL,
     0},
    {"synthetic", WEFT_OPT_STRING, offsetof(topo_hwloc_config_t, synthetic), "",
     "made-up machine in the words of hwloc: pack:2 numa:1 core:8 pu:2; empty: this machine", NULL,
     0, 0, WEFT_OPTION_LOCAL, 0},
    {"nvml", WEFT_OPT_BOOL, offsetof(topo_hwloc_config_t, nvml), "yes",
     "ask NVML, where it is there, for the NVLinks of this machine", NULL, 0, 0, WEFT_OPTION_LOCAL,
     0},
    {NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0},
};

const weft_plugin_t *weft_plugin_entry(void)
{
    static const weft_topo_ops_t ops = {
        .size = sizeof ops,
        .create = topo_hwloc_create,
        .destroy = topo_hwloc_destroy,
        .discover = topo_hwloc_discover,
        .save = topo_hwloc_save,
    };
    static const weft_plugin_t plugin = {
        .magic = WEFT_PLUGIN_MAGIC,
        .abi_major = WEFT_ABI_TOPO_MAJOR,
        .abi_minor = WEFT_ABI_TOPO_MINOR,
        .size = sizeof plugin,
        .kind = WEFT_KIND_TOPO,
        .name = "topo-hwloc",
        .version = "1",
        .help = "the machine as hwloc reads it, from the system, an XML or a made-up description",
        .options = options,
        .config_size = sizeof(topo_hwloc_config_t),
        .ops = &ops,
    };
    return &plugin;
}
