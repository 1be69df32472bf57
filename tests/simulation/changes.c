/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Changes of frames. */
#include "changes.h"

#include <stdio.h>
#include <string.h>

#include <weft/plugin/host.h>

#include "core/boot/wire.h"
#include "stream.h"

enum { KEPT = 64, LARGEST = 1 << 20, PAUSES = 48, TYPES = 19, CHANGES_MOST = 4 };

/* What comes before the frames of either end. */
#define CLIENT_FIRST (WEFT_AUTH_HELLO + WEFT_AUTH_PROOF)
#define SERVER_FIRST (WEFT_AUTH_REPLY + 1)
#define PURPOSE_AT 48 /* in a hello */

struct framer {
    bool known, control, client; /* known: whether it is a control connection */
    bool slow;                   /* what follows comes in single bytes */
    size_t skip, have, room;     /* skip: of the handshake */
    uint8_t *data;
    uint8_t *late; /* a frame that comes after the next one */
    size_t late_bytes;
};

typedef struct kept {
    size_t bytes;
    uint8_t data[WEFT_WIRE_LONGEST];
} kept_t;

static struct {
    bool on;
    uint32_t nranks, left; /* left: changes to be made */
    uint64_t frames, next; /* next: the frame that is changed next */
    uint32_t kept_count;
    kept_t kept[KEPT];
    changes_t made;
} changes;

void changes_begin(uint32_t nranks)
{
    memset(&changes, 0, sizeof changes);
    changes.on = true;
    changes.nranks = nranks;
    changes.left = machine_below(4) == 0 ? 1 + (uint32_t)machine_below(CHANGES_MOST) : 1;
    changes.next = machine_below(UINT64_C(8) << machine_below(8));
}

void changes_end(void)
{
    changes.on = false;
}

const changes_t *changes_made(void)
{
    return &changes.made;
}

/* Framing -------------------------------------------------------------------------------------- */

static framer_t *framer_of(object_t *object)
{
    if (object->framer == NULL) {
        object->framer = machine_alloc(sizeof *object->framer);
    }
    return object->framer;
}

static void framer_add(framer_t *f, const void *data, size_t bytes)
{
    if (f->have + bytes > f->room) {
        size_t room = 2 * (f->have + bytes);
        uint8_t *larger = machine_alloc(room);
        if (f->have > 0) {
            memcpy(larger, f->data, f->have);
        }
        machine_free(f->data);
        f->data = larger;
        f->room = room;
    }
    memcpy(f->data + f->have, data, bytes);
    f->have += bytes;
}

static void framer_drop(framer_t *f, size_t bytes)
{
    memmove(f->data, f->data + bytes, f->have - bytes);
    f->have -= bytes;
}

/* The first bytes of a stream say what it is. */
static void framer_look(object_t *from, framer_t *f)
{
    static const uint8_t magic[4] = {'W', 'E', 'F', 'T'};
    if (f->known || f->have < WEFT_AUTH_HELLO) {
        return;
    }
    const char *purpose = (const char *)f->data + PURPOSE_AT;
    f->known = true;
    f->control = memcmp(f->data, magic, sizeof magic) == 0 && from->peer != NULL &&
                 (strcmp(purpose, "root") == 0 || strcmp(purpose, "tree") == 0);
    if (f->control) {
        framer_t *peer = framer_of(from->peer);
        f->client = true;
        f->skip = CLIENT_FIRST;
        peer->known = peer->control = true;
        peer->skip = SERVER_FIRST;
    }
}

/* Bytes of the frame at the front; 0: not all are here; SIZE_MAX: it is none. */
static size_t framer_whole(const framer_t *f)
{
    if (f->have < WEFT_WIRE_HEADER) {
        return f->have > 0 && f->data[0] != 0 ? SIZE_MAX : 0;
    }
    uint32_t type = weft_get_u16(f->data), bytes = weft_get_u32(f->data + 4);
    if (type == 0 || type >= TYPES || bytes > LARGEST) {
        return SIZE_MAX;
    }
    return f->have >= WEFT_WIRE_HEADER + bytes ? WEFT_WIRE_HEADER + bytes : 0;
}

/* Changes -------------------------------------------------------------------------------------- */

static void pass(object_t *from, const uint8_t *data, size_t bytes)
{
    framer_t *f = from->framer;
    for (size_t i = 0; f->slow && i < bytes && i < PAUSES; i++) {
        stream_pass(from, data + i, 1);
        stream_delay(from, machine_below(20 * SIM_MS));
    }
    size_t done = f->slow ? bytes < PAUSES ? bytes : PAUSES : 0;
    if (bytes > done) {
        stream_pass(from, data + done, bytes - done);
    }
}

