/* SPDX-License-Identifier: BSD-3-Clause
 *
 * INI text to given values. inih splits the lines; what it would cut, join or pass over in silence
 * (long lines and names, indented lines, text after a bracket, control bytes) is refused before. */
#include "core/config/config_parse.h"

#include <ini.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/utf8.h"

#define KEYS_MAX 4096
#define PART_MIN 64

typedef struct weft_feed {
    weft_config_t *config;
    const char *path;
    const char *next, *end; /* text not read yet */
    uint32_t line;          /* of the text in `part` */
    uint32_t keys;
    bool in_section;
    weft_status_t status;
    /* A line longer than inih's buffer is handed over in parts, as the continuation lines that inih
     * knows; the value is put together again here. */
    const char *part, *part_end;
    bool continued;
    char value[WEFT_CONFIG_LINE_MAX + 1];
} weft_feed_t;

static bool config_parse_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool config_parse_refuse(weft_feed_t *feed, const char *why)
{
    feed->status = weft_fail(WEFT_ERR_CONFIG, 0, "%s:%u: %s", feed->path, feed->line, why);
    return false;
}

const char *weft_config_text_wrong(const char *text, const char *end)
{
    const unsigned char *p = (const unsigned char *)text;
    const unsigned char *stop = (const unsigned char *)end;
    while (p < stop) {
        size_t bytes = weft_utf8_bytes(p, stop);
        if (*p == '\0') {
            return "NUL byte, expected plain text";
        }
        if (bytes == 0) {
            return "byte that is not UTF-8, expected text in UTF-8";
        }
        if ((*p < ' ' && *p != '\t') || *p == 0x7f) {
            return "control character, expected plain text";
        }
        p += bytes;
    }
    return NULL;
}

static bool config_parse_bytes_check(weft_feed_t *feed, const char *line, const char *end)
{
    if (end - line > WEFT_CONFIG_LINE_MAX) {
        return config_parse_refuse(feed, "line is longer than 1000 bytes");
    }
    const char *wrong = weft_config_text_wrong(line, end);
    return wrong == NULL || config_parse_refuse(feed, wrong);
}

static bool config_parse_section_check(weft_feed_t *feed, const char *line, const char *end)
{
    const char *close = memchr(line, ']', (size_t)(end - line));
    if (close == NULL) {
        return config_parse_refuse(feed, "section without ']', expected [name]");
    }
    if (close + 1 != end) {
        return config_parse_refuse(feed, "text after ']', expected [name] alone on its line");
    }
    if (!weft_option_name_ok(line + 1, (size_t)(close - line - 1), '-')) {
        return config_parse_refuse(feed, "bad section name, expected 1 to 48 of a-z, 0-9 and -");
    }
    feed->in_section = true;
    return true;
}

static bool config_parse_key_check(weft_feed_t *feed, const char *line, const char *end)
{
    const char *equals = memchr(line, '=', (size_t)(end - line));
    if (equals == NULL) {
        return config_parse_refuse(feed, "expected key = value, [section] or a comment");
    }
    const char *key_end = equals;
    while (key_end > line && config_parse_is_blank(key_end[-1])) {
        key_end--;
    }
    if (!weft_option_name_ok(line, (size_t)(key_end - line), '_')) {
        return config_parse_refuse(feed, "bad key, expected 1 to 48 of a-z, 0-9 and _ before '='");
    }
    if (!feed->in_section) {
        return config_parse_refuse(feed, "key before the first [section]");
    }
    return true;
}

/* End of the line without comment and trailing blanks. */
static const char *config_parse_content_end(const char *line, const char *end)
{
    for (const char *p = line; p < end; p++) {
        if ((*p == ';' || *p == '#') && (p == line || config_parse_is_blank(p[-1]))) {
            end = p;
        }
    }
    while (end > line && config_parse_is_blank(end[-1])) {
        end--;
    }
    return end;
}

