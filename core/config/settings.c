/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Option tables of the core. The plugins loaded by default are named in conf/weft.ini only; the
 * build makes defaults.h from there. */
#include "core/config/settings.h"

#include <string.h>

#include "core/base/error.h"
#include "core/config/defaults.h"

#define DAY 86400.0
#define MS 1e-3

/* Debug builds are for those who look for mistakes. */
#ifdef NDEBUG
#define CHECK_DEFAULT "no"
#else
#define CHECK_DEFAULT "yes"
#endif

#define CORE(field) offsetof(weft_core_settings_t, field)
#define BOOT(field) offsetof(weft_boot_settings_t, field)
#define EXEC(field) offsetof(weft_exec_settings_t, field)
#define PLAN(field) offsetof(weft_plan_settings_t, field)
#define FIGURES(field) offsetof(weft_figures_settings_t, field)

const weft_option_t weft_core_options[] = {
    {"plugin_dir", WEFT_OPT_STRING, CORE(plugin_dir), "",
     "absolute folders of the plugins, separated by colons; empty: the folder weft beside the "
     "library",
     NULL, 0, 0, WEFT_OPTION_LOCAL, 0},
    {"net", WEFT_OPT_STRING, CORE(net), WEFT_DEFAULT_NET,
     "transports to load, the preferred one first", NULL, 0, 0, 0, 0},
    {"algo", WEFT_OPT_STRING, CORE(algo), WEFT_DEFAULT_ALGO, "algorithms to load", NULL, 0, 0, 0,
     0},
    {"kernel", WEFT_OPT_STRING, CORE(kernel), WEFT_DEFAULT_KERNEL, "arithmetic to load", NULL, 0, 0,
     WEFT_OPTION_LOCAL, 0},
    {"tuner", WEFT_OPT_STRING, CORE(tuner), WEFT_DEFAULT_TUNER, "tuner to load", NULL, 0, 0, 0, 0},
    {"topo", WEFT_OPT_STRING, CORE(topo), WEFT_DEFAULT_TOPO,
     "what describes this machine; empty, or where the default is not there: the kernel's /sys",
     NULL, 0, 0, WEFT_OPTION_LOCAL, 0},
    {"machine", WEFT_OPT_STRING, CORE(machine), "",
     "file that describes this machine, in the words of docs/topology.md, and takes the place of "
     "topo; ranks are dealt to its GPUs or NUMA nodes; empty: none",
     NULL, 0, 0, WEFT_OPTION_LOCAL, 0},
    {"rings", WEFT_OPT_STRING, CORE(rings), "",
     "graph file with the rings of this machine, as weft topo --graph-out writes it; empty: they "
     "are searched for",
     NULL, 0, 0, WEFT_OPTION_LOCAL, 0},
    {"trees", WEFT_OPT_STRING, CORE(trees), "",
     "graph file with the trees of this machine; empty: they are searched for", NULL, 0, 0,
     WEFT_OPTION_LOCAL, 0},
    {"rails", WEFT_OPT_STRING, CORE(rails), "",
     "rails of this host's NICs, by names of the system: mlx5_0:0 mlx5_1:1; empty: not known", NULL,
     0, 0, WEFT_OPTION_LOCAL, 0},
    {"topology", WEFT_OPT_STRING, CORE(topology), "",
     "file with racks or switches and the hosts in them, a line \"rack1/switch2 node[01-16]\" "
     "each; "
     "empty: none",
     NULL, 0, 0, WEFT_OPTION_LOCAL, 0},
    {"log", WEFT_OPT_CHOICE, CORE(log), "warn", "how much is printed on stderr",
     "error|warn|info|debug|trace", 0, 0, WEFT_OPTION_LOCAL, 0},
    {"log_time", WEFT_OPT_BOOL, CORE(log_time), "no", "lines of the log begin with the time of day",
     NULL, 0, 0, WEFT_OPTION_LOCAL, 0},
    {"flight", WEFT_OPT_STRING, CORE(flight), "",
     "folder in which each rank keeps its flight record, the last operations that it called, in a "
     "file that is left there if the rank dies or fails; empty: in memory, for weft trace and weft "
     "status while it runs",
     NULL, 0, 0, WEFT_OPTION_LOCAL, 0},
    {"check", WEFT_OPT_BOOL, CORE(check), CHECK_DEFAULT,
     "hold the plugins to their headers, call by call; for authors of plugins: it costs time", NULL,
     0, 0, 0, 0},
    {NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0},
};