static uint32_t neighbour_of(uint32_t value)
{
    switch (machine_below(6)) {
    case 0:
        return value + 1;
    case 1:
        return value - 1;
    case 2:
        return 0;
    case 3:
        return UINT32_MAX;
    case 4:
        return value ^ 1u << machine_below(32);
    default:
        return (uint32_t)machine_below(changes.nranks + 1);
    }
}

static uint32_t rank_beside(uint32_t rank)
{
    uint32_t other = (uint32_t)machine_below(changes.nranks);
    return other == rank ? (rank + 1) % changes.nranks : other;
}

static void change_word(uint8_t *at)
{
    weft_put_u32(at, neighbour_of(weft_get_u32(at)));
}

/* Another one whose payload is as long. */
static uint32_t type_beside(uint32_t type)
{
    static const uint8_t beside[TYPES] = {
        [1] = 13, [2] = 18, [3] = 7,   [4] = 5,   [5] = 4,   [6] = 12,
        [7] = 8,  [8] = 7,  [9] = 9,   [10] = 11, [11] = 10, [12] = 6,
        [13] = 1, [14] = 3, [15] = 15, [16] = 16, [17] = 7,  [18] = 2};
    static const uint8_t empty[] = {3, 7, 8, 14, 17};
    return type == 3 || type == 7 || type == 8 || type == 14 || type == 17
               ? empty[machine_below(sizeof empty)]
               : beside[type];
}

static const char *change_field(uint8_t *frame, size_t bytes)
{
    const kept_t *old = &changes.kept[machine_below(changes.kept_count)];
    size_t words = (bytes - WEFT_WIRE_HEADER) / 4;
    switch (machine_below(words > 0 ? 10 : 6)) {
    case 0:
        weft_put_u32(frame + 8, rank_beside(weft_get_u32(frame + 8)));
        changes.made.parties |= UINT64_C(1) << weft_get_u32(frame + 8);
        return "from";
    case 1:
        change_word(frame + 12);
        return "sequence";
    case 2:
        change_word(frame + 28);
        return "number";
    case 3:
        memcpy(frame + 24, old->data + 24, 8);
        return "number of another";
    case 4:
        memcpy(frame + 16, old->data + 16, 8);
        return "communicator of another";
    case 5:
        weft_put_u16(frame, type_beside(weft_get_u16(frame)));
        return "type";
    case 6:
        change_word(frame + WEFT_WIRE_HEADER); /* kinds, statuses and ranks come first */
        return "first word";
    case 7:
        change_word(frame + WEFT_WIRE_HEADER + (words > 2 ? 8 : 0));
        return "third word";
    case 8:
        weft_put_u32(frame + WEFT_WIRE_HEADER + (words > 2 ? 8 : 0),
                     (uint32_t)machine_below(changes.nranks));
        return "third word, a rank";
    default: {
        size_t at = machine_below(words < 48 ? words : machine_below(2) == 0 ? 48 : words);
        change_word(frame + WEFT_WIRE_HEADER + 4 * at);
        return "a word";
    }
    }
}

typedef struct later {
    object_t *from;
    kept_t frame;
} later_t;

static void come_late(void *arg)
{
    later_t *later = arg;
    if (later->from->holders > 0) {
        stream_pass(later->from, later->frame.data, later->frame.bytes);
    }
}

static void come_again(object_t *from, const uint8_t *frame, size_t bytes, uint64_t after)
{
    static later_t pool[CHANGES_MOST];
    later_t *later = &pool[changes.left]; /* each change has one */
    if (bytes <= sizeof later->frame.data) {
        later->from = from;
        later->frame.bytes = bytes;
        memcpy(later->frame.data, frame, bytes);
        machine_at(machine.now + after, come_late, later);
    }
}

/* Any other control connection that is past its handshake. */
static object_t *stream_beside(const object_t * not )
{
    object_t *found = NULL;
    uint32_t seen = 0;
    for (object_t *o = descriptor_first(); o != NULL; o = o->next) {
        bool good = o != not &&o->kind == OBJECT_STREAM && o->framer != NULL && !o->broken &&
                    o->framer->control && o->framer->skip == 0 && o->peer != NULL &&
                    o->holders > 0 && o->framer->have == 0;
        if (good && machine_below(++seen) == 0) {
            found = o;
        }
    }
    return found;
}

static void note(const object_t *from, const uint8_t *before, const char *what)
{
    changes_t *made = &changes.made;
    made->late += strcmp(what, "slowly") == 0 || strcmp(what, "in two pieces") == 0;
    const process_t *to = from->peer != NULL ? from->peer->owner : from->owner;
    uint32_t type = weft_get_u16(before);
    /* They name ranks, or tell all of them what a third one has said. */
    bool names = type == WEFT_FRAME_FAIL || type == WEFT_FRAME_DEATH ||
                 type == WEFT_FRAME_MISSING || type == WEFT_FRAME_WORD ||
                 type == WEFT_FRAME_GATHER || type == WEFT_FRAME_SPREAD;
    made->count++;
    made->parties |=
        names ? UINT64_MAX : UINT64_C(1) << from->owner->number | UINT64_C(1) << to->number;
    snprintf(made->what, sizeof made->what, "frame %llu, type %u, from process %u to %u: %s",
             (unsigned long long)changes.frames, type, from->owner->number, to->number, what);
    machine_note("change %s", made->what);
}

