/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptions of hosts as bytes. */
#include "core/topo/job_kind.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/topo/paths.h"

#define BANDWIDTH_UNIT 1e8

_Static_assert(sizeof(weft_job_kind_t) == 48, "no padding: descriptions are sent as bytes");
_Static_assert(sizeof(weft_job_device_t) == 12 && sizeof(weft_algo_path_t) == 4, "as above");

/* Where the parts begin, and the end. */
typedef struct job_kind_parts {
    size_t devices, units, paths, names, rings, trees, end;
    size_t channel; /* bytes of one */
} job_kind_parts_t;

static size_t job_kind_round(size_t bytes)
{
    return (bytes + 3) / 4 * 4;
}

static job_kind_parts_t job_kind_parts(const weft_job_kind_t *kind)
{
    size_t n = kind->ndevices;
    job_kind_parts_t parts = {.devices = sizeof *kind};
    parts.channel = 2 + (size_t)kind->nparticipants;
    parts.units = parts.devices + n * sizeof(weft_job_device_t);
    parts.paths = parts.units + kind->nparticipants * sizeof(uint32_t);
    parts.names = parts.paths + (n > 0 ? n * (n - 1) / 2 : 0) * sizeof(weft_algo_path_t);
    parts.rings = parts.names + (n - kind->ngpus) * WEFT_JOB_NIC_BYTES;
    parts.trees = parts.rings + job_kind_round(kind->rings.nchannels * parts.channel);
    parts.end = parts.trees + job_kind_round(kind->trees.nchannels * parts.channel);
    return parts;
}

const weft_job_device_t *weft_job_kind_devices(const weft_job_kind_t *kind)
{
    return (const void *)((const uint8_t *)kind + job_kind_parts(kind).devices);
}

const uint32_t *weft_job_kind_units(const weft_job_kind_t *kind)
{
    return (const void *)((const uint8_t *)kind + job_kind_parts(kind).units);
}

const weft_algo_path_t *weft_job_kind_paths(const weft_job_kind_t *kind)
{
    return (const void *)((const uint8_t *)kind + job_kind_parts(kind).paths);
}

const char *weft_job_kind_nic(const weft_job_kind_t *kind, uint32_t nic)
{
    return (const char *)kind + job_kind_parts(kind).names + (size_t)nic * WEFT_JOB_NIC_BYTES;
}

const uint8_t *weft_job_kind_ring(const weft_job_kind_t *kind, uint32_t channel)
{
    job_kind_parts_t parts = job_kind_parts(kind);
    return (const uint8_t *)kind + parts.rings + channel * parts.channel;
}

const uint8_t *weft_job_kind_tree(const weft_job_kind_t *kind, uint32_t channel)
{
    job_kind_parts_t parts = job_kind_parts(kind);
    return (const uint8_t *)kind + parts.trees + channel * parts.channel;
}

static bool job_kind_is_linked(const weft_algo_path_t *paths, uint32_t a, uint32_t b)
{
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    return low != high &&
           paths[(size_t)high * (high - 1) / 2 + low].path_class == WEFT_ALGO_PATH_NV;
}

uint32_t weft_job_kind_island(const weft_job_kind_t *kind, uint32_t gpu)
{
    const weft_algo_path_t *paths = weft_job_kind_paths(kind);
    bool reached[WEFT_MACHINE_DEVICES_MAX] = {false};
    uint32_t found[WEFT_MACHINE_DEVICES_MAX], count = 0, first = gpu;
    found[count++] = gpu;
    reached[gpu] = true;
    for (uint32_t i = 0; i < count; i++) {
        first = found[i] < first ? found[i] : first;
        for (uint32_t next = 0; next < kind->ngpus; next++) {
            if (!reached[next] && job_kind_is_linked(paths, found[i], next)) {
                reached[next] = true;
                found[count++] = next;
            }
        }
    }
    return count > 1 ? first : WEFT_JOB_NONE;
}

