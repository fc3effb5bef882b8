/*
 * terminal.c - see terminal.h. glibc's stdout and stderr are variables: each is set to a stream of
 * our own (fopencookie) that escapes what it is given and writes it on.
 *
 * Invariant: a character that arrives in pieces (a buffer's end cuts it) is judged when it is
 * whole; until then its bytes wait in `held`. No character that is escaped has more than 3 bytes,
 * so no more than 2 ever wait.
 */
#define _GNU_SOURCE /* fopencookie */
#include "sim/cli/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  int file;
  guchar held[4];
  guint n_held;
  /* bytes to come of a longer character that has begun, and that needs no judgement */
  guint n_left;
} Filter;

static gboolean write_all(int file, const char *bytes, gsize n_bytes) {
  while (n_bytes > 0) {
    const gssize n = write(file, bytes, n_bytes);
    if (n < 0 && errno != EINTR) return FALSE;
    if (n > 0) bytes += n, n_bytes -= (gsize)n;
  }
  return TRUE;
}

static gboolean is_obeyed(gunichar c) {
  return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0) || c == 0x200E ||
         c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

static void append_whole(Filter *filter, gunichar c, GString *out) {
  if (is_obeyed(c))
    g_string_append_printf(out, "\\u%04X", c);
  else
    g_string_append_len(out, (const char *)filter->held, filter->n_held);
  filter->n_held = 0;
}

/* The first byte of a character: ASCII, of two (C1 begin with C2), of three (the marks begin
 * with E2), or of others. */
static void begin_character(Filter *filter, guchar byte, GString *out) {
  if (byte < 0x80 && byte != '\r') {
    filter->held[0] = byte;
    filter->n_held = 1;
    append_whole(filter, byte, out);
  } else if (byte == '\r' || byte == 0xC2 || byte == 0xE2) {
    filter->held[filter->n_held++] = byte;
  } else if (byte < 0xC0) {
    g_string_append_printf(out, byte < 0xA0 ? "\\u%04X" : "%c", byte); /* of no character */
  } else {
    filter->n_left = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : 1;
    g_string_append_c(out, (char)byte);
  }
}

/* What waited turned out to be no character that is judged: out with it, a lone CR escaped. */
static void release(Filter *filter, GString *out) {
  if (filter->n_held > 0 && filter->held[0] == '\r')
    g_string_append(out, "\\u000D");
  else
    g_string_append_len(out, (const char *)filter->held, filter->n_held);
  filter->n_held = 0;
}

static void add_byte(Filter *filter, guchar byte, GString *out) {
  const gboolean goes_on = (byte & 0xC0) == 0x80;
  const guint wanted = filter->n_held == 0 ? 0 : filter->held[0] == 0xE2 ? 3 : 2;
  if (filter->n_held > 0 && filter->held[0] == '\r' && byte == '\n') {
    g_string_append(out, "\r\n");
    filter->n_held = 0;
  } else if (filter->n_held > 0 && filter->held[0] != '\r' && goes_on) {
    filter->held[filter->n_held++] = byte;
    if (filter->n_held == wanted)
      append_whole(filter, g_utf8_get_char_validated((const char *)filter->held, (gssize)wanted),
                   out);
  } else if (filter->n_held == 0 && filter->n_left > 0 && goes_on) {
    filter->n_left--;
    g_string_append_c(out, (char)byte);
  } else {
    release(filter, out);
    filter->n_left = 0;
    begin_character(filter, byte, out);
  }
}

static ssize_t write_filtered(void *cookie, const char *bytes, size_t n_bytes) {
  Filter *filter = cookie;
  g_autoptr(GString) out = g_string_sized_new(n_bytes + 16);
  for (size_t i = 0; i < n_bytes; i++) add_byte(filter, (guchar)bytes[i], out);
  return write_all(filter->file, out->str, out->len) ? (ssize_t)n_bytes : 0;
}

static FILE *open_filter(Filter *filter, FILE *plain, int mode) {
  FILE *stream = fopencookie(filter, "w", (cookie_io_functions_t){.write = write_filtered});
  if (stream) setvbuf(stream, NULL, mode, BUFSIZ);
  return stream ? stream : plain;
}

void orr_terminal_begin(void) {
  static Filter out = {.file = STDOUT_FILENO}, err = {.file = STDERR_FILENO};
  stdout = open_filter(&out, stdout, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
  stderr = open_filter(&err, stderr, _IONBF);
}

/* Past the filter, with a line that went through it. */
void orr_terminal_line(const char *text) {
  Filter line = {.file = STDERR_FILENO};
  g_autoptr(GString) out = g_string_new("\r\033[K");
  for (const char *at = text ? text : ""; *at; at++)
    if (*at != '\n') add_byte(&line, (guchar)*at, out);
  release(&line, out);
  write_all(STDERR_FILENO, out->str, out->len);
}