const weft_option_t weft_boot_options[] = {
    {"init_timeout", WEFT_OPT_DURATION, BOOT(init_timeout), "120s",
     "time for all ranks to join a communicator", NULL, MS, DAY, 0, 0},
    {"connect_timeout", WEFT_OPT_DURATION, BOOT(connect_timeout), "30s",
     "time for one data connection to come up", NULL, MS, DAY, 0, 0},
    {"heartbeat", WEFT_OPT_DURATION, BOOT(heartbeat), "500ms",
     "time between looks at a rank that was asked for a sign of life", NULL, MS, 60, 0, 0},
    {"late", WEFT_OPT_DURATION, BOOT(late), "2s",
     "waiting time after which a late rank is reported", NULL, MS, DAY, 0, 0},
    {"unresponsive", WEFT_OPT_DURATION, BOOT(unresponsive), "10s",
     "time after which a rank that does not answer a waiting one counts as lost; 0: never", NULL, 0,
     DAY, 0, 0},
    {"interface", WEFT_OPT_STRING, BOOT(interface), "",
     "interfaces for control traffic: eth,ib (prefixes), ^docker (not), =eth0 (exact); empty: any",
     NULL, 0, 0, WEFT_OPTION_LOCAL, 0},
    {"port_range", WEFT_OPT_STRING, BOOT(port_range), "",
     "ports to listen on for control traffic, e.g. 5000-5100, one for each rank of a host; empty: "
     "any port",
     NULL, 0, 0, WEFT_OPTION_LOCAL, 0},
    {"rendezvous", WEFT_OPT_STRING, BOOT(rendezvous), "",
     "folder where ranks of a launcher find each other; empty: a private one on this host", NULL, 0,
     0, WEFT_OPTION_LOCAL, 0},
    {"label", WEFT_OPT_STRING, BOOT(label), "",
     "any text that all ranks must give alike, such as the version of their program", NULL, 0, 0, 0,
     0},
    {"exchange", WEFT_OPT_CHOICE, BOOT(exchange), "auto",
     "how the unique id reaches the ranks of a launcher: WEFT_UNIQUE_ID, a PMI or PMIx server, "
     "torchrun's store, or the folder; auto: the first that is there",
     "auto|id|pmi|pmix|tcp|folder", 0, 0, WEFT_OPTION_LOCAL, 0},
    {"quorum", WEFT_OPT_CHOICE, BOOT(quorum), "none",
     "which ranks may go on after others are lost; majority: more than half of the communicator, "
     "or "
     "half of it with its rank 0, so that of a divided network one side goes on at most",
     "none|majority", 0, 0, 0, 0},
    {NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0},
};

const weft_option_t weft_exec_options[] = {
    {"op_timeout", WEFT_OPT_DURATION, EXEC(op_timeout), "600s",
     "time for one operation; 0: no deadline", NULL, 0, DAY, 0, 0},
    {"wait", WEFT_OPT_CHOICE, EXEC(wait), "auto",
     "how a waiting rank spends its time; auto looks at cores and ranks", "auto|spin|yield|sleep",
     0, 0, WEFT_OPTION_LOCAL, 0},
    {"spin", WEFT_OPT_DURATION, EXEC(spin), "1us",
     "busy waiting before giving up the core where ranks outnumber cores; none while others want "
     "it",
     NULL, 0, 1, WEFT_OPTION_LOCAL, 0},
    {"slot_bytes", WEFT_OPT_SIZE, EXEC(slot_bytes), "0",
     "bytes of one slot of a port; 0: what the transports ask for", NULL, 0, 1 << 30, 0, 0},
    {"slots", WEFT_OPT_INT, EXEC(slots), "0",
     "slots of a port; 0: what the transports ask for, or what the deepest algorithm needs", NULL,
     0, 64, 0, 0},
    {"pool_bytes", WEFT_OPT_SIZE, EXEC(pool_bytes), "32M",
     "bytes of slots in shared memory that a rank's sends hold in one communicator; more ranks get "
     "smaller pieces; 0: no limit",
     NULL, 0, 1099511627776.0, 0, 0},
    {"gpudirect", WEFT_OPT_CHOICE, EXEC(gpudirect), "auto",
     "adapters read and write slots in the device's memory: where both are near on the PCI bus, "
     "wherever they can, or never",
     "auto|yes|no", 0, 0, WEFT_OPTION_LOCAL, 0},
    {"program_memory", WEFT_OPT_SIZE, EXEC(program_memory), "16M",
     "bytes that a communicator keeps for prepared calls, about 1500 each and more with many "
     "peers; "
     "beyond them the calls not made lately are prepared anew",
     NULL, 0, 1 << 30, WEFT_OPTION_LOCAL, 0},
    {"fuse_bytes", WEFT_OPT_SIZE, EXEC(fuse_bytes), "0",
     "collectives of a group up to this length that are alike and follow each other run as one, on "
     "host memory; 0: while copies are faster than calls; 1: none",
     NULL, 0, 1 << 20, 0, 0},
    {"direct", 0, 0, "gpudirect", "0.3", NULL, 0, 0, WEFT_OPTION_ALIAS, 0},
    {NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0},
};

