/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Speeds of ports, from /sys. */
#include "hwloc_speed.h"

#include <stdio.h>
#include <string.h>

/* A number at the beginning of a small file, or 0. */
static double hwloc_speed_read(const char *folder, const char *name, const char *below)
{
    char path[200];
    double value = 0;
    if (snprintf(path, sizeof path, "/sys/class/%s/%s/%s", folder, name, below) >=
        (int)sizeof path) {
        return 0;
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    char text[64];
    if (fgets(text, sizeof text, file) == NULL || sscanf(text, "%lf", &value) != 1 ||
        !(value > 0 && value < 1e8)) {
        value = 0;
    }
    fclose(file);
    return value;
}

double hwloc_port_speed(const char *names)
{
    double speed = 0;
    char name[64];
    while (*names != '\0') {
        const size_t length = strcspn(names, " ");
        if (length < sizeof name) {
            snprintf(name, sizeof name, "%.*s", (int)length, names);
            /* "400 Gb/sec (4X NDR)", and a number of Mbit/s */
            const double rate = 1e9 / 8 * hwloc_speed_read("infiniband", name, "ports/1/rate");
            const double link = 1e6 / 8 * hwloc_speed_read("net", name, "speed");
            speed = rate > speed ? rate : speed;
            speed = link > speed ? link : speed;
        }
        names += length + (names[length] == ' ' ? 1 : 0);
    }
    return speed;
}
