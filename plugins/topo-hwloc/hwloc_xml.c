/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A look at an XML with expat. hwloc tells only that it could not import a file, and it makes sets
 * as large as the numbers in it; so numbers, places and sizes are looked at here. */
#include "hwloc_xml.h"

#include <errno.h>
#include <expat.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hwloc_speed.h"

/* Elements by the depth that matters: what stands in what. */
typedef enum element {
    ELEMENT_NONE, /* above the root */
    ELEMENT_TOPOLOGY,
    ELEMENT_OBJECT,
    ELEMENT_LEAF /* all others: they hold text, or values of their own */
} element_t;

typedef struct xml_reader {
    const weft_host_t *host;
    const char *file;
    XML_Parser parser;
    weft_status_t status;
    uint32_t depth, objects, elements, pus, nodes;
    uint8_t kinds[HWLOC_XML_DEPTH_MAX + 1]; /* element_t, of what is open */
    uint8_t types[HWLOC_XML_DEPTH_MAX + 1]; /* hwloc_obj_type_t of open objects */
} xml_reader_t;

static void hwloc_xml_refuse(xml_reader_t *reader, const char *format, ...) WEFT_PRINTF(2, 3);

static void hwloc_xml_refuse(xml_reader_t *reader, const char *format, ...)
{
    char why[300];
    va_list args;
    if (reader->status != WEFT_OK) {
        return;
    }
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    reader->status =
        reader->host->set_error(reader->host, WEFT_ERR_CONFIG, 0, "%s:%lu: %s", reader->file,
                                (unsigned long)XML_GetCurrentLineNumber(reader->parser), why);
    XML_StopParser(reader->parser, XML_FALSE);
}

static const char *hwloc_xml_find(const char **attributes, const char *name)
{
    for (; *attributes != NULL; attributes += 2) {
        if (strcmp(attributes[0], name) == 0) {
            return attributes[1];
        }
    }
    return NULL;
}

/* Attributes ----------------------------------------------------------------------------------- */

/* A number from 0 to `max`, if the attribute is there. */
static bool hwloc_xml_number(xml_reader_t *reader, const char *type, const char **attributes,
                             const char *name, uint64_t max)
{
    const char *text = hwloc_xml_find(attributes, name);
    char *end;
    if (text == NULL) {
        return false;
    }
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value > max) {
        hwloc_xml_refuse(reader,
                         "<object type=\"%s\">: %s is \"%.40s\"; a number from 0 to %llu "
                         "is expected",
                         type, name, text, (unsigned long long)max);
    }
    return true;
}

/* A set of bits: words of 8 hexadecimal digits, the lowest last, with the prefix 0x each; "0xf...f"
 * in front stands for all that are above. */
static void hwloc_xml_set(xml_reader_t *reader, const char *type, const char *name,
                          const char *text)
{
    const char *at = text;
    size_t words = 0;
    if (strncmp(text, "0xf...f", 7) == 0) {
        at += text[7] == ',' ? 8 : 7;
    }
    for (; *at != '\0'; at += *at == ',' ? 1 : 0) {
        const char *word = strncmp(at, "0x", 2) == 0 ? at + 2 : at;
        const size_t digits = strspn(word, "0123456789abcdefABCDEF");
        /* A word without digits is 0: "0x1,,0x1" is bits 64 and 0. hwloc 2.9 does not count one
         * that is the first, and ends the process. */
        if (((word != at || words == 0) && digits == 0) || digits > 8 ||
            (word[digits] != '\0' && word[digits] != ',')) {
            hwloc_xml_refuse(reader, "<object type=\"%s\">: %s \"%.60s\" is no set, as 0x0000ffff",
                             type, name, text);
            return;
        }
        at = word + digits;
        words++;
    }
    if (words > (HWLOC_XML_INDEX_MAX + 1) / 32) {
        hwloc_xml_refuse(reader, "<object type=\"%s\">: %s has more than %u bits", type, name,
                         HWLOC_XML_INDEX_MAX + 1);
    }
}

static void hwloc_xml_check_sets(xml_reader_t *reader, const char *type, const char **attributes)
{
    for (; *attributes != NULL; attributes += 2) {
        const size_t length = strlen(attributes[0]);
        if (length >= 6 && (strcmp(attributes[0] + length - 6, "cpuset") == 0 ||
                            strcmp(attributes[0] + length - 6, "odeset") == 0)) {
            hwloc_xml_set(reader, type, attributes[0], attributes[1]);
        }
    }
}

