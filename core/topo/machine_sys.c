/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A machine from /sys and /proc. */
#include "core/topo/machine_sys.h"

#include <stdio.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/topo/machine_sys_cpu.h"
#include "core/topo/machine_sys_nic.h"
#include "core/topo/machine_sys_pci.h"

static weft_status_t machine_sys_fill(weft_machine_t *machine, const char *root,
                                      const weft_cpu_list_t *usable)
{
    weft_sys_pci_t *pci = NULL;
    weft_status_t status = weft_sys_read_cpus(machine, root, usable);
    status = status == WEFT_OK ? weft_sys_pci_open(machine, root, &pci) : status;
    status = status == WEFT_OK ? weft_sys_read_nics(machine, root, pci) : status;
    weft_sys_pci_close(pci);
    return status == WEFT_OK ? weft_machine_finish(machine) : status;
}

weft_status_t weft_machine_read_sys_tree(weft_machine_t *machine, const char *root,
                                         const weft_cpu_list_t *usable)
{
    weft_machine_init(machine);
    snprintf(machine->source, sizeof machine->source, "/sys");
    weft_os_host_name(machine->name, sizeof machine->name);
    weft_status_t status = machine_sys_fill(machine, root, usable);
    if (status != WEFT_OK) {
        weft_machine_fini(machine);
        return status;
    }
    /* Files that are not there have left their record. */
    weft_error_clear(weft_error_record());
    return WEFT_OK;
}

weft_status_t weft_machine_read_sys(weft_machine_t *machine)
{
    weft_cpu_list_t usable;
    weft_cpu_list_of_thread(&usable);
    return weft_machine_read_sys_tree(machine, "", &usable);
}
