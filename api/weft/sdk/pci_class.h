/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which PCI devices are GPUs and which are NICs, by their class. Thread: any. */
#ifndef WEFT_SDK_PCI_CLASS_H
#define WEFT_SDK_PCI_CLASS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum weft_pci_kind { WEFT_PCI_OTHER, WEFT_PCI_GPU, WEFT_PCI_NIC } weft_pci_kind_t;

/* Returns the kind of a device by its class and subclass (two bytes, 0x0302) and its vendor. The
 * VGA of a server is most often that of its management controller; of NVIDIA, AMD and Intel it
 * computes. */
static inline weft_pci_kind_t weft_pci_kind(uint32_t class_id, uint32_t vendor)
{
    const bool computes = vendor == 0x10de || vendor == 0x1002 || vendor == 0x8086;
    if (class_id >> 8 == 0x02 || class_id == 0x0c06) { /* network, InfiniBand */
        return WEFT_PCI_NIC;
    }
    if (class_id == 0x0300) { /* VGA */
        return computes ? WEFT_PCI_GPU : WEFT_PCI_OTHER;
    }
    /* other displays, accelerators */
    return class_id >> 8 == 0x03 || class_id >> 8 == 0x12 ? WEFT_PCI_GPU : WEFT_PCI_OTHER;
}

#endif
