/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One table says which keys a thing has and where they go; reading and writing follow it. */
#include "core/topo/machine_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/base/error.h"
#include "core/config/nearest.h"
#include "core/os/os.h"
#include "core/topo/text_line.h"

typedef enum text_type {
    TEXT_WORDS,
    TEXT_COUNT,
    TEXT_INDEX, /* a count; WEFT_MACHINE_NONE: not known */
    TEXT_BYTES,
    TEXT_BANDWIDTH
} text_type_t;

typedef struct text_key {
    const char *name;
    text_type_t type;
    size_t offset, bytes; /* bytes: of TEXT_WORDS */
} text_key_t;

#define KEY(type, field, kind)                                                                     \
    {                                                                                              \
#field, kind, offsetof(type, field), sizeof(((type *)0)->field)                            \
    }

static const text_key_t machine_keys[] = {
    KEY(weft_machine_t, name, TEXT_WORDS),
    KEY(weft_machine_t, socket, TEXT_BANDWIDTH),
};
static const text_key_t package_keys[] = {
    KEY(weft_machine_package_t, index, TEXT_INDEX),
    KEY(weft_machine_package_t, model, TEXT_WORDS),
};
static const text_key_t node_keys[] = {
    KEY(weft_machine_node_t, index, TEXT_INDEX),
    KEY(weft_machine_node_t, package, TEXT_INDEX),
    KEY(weft_machine_node_t, memory, TEXT_BYTES),
    KEY(weft_machine_node_t, cores, TEXT_COUNT),
    KEY(weft_machine_node_t, pus, TEXT_COUNT),
    KEY(weft_machine_node_t, usable, TEXT_INDEX),
    KEY(weft_machine_node_t, list, TEXT_WORDS),
    KEY(weft_machine_node_t, bandwidth, TEXT_BANDWIDTH),
};
static const text_key_t branch_keys[] = {
    KEY(weft_machine_branch_t, parent, TEXT_INDEX),
    KEY(weft_machine_branch_t, node, TEXT_INDEX),
    KEY(weft_machine_branch_t, bridges, TEXT_COUNT),
    KEY(weft_machine_branch_t, bandwidth, TEXT_BANDWIDTH),
    KEY(weft_machine_branch_t, name, TEXT_WORDS),
};
#define DEVICE_KEYS                                                                                \
    KEY(weft_machine_device_t, branch, TEXT_INDEX), KEY(weft_machine_device_t, node, TEXT_INDEX),  \
        KEY(weft_machine_device_t, bridges, TEXT_COUNT),                                           \
        KEY(weft_machine_device_t, pci, TEXT_BANDWIDTH),                                           \
        KEY(weft_machine_device_t, address, TEXT_WORDS),                                           \
        KEY(weft_machine_device_t, model, TEXT_WORDS),                                             \
        KEY(weft_machine_device_t, system, TEXT_WORDS)
static const text_key_t gpu_keys[] = {DEVICE_KEYS};
static const text_key_t nic_keys[] = {
    DEVICE_KEYS,
    KEY(weft_machine_device_t, speed, TEXT_BANDWIDTH),
    KEY(weft_machine_device_t, rail, TEXT_INDEX),
};
static const text_key_t link_keys[] = {
    KEY(weft_machine_link_t, bandwidth, TEXT_BANDWIDTH),
};

typedef struct text_keys {
    const text_key_t *keys;
    size_t count;
} text_keys_t;

#define KEYS(table) ((text_keys_t){table, sizeof(table) / sizeof(table)[0]})

/* ---- reading --------------------------------------------------------------------------------- */

static void text_take_value(weft_text_line_t *line, const text_key_t *key, void *thing)
{
    char *at = (char *)thing + key->offset;
    switch (key->type) {
    case TEXT_WORDS:
        if (strlen(line->word) >= key->bytes) {
            weft_text_refuse(line, "%s has %zu characters, expected at most %zu", key->name,
                             strlen(line->word), key->bytes - 1);
            return;
        }
        memcpy(at, line->word, strlen(line->word) + 1);
        return;
    case TEXT_COUNT:
    case TEXT_INDEX:
        *(uint32_t *)(void *)at = weft_text_count(line, key->name, 1u << 20);
        return;
    case TEXT_BYTES:
        *(uint64_t *)(void *)at = weft_text_bytes(line, key->name);
        return;
    default:
        *(double *)(void *)at = weft_text_bandwidth(line, key->name);
    }
}

