/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The configuration as an INI file for people: every key with its help, its limits and its
 * value. */
#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/config/config_parse.h"
#include "core/config/option.h"
#include "core/config/store.h"

static const char head[] =
    "# Every option of weft with its help and its default. A key behind ';' has the value shown:\n"
    "# remove the ';' to set it. Order: --set section.key=value, WEFT_<SECTION>_<KEY>, one file\n"
    "# (--conf, WEFT_CONF, ~/.config/weft/weft.ini or /etc/weft/weft.ini), default.\n";

/* A list has a line for each of its values. Behind a blank '#' and ';' would begin a comment. */
static bool option_print_values(const weft_claim_t *claim, const char *before, FILE *out)
{
    const char *value = claim->value;
    for (;;) {
        int bytes = (int)strcspn(value, "\n");
        const char *blank = strchr("#;\n", *value) != NULL ? "" : " ";
        if (fprintf(out, "%s%s =%s%.*s\n", before, claim->option.name, blank, bytes, value) < 0) {
            return false;
        }
        if (value[bytes] == '\0') {
            return true;
        }
        value += bytes + 1;
    }
}

static bool option_print(const weft_claim_t *claim, FILE *out)
{
    char limits[300], note[340] = "";
    weft_option_limits(&claim->option, limits, sizeof limits);
    if (limits[0] != '\0') {
        snprintf(note, sizeof note, " (%s)", limits);
    }
    bool given = strcmp(claim->origin, "default") != 0;
    bool done = fprintf(out, "\n# %s%s\n", claim->option.help, note) >= 0;
    return done && option_print_values(claim, given ? "" : ";", out);
}

static bool config_print_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Why a line of a file cannot carry the text, or NULL. */
static const char *config_print_hinders(const char *name, const char *text, size_t bytes)
{
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] == '#' || text[i] == ';') && config_print_is_blank(text[i - 1])) {
            return "where '#' and ';' behind a blank begin a comment";
        }
    }
    return strlen(name) + strlen(" = ") + bytes > WEFT_CONFIG_LINE_MAX
               ? "whose lines have at most 1000 bytes"
               : NULL;
}

static weft_status_t config_print_check(const weft_claim_t *claim)
{
    for (const char *value = claim->value;; value++) {
        const size_t bytes = strcspn(value, "\n");
        const char *why = config_print_hinders(claim->option.name, value, bytes);
        if (why != NULL) {
            return weft_fail(WEFT_ERR_CONFIG, 0, "%s: [%s] %s = %.80s: cannot stand in a file, %s",
                             claim->origin, claim->section, claim->option.name, value, why);
        }
        value += bytes;
        if (*value == '\0') {
            return WEFT_OK;
        }
    }
}

/* The keys of one section in the order of their claims. */
static bool section_print(const weft_config_t *config, const char *section, FILE *out)
{
    bool done = fprintf(out, "\n[%s]\n", section) >= 0;
    for (const weft_claim_t *c = config->claims; c != NULL && done; c = c->next) {
        if (strcmp(c->section, section) == 0) {
            done = option_print(c, out);
        }
    }
    return done;
}

static bool config_print_is_first(const weft_config_t *config, const weft_claim_t *claim)
{
    const weft_claim_t *c = config->claims;
    while (strcmp(c->section, claim->section) != 0) {
        c = c->next;
    }
    return c == claim;
}

weft_status_t weft_config_print(const weft_config_t *config, FILE *out)
{
    for (const weft_claim_t *c = config->claims; c != NULL; c = c->next) {
        weft_status_t status = config_print_check(c);
        if (status != WEFT_OK) {
            return status;
        }
    }
    bool done = fputs(head, out) >= 0;
    for (const weft_claim_t *c = config->claims; c != NULL && done; c = c->next) {
        if (config_print_is_first(config, c)) {
            done = section_print(config, c->section, out);
        }
    }
    if (!done || fflush(out) != 0) {
        return weft_fail(WEFT_ERR_SYSTEM, errno, "cannot write the configuration");
    }
    return WEFT_OK;
}
