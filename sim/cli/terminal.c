/*
 * terminal.c - in glibc, stdout and stderr are variables: each is set to a stream of our own
 * (fopencookie) that escapes what the program prints and writes it to the file descriptor.
 *
 * Invariant: a character that the end of a buffer cuts in two is judged only when all of its bytes
 * have arrived; until then they wait in `held`. No escaped character has more than 3 bytes, so at
 * most 2 bytes wait.
 */
#define _GNU_SOURCE /* fopencookie */
#include "sim/cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

typedef struct {
  int file;
  guchar held[4];
  guint n_held;
  guint n_left; /* bytes to come of a longer character, which is never escaped */
} Filter;

static gboolean is_outliving;
static int failure; /* of the first write to stdout that failed: errno */

static gboolean write_all(int file, const char *bytes, gsize n_bytes) {
  while (n_bytes > 0) {
    const gssize n = write(file, bytes, n_bytes);
    if (n < 0 && errno != EINTR && file == STDOUT_FILENO && !failure) failure = errno;
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

/* The first byte of a character. C1 characters begin with C2 and have two bytes; the marks that
 * change the direction of text begin with E2 and have three. */
static void begin_character(Filter *filter, guchar byte, GString *out) {
  if (byte < 0x80 && byte != '\r') {
    filter->held[0] = byte;
    filter->n_held = 1;
    append_whole(filter, byte, out);
  } else if (byte == '\r' || byte == 0xC2 || byte == 0xE2) {
    filter->held[filter->n_held++] = byte;
  } else if (byte < 0xC0) {
    g_string_append_printf(out, byte < 0xA0 ? "\\u%04X" : "%c", byte); /* not part of a character */
  } else {
    filter->n_left = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : 1;
    g_string_append_c(out, (char)byte);
  }
}

/* Writes the held bytes, which turned out to be harmless; a lone CR is escaped. */
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

/* How many of the first bytes are printable ASCII, or the ends of lines, and wait for nothing. */
static size_t count_plain(const Filter *filter, const char *bytes, size_t n_bytes) {
  size_t n = 0;
  if (filter->n_held > 0 || filter->n_left > 0) return 0;
  while (n < n_bytes && ((bytes[n] >= 0x20 && bytes[n] < 0x7F) || bytes[n] == '\n')) n++;
  return n;
}

static ssize_t write_filtered(void *cookie, const char *bytes, size_t n_bytes) {
  Filter *filter = cookie;
  g_autoptr(GString) out = g_string_sized_new(n_bytes + 16);
  for (size_t i = 0; i < n_bytes; i++) {
    const size_t n_plain = count_plain(filter, bytes + i, n_bytes - i);
    g_string_append_len(out, bytes + i, (gssize)n_plain);
    i += n_plain;
    if (i < n_bytes) add_byte(filter, (guchar)bytes[i], out);
  }
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

void orr_terminal_outlive_reader(void) {
  const struct sigaction ignore = {.sa_handler = SIG_IGN};
  struct sigaction before;
  sigaction(SIGPIPE, &ignore, &before);
  if (before.sa_handler == SIG_DFL) is_outliving = TRUE;
}

int orr_terminal_end(void) {
  if (fflush(stdout) != 0 && !failure) failure = errno;
  if (failure == EPIPE && is_outliving) {
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
  }
  return failure;
}

/* Filters @text by itself, so that the control sequences around it pass. */
void orr_terminal_line(const char *text) {
  Filter line = {.file = STDERR_FILENO};
  g_autoptr(GString) out = g_string_new("\r\033[K");
  for (const char *at = text ? text : ""; *at; at++)
    if (*at != '\n') add_byte(&line, (guchar)*at, out);
  release(&line, out);
  write_all(STDERR_FILENO, out->str, out->len);
}