/* `given` has a bit for each key that the line has had. */
static void text_take_key(weft_text_line_t *line, text_keys_t keys, void *thing, uint32_t *given)
{
    weft_nearest_t nearest;
    char hint[80], all[256] = "";
    weft_nearest_start(&nearest, line->key);
    for (size_t i = 0; i < keys.count; i++) {
        if (strcmp(line->key, keys.keys[i].name) == 0) {
            if ((*given & 1u << i) != 0) {
                weft_text_refuse(line, "%s is given twice", line->key);
            }
            *given |= 1u << i;
            text_take_value(line, &keys.keys[i], thing);
            return;
        }
        weft_nearest_offer(&nearest, keys.keys[i].name, strlen(keys.keys[i].name));
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i > 0 ? ", " : "",
                 keys.keys[i].name);
    }
    weft_nearest_hint(&nearest, "", "", hint, sizeof hint);
    weft_text_refuse(line, "unknown key \"%s\"%s; expected one of %s", line->key, hint, all);
}

static void text_take_keys(weft_text_line_t *line, text_keys_t keys, void *thing)
{
    uint32_t given = 0;
    while (weft_text_next_word(line)) {
        if (line->key[0] == '\0') {
            weft_text_refuse(line, "expected KEY=VALUE, found \"%.60s\"", line->word);
            return;
        }
        text_take_key(line, keys, thing, &given);
    }
}

/* The number of a thing is that of its line among those of its kind. */
static void text_take_number(weft_text_line_t *line, const char *kind, uint32_t next)
{
    if (!weft_text_next_word(line) || line->key[0] != '\0') {
        weft_text_refuse(line, "expected the number of the %s, %u", kind, next);
    } else if (weft_text_count(line, kind, 1u << 20) != next) {
        weft_text_refuse(line, "found %s %.20s, expected %s %u: they are numbered as they stand",
                         kind, line->word, kind, next);
    }
}

/* An index of another thing has to be there already. */
static bool text_is_there(weft_text_line_t *line, const char *what, uint32_t index, uint32_t count)
{
    if (index != WEFT_MACHINE_NONE && index >= count) {
        weft_text_refuse(line, "there is no %s %u above this line, there are %u", what, index,
                         count);
        return false;
    }
    return true;
}

static void text_added(weft_text_line_t *line, weft_status_t status)
{
    if (status != WEFT_OK && line->status == WEFT_OK) {
        const weft_error_t why = *weft_error_record();
        weft_text_refuse(line, "%s", why.text);
    }
}

static void text_take_machine(weft_text_line_t *line, weft_machine_t *machine)
{
    if (machine->name[0] != '\0' || machine->socket > 0) {
        weft_text_refuse(line, "a second line \"machine\"");
    }
    text_take_keys(line, KEYS(machine_keys), machine);
}

static void text_take_package(weft_text_line_t *line, weft_machine_t *machine)
{
    weft_machine_package_t package = {.index = machine->npackages};
    text_take_number(line, "package", machine->npackages);
    text_take_keys(line, KEYS(package_keys), &package);
    text_added(line, weft_machine_add_package(machine, &package));
}

static void text_take_node(weft_text_line_t *line, weft_machine_t *machine)
{
    weft_machine_node_t node = {
        .index = machine->nnodes, .package = WEFT_MACHINE_NONE, .usable = WEFT_MACHINE_NONE};
    text_take_number(line, "node", machine->nnodes);
    text_take_keys(line, KEYS(node_keys), &node);
    node.pus = node.pus > node.cores ? node.pus : node.cores;
    node.usable = node.usable < node.pus ? node.usable : node.pus;
    if (text_is_there(line, "package", node.package, machine->npackages)) {
        text_added(line, weft_machine_add_node(machine, &node));
    }
}

