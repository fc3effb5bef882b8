/*
 * show.h - printing for the verbs: errors, diagnostics, JSON, wrapped paragraphs, numbers.
 */
#pragma once

#include "sim/base/field.h"

/* Prints "orrery: MESSAGE" to stderr. */
void orr_show_error(const GError *error);

/* The same for a problem that is not a GError. */
void orr_show_problem(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* Prints the first hundred diagnostics to stderr, and how many more there are. */
void orr_show_diags(const OrrDiags *diags);

/* The same; appends all warnings to @warnings (of char *, owned), "FILE:LINE:COLUMN: MESSAGE": an
 * answer has them, too. */
void orr_show_diags_kept(const OrrDiags *diags, GPtrArray *warnings);

/* Ends a command: prints @error and returns the exit status. Guarantees that stderr holds a reason
 * (an error, a document's errors or a problem) whenever the status is not 0. @what: the verb. */
int orr_show_end(const char *what, int status, const GError *error);

/* Writes @text, the answer of a command, to the file @output, or to stdout where that is NULL or
 * cannot be written: FALSE then, with ORR_FAULT_RESOURCE. */
gboolean orr_show_document(const char *text, const char *output, GError **error);

/* Prints "NAME  SENTENCE" to stdout; a NULL sentence is left out. */
void orr_show_entry(const char *name, gsize width, const char *sentence);

/* What an answer says whose scenario names no release of its software, so that @stack was taken:
 * "release assumed: vllm-0.19". Newly allocated. */
char *orr_show_assumed(const char *stack);

/* What an answer says of itself (of char *): a line each, after @label. */
void orr_show_warnings(const char *label, const GPtrArray *warnings);

/* A fraction in percent: "44.9 %"; with a sign: "+2.3 %". Newly allocated. */
char *orr_show_percent(double fraction);
char *orr_show_signed_percent(double fraction);

/* 12345678 as "12,345,678". Newly allocated. */
char *orr_show_count(gint64 count);

/* Prints @text to stdout, wrapped at 100 columns and indented by @indent; the first line continues
 * at @column of a line that is already begun. A newline in @text ends a paragraph. */
void orr_show_wrapped(const char *text, guint indent, guint column);
