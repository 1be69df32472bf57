/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Speeds of ports, which hwloc does not tell. */
#ifndef TOPO_HWLOC_SPEED_H
#define TOPO_HWLOC_SPEED_H

/* Bytes per second of the fastest of this machine's ports with these names, separated by blanks:
 * the first port of an RDMA device, or a network interface. 0: nobody knows. */
double hwloc_port_speed(const char *names);

#endif