/* Making --------------------------------------------------------------------------------------- */

static uint32_t job_kind_or_none(uint32_t value)
{
    return value == WEFT_MACHINE_NONE ? WEFT_JOB_NONE : value;
}

/* NUMA nodes go by the numbers that processes see. */
static uint32_t job_kind_node(const weft_machine_t *machine, uint32_t node)
{
    return node < machine->nnodes ? machine->nodes[node].index : WEFT_JOB_NONE;
}

static uint32_t job_kind_units_of(double bandwidth, double unit, uint32_t most)
{
    double units = bandwidth / unit;
    return !(units > 0) ? 0 : units >= most ? most : units < 1 ? 1 : (uint32_t)units;
}

static void job_kind_write_devices(const weft_machine_t *machine, weft_job_device_t *devices,
                                   weft_algo_path_t *paths)
{
    for (uint32_t b = 0; b < machine->ndevices; b++) {
        const weft_machine_device_t *device = &machine->devices[b];
        bool nic = device->kind == WEFT_DEVICE_NIC;
        devices[b] = (weft_job_device_t){
            .node = job_kind_node(machine, device->node),
            .rail = nic ? job_kind_or_none(device->rail) : WEFT_JOB_NONE,
            .speed = nic ? job_kind_units_of(device->speed, 1e6, UINT32_MAX) : 0};
        for (uint32_t a = 0; a < b; a++) {
            weft_path_t path = weft_path_between(machine, a, b);
            *paths++ = (weft_algo_path_t){.bandwidth = (uint16_t)job_kind_units_of(
                                              path.bandwidth, BANDWIDTH_UNIT, UINT16_MAX),
                                          .path_class = (uint8_t)path.class};
        }
    }
}

/* Whole words, as many as there is room for. */
static void job_kind_write_names(const weft_machine_t *machine, char *names)
{
    for (uint32_t i = machine->ngpus; i < machine->ndevices; i++, names += WEFT_JOB_NIC_BYTES) {
        const char *system = machine->devices[i].system;
        size_t bytes = strlen(system);
        while (bytes >= WEFT_JOB_NIC_BYTES || (bytes > 0 && system[bytes - 1] == ' ')) {
            while (bytes > 0 && system[bytes - 1] != ' ') {
                bytes--;
            }
            bytes -= bytes > 0 ? 1 : 0;
        }
        memcpy(names, system, bytes);
    }
}

static void job_kind_write_graph(const weft_graph_t *graph, const weft_job_graph_t *kept,
                                 uint8_t *to)
{
    for (uint32_t c = 0; c < kept->nchannels; c++) {
        const weft_graph_channel_t *channel = &graph->channels[c];
        *to++ = (uint8_t)(channel->nic_in < UINT8_MAX ? channel->nic_in : UINT8_MAX);
        *to++ = (uint8_t)(channel->nic_out < UINT8_MAX ? channel->nic_out : UINT8_MAX);
        for (uint32_t i = 0; i < graph->nparticipants; i++) {
            *to++ = (uint8_t)weft_graph_order(graph, c)[i];
        }
    }
}

static weft_job_graph_t job_kind_graph(const weft_graph_t *graph)
{
    if (graph == NULL || graph->nparticipants > UINT8_MAX) {
        return (weft_job_graph_t){.nchannels = 0};
    }
    return (weft_job_graph_t){.nchannels = graph->nchannels < WEFT_JOB_CHANNELS_MAX
                                               ? graph->nchannels
                                               : WEFT_JOB_CHANNELS_MAX,
                              .speed = graph->speed};
}

