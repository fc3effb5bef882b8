/*
 * page.c - a text, and the words that stand in it.
 */
#include "sim/cli/page.h"

#include "sim/cli/cli.h"

struct OrrPage {
  GString *text;
  GPtrArray *words;
  char *noun; /* of a device; NULL: GPU */
  gsize called_from;
};

OrrPage *orr_page_new(void) {
  OrrPage *page = g_new0(OrrPage, 1);
  page->text = g_string_new(NULL);
  page->words = g_ptr_array_new_with_free_func(g_free);
  return page;
}

void orr_page_free(OrrPage *page) {
  if (!page) return;
  g_string_free(page->text, TRUE);
  g_ptr_array_unref(page->words);
  ORR_FREE(page->noun, page);
}

void orr_page_call(OrrPage *page, const char *noun) {
  g_free(page->noun);
  page->noun = g_strdup(noun);
  page->called_from = page->text->len;
}

/* Whether @at is the word GPU, GPUs or the first part of a compound (GPU-hours). */
static gboolean is_gpu(const char *text, const char *at) {
  if (strncmp(at, "GPU", 3) != 0 || (at > text && (g_ascii_isalnum(at[-1]) || at[-1] == '_')))
    return FALSE;
  const char *end = at + 3 + (at[3] == 's');
  return !g_ascii_isalnum(*end) && *end != '_';
}

static void put_noun(OrrPage *page) {
  if (!page->noun || strcmp(page->noun, "GPU") == 0) return;
  g_autoptr(GString) all = g_string_new_len(page->text->str, (gssize)page->called_from);
  for (const char *at = page->text->str + page->called_from; *at;) {
    const gboolean is_it = is_gpu(page->text->str, at);
    g_string_append_len(all, is_it ? page->noun : at, is_it ? -1 : 1);
    at += is_it ? 3 : 1;
  }
  g_string_assign(page->text, all->str);
}

void orr_page_print(OrrPage *page) {
  put_noun(page);
  fputs(page->text->str, stdout);
  g_string_truncate(page->text, 0);
}

char *orr_page_end(OrrPage *page) {
  put_noun(page);
  char *text = g_strdup(page->text->str);
  orr_page_free(page);
  return text;
}

/* --- Lines --- */

/* Appends @format to the page. */
#define APPEND(page_, format_)                                                                     \
  do {                                                                                             \
    va_list args;                                                                                  \
    va_start(args, format_);                                                                       \
    g_string_append_vprintf((page_)->text, format_, args);                                         \
    va_end(args);                                                                                  \
  } while (0)

void orr_page_line(OrrPage *page, const char *label, const char *format, ...) {
  g_string_append_printf(page->text, "  %-13s ", label);
  APPEND(page, format);
  g_string_append_c(page->text, '\n');
}

void orr_page_more(OrrPage *page, const char *format, ...) {
  g_string_truncate(page->text, page->text->len - 1);
  APPEND(page, format);
  g_string_append_c(page->text, '\n');
}

void orr_page_item(OrrPage *page, const char *format, ...) {
  g_string_truncate(page->text, page->text->len - 1);
  if (!strchr(" (", page->text->str[page->text->len - 1])) g_string_append(page->text, ", ");
  APPEND(page, format);
  g_string_append_c(page->text, '\n');
}

void orr_page_add(OrrPage *page, const char *format, ...) { APPEND(page, format); }

/* --- Words --- */

const char *orr_page_keep(OrrPage *page, char *text) {
  if (!text) return "";
  g_ptr_array_add(page->words, text);
  return text;
}

const char *orr_page_text(OrrPage *page, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *text = g_strdup_vprintf(format, args);
  va_end(args);
  return orr_page_keep(page, text);
}

const char *orr_page_quantity(OrrPage *page, double value, OrrUnit unit) {
  return orr_page_keep(page, orr_quantity_format(value, unit));
}

const char *orr_page_seconds(OrrPage *page, double value) {
  /* what rounding leaves of 0 s */
  return orr_page_quantity(page, ABS(value) < 1e-12 ? 0 : value, ORR_UNIT_SECONDS);
}

const char *orr_page_bytes(OrrPage *page, double value) {
  return orr_page_quantity(page, value, ORR_UNIT_BYTES);
}

const char *orr_page_watts(OrrPage *page, double value) {
  return orr_page_quantity(page, value, ORR_UNIT_WATTS);
}

const char *orr_page_percent(OrrPage *page, double fraction) {
  return orr_page_keep(page, orr_show_percent(fraction));
}

const char *orr_page_count(OrrPage *page, double count) {
  return orr_page_keep(page, orr_show_count((gint64)round(count)));
}

const char *orr_page_things(OrrPage *page, gint64 n, const char *of) {
  return orr_page_text(page, "%s %s%s", orr_page_count(page, (double)n), of, n == 1 ? "" : "s");
}