static void frame_change(object_t *from, framer_t *f, uint8_t *frame, size_t bytes)
{
    object_t *other;
    uint8_t before[WEFT_WIRE_HEADER];
    size_t first;
    memcpy(before, frame, sizeof before);
    switch (machine_below(16)) {
    case 0:
        note(from, before, "lost");
        break;
    case 1:
        note(from, before, "twice");
        pass(from, frame, bytes);
        pass(from, frame, bytes);
        break;
    case 2:
        note(from, before, "again, late");
        pass(from, frame, bytes);
        come_again(from, frame, bytes, machine_between(SIM_MS, 5 * SIM_S));
        break;
    case 3:
        note(from, before, "after the next");
        f->late = machine_alloc(bytes);
        f->late_bytes = bytes;
        memcpy(f->late, frame, bytes);
        break;
    case 4:
    case 5:
        other = stream_beside(from);
        if (other != NULL) {
            note(from, before, "by another, too");
            note(other, before, "that one");
            stream_pass(other, frame, bytes);
        }
        pass(from, frame, bytes);
        break;
    case 6:
        note(from, before, "cut");
        stream_pass(from, frame, 1 + machine_below(bytes - 1));
        stream_reset(from, true);
        break;
    case 7:
        note(from, before, "slowly");
        f->slow = true;
        pass(from, frame, bytes);
        f->slow = false;
        break;
    case 8:
        note(from, before, "in two pieces");
        first = 1 + machine_below(bytes - 1);
        pass(from, frame, first);
        stream_delay(from, machine_between(SIM_MS, 5 * SIM_S / 2));
        pass(from, frame + first, bytes - first);
        break;
    default:
        note(from, before, change_field(frame, bytes));
        pass(from, frame, bytes);
        break;
    }
}

static void frame_serve(object_t *from, framer_t *f, uint8_t *frame, size_t bytes)
{
    uint8_t *late = f->late; /* this frame may take its place */
    const size_t late_bytes = f->late_bytes;
    f->late = NULL;
    if (bytes <= WEFT_WIRE_LONGEST) {
        kept_t *kept = &changes.kept[changes.frames % KEPT];
        kept->bytes = bytes;
        memcpy(kept->data, frame, bytes);
        changes.kept_count = changes.kept_count < KEPT ? changes.kept_count + 1 : KEPT;
    }
    if (changes.left > 0 && changes.frames >= changes.next && changes.kept_count > 0) {
        changes.left--;
        changes.next += 1 + machine_below(64);
        frame_change(from, f, frame, bytes);
    } else {
        pass(from, frame, bytes);
    }
    changes.frames++;
    if (late != NULL) {
        pass(from, late, late_bytes);
        machine_free(late);
    }
}

bool changes_take(object_t *from, const void *data, size_t bytes)
{
    if (!changes.on || from->local) {
        return false;
    }
    framer_t *f = framer_of(from);
    if (f->known && !f->control) {
        return false;
    }
    if (f->known && f->skip > 0) {
        size_t first = bytes < f->skip ? bytes : f->skip;
        f->skip -= first;
        stream_pass(from, data, first);
        data = (const uint8_t *)data + first;
        bytes -= first;
    }
    if (!f->known) { /* the hello is passed as it comes, and kept to be looked at */
        framer_add(f, data, bytes);
        stream_pass(from, data, bytes);
        framer_look(from, f);
        if (f->known) {
            f->skip = f->control && f->skip > f->have ? f->skip - f->have : 0;
            f->have = 0;
        }
        return true;
    }
    framer_add(f, data, bytes);
    size_t whole;
    while (f->have > 0 && (whole = framer_whole(f)) != 0) {
        if (whole == SIZE_MAX) {
            changes_flush(from);
            return true;
        }
        frame_serve(from, f, f->data, whole);
        framer_drop(f, whole);
    }
    return true;
}

void changes_flush(object_t *from)
{
    framer_t *f = from->framer;
    if (f == NULL || !f->known) {
        return;
    }
    if (f->late != NULL) {
        stream_pass(from, f->late, f->late_bytes);
        machine_free(f->late);
        f->late = NULL;
    }
    if (f->have > 0) {
        stream_pass(from, f->data, f->have);
        f->have = 0;
    }
}

void changes_forget(object_t *from)
{
    framer_t *f = from->framer;
    if (f != NULL) {
        from->framer = NULL;
        machine_free(f->data);
        machine_free(f->late);
        machine_free(f);
    }
}
