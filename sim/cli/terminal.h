/*
 * terminal.h - what the program prints, made harmless: stdout and stderr pass through one filter.
 *
 * Names, comments and cells of documents and databases are a stranger's text. A terminal obeys
 * control characters in it: ESC sequences recolour, move the cursor, set the title, and on some
 * terminals type keys. The filter stands below printf, so that no verb can forget it. It lets
 * through printable UTF-8, tabs, line ends, and CR before LF; anything else that a terminal obeys
 * or that reorders text is printed as \u001B, which is also how JSON escapes it:
 *
 *   C0 and DEL (U+0000 to U+001F, U+007F), C1 (U+0080 to U+009F, also as lone bytes), and the marks that change the
 *   direction of text (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069)
 *
 * Pipes and files get the same text: what a pager or `cat` shows is as safe.
 */
#ifndef ORR_TERMINAL_H
#define ORR_TERMINAL_H

#include <glib.h>

G_BEGIN_DECLS

/* From here on stdout and stderr are filtered. Called once, before anything is printed. */
void orr_terminal_begin(void);

/* Redraws the line of progress on stderr; NULL clears it. The only control sequences that the
 * program itself prints. */
void orr_terminal_line(const char *text);

G_END_DECLS

#endif
