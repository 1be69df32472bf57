/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Root of the plugin ABI: the descriptor that every plugin returns from its only exported symbol.
 * Plugin authors fill it in; the core's loader reads it.
 *
 * A plugin is one shared object. It exports exactly one function, weft_plugin_entry(), and links
 * to no symbol of the core. It reaches the core only through `const weft_host_t *` (host.h).
 * Before the core calls any operation of a plugin it checks the magic number, the ABI numbers, the
 * sizes and the mandatory slots.
 *
 * Thread rules. The comments of this ABI use three words:
 *   [control]   The core serialises the calls on one instance. They may come from any thread.
 *   [progress]  At most one thread at a time per device (net) or per instance (other kinds). Such
 *               a call may run at the same time as a [control] call on another object.
 *   [any]       Several threads may call at the same time.
 *
 * Defaults. Unless its comment says otherwise, a method does not block, and calls the core only
 * through weft_host_t. Where a method has no "Errors:" line it cannot fail, or it returns only
 * failures whose cause it recorded with weft_host_t.set_error(). "Any error" means any status
 * below zero, recorded in this way.
 *
 * Growth. A table or struct that starts with `size` only grows at its end. A slot or field beyond
 * `size` does not exist. An optional slot may be NULL. New optional features are named extensions
 * such as "weft.net.map/1". The meaning of a field never changes. */
#ifndef WEFT_PLUGIN_PLUGIN_H
#define WEFT_PLUGIN_PLUGIN_H

#include <weft/plugin/host.h>
#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Identifies the layout of weft_plugin_t: "weft" as a little-endian number. The loader compares it
 * before it reads anything else. */
#define WEFT_PLUGIN_MAGIC 0x74666577u

/* Kinds of plugins. The kind decides the type of weft_plugin_t.ops. */
typedef enum weft_plugin_kind {
    WEFT_KIND_NET = 1,    /* moves bytes between ranks; weft_net_ops_t of net.h */
    WEFT_KIND_ALGO = 2,   /* emits plans; weft_algo_ops_t of algo.h */
    WEFT_KIND_KERNEL = 3, /* combines and copies memory; weft_kernel_ops_t of kernel.h */
    WEFT_KIND_TUNER = 4,  /* chooses among candidates; weft_tuner_ops_t of tuner.h */
    WEFT_KIND_TOPO = 5    /* describes the machine; weft_topo_ops_t of topo.h */
} weft_plugin_kind_t;

/* Types of options. The comments give the C type of the field at `offset` in the config struct and
 * the text that a user writes. */
typedef enum weft_option_type {
    WEFT_OPT_BOOL = 1,     /* bool: yes/no, on/off, true/false, 1/0 */
    WEFT_OPT_INT = 2,      /* int64_t: decimal or 0x hexadecimal */
    WEFT_OPT_SIZE = 3,     /* uint64_t bytes: decimal with optional K, M, G (binary) */
    WEFT_OPT_DURATION = 4, /* double seconds: number with ns, us, ms, s (default) or min */
    WEFT_OPT_REAL = 5,     /* double */
    WEFT_OPT_STRING = 6,   /* const char *, owned by the core until the instance is destroyed */
    WEFT_OPT_CHOICE = 7    /* int64_t: index into `choices` */
} weft_option_type_t;

/* Flags of an option.
 *   LOCAL  Ranks may have different values, as for a path or an interface. The core checks that
 *          every rank has the same value of all other options.
 *   LIST   A STRING that may be given several times in the INI file or by settings. The field holds
 *          one line per value, in the order given: where it was given ("weft.ini:12"), a tab, the
 *          value, a newline. Values from the environment or settings replace those of the file.
 *   ALIAS  The entry is the old name of an option of this table. `value` is the present name and
 *          `help` the version that removes the old one ("0.3"); all other fields are 0. The core
 *          accepts the old name with a warning, refuses both names at once, and lists only the
 *          present name. Cores before 0.2 do not know this flag.
 *   ALGO   A STRING that is the name of an algorithm. The core refuses a value that no algorithm of
 *          the job has; the default may name one that is not loaded. */
#define WEFT_OPTION_LOCAL 1u
#define WEFT_OPTION_ALIAS 2u
#define WEFT_OPTION_LIST 4u
#define WEFT_OPTION_ALGO 8u

/* One configuration key of a plugin or of the core. Tables end with an entry whose name is NULL. */
typedef struct weft_option {
    const char *name;    /* key in the INI section, [a-z0-9_]+; "path" and "optional" are taken */
    uint32_t type;       /* weft_option_type_t */
    uint32_t offset;     /* of the field in the config struct, in bytes */
    const char *value;   /* default, as text; parsed like the INI */
    const char *help;    /* one line: what it does and its unit */
    const char *choices; /* CHOICE only: "one|two|three"; else NULL */
    double min, max;     /* inclusive range for INT, SIZE, DURATION, REAL; both 0 = no range */
    uint32_t flags;      /* WEFT_OPTION_* */
    uint32_t reserved;   /* 0 */
} weft_option_t;

/* ABI numbers, one pair per kind. The core loads a plugin if its major equals the core's and its
 * minor is not greater than the core's. */
#define WEFT_ABI_NET_MAJOR 1
#define WEFT_ABI_NET_MINOR 2
#define WEFT_ABI_ALGO_MAJOR 1
#define WEFT_ABI_ALGO_MINOR 6
#define WEFT_ABI_KERNEL_MAJOR 1
#define WEFT_ABI_KERNEL_MINOR 5
#define WEFT_ABI_TUNER_MAJOR 2
#define WEFT_ABI_TUNER_MINOR 4
#define WEFT_ABI_TOPO_MAJOR 1
#define WEFT_ABI_TOPO_MINOR 1

/* Describes a plugin. A constant that lives as long as the shared object is loaded. */
typedef struct weft_plugin {
    uint32_t magic;               /* WEFT_PLUGIN_MAGIC */
    uint16_t abi_major;           /* WEFT_ABI_<KIND>_MAJOR at build time */
    uint16_t abi_minor;           /* WEFT_ABI_<KIND>_MINOR at build time */
    uint32_t size;                /* sizeof(weft_plugin_t) at build time */
    uint32_t kind;                /* weft_plugin_kind_t */
    const char *name;             /* [a-z0-9-]+; also the INI section, the folder, the log prefix */
    const char *version;          /* free text, for logs; compared between the ranks */
    const char *help;             /* one line: what the plugin is */
    const weft_option_t *options; /* may be NULL; ends with an entry without a name */
    size_t config_size;           /* size of the config struct that the core fills; 0 = none */
    const void *ops;              /* table of the kind; starts with its own size (size_t) */
} weft_plugin_t;

/* Returns the descriptor. It is the only symbol that a plugin exports. It has no side effects and
 * allocates nothing. The plugin owns the descriptor, until it is unloaded. NULL means failure; the
 * core then refuses the plugin.
 * Blocking: no. Thread: [any]. */
WEFT_EXPORT const weft_plugin_t *weft_plugin_entry(void);

/* True if the table `ops` is long enough to hold `slot`, and the slot is not NULL. */
#define WEFT_HAS(ops, type, slot)                                                                  \
    ((ops)->size >= offsetof(type, slot) + sizeof((ops)->slot) && (ops)->slot != NULL)

#ifdef __cplusplus
}
#endif
#endif
