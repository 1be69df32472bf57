/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rails of NICs as a site gives them. */
#include "core/topo/rails.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

#define BLANKS " \t,"

static bool rails_has_word(const char *words, const char *name, size_t length)
{
    while (*words != '\0') {
        const size_t word = strcspn(words, " ");
        if (word == length && memcmp(words, name, length) == 0) {
            return true;
        }
        words += word + (words[word] == ' ' ? 1 : 0);
    }
    return false;
}

static weft_machine_device_t *rails_find(weft_machine_t *machine, const char *name, size_t length)
{
    for (uint32_t i = machine->ngpus; i < machine->ndevices; i++) {
        weft_machine_device_t *nic = &machine->devices[i];
        if (rails_has_word(nic->system, name, length) ||
            rails_has_word(nic->address, name, length)) {
            return nic;
        }
    }
    return NULL;
}

static weft_status_t rails_refuse_name(const weft_machine_t *machine, const char *name,
                                       size_t length, const char *origin)
{
    char list[300] = "";
    size_t used = 0;
    for (uint32_t i = machine->ngpus; i < machine->ndevices && used + 1 < sizeof list; i++) {
        const weft_machine_device_t *nic = &machine->devices[i];
        const char *own = nic->system[0] != '\0' ? nic->system : nic->address;
        int more = snprintf(list + used, sizeof list - used, "%s%.*s", used > 0 ? ", " : "",
                            (int)strcspn(own, " "), own);
        used += more > 0 ? (size_t)more : 0;
    }
    return weft_fail(WEFT_ERR_CONFIG, 0, "%s: [core] rails: this host has no NIC %.*s; it has %s",
                     origin, length > 60 ? 60 : (int)length, name, list[0] != '\0' ? list : "none");
}

static weft_status_t rails_set_one(weft_machine_t *machine, const char *word, size_t length,
                                   const char *origin)
{
    /* A PCI address and a port of an RDMA device have colons too: the last one counts. */
    size_t name = length;
    while (name > 0 && word[name - 1] != ':') {
        name--;
    }
    char *end = NULL;
    const size_t digits = name > 0 ? strspn(word + name, "0123456789") : 0;
    const unsigned long rail = digits > 0 && digits < 4 ? strtoul(word + name, &end, 10) : 0;
    if (end != word + length || rail >= WEFT_RAILS_MAX || name < 2) {
        return weft_fail(WEFT_ERR_CONFIG, 0,
                         "%s: [core] rails: \"%.*s\" is not NIC:NUMBER, as mlx5_0:0, with numbers "
                         "below %u",
                         origin, length > 60 ? 60 : (int)length, word, WEFT_RAILS_MAX);
    }
    weft_machine_device_t *nic = rails_find(machine, word, name - 1);
    if (nic == NULL) {
        return rails_refuse_name(machine, word, name - 1, origin);
    }
    nic->rail = (uint32_t)rail;
    return WEFT_OK;
}

weft_status_t weft_machine_set_rails(weft_machine_t *machine, const char *text, const char *origin)
{
    for (text += strspn(text, BLANKS); *text != '\0'; text += strspn(text, BLANKS)) {
        const size_t length = strcspn(text, BLANKS);
        weft_status_t status = rails_set_one(machine, text, length, origin);
        if (status != WEFT_OK) {
            return status;
        }
        text += length;
    }
    return WEFT_OK;
}