static void hwloc_xml_check_pci(xml_reader_t *reader, const char *type, const char **attributes)
{
    const char *bus = hwloc_xml_find(attributes, "pci_busid");
    const char *speed = hwloc_xml_find(attributes, "pci_link_speed");
    unsigned a, b, c, d;
    char *end = NULL;
    int used = 0;
    if (bus == NULL || sscanf(bus, "%8x:%2x:%2x.%1x%n", &a, &b, &c, &d, &used) != 4 ||
        bus[used] != '\0') {
        hwloc_xml_refuse(reader,
                         "<object type=\"%s\">: pci_busid \"%.40s\" is none, as 0000:15:00.0", type,
                         bus != NULL ? bus : "missing");
    }
    if (speed != NULL) {
        const double value = hwloc_number(speed, &end);
        if (end == speed || *end != '\0' || !(value >= 0 && value <= 10000)) {
            hwloc_xml_refuse(reader,
                             "<object type=\"%s\">: pci_link_speed \"%.40s\" is no number of GB/s "
                             "from 0 to 10000",
                             type, speed);
        }
    }
}

static void hwloc_xml_check_bridge(xml_reader_t *reader, const char **attributes)
{
    const char *way = hwloc_xml_find(attributes, "bridge_type");
    const char *below = hwloc_xml_find(attributes, "bridge_pci");
    unsigned domain, first, last;
    int used = 0;
    if (way == NULL || (strcmp(way, "0-1") != 0 && strcmp(way, "1-1") != 0)) {
        hwloc_xml_refuse(reader,
                         "<object type=\"Bridge\">: bridge_type is \"%.40s\"; 0-1 or 1-1 is "
                         "expected",
                         way != NULL ? way : "missing");
    } else if (way[0] == '1') {
        hwloc_xml_check_pci(reader, "Bridge", attributes);
    }
    if (below == NULL || sscanf(below, "%8x:[%2x-%2x]%n", &domain, &first, &last, &used) != 3 ||
        below[used] != '\0') {
        hwloc_xml_refuse(reader,
                         "<object type=\"Bridge\">: bridge_pci \"%.40s\" is none, as 0000:[01-1f]",
                         below != NULL ? below : "missing");
    }
}

/* Objects -------------------------------------------------------------------------------------- */

static bool hwloc_xml_is_io(hwloc_obj_type_t type)
{
    return type == HWLOC_OBJ_BRIDGE || type == HWLOC_OBJ_PCI_DEVICE || type == HWLOC_OBJ_OS_DEVICE;
}

static void hwloc_xml_check_place(xml_reader_t *reader, hwloc_obj_type_t type, const char *name)
{
    const bool root = reader->kinds[reader->depth] == ELEMENT_TOPOLOGY;
    const hwloc_obj_type_t above = (hwloc_obj_type_t)reader->types[reader->depth];
    if (root != (type == HWLOC_OBJ_MACHINE)) {
        hwloc_xml_refuse(reader, "<object type=\"%s\">: %s", name,
                         root ? "the outermost object is a Machine"
                              : "a Machine is the outermost object");
    } else if (root && reader->objects > 1) {
        hwloc_xml_refuse(reader, "<object type=\"Machine\">: there is one already");
    } else if (!root && type != HWLOC_OBJ_MISC &&
               (above == HWLOC_OBJ_NUMANODE ||
                (above == HWLOC_OBJ_PU && hwloc_obj_type_is_normal(type)))) {
        hwloc_xml_refuse(reader, "<object type=\"%s\"> inside a %s, which has no parts", name,
                         hwloc_obj_type_string(above));
    } else if (!root && hwloc_xml_is_io(above) && !hwloc_xml_is_io(type) &&
               type != HWLOC_OBJ_MISC) {
        hwloc_xml_refuse(reader, "<object type=\"%s\"> inside a %s, which holds devices only", name,
                         hwloc_obj_type_string(above));
    } else if (!root && above == HWLOC_OBJ_MISC && type != HWLOC_OBJ_MISC) {
        hwloc_xml_refuse(reader, "<object type=\"%s\"> inside a Misc, which holds no such thing",
                         name);
    }
}

