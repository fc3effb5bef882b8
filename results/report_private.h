/*
 * report_private.h - what the report_*.c files share: each function appends HTML to the page.
 */
#ifndef ORR_REPORT_PRIVATE_H
#define ORR_REPORT_PRIVATE_H

#include "results/plot.h"
#include "results/report.h"

G_BEGIN_DECLS

/* Appends @text with HTML's special characters escaped; NULL: nothing. */
void orr_report_append_text(GString *html, const char *text);

/* A row's cell in the column of that name; NULL where the answer lacks the column or the cell is
 * NULL. */
const char *orr_report_cell(const OrrAnswer *answer, guint row, const char *column);

/* The same cell as a number; 0 where it is NULL. */
double orr_report_number(const OrrAnswer *answer, guint row, const char *column);

/* The answer as a table. Columns called percent or *_percent carry a bar behind each figure. */
void orr_report_append_table(GString *html, const OrrView *view, const OrrAnswer *answer);

/* The most important rows of the view `summary`, large. */
void orr_report_append_tiles(GString *html, const OrrAnswer *summary);

/* The plot of that view, drawn by gnuplot and embedded as an image. Without gnuplot: a line that
 * says so. FALSE where gnuplot fails. */
gboolean orr_report_append_picture(GString *html, const OrrPlot *plot, const OrrAnswer *answer,
                                   GError **error);

G_END_DECLS

#endif
