/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Root of the plugin ABI: the descriptor that every plugin returns from its only exported symbol.
 * Read by plugin authors; called by the core's loader.
 *
 * A plugin is one shared object. It exports exactly one function, weft_plugin_entry(), and links to
 * no symbol of the core: everything it needs comes through `const weft_host_t *` (host.h). The core
 * checks magic, ABI numbers, sizes and mandatory slots before any operation of the plugin is called.
 *
 * Thread words used in every comment of this ABI:
 *   [control]  calls on one instance are serialised by the core; they may come from any thread.
 *   [progress] at most one thread at a time per device (net) or per instance (other kinds); such a
 *              call may run at the same time as a [control] call on another object.
 *   [any]      may be called from several threads at once.
 * Unless a comment says otherwise a method must not block and must not call back into the core
 * except through weft_host_t.
 *
 * Growth: every table and struct that starts with `size` only grows at its end. A slot or field that
 * lies beyond `size` does not exist. An optional slot is NULL. Something new and optional is a named
 * extension, e.g. "weft.net.map/1"; the meaning of a field never changes. */
#ifndef WEFT_PLUGIN_PLUGIN_H
#define WEFT_PLUGIN_PLUGIN_H

#include <weft/plugin/host.h>
#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "weft" read as a little-endian number: layout of weft_plugin_t. Compared before anything else. */
#define WEFT_PLUGIN_MAGIC 0x74666577u

/* Kinds of plugins. */
typedef enum weft_plugin_kind {
    WEFT_KIND_NET = 1,    /* moves bytes between ranks, net.h; ops is weft_net_ops_t */
    WEFT_KIND_ALGO = 2,   /* emits plans, algo.h; ops is weft_algo_ops_t */
    WEFT_KIND_KERNEL = 3, /* combines and copies memory, kernel.h; ops is weft_kernel_ops_t */
    WEFT_KIND_TUNER = 4   /* chooses among candidates, tuner.h; ops is weft_tuner_ops_t */
} weft_plugin_kind_t;

/* Types of options. The C type is that of the field at `offset` in the config struct. */
typedef enum weft_option_type {
    WEFT_OPT_BOOL = 1,     /* bool: yes/no, on/off, true/false, 1/0 */
    WEFT_OPT_INT = 2,      /* int64_t: decimal or 0x hexadecimal */
    WEFT_OPT_SIZE = 3,     /* uint64_t bytes: decimal with optional K, M, G (binary) */
    WEFT_OPT_DURATION = 4, /* double seconds: number with ns, us, ms, s (default) or min */
    WEFT_OPT_REAL = 5,     /* double */
    WEFT_OPT_STRING = 6,   /* const char *, owned by the core as long as the instance lives */
    WEFT_OPT_CHOICE = 7    /* int64_t: index into `choices` */
} weft_option_type_t;

/* Flags of an option. LOCAL: ranks may have different values (a path, an interface); for all other
 * options the core checks that every rank has the same. */
#define WEFT_OPTION_LOCAL 1u

/* One configuration key of a plugin or of the core. Tables end with an entry whose name is NULL. */
typedef struct weft_option {
    const char *name;    /* key in the INI section, [a-z0-9_]+; "path" and "optional" are taken */
    uint32_t type;       /* weft_option_type_t */
    uint32_t offset;     /* of the field in the config struct, bytes */
    const char *value;   /* default, as the text a user would write; parsed like the INI */
    const char *help;    /* one line: what it does and its unit */
    const char *choices; /* CHOICE only: "one|two|three"; else NULL */
    double min, max;     /* inclusive range for INT, SIZE, DURATION, REAL; both 0 = no range */
    uint32_t flags;      /* WEFT_OPTION_* */
    uint32_t reserved;   /* 0 */
} weft_option_t;

/* ABI numbers: one per kind. A plugin loads when its major equals the core's and its minor is not
 * above the core's. */
#define WEFT_ABI_NET_MAJOR 1
#define WEFT_ABI_NET_MINOR 0
#define WEFT_ABI_ALGO_MAJOR 1
#define WEFT_ABI_ALGO_MINOR 1
#define WEFT_ABI_KERNEL_MAJOR 1
#define WEFT_ABI_KERNEL_MINOR 1
#define WEFT_ABI_TUNER_MAJOR 2
#define WEFT_ABI_TUNER_MINOR 0

/* The descriptor. A constant: it lives as long as the shared object. */
typedef struct weft_plugin {
    uint32_t magic;               /* WEFT_PLUGIN_MAGIC */
    uint16_t abi_major;           /* WEFT_ABI_<KIND>_MAJOR at build time */
    uint16_t abi_minor;           /* WEFT_ABI_<KIND>_MINOR at build time */
    uint32_t size;                /* sizeof(weft_plugin_t) at build time */
    uint32_t kind;                /* weft_plugin_kind_t */
    const char *name;             /* [a-z0-9-]+; also the INI section, the folder, the log prefix */
    const char *version;          /* free text for logs and the agreement check between ranks */
    const char *help;             /* one line: what the plugin is */
    const weft_option_t *options; /* may be NULL */
    size_t config_size;           /* size of the config struct the core fills; 0 without options */
    const void *ops;              /* table of that kind; starts with its own size (size_t) */
} weft_plugin_t;

/* The only symbol a plugin exports. What: returns the descriptor. Failure: NULL (the plugin is then
 * refused). Ownership: the plugin's, until it is unloaded. Blocks: no; it has no side effects and
 * allocates nothing. Thread: [any]. */
WEFT_EXPORT const weft_plugin_t *weft_plugin_entry(void);

/* True if table `ops` is long enough to hold `slot` and the slot is filled. */
#define WEFT_HAS(ops, type, slot)                                                                  \
    ((ops)->size >= offsetof(type, slot) + sizeof((ops)->slot) && (ops)->slot != NULL)

#ifdef __cplusplus
}
#endif
#endif
