/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A fat tree: 16 hosts to a leaf switch, half as many cables up as down, so that half of the
 * traffic of a leaf can leave it at full speed. Latencies add up to α − o on the longest way;
 * actors take o, half at each end. It stands in a zone, since SimGrid 4.0 crashes on a cluster in
 * none. */
#include "tools/simgrid/simgrid_platform.h"

#include "tools/simgrid/simgrid_plan.h"

#define LEAF 16u

void platform_write(const job_options_t *options, uint32_t hosts, FILE *out)
{
    uint32_t leaves = (hosts + LEAF - 1) / LEAF;
    double bandwidth = 1 / (options->beta > 0 ? options->beta : 1e-15);
    double speed = 1 / (options->gamma > 0 ? options->gamma : 1e-15);
    double latency = options->alpha > options->overhead ? options->alpha - options->overhead : 0;
    char shape[64];
    if (leaves == 1) {
        snprintf(shape, sizeof shape, "1;%u;1;1", hosts < 2 ? 2 : hosts);
    } else {
        snprintf(shape, sizeof shape, "2;%u,%u;1,%u;1,1", LEAF, leaves, LEAF / 2);
    }
    uint32_t nodes = leaves == 1 ? (hosts < 2 ? 2 : hosts) : leaves * LEAF;
    fprintf(out,
            "<?xml version='1.0'?>\n"
            "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
            "<platform version=\"4.1\">\n"
            "<zone id=\"world\" routing=\"Full\">\n"
            "<cluster id=\"weft\" prefix=\"host-\" suffix=\"\" radical=\"0-%u\" speed=\"%.6gf\" "
            "core=\"%u\" bw=\"%.6gBps\" lat=\"%.6gs\" loopback_bw=\"%.6gBps\" "
            "loopback_lat=\"%.6gs\" topology=\"FAT_TREE\" topo_parameters=\"%s\"/>\n"
            "</zone>\n"
            "</platform>\n",
            nodes - 1, speed, options->per_host, bandwidth, latency / (leaves == 1 ? 2 : 4),
            bandwidth, latency / 10, shape);
}