/* A CPU object needs its sets: hwloc sorts by them without a look whether they are there. */
static void hwloc_xml_check_numbers(xml_reader_t *reader, hwloc_obj_type_t type, const char *name,
                                    const char **attributes)
{
    static const char *const sets[] = {"cpuset", "complete_cpuset", "nodeset", "complete_nodeset"};
    const bool indexed = type == HWLOC_OBJ_PU || type == HWLOC_OBJ_NUMANODE;
    const bool has_index = hwloc_xml_number(reader, name, attributes, "os_index",
                                            indexed ? HWLOC_XML_INDEX_MAX : UINT32_MAX - 1);
    if (indexed && !has_index) {
        hwloc_xml_refuse(reader, "<object type=\"%s\">: os_index is missing", name);
    }
    hwloc_xml_number(reader, name, attributes, "gp_index", UINT64_MAX - 1);
    hwloc_xml_number(reader, name, attributes, "local_memory", UINT64_C(1) << 60);
    hwloc_xml_number(reader, name, attributes, "cache_size", UINT64_C(1) << 50);
    if (hwloc_obj_type_is_cache(type)) {
        hwloc_xml_number(reader, name, attributes, "depth", 9);
    }
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        if (!hwloc_xml_is_io(type) && type != HWLOC_OBJ_MISC &&
            hwloc_xml_find(attributes, sets[i]) == NULL) {
            hwloc_xml_refuse(reader, "<object type=\"%s\">: %s is missing", name, sets[i]);
        }
    }
}

static hwloc_obj_type_t hwloc_xml_open_object(xml_reader_t *reader, const char **attributes)
{
    const char *name = hwloc_xml_find(attributes, "type");
    hwloc_obj_type_t type = HWLOC_OBJ_MISC;
    if (++reader->objects > HWLOC_XML_OBJECTS_MAX) {
        hwloc_xml_refuse(reader, "<object>: more than %u objects", HWLOC_XML_OBJECTS_MAX);
    } else if (name == NULL) {
        hwloc_xml_refuse(reader, "<object>: type is missing");
    } else if (strlen(name) > 40 || hwloc_type_sscanf(name, &type, NULL, 0) != 0) {
        hwloc_xml_refuse(reader,
                         "<object>: hwloc has no type \"%.40s\"; it has Machine, Package, "
                         "NUMANode, L3Cache, Core, PU, Bridge, PCIDev, OSDev and others",
                         name);
    }
    if (reader->status != WEFT_OK) {
        return type;
    }
    hwloc_xml_check_place(reader, type, name);
    hwloc_xml_check_sets(reader, name, attributes);
    hwloc_xml_check_numbers(reader, type, name, attributes);
    if (type == HWLOC_OBJ_PCI_DEVICE) {
        hwloc_xml_check_pci(reader, name, attributes);
    } else if (type == HWLOC_OBJ_BRIDGE) {
        hwloc_xml_check_bridge(reader, attributes);
    }
    reader->pus += type == HWLOC_OBJ_PU;
    reader->nodes += type == HWLOC_OBJ_NUMANODE;
    return type;
}

/* Elements ------------------------------------------------------------------------------------- */

static void hwloc_xml_open_root(xml_reader_t *reader, const char *name, const char **attributes)
{
    const char *version = hwloc_xml_find(attributes, "version");
    if (strcmp(name, "topology") != 0) {
        hwloc_xml_refuse(reader, "<%.40s> where <topology> is expected", name);
    } else if (version == NULL || (strcmp(version, "2.0") != 0 && strcmp(version, "3.0") != 0)) {
        hwloc_xml_refuse(reader, "<topology>: version is \"%.40s\"; 2.0, of hwloc 2, is expected",
                         version != NULL ? version : "missing");
    }
}

static void hwloc_xml_check_values(xml_reader_t *reader, const char *name, const char **attributes)
{
    for (; *attributes != NULL; attributes += 2) {
        if (strlen(attributes[1]) > HWLOC_XML_VALUE_MAX) {
            hwloc_xml_refuse(reader, "<%.40s>: %.40s is longer than %u bytes", name, attributes[0],
                             HWLOC_XML_VALUE_MAX);
        }
    }
}

