/*
 * terminal.h - makes printed text harmless: stdout and stderr pass through one filter.
 *
 * Documents and databases can come from anyone, and a terminal obeys control characters in their
 * texts: ESC sequences recolour, move the cursor, set the title, and on some terminals type keys.
 * The filter sits below printf, so that no verb can forget it. It passes printable UTF-8, tabs,
 * line ends, and CR before LF. Other characters that a terminal obeys, or that reorder text, are
 * printed as \u001B, which is also how JSON escapes them:
 *
 *   C0 and DEL (U+0000 to U+001F, U+007F), C1 (U+0080 to U+009F, also as lone bytes), and the marks
 *   that change the direction of text (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069)
 *
 * Pipes and files get the same text, so that it is also safe in a pager or `cat`.
 */
#pragma once

#include "results/store.h"

/* Starts filtering stdout and stderr. Call once, before printing anything. */
void orr_terminal_begin(void);

/* A verb that prints its answer and then stores it calls this before it prints: a reader that
 * leaves early (`| head -1`) then ends the output, not the verb. */
void orr_terminal_outlive_reader(void);

/* The end of a command: 0, or the errno of the first write to stdout that failed. Where that is the
 * reader that left, ends the process by SIGPIPE, as without orr_terminal_outlive_reader. */
int orr_terminal_end(void);

/* Redraws the progress line on stderr; NULL clears it. These are the only control sequences that
 * the program prints. */
void orr_terminal_line(const char *text);

/* patience.c: a database that another process has locked: how long a command waits for it, what
 * the command prints meanwhile, and where it stores its result when the wait ends. */

/* Makes every store print a notice after 2 s and wait for one minute, or for the time in
 * ORRERY_LOCK_WAIT ("10 min"). FALSE with ORR_FAULT_USAGE where that is not a time. */
gboolean orr_patience_set(GError **error);

/* Ends a command whose result had to go into another database, @aside: prints the command that
 * merges it into @database and returns exit status 1. @aside NULL: the result is in @database;
 * returns 0. */
int orr_patience_end(const char *database, const char *aside);

/* The same for a store that was opened for @database; @store may be NULL. */
int orr_patience_end_store(const char *database, const OrrStore *store);

/* progress.c: a progress line on stderr: printed only on a terminal, and only when the work takes
 * longer than one second. */

typedef struct OrrProgress OrrProgress;

/* @what: the line's first word, "simulating". With @ticking a thread updates the elapsed seconds
 * while the caller cannot. */
OrrProgress *orr_progress_new(const char *what, gboolean ticking);
void orr_progress_update(OrrProgress *progress, guint done, guint total);
void orr_progress_free(OrrProgress *progress); /* erases the line */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrProgress, orr_progress_free)
