/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SVG. Colours are chosen in OKLCH (B. Ottosson, "A perceptual color space for image processing",
 * 2020), so that equal steps look equal. */
#include "tools/svg.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define TAU 6.28318530717958647692

static void svg_put_escaped(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            if ((unsigned char)*text >= 0x20) {
                fputc(*text, out);
            }
        }
    }
}

void svg_open(svg_t *svg, FILE *out, double width, double height, const char *title)
{
    svg->out = out;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\" font-family=\"'DejaVu Sans', Verdana, Helvetica, "
            "sans-serif\">\n<title>",
            width, height, width, height);
    svg_put_escaped(out, title);
    fputs("</title>\n", out);
    svg_paint_t paper = {.fill = SVG_PAPER};
    svg_rect(svg, (svg_box_t){0, 0, width, height, 0}, &paper);
}

void svg_close(svg_t *svg)
{
    fputs("</svg>\n", svg->out);
}

static void svg_put_paint(svg_t *svg, const svg_paint_t *paint)
{
    fprintf(svg->out, " fill=\"%s\"", paint->fill != NULL ? paint->fill : "none");
    if (paint->stroke != NULL) {
        fprintf(svg->out, " stroke=\"%s\" stroke-width=\"%.4g\"", paint->stroke,
                paint->width > 0 ? paint->width : 1);
    }
    if (paint->opacity > 0) {
        fprintf(svg->out, " opacity=\"%.3g\"", paint->opacity);
    }
    if (paint->dash != NULL) {
        fprintf(svg->out, " stroke-dasharray=\"%s\"", paint->dash);
    }
    fputs("/>\n", svg->out);
}

void svg_rect(svg_t *svg, svg_box_t box, const svg_paint_t *paint)
{
    fprintf(svg->out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"", box.x, box.y,
            box.w, box.h);
    if (box.round > 0) {
        fprintf(svg->out, " rx=\"%.2f\"", box.round);
    }
    svg_put_paint(svg, paint);
}

void svg_circle(svg_t *svg, svg_point_t centre, double radius, const svg_paint_t *paint)
{
    fprintf(svg->out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\"", centre.x, centre.y, radius);
    svg_put_paint(svg, paint);
}

void svg_line(svg_t *svg, svg_point_t from, svg_point_t to, const svg_paint_t *paint)
{
    fprintf(svg->out, "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"", from.x, from.y, to.x,
            to.y);
    svg_put_paint(svg, paint);
}

void svg_poly(svg_t *svg, const svg_point_t *points, size_t count, const svg_paint_t *paint)
{
    fputs("<polyline stroke-linejoin=\"round\" points=\"", svg->out);
    for (size_t i = 0; i < count; i++) {
        fprintf(svg->out, "%.2f,%.2f ", points[i].x, points[i].y);
    }
    fputc('"', svg->out);
    svg_put_paint(svg, paint);
}

void svg_arc(svg_t *svg, svg_point_t centre, double radius, const double angles[2],
             const svg_paint_t *paint)
{
    double span = angles[1] - angles[0];
    if (span >= TAU - 0.001) {
        svg_circle(svg, centre, radius, paint);
        return;
    }
    fprintf(svg->out, "<path stroke-linecap=\"round\" d=\"M%.2f %.2f A%.2f %.2f 0 %d 1 %.2f %.2f\"",
            centre.x + radius * cos(angles[0]), centre.y + radius * sin(angles[0]), radius, radius,
            span > TAU / 2, centre.x + radius * cos(angles[1]), centre.y + radius * sin(angles[1]));
    svg_put_paint(svg, paint);
}

double svg_length(double dx, double dy)
{
    return sqrt(dx * dx + dy * dy);
}

/* The line ends inside the head, so that a thick one does not show beyond its tip. */
void svg_arrow(svg_t *svg, const svg_point_t curve[3], double head, const svg_paint_t *paint)
{
    double dx = curve[2].x - curve[1].x, dy = curve[2].y - curve[1].y;
    double length = svg_length(dx, dy);
    if (length < 1e-9) {
        length = 1;
    }
    dx /= length;
    dy /= length;
    fprintf(svg->out, "<path d=\"M%.2f %.2f Q%.2f %.2f %.2f %.2f\"", curve[0].x, curve[0].y,
            curve[1].x, curve[1].y, curve[2].x - 0.7 * head * dx, curve[2].y - 0.7 * head * dy);
    svg_put_paint(svg, paint);
    if (head <= 0) {
        return;
    }
    double bx = curve[2].x - head * dx, by = curve[2].y - head * dy, wide = 0.42 * head;
    svg_paint_t solid = {.fill = paint->stroke, .opacity = paint->opacity};
    fprintf(svg->out, "<path d=\"M%.2f %.2f L%.2f %.2f L%.2f %.2f Z\"", curve[2].x, curve[2].y,
            bx - wide * dy, by + wide * dx, bx + wide * dy, by - wide * dx);
    svg_put_paint(svg, &solid);
}

void svg_text(svg_t *svg, svg_point_t at, const svg_font_t *font, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(svg->out, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.4g\" fill=\"%s\"%s%s>", at.x, at.y,
            font->size, font->fill != NULL ? font->fill : SVG_INK,
            font->anchor == 'm'   ? " text-anchor=\"middle\""
            : font->anchor == 'e' ? " text-anchor=\"end\""
                                  : "",
            font->bold ? " font-weight=\"bold\"" : "");
    svg_put_escaped(svg->out, text);
    fputs("</text>\n", svg->out);
}

void svg_begin(svg_t *svg, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fputs("<g><title>", svg->out);
    svg_put_escaped(svg->out, text);
    fputs("</title>\n", svg->out);
}

void svg_end(svg_t *svg)
{
    fputs("</g>\n", svg->out);
}

static int svg_channel(double linear)
{
    double x = linear <= 0 ? 0 : linear >= 1 ? 1 : linear;
    x = x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055;
    return (int)lround(255 * x);
}

svg_colour_t svg_oklch(double lightness, double chroma, double hue)
{
    double a = chroma * cos(hue * TAU / 360), b = chroma * sin(hue * TAU / 360);
    double l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
    double m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
    double s = pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
    svg_colour_t colour;
    snprintf(colour.text, sizeof colour.text, "#%02x%02x%02x",
             (unsigned)svg_channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s) & 255u,
             (unsigned)svg_channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s) & 255u,
             (unsigned)svg_channel(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s) & 255u);
    return colour;
}

/* Neighbours on the wheel differ in lightness too, which helps where hues look alike. */
svg_colour_t svg_hue(uint32_t i, uint32_t n)
{
    if (n == 0) {
        n = 1;
    }
    double hue = 255 + 360.0 * (double)(i % n) / (double)n;
    double lightness = n > 4 && i % 2 == 1 ? 0.64 : 0.72;
    return svg_oklch(lightness, 0.135, hue);
}

/* From light teal over blue to dark red. */
svg_colour_t svg_ramp(double at)
{
    return svg_oklch(0.74 - 0.24 * at, 0.12 + 0.05 * at, 185 + 200 * at);
}

double svg_width(const char *text, double size)
{
    size_t letters = 0;
    for (; *text != '\0'; text++) {
        letters += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return 0.59 * size * (double)letters;
}
