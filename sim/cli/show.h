/*
 * show.h - what the verbs print with: faults, diagnostics, JSON, names beside sentences.
 */
#ifndef ORR_SHOW_H
#define ORR_SHOW_H

#include "sim/base/field.h"

G_BEGIN_DECLS

void orr_show_error(const GError *error); /* to stderr, "orrery: MESSAGE" */
/* the same, of what is not an error of the call */
void orr_show_problem(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* to stderr: the first hundred, and how many more there are */
void orr_show_diags(const OrrDiags *diags);

/* Ends a command: prints @error, and sees to it that a status other than 0 never comes without a
 * reason on stderr: an error, the errors of a document or a problem. @what: the verb. The exit
 * status. */
int orr_show_end(const char *what, int status, const GError *error);

/* "NAME  SENTENCE" to stdout; a NULL sentence is left out. */
void orr_show_entry(const char *name, gsize width, const char *sentence);

/* JSON (RFC 8259) appended to @out. Numbers read back as the same double; NaN and infinity are
 * null. */
void orr_show_json_text(GString *out, const char *text); /* NULL: null */
void orr_show_json_number(GString *out, double value);
/* The scalar members of a row as "name": value, ...; names with '_'. No braces, so that a caller
 * can add its own. */
void orr_show_json_members(GString *out, const OrrFieldTable *table, const void *row);

/* A share as people read it: "44.9 %"; with a sign: "+2.3 %". Newly allocated. */
char *orr_show_percent(double share);
char *orr_show_signed_percent(double share);

/* 12345678 as "12,345,678". Newly allocated. */
char *orr_show_count(gint64 count);

G_END_DECLS

#endif