const weft_option_t weft_plan_options[] = {
    {"algo", WEFT_OPT_STRING, PLAN(algo), "",
     "algorithm for every call but barriers, NAME[:PARAMETER=VALUE,...]; empty: the tuner chooses",
     NULL, 0, 0, 0, 0},
    {"verify", WEFT_OPT_CHOICE, PLAN(verify), "first",
     "prove plans never or before the first use of each shape", "off|first", 0, 0, 0, 0},
    {"verify_limit", WEFT_OPT_SIZE, PLAN(verify_limit), "20M",
     "abstract steps that one proof may cost", NULL, 1024, 1099511627776.0, 0, 0},
    {"deterministic", WEFT_OPT_BOOL, PLAN(deterministic), "no",
     "the same bits for the same input whatever the message size, its cutting, the transport and "
     "who "
     "shares a host",
     NULL, 0, 0, 0, 0},
    {"channels", WEFT_OPT_INT, PLAN(channels), "0",
     "copies of a plan that share a message, each with connections and lanes of its own; 0: what "
     "the kernels ask for",
     NULL, 0, WEFT_CHANNELS_MAX, 0, 0},
    {"channel_bytes", WEFT_OPT_SIZE, PLAN(channel_bytes), "0",
     "least part of a message that gets a channel; 0: 16K for collectives where devices run the "
     "plans of all ranks, else 64K",
     NULL, 0, 1 << 30, 0, 0},
    {NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0},
};

const weft_option_t weft_figures_options[] = {
    {"edge", WEFT_OPT_STRING, FIGURES(edge), "",
     "measured figures of a transport, once per transport and level, in place of its own: "
     "TRANSPORT "
     "inside|between latency=300ns overhead=100ns bandwidth=8GB/s wire=12GB/s turn=2us slice=200ns "
     "work=9GB/s; or of paths between devices: KERNEL same|direct|bus|host latency=3us "
     "overhead=2us "
     "bandwidth=25GB/s wire=200GB/s",
     NULL, 0, 0, WEFT_OPTION_LIST, 0},
    {"kernel", WEFT_OPT_STRING, FIGURES(kernel), "",
     "measured figures of a kernel, in place of its own: KERNEL float=9GB/s half=3GB/s copy=12GB/s "
     "memory=6GB/s launch=5us",
     NULL, 0, 0, WEFT_OPTION_LIST, 0},
    {"turn", WEFT_OPT_DURATION, FIGURES(turn), "1.5us",
     "time for the scheduler to pass a core on, where ranks outnumber cores", NULL, 0, 1, 0, 0},
    {"slice", WEFT_OPT_DURATION, FIGURES(slice), "170ns",
     "time of a core for both ends of a slice, where ranks outnumber cores; at least twice the "
     "overhead that a transport tells",
     NULL, 0, 1, 0, 0},
    {"cores", WEFT_OPT_REAL, FIGURES(cores), "0",
     "cores that the ranks of a host have together; 0: as many as the system says", NULL, 0, 65536,
     0, 0},
    {"cache", WEFT_OPT_SIZE, FIGURES(cache), "0",
     "bytes that the caches of a host hold: calls that touch more run at the kernel's rate "
     "`memory`; 0: not known",
     NULL, 0, 1099511627776.0, 0, 0},
    {NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0},
};

static const struct {
    const char *name;
    const weft_option_t *options;
    size_t at; /* in weft_settings_t */
} settings_sections[] = {
    {"core", weft_core_options, offsetof(weft_settings_t, core)},
    {"boot", weft_boot_options, offsetof(weft_settings_t, boot)},
    {"exec", weft_exec_options, offsetof(weft_settings_t, exec)},
    {"plan", weft_plan_options, offsetof(weft_settings_t, plan)},
    {"figures", weft_figures_options, offsetof(weft_settings_t, figures)},
};
#define SECTIONS (sizeof settings_sections / sizeof settings_sections[0])

bool weft_settings_own(const char *section)
{
    for (size_t i = 0; i < SECTIONS; i++) {
        if (strcmp(section, settings_sections[i].name) == 0) {
            return true;
        }
    }
    return false;
}

weft_status_t weft_settings_read(weft_config_t *config, weft_settings_t *settings)
{
    memset(settings, 0, sizeof *settings);
    for (size_t i = 0; i < SECTIONS; i++) {
        weft_status_t status =
            weft_config_section(config, settings_sections[i].name, settings_sections[i].options,
                                (char *)settings + settings_sections[i].at);
        if (status != WEFT_OK) {
            return status;
        }
    }
    const char *ports = settings->boot.port_range;
    return weft_port_range_parse(ports, &settings->boot.ports)
               ? WEFT_OK
               : weft_fail(WEFT_ERR_CONFIG, 0,
                           "%s: [boot] port_range is \"%s\", expected FIRST-LAST or one port, up "
                           "to 65535, e.g. 5000-5100",
                           weft_config_origin(config, "boot", "port_range"), ports);
}
