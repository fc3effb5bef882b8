/*
 * report_private.h - what the report_*.c files share.
 */
#ifndef ORR_REPORT_PRIVATE_H
#define ORR_REPORT_PRIVATE_H

#include "results/report.h"

G_BEGIN_DECLS

void orr_report_append_text(GString *html, const char *text); /* with HTML's special characters escaped */

/* The cell of a row by its column's name; NULL where there is no such column, or NULL in it. */
const char *orr_report_cell(const OrrAnswer *answer, guint row, const char *column);

/* Pictures: inline SVG of the views breakdown (one bar) and timeline (Gantt). */
void orr_report_append_bar(GString *html, const OrrAnswer *breakdown);
void orr_report_append_timeline(GString *html, const OrrAnswer *timeline);

G_END_DECLS

#endif