/* hwloc makes a matrix of this size before it reads what is in it. */
static void hwloc_xml_check_distances(xml_reader_t *reader, const char *name,
                                      const char **attributes)
{
    const char *text = hwloc_xml_find(attributes, "nbobjs");
    char *end = NULL;
    const unsigned long count = text != NULL ? strtoul(text, &end, 10) : 0;
    if (text != NULL &&
        (end == text || *end != '\0' || *text == '-' || count > HWLOC_XML_DISTANCES_MAX)) {
        hwloc_xml_refuse(reader, "<%.40s>: nbobjs is \"%.40s\"; a number from 0 to %u is expected",
                         name, text, HWLOC_XML_DISTANCES_MAX);
    }
}

static element_t hwloc_xml_open(xml_reader_t *reader, const char *name, const char **attributes)
{
    const element_t above = (element_t)reader->kinds[reader->depth];
    if (above == ELEMENT_NONE) {
        hwloc_xml_open_root(reader, name, attributes);
        return ELEMENT_TOPOLOGY;
    }
    if (strcmp(name, "object") != 0) {
        hwloc_xml_check_distances(reader, name, attributes);
        return ELEMENT_LEAF;
    }
    if (above == ELEMENT_LEAF) {
        hwloc_xml_refuse(reader, "<object> inside an element that holds none");
    }
    return ELEMENT_OBJECT;
}

static void XMLCALL hwloc_xml_on_open(void *user, const XML_Char *name, const XML_Char **attributes)
{
    xml_reader_t *reader = user;
    hwloc_obj_type_t type = HWLOC_OBJ_MISC;
    if (reader->status != WEFT_OK) {
        return;
    }
    if (reader->depth == HWLOC_XML_DEPTH_MAX) {
        hwloc_xml_refuse(reader, "<%.40s>: elements lie deeper than %u", name, HWLOC_XML_DEPTH_MAX);
        return;
    }
    if (++reader->elements > HWLOC_XML_ELEMENTS_MAX) {
        hwloc_xml_refuse(reader, "<%.40s>: more than %u elements", name, HWLOC_XML_ELEMENTS_MAX);
        return;
    }
    hwloc_xml_check_values(reader, name, attributes);
    const element_t element = hwloc_xml_open(reader, name, attributes);
    if (reader->status == WEFT_OK && element == ELEMENT_OBJECT) {
        type = hwloc_xml_open_object(reader, attributes);
    }
    reader->depth++;
    reader->kinds[reader->depth] = (uint8_t)element;
    reader->types[reader->depth] = (uint8_t)type;
}

static void XMLCALL hwloc_xml_on_close(void *user, const XML_Char *name)
{
    xml_reader_t *reader = user;
    (void)name;
    reader->depth--;
}

/* hwloc writes a document type of one line; one that defines entities could be larger than the
 * file. */
static void XMLCALL hwloc_xml_on_doctype(void *user, const XML_Char *name, const XML_Char *system,
                                         const XML_Char *public, int internal)
{
    (void)name, (void)system, (void)public;
    if (internal) {
        hwloc_xml_refuse(user, "a document type (<!DOCTYPE>) with definitions is not accepted");
    }
}

static weft_status_t hwloc_xml_read(xml_reader_t *reader, const char *text, size_t bytes)
{
    XML_SetUserData(reader->parser, reader);
    XML_SetElementHandler(reader->parser, hwloc_xml_on_open, hwloc_xml_on_close);
    XML_SetStartDoctypeDeclHandler(reader->parser, hwloc_xml_on_doctype);
    const enum XML_Status good = XML_Parse(reader->parser, text, (int)bytes, 1);
    if (reader->status == WEFT_OK && good != XML_STATUS_OK) {
        hwloc_xml_refuse(reader, "this is no XML: %s",
                         XML_ErrorString(XML_GetErrorCode(reader->parser)));
    } else if (reader->pus == 0 || reader->nodes == 0) {
        hwloc_xml_refuse(reader, "</topology>: no <object> of type %s",
                         reader->pus == 0 ? "PU" : "NUMANode");
    }
    return reader->status;
}

weft_status_t hwloc_xml_check(const weft_host_t *host, const char *file, const char *text,
                              size_t bytes)
{
    xml_reader_t reader = {.host = host, .file = file, .parser = XML_ParserCreate(NULL)};
    if (reader.parser == NULL) {
        return host->set_error(host, WEFT_ERR_RESOURCE, ENOMEM, "%s: no memory for an XML parser",
                               file);
    }
    weft_status_t status = hwloc_xml_read(&reader, text, bytes);
    XML_ParserFree(reader.parser);
    return status;
}
