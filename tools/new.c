/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes the folder of a plugin that builds, passes its kit and runs at once: an example under
 * another name, with the files around it. */
#include "tools/new.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/config/nearest.h"
#include "tools/args.h"
#include "tools/new_templates.h"
#include "tools/tool.h"

enum { NEW_NAME = 48, NEW_FILE = 2 * NEW_NAME + 8, NEW_PATH = 4096 };

/* What there is to begin with. In `text`, `name`, `file` and `prefix` become the new plugin's. */
typedef struct new_kind {
    const char *kind;
    const char *text;
    const char *name, *file, *prefix;
    const char *command; /* runs it; @NAME@ stands for the plugin */
    const char *note;
} new_kind_t;

#define NEW_PATH_OPTION "    --set @NAME@.path=\"$PWD/build/@NAME@.so\""

static const new_kind_t kinds[] = {
    {"net", new_text_net, "net-tcp", "net_tcp", "tcp_",
     "weft perf all_reduce -P 2 -b 8 -e 1M -f 4 --set core.check=yes \\\n"
     "    --set core.net=@NAME@ \\\n" NEW_PATH_OPTION,
     "\nIt begins as messages over TCP between processes, of one host or several. What it is made "
     "of\nis in weft's SDK (`weft/sdk/stream_net.h`); another kind of stream socket changes how "
     "to listen\nand to connect.\n"},
    {"algo", new_text_algo, "algo-doubling", "algo_doubling", "doubling_",
     "weft plan all_reduce -n 8 -A @NAME@ --set core.algo=\"algo-flat @NAME@\" \\\n" NEW_PATH_OPTION
     "\n"
     "weft perf all_reduce -t 4 -b 8 -e 1M -f 4 -A @NAME@ --set core.check=yes \\\n"
     "    --set core.algo=\"algo-flat @NAME@\" \\\n" NEW_PATH_OPTION,
     "\nIt begins as all-reduce by recursive doubling. The first command proves and prints its "
     "plan.\n"},
    {"kernel", new_text_kernel, "kernel-plain", "kernel_plain", "plain_",
     "weft perf all_reduce -t 2 -d int32 -b 8 -e 1M -f 4 --set core.check=yes \\\n"
     "    --set core.kernel=@NAME@ \\\n" NEW_PATH_OPTION,
     "\nIt begins as arithmetic on whole numbers and on floats of 4 and 8 bytes.\n"},
    {"tuner", new_text_tuner, "tuner-least", "tuner_least", "least_",
     "weft perf all_reduce -t 2 -b 8 -e 1M -f 4 --set core.check=yes \\\n"
     "    --set core.tuner=@NAME@ \\\n" NEW_PATH_OPTION,
     "\nIt begins as a choice of what the model says is fastest.\n"},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static const tool_option_t options_table[] = {
    {'h', "help", NULL, "this text", 'h'},
    {0, NULL, NULL, NULL, 0},
};

/* The names of one new plugin: net-fabric, net_fabric, fabric_ */
typedef struct new_plugin {
    const new_kind_t *kind;
    char name[NEW_NAME], file[NEW_NAME], prefix[NEW_NAME];
} new_plugin_t;

typedef struct new_word {
    const char *from, *to;
} new_word_t;

static const new_kind_t *new_find_kind(const char *name)
{
    weft_nearest_t nearest;
    char hint[64];
    weft_nearest_start(&nearest, name);
    for (size_t i = 0; i < KINDS; i++) {
        if (strcmp(kinds[i].kind, name) == 0) {
            return &kinds[i];
        }
        weft_nearest_offer(&nearest, kinds[i].kind, strlen(kinds[i].kind));
    }
    weft_nearest_hint(&nearest, "", "", hint, sizeof hint);
    tool_usage("no kind of plugin is called '%s'%s The kinds are net, algo, kernel and tuner", name,
               hint[0] != '\0' ? hint : ".");
    return NULL;
}

/* Takes "fabric" and "net-fabric" for the same name. */
static bool new_name(const new_kind_t *kind, const char *name, new_plugin_t *plugin)
{
    const size_t bytes = strlen(kind->kind);
    const char *own = name;
    if (strncmp(name, kind->kind, bytes) == 0 && name[bytes] == '-') {
        own = name + bytes + 1;
    }
    bool good = islower((unsigned char)own[0]) && strlen(own) <= NEW_NAME / 2;
    for (const char *c = own; *c != '\0'; c++) {
        good = good && (islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '-');
    }
    if (!good) {
        tool_usage("'%s' is no name of a plugin: it needs a letter and then letters, "
                   "digits and '-', in lower case, at most %d",
                   own, NEW_NAME / 2);
        return false;
    }
    plugin->kind = kind;
    snprintf(plugin->name, sizeof plugin->name, "%s-%s", kind->kind, own);
    snprintf(plugin->file, sizeof plugin->file, "%s_%s", kind->kind, own);
    snprintf(plugin->prefix, sizeof plugin->prefix, "%s_", own);
    for (char *c = plugin->file; *c != '\0'; c++) {
        *c = *c == '-' ? '_' : *c;
    }
    for (char *c = plugin->prefix; *c != '\0'; c++) {
        *c = *c == '-' ? '_' : *c;
    }
    return true;
}

/* Writes the text with the words replaced; the first one that fits counts. */
static void new_write_text(FILE *out, const char *text, const new_word_t *words)
{
    while (*text != '\0') {
        const new_word_t *word = words;
        while (word->from != NULL && strncmp(text, word->from, strlen(word->from)) != 0) {
            word++;
        }
        if (word->from == NULL) {
            fputc(*text++, out);
        } else {
            /* What stands for a word may hold others that come later in the list. */
            new_write_text(out, word->to, word + 1);
            text += strlen(word->from);
        }
    }
}

typedef struct new_file {
    const char *name, *text;
    const new_word_t *words;
} new_file_t;

/* False: it says why, and nothing is left of the file. */
static bool new_write_file(const char *folder, const new_file_t *file)
{
    char path[NEW_FILE];
    snprintf(path, sizeof path, "%s/%s", folder, file->name);
    FILE *out = fopen(path, "wx");
    if (out == NULL) {
        tool_usage("cannot write %s: %s", path, strerror(errno));
        return false;
    }
    new_write_text(out, file->text, file->words);
    if (tool_close(out, path)) {
        return true;
    }
    (void)remove(path);
    return false;
}

/* Writes the files into the folder, which is this program's: all of them, or none and no folder. */
static bool new_write_files(const char *folder, const new_file_t *files, size_t count)
{
    size_t written = 0;
    while (written < count && new_write_file(folder, &files[written])) {
        written++;
    }
    if (written == count) {
        return true;
    }
    while (written-- > 0) {
        char path[NEW_FILE];
        snprintf(path, sizeof path, "%s/%s", folder, files[written].name);
        (void)remove(path);
    }
    if (remove(folder) == 0) {
        fprintf(stderr, "weft: the folder %s is taken back\n", folder);
    }
    return false;
}

/* Where this weft is installed, for the compiler; else a word that says what belongs there. */
static const char *new_prefix(char *path, size_t bytes)
{
    char program[NEW_PATH], header[NEW_PATH + 32];
    if (tool_beside("weft", program, sizeof program)) {
        char *end = strrchr(program, '/');
        *end = '\0';
        end = strrchr(program, '/');
        if (end != NULL) {
            *end = '\0';
            snprintf(header, sizeof header, "%s/include/weft/weft.h", program);
            if (access(header, R_OK) == 0) {
                snprintf(path, bytes, "%s", program);
                return path;
            }
        }
    }
    return "/where/weft/is";
}

static int new_write(const new_plugin_t *plugin)
{
    const new_kind_t *kind = plugin->kind;
    char prefix[NEW_PATH], source[NEW_NAME + 4];
    const new_word_t names[] = {{"@TRY@", kind->command},
                                {"@NOTE@", kind->note},
                                {"@NAME@", plugin->name},
                                {"@FILE@", plugin->file},
                                {"@KIND@", kind->kind},
                                {"@PREFIX@", new_prefix(prefix, sizeof prefix)},
                                {NULL, NULL}};
    const new_word_t own[] = {{kind->name, plugin->name},
                              {kind->file, plugin->file},
                              {kind->prefix, plugin->prefix},
                              {NULL, NULL}};
    if (mkdir(plugin->name, 0777) != 0) {
        return tool_usage("cannot make the folder %s: %s. Nothing was written", plugin->name,
                          strerror(errno));
    }
    snprintf(source, sizeof source, "%s.c", plugin->file);
    const new_file_t files[] = {{"CMakeLists.txt", new_text_cmake, names},
                                {"README.md", new_text_readme, names},
                                {source, kind->text, own}};
    if (!new_write_files(plugin->name, files, sizeof files / sizeof files[0])) {
        return TOOL_INTERNAL;
    }
    printf("%s/: CMakeLists.txt, README.md, %s\nREADME.md has the commands that build, test and "
           "run it.\n",
           plugin->name, source);
    return TOOL_OK;
}

static void new_print_help(void)
{
    printf("usage: weft new net|algo|kernel|tuner NAME\n\n"
           "Makes the folder KIND-NAME of a plugin: source, CMake file with a test, README.\n"
           "It builds against an installed weft, passes the conformance kit and runs at once.\n\n");
    tool_options_print(options_table, stdout);
}

int tool_new(int argc, char **argv)
{
    const char *operands[2] = {NULL, NULL};
    new_plugin_t plugin;
    tool_args_t args = {.options = options_table, .argc = argc, .argv = argv, .at = 1};
    for (;;) {
        switch (tool_args_next(&args)) {
        case TOOL_ARGS_END: {
            if (operands[1] == NULL) {
                return tool_usage("weft new needs a kind and a name: weft new net fabric");
            }
            const new_kind_t *kind = new_find_kind(operands[0]);
            return kind != NULL && new_name(kind, operands[1], &plugin) ? new_write(&plugin)
                                                                        : TOOL_USAGE;
        }
        case TOOL_ARGS_OPERAND:
            if (operands[1] != NULL) {
                return tool_usage("weft new takes a kind and a name, got '%s' too", args.value);
            }
            operands[operands[0] != NULL] = args.value;
            break;
        case 'h':
            new_print_help();
            return TOOL_OK;
        default:
            return TOOL_USAGE;
        }
    }
}
