/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Speeds of ports, which hwloc does not tell. */
#ifndef TOPO_HWLOC_SPEED_H
#define TOPO_HWLOC_SPEED_H

/* Bytes per second of the fastest of this machine's ports with these names, separated by blanks:
 * the first port of an RDMA device, or a network interface. 0: nobody knows. */
double hwloc_port_speed(const char *names);

/* Reads the number at the start of a text, as strtod does, with a decimal point whatever the locale
 * of the program. Sets *end_p behind it, or to `text` if there is none. */
double hwloc_number(const char *text, char **end_p);

#endif