static void text_take_branch(weft_text_line_t *line, weft_machine_t *machine)
{
    weft_machine_branch_t branch = {.parent = WEFT_MACHINE_NONE, .node = WEFT_MACHINE_NONE};
    text_take_number(line, "branch", machine->nbranches);
    text_take_keys(line, KEYS(branch_keys), &branch);
    if (text_is_there(line, "branch", branch.parent, machine->nbranches) &&
        text_is_there(line, "node", branch.node, machine->nnodes)) {
        if (branch.node == WEFT_MACHINE_NONE && branch.parent != WEFT_MACHINE_NONE) {
            branch.node = machine->branches[branch.parent].node;
        }
        text_added(line, weft_machine_add_branch(machine, &branch));
    }
}

static void text_take_device(weft_text_line_t *line, weft_machine_t *machine, bool gpu)
{
    weft_machine_device_t device = {.kind = gpu ? WEFT_DEVICE_GPU : WEFT_DEVICE_NIC,
                                    .number =
                                        gpu ? machine->ngpus : machine->ndevices - machine->ngpus,
                                    .branch = WEFT_MACHINE_NONE,
                                    .node = WEFT_MACHINE_NONE,
                                    .rail = WEFT_MACHINE_NONE};
    if (gpu && machine->ndevices > machine->ngpus) {
        weft_text_refuse(line, "expected GPUs before NICs");
    }
    text_take_number(line, gpu ? "gpu" : "nic", device.number);
    text_take_keys(line, gpu ? KEYS(gpu_keys) : KEYS(nic_keys), &device);
    if (text_is_there(line, "branch", device.branch, machine->nbranches) &&
        text_is_there(line, "node", device.node, machine->nnodes)) {
        if (device.node == WEFT_MACHINE_NONE && device.branch != WEFT_MACHINE_NONE) {
            device.node = machine->branches[device.branch].node;
        }
        text_added(line, weft_machine_add_device(machine, &device));
        machine->ngpus += gpu && line->status == WEFT_OK;
    }
}

static void text_take_gpu(weft_text_line_t *line, weft_machine_t *machine)
{
    text_take_device(line, machine, true);
}

static void text_take_nic(weft_text_line_t *line, weft_machine_t *machine)
{
    text_take_device(line, machine, false);
}

static void text_take_link(weft_text_line_t *line, weft_machine_t *machine)
{
    weft_machine_link_t link = {.from = WEFT_MACHINE_NONE, .to = WEFT_MACHINE_NONE};
    uint32_t *const ends[2] = {&link.from, &link.to};
    for (int i = 0; i < 2 && line->status == WEFT_OK; i++) {
        if (!weft_text_next_word(line) || line->key[0] != '\0') {
            weft_text_refuse(line, "expected the numbers of two GPUs, or of one and \"switch\"");
        } else if (i == 0 || strcmp(line->word, "switch") != 0) {
            *ends[i] = weft_text_count(line, "gpu", 1u << 20);
            text_is_there(line, "gpu", *ends[i], machine->ngpus);
        }
    }
    if (line->status == WEFT_OK && link.from == link.to) {
        weft_text_refuse(line, "gpu %u is linked with itself", link.from);
    }
    text_take_keys(line, KEYS(link_keys), &link);
    text_added(line, weft_machine_add_link(machine, &link));
}

static const struct {
    const char *name;
    void (*take)(weft_text_line_t *line, weft_machine_t *machine);
} text_kinds[] = {
    {"machine", text_take_machine}, {"package", text_take_package}, {"node", text_take_node},
    {"branch", text_take_branch},   {"gpu", text_take_gpu},         {"nic", text_take_nic},
    {"link", text_take_link},
};

static void text_take_line(weft_text_line_t *line, weft_machine_t *machine)
{
    for (size_t i = 0; i < sizeof text_kinds / sizeof text_kinds[0]; i++) {
        if (weft_text_is(line, text_kinds[i].name)) {
            text_kinds[i].take(line, machine);
            return;
        }
    }
    weft_text_refuse(line,
                     "found \"%.60s\", expected machine, package, node, branch, gpu, nic or link",
                     line->word);
}

