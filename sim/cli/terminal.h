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
#ifndef ORR_TERMINAL_H
#define ORR_TERMINAL_H

#include <glib.h>

G_BEGIN_DECLS

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

G_END_DECLS

#endif
