/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loading a topology of hwloc: this machine, an XML, or a synthetic description. */
#include "hwloc_load.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hwloc_synthetic.h"
#include "hwloc_xml.h"

static weft_status_t hwloc_load_refuse_file(const weft_topo_t *topo, int os_errno, const char *what)
{
    return topo->host->set_error(topo->host, WEFT_ERR_CONFIG, os_errno, "%s: %s", topo->config.xml,
                                 what);
}

/* The file ends with a 0, which hwloc wants counted. */
static weft_status_t hwloc_load_read(const weft_topo_t *topo, int fd, char **text_p,
                                     size_t *bytes_p)
{
    const weft_host_t *host = topo->host;
    struct stat st;
    size_t have = 0;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        return hwloc_load_refuse_file(topo, 0, "this is no file");
    }
    if (st.st_size > HWLOC_XML_BYTES_MAX) {
        return hwloc_load_refuse_file(topo, 0, "the file is larger than 32 MiB");
    }
    char *text = host->alloc(host, (size_t)st.st_size + 1, 0);
    ssize_t got = text != NULL ? 1 : 0;
    while (got > 0 && have < (size_t)st.st_size) {
        got = read(fd, text + have, (size_t)st.st_size - have);
        have += got > 0 ? (size_t)got : 0;
    }
    if (text == NULL || got < 0) {
        host->free(host, text);
        return text == NULL ? WEFT_ERR_RESOURCE
                            : hwloc_load_refuse_file(topo, errno, "cannot be read");
    }
    *text_p = text;
    *bytes_p = have;
    return WEFT_OK;
}

static weft_status_t hwloc_load_xml(weft_topo_t *topo, char **text_p)
{
    size_t bytes = 0;
    int fd = open(topo->config.xml, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return hwloc_load_refuse_file(topo, errno, "cannot be opened");
    }
    weft_status_t status = hwloc_load_read(topo, fd, text_p, &bytes);
    close(fd);
    status =
        status == WEFT_OK ? hwloc_xml_check(topo->host, topo->config.xml, *text_p, bytes) : status;
    if (status == WEFT_OK &&
        hwloc_topology_set_xmlbuffer(topo->hwloc, *text_p, (int)bytes + 1) != 0) {
        status = hwloc_load_refuse_file(topo, 0, "hwloc takes this for no XML of its own");
    }
    return status;
}

static weft_status_t hwloc_load_synthetic(weft_topo_t *topo)
{
    const char *text = topo->config.synthetic;
    weft_status_t status = hwloc_synthetic_check(topo->host, text);
    if (status == WEFT_OK && hwloc_topology_set_synthetic(topo->hwloc, text) != 0) {
        status = topo->host->set_error(topo->host, WEFT_ERR_CONFIG, 0,
                                       "synthetic: hwloc does not understand \"%.200s\"; it takes "
                                       "descriptions as \"pack:2 numa:1 core:8 pu:2\"",
                                       text);
    }
    return status;
}

/* What asks a runtime for its devices makes contexts on them, or waits for a display: kernel
 * plugins tell of devices. */
static void hwloc_load_leave_out(hwloc_topology_t hwloc)
{
    static const char *const heavy[] = {"cuda", "nvml", "rsmi", "levelzero", "opencl", "gl"};
    for (size_t i = 0; i < sizeof heavy / sizeof heavy[0]; i++) {
        hwloc_topology_set_components(hwloc, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, heavy[i]);
    }
}

/* What hwloc_xml_check() lets pass, and hwloc not. Early releases of hwloc 2 read no file of
 * hwloc 3. */
static weft_status_t hwloc_load_refuse_xml(const weft_topo_t *topo, const char *text)
{
    return hwloc_load_refuse_file(
        topo, 0,
        strstr(text, "<topology version=\"3.0\"") != NULL
            ? "this is of hwloc 3, and the hwloc here does not read it; `lstopo "
              "--export-xml-flags 2 FILE.xml` of hwloc 3 writes one that it reads"
            : "hwloc refuses it and does not say why; `weft topo --xml FILE` and `lstopo "
              "FILE.xml` write such files");
}

static weft_status_t hwloc_load_all(weft_topo_t *topo, char **text_p)
{
    const bool file = topo->config.xml[0] != '\0', made_up = topo->config.synthetic[0] != '\0';
    weft_status_t status = WEFT_OK;
    if (!file && !made_up) {
        hwloc_load_leave_out(topo->hwloc);
    } else {
        status = file ? hwloc_load_xml(topo, text_p) : hwloc_load_synthetic(topo);
    }
    if (status != WEFT_OK) {
        return status;
    }
    hwloc_topology_set_io_types_filter(topo->hwloc, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    hwloc_topology_set_flags(topo->hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (hwloc_topology_load(topo->hwloc) == 0) {
        return WEFT_OK;
    }
    if (file) {
        return hwloc_load_refuse_xml(topo, *text_p);
    }
    return topo->host->set_error(topo->host, made_up ? WEFT_ERR_CONFIG : WEFT_ERR_SYSTEM, errno,
                                 made_up ? "synthetic: hwloc refuses the description"
                                         : "hwloc cannot read this machine");
}

weft_status_t hwloc_load(weft_topo_t *topo)
{
    char *text = NULL;
    if (topo->hwloc != NULL) {
        return WEFT_OK;
    }
    if (hwloc_topology_init(&topo->hwloc) != 0) {
        topo->hwloc = NULL;
        return topo->host->set_error(topo->host, WEFT_ERR_RESOURCE, 0, "no memory for a topology");
    }
    weft_status_t status = hwloc_load_all(topo, &text);
    topo->host->free(topo->host, text);
    if (status != WEFT_OK) {
        hwloc_topology_destroy(topo->hwloc);
        topo->hwloc = NULL;
    }
    return status;
}
