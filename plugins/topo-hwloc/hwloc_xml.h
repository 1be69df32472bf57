/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an XML of hwloc says, before hwloc believes it. */
#ifndef TOPO_HWLOC_XML_H
#define TOPO_HWLOC_XML_H

#include "hwloc_instance.h"

#define HWLOC_XML_BYTES_MAX (32 << 20)
#define HWLOC_XML_OBJECTS_MAX 65536u
#define HWLOC_XML_ELEMENTS_MAX (1u << 20) /* of all kinds: infos, values of distances */
#define HWLOC_XML_DEPTH_MAX 128u
#define HWLOC_XML_VALUE_MAX 65536u    /* bytes of an attribute */
#define HWLOC_XML_DISTANCES_MAX 1024u /* objects of a matrix of distances */
#define HWLOC_XML_INDEX_MAX 8191u     /* of PUs and NUMA nodes, and bits of a set */

/* Checks elements, their places, and the attributes that make sizes and trees. ERR_CONFIG with
 * file, line, element and what is wrong. A file that passes may still be refused by hwloc. */
weft_status_t hwloc_xml_check(const weft_host_t *host, const char *file, const char *text,
                              size_t bytes);

#endif
