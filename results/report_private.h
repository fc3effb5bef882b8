/*
 * report_private.h - what the report_*.c files share: each function appends HTML to the page.
 */
#pragma once

#include "results/plot.h"
#include "results/report.h"

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

/* The explorer of a sweep's points: its elements and its data. *@ret_is_there: FALSE where the run
 * has no points, and nothing is appended. */
gboolean orr_report_append_explorer(GString *html, OrrStore *store, gint64 sweep,
                                    gboolean *ret_is_there, GError **error);

/* Files of results/explorer/, compiled in. */
typedef struct {
  const char *name;
  const char *sentence; /* the first line */
  const char *text;     /* the whole file */
} OrrPagePart;

/* The page's head up to <body>; its scripts at the end. */
void orr_report_append_head(GString *html, const char *title, gboolean is_wide);
void orr_report_append_scripts(GString *html, gboolean with_explorer);
const char *orr_report_part(const char *name);