weft_status_t weft_job_kind_make(const weft_machine_t *machine, const weft_capacities_t *capacities,
                                 const weft_graph_t *rings, const weft_graph_t *trees,
                                 weft_job_kind_t **kind_p)
{
    weft_job_kind_t head = {.nodes = machine->nnodes,
                            .ngpus = machine->ngpus,
                            .ndevices = machine->ndevices,
                            .nparticipants = capacities->nparticipants,
                            .gpus = machine->ngpus > 0,
                            .rings = job_kind_graph(rings),
                            .trees = job_kind_graph(trees)};
    job_kind_parts_t parts = job_kind_parts(&head);
    uint8_t *bytes = weft_os_alloc(parts.end, 0);
    if (bytes == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for the description of a host");
    }
    head.bytes = (uint32_t)parts.end;
    memcpy(bytes, &head, sizeof head);
    job_kind_write_devices(machine, (void *)(bytes + parts.devices), (void *)(bytes + parts.paths));
    uint32_t *units = (void *)(bytes + parts.units);
    for (uint32_t i = 0; i < head.nparticipants; i++) {
        units[i] = head.gpus ? capacities->units[i] : job_kind_node(machine, capacities->units[i]);
    }
    job_kind_write_names(machine, (char *)bytes + parts.names);
    job_kind_write_graph(rings, &head.rings, bytes + parts.rings);
    job_kind_write_graph(trees, &head.trees, bytes + parts.trees);
    *kind_p = (weft_job_kind_t *)(void *)bytes;
    return WEFT_OK;
}

uint64_t weft_job_kind_hash(const weft_job_kind_t *kind)
{
    const uint8_t *byte = (const uint8_t *)kind;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < kind->bytes; i++) {
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    }
    return hash != 0 ? hash : 1; /* 0 stands for no description */
}

/* Checking ------------------------------------------------------------------------------------- */

/* Each participant once in every channel. */
static bool job_kind_orders_are_whole(const weft_job_kind_t *kind, const uint8_t *channels,
                                      uint32_t nchannels)
{
    for (uint32_t c = 0; c < nchannels; c++, channels += 2 + (size_t)kind->nparticipants) {
        uint8_t seen[UINT8_MAX + 1] = {0};
        for (uint32_t i = 0; i < kind->nparticipants; i++) {
            uint8_t participant = channels[2 + i];
            if (participant >= kind->nparticipants || seen[participant]++ != 0) {
                return false;
            }
        }
    }
    return true;
}

/* GPUs are devices that there are. NUMA nodes go by numbers of the system, which may be any. */
static bool job_kind_units_are_there(const weft_job_kind_t *kind)
{
    const uint32_t *units = weft_job_kind_units(kind);
    for (uint32_t i = 0; kind->gpus != 0 && i < kind->nparticipants; i++) {
        if (units[i] >= kind->ngpus) {
            return false;
        }
    }
    return true;
}

static bool job_kind_names_end(const weft_job_kind_t *kind)
{
    for (uint32_t i = 0; i < kind->ndevices - kind->ngpus; i++) {
        if (weft_job_kind_nic(kind, i)[WEFT_JOB_NIC_BYTES - 1] != '\0') {
            return false;
        }
    }
    return true;
}

weft_status_t weft_job_kind_check(const weft_job_kind_t *kind, size_t bytes)
{
    bool right = bytes >= sizeof *kind && kind->bytes == bytes &&
                 kind->ndevices <= WEFT_MACHINE_DEVICES_MAX && kind->ngpus <= kind->ndevices &&
                 kind->nparticipants <= WEFT_MACHINE_NODES_MAX &&
                 kind->rings.nchannels <= WEFT_JOB_CHANNELS_MAX &&
                 kind->trees.nchannels <= WEFT_JOB_CHANNELS_MAX &&
                 job_kind_parts(kind).end == bytes;
    right = right && job_kind_names_end(kind) && job_kind_units_are_there(kind) &&
            job_kind_orders_are_whole(kind, weft_job_kind_ring(kind, 0), kind->rings.nchannels) &&
            job_kind_orders_are_whole(kind, weft_job_kind_tree(kind, 0), kind->trees.nchannels);
    return right ? WEFT_OK
                 : weft_fail(WEFT_ERR_PROTO, 0,
                             "the description of a host has %zu bytes that fit "
                             "no host",
                             bytes);
}