weft_status_t weft_machine_parse(const char *file, const char *text, weft_machine_t *machine_p)
{
    weft_text_line_t line;
    weft_machine_t machine;
    weft_machine_init(&machine);
    snprintf(machine.source, sizeof machine.source, "%s", file);
    weft_text_begin(&line, file, text);
    weft_text_take_head(&line, "weft-machine");
    while (line.status == WEFT_OK && weft_text_next_line(&line)) {
        text_take_line(&line, &machine);
    }
    weft_status_t status = line.status == WEFT_OK ? weft_machine_check(&machine) : line.status;
    if (status != WEFT_OK) {
        weft_machine_fini(&machine);
        return status;
    }
    *machine_p = machine;
    return WEFT_OK;
}

weft_status_t weft_machine_load(const char *path, weft_machine_t *machine_p)
{
    char *text = NULL;
    weft_status_t status = weft_text_read(path, &text);
    status = status == WEFT_OK ? weft_machine_parse(path, text, machine_p) : status;
    weft_os_free(text);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Always quoted; what cannot stand in quotes becomes a blank. */
static void text_put_words(const char *name, const char *text, FILE *out)
{
    if (text[0] == '\0') {
        return;
    }
    fprintf(out, " %s=\"", name);
    for (; *text != '\0'; text++) {
        fputc(*text == '"' || (unsigned char)*text < ' ' ? ' ' : *text, out);
    }
    fputc('"', out);
}

static void text_put_key(const text_key_t *key, const void *thing, FILE *out)
{
    const char *at = (const char *)thing + key->offset;
    char text[80];
    uint32_t count;
    uint64_t bytes;
    double bandwidth;
    switch (key->type) {
    case TEXT_WORDS:
        text_put_words(key->name, at, out);
        return;
    case TEXT_COUNT:
    case TEXT_INDEX:
        memcpy(&count, at, sizeof count);
        if (count != (key->type == TEXT_INDEX ? WEFT_MACHINE_NONE : 0)) {
            fprintf(out, " %s=%u", key->name, count);
        }
        return;
    case TEXT_BYTES:
        memcpy(&bytes, at, sizeof bytes);
        if (bytes > 0) {
            fprintf(out, " %s=%llu", key->name, (unsigned long long)bytes);
        }
        return;
    default:
        memcpy(&bandwidth, at, sizeof bandwidth);
        if (bandwidth > 0) {
            weft_text_put_bandwidth(bandwidth, text, sizeof text);
            fprintf(out, " %s=%s", key->name, text);
        }
    }
}

static void text_put_keys(text_keys_t keys, const void *thing, FILE *out)
{
    for (size_t i = 0; i < keys.count; i++) {
        text_put_key(&keys.keys[i], thing, out);
    }
    fputc('\n', out);
}

static void text_put_links(const weft_machine_t *machine, FILE *out)
{
    for (uint32_t i = 0; i < machine->nlinks; i++) {
        const weft_machine_link_t *link = &machine->links[i];
        if (link->to == WEFT_MACHINE_NONE) {
            fprintf(out, "link %u switch", link->from);
        } else {
            fprintf(out, "link %u %u", link->from, link->to);
        }
        text_put_keys(KEYS(link_keys), link, out);
    }
}

void weft_machine_print(const weft_machine_t *machine, FILE *out)
{
    fputs("weft-machine 1\nmachine", out);
    text_put_keys(KEYS(machine_keys), machine, out);
    for (uint32_t i = 0; i < machine->npackages; i++) {
        fprintf(out, "package %u", i);
        text_put_keys(KEYS(package_keys), &machine->packages[i], out);
    }
    for (uint32_t i = 0; i < machine->nnodes; i++) {
        fprintf(out, "node %u", i);
        text_put_keys(KEYS(node_keys), &machine->nodes[i], out);
    }
    for (uint32_t i = 0; i < machine->nbranches; i++) {
        fprintf(out, "branch %u", i);
        text_put_keys(KEYS(branch_keys), &machine->branches[i], out);
    }
    for (uint32_t i = 0; i < machine->ndevices; i++) {
        bool gpu = machine->devices[i].kind == WEFT_DEVICE_GPU;
        fprintf(out, "%s %u", gpu ? "gpu" : "nic", machine->devices[i].number);
        text_put_keys(gpu ? KEYS(gpu_keys) : KEYS(nic_keys), &machine->devices[i], out);
    }
    text_put_links(machine, out);
}