/* Moves to the next line with content; false at the end and after a mistake. */
static bool config_parse_line_next(weft_feed_t *feed)
{
    while (feed->next < feed->end) {
        const char *line = feed->next;
        const char *end = memchr(line, '\n', (size_t)(feed->end - line));
        feed->next = end != NULL ? end + 1 : feed->end;
        end = end != NULL ? end : feed->end;
        feed->line++;
        end -= end > line && end[-1] == '\r';
        if (!config_parse_bytes_check(feed, line, end)) {
            return false;
        }
        while (line < end && config_parse_is_blank(*line)) {
            line++;
        }
        end = config_parse_content_end(line, end);
        if (line == end) {
            continue;
        }
        feed->part = line;
        feed->part_end = end;
        return *line == '[' ? config_parse_section_check(feed, line, end)
                            : config_parse_key_check(feed, line, end);
    }
    return false;
}

/* Where to cut a line so that inih takes the rest for a continuation and trims nothing of it; NULL
 * if there is no such place. */
static const char *config_parse_cut_find(const char *part, const char *latest, bool continued)
{
    const char *equals = continued ? part : memchr(part, '=', (size_t)(latest - part));
    for (const char *cut = latest; equals != NULL && cut > equals + 1; cut--) {
        if (!config_parse_is_blank(cut[-1]) && !config_parse_is_blank(*cut) && *cut != ';' &&
            *cut != '#') {
            return cut;
        }
    }
    return NULL;
}

/* ini_reader: hands over the next line or the next part of a long one. */
static char *config_parse_read_part(char *buffer, int room, void *stream)
{
    weft_feed_t *feed = stream;
    feed->continued = feed->part < feed->part_end;
    if (feed->status != WEFT_OK || (!feed->continued && !config_parse_line_next(feed))) {
        return NULL;
    }
    const char *cut = feed->part_end;
    if (room < PART_MIN || cut - feed->part > room - 4) {
        cut = room < PART_MIN
                  ? NULL
                  : config_parse_cut_find(feed->part, feed->part + room - 4, feed->continued);
        if (cut == NULL) {
            config_parse_refuse(feed, "line cannot be split, write it shorter");
            return NULL;
        }
    }
    snprintf(buffer, (size_t)room, "%s%.*s\n", feed->continued ? " " : "", (int)(cut - feed->part),
             feed->part);
    feed->part = cut;
    return buffer;
}

static bool config_parse_given_note(weft_feed_t *feed, const char *section, const char *key)
{
    char origin[4200];
    snprintf(origin, sizeof origin, "%s:%u", feed->path, feed->line);
    const weft_given_t *before = weft_store_find(feed->config, WEFT_FROM_FILE, section, key);
    if (++feed->keys > KEYS_MAX) {
        return config_parse_refuse(feed, "more than 4096 keys in one file");
    }
    weft_given_t given = {.source = WEFT_FROM_FILE,
                          .section = section,
                          .key = key,
                          .value = feed->value,
                          .origin = origin,
                          .line = feed->line,
                          .first_line = before != NULL ? before->line : 0};
    feed->status = weft_store_give(feed->config, &given);
    return feed->status == WEFT_OK;
}

/* ini_handler. */
static int config_parse_take_value(void *user, const char *section, const char *key,
                                   const char *value)
{
    weft_feed_t *feed = user;
    size_t at = feed->continued ? strlen(feed->value) : 0;
    snprintf(feed->value + at, sizeof feed->value - at, "%s", value);
    bool complete = feed->part == feed->part_end;
    return !complete || config_parse_given_note(feed, section, key);
}

weft_status_t weft_config_parse(weft_config_t *config, const char *path, const char *text,
                                size_t bytes)
{
    weft_feed_t feed = {.config = config, .path = path, .next = text, .end = text + bytes};
    if (bytes >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0)) {
        feed.line = 1;
        config_parse_refuse(&feed, "UTF-16 text, save the file as UTF-8");
        return feed.status;
    }
    if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        feed.next += 3;
    }
    int result = ini_parse_stream(config_parse_read_part, &feed, config_parse_take_value, &feed);
    if (result != 0 && feed.status == WEFT_OK) {
        config_parse_refuse(&feed, "line that the INI parser refuses");
    }
    return feed.status;
}
