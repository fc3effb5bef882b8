/*
 * report_private.h - what the report_*.c files share.
 */
#ifndef ORR_REPORT_PRIVATE_H
#define ORR_REPORT_PRIVATE_H

#include "results/report.h"

G_BEGIN_DECLS

/* with HTML's special characters escaped */
void orr_report_append_text(GString *html, const char *text);

/* The cell of a row by its column's name; NULL where there is no such column, or NULL in it. */
const char *orr_report_cell(const OrrAnswer *answer, guint row, const char *column);

/* The same as a number; 0 where there is none. */
double orr_report_number(const OrrAnswer *answer, guint row, const char *column);

/* A number as people read it: 232.6k, 28.43, 0.0043; newly allocated. */
char *orr_report_short(double value);

/* What pictures are made of. @fill is a colour; the element is left open for a <title>:
 * orr_report_end_rect. */
enum { ORR_REPORT_WIDTH = 960 };
const char *orr_report_colour(guint i);
void orr_report_append_rect(GString *html, double x, double y, double width, double height,
                            const char *fill);
void orr_report_append_legend(GString *html, const GPtrArray *names); /* in the order of colours */
guint orr_report_place(GPtrArray *names, const char *name); /* added where it is not there */

/* Pictures, inline SVG; each of the views that it names, and nothing where there is nothing to
 * show. */
/* the first figures, large */
void orr_report_append_tiles(GString *html, const OrrAnswer *summary);
void orr_report_append_bar(GString *html, const OrrAnswer *breakdown);          /* one bar */
void orr_report_append_timeline(GString *html, const OrrAnswer *timeline);      /* a Gantt chart */
void orr_report_append_stacks(GString *html, const OrrAnswer *point_breakdown); /* a bar a point */
/* bars to both sides */
void orr_report_append_effects(GString *html, const OrrAnswer *sensitivity);
/* a bar for each sort of cost */
void orr_report_append_provenance(GString *html, const OrrAnswer *provenance);
void orr_report_append_front(GString *html, const OrrAnswer *front);       /* points */
void orr_report_append_measured(GString *html, const OrrAnswer *measured); /* points, a diagonal */
void orr_report_append_heat_map(GString *html, const OrrAnswer *heat_map); /* fields */
void orr_report_append_load(GString *html, const OrrAnswer *serving_timeline); /* lines over time */
void orr_report_append_batches(GString *html, const OrrAnswer *batch_sizes);   /* columns */

G_END_DECLS

#endif
