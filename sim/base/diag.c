/*
 * diag.c - a list of findings, and the nearest word.
 *
 * Invariants
 *  1. Findings are stored in the order in which they were added, and printed in the order of their
 *     places; equal places keep the stored order, and what was found twice is printed once. So the
 *     same document always gives the same text.
 *  2. A message is one line of printable UTF-8 of bounded length, whatever document it quotes: no
 *     control character of a user's file reaches a terminal.
 */
#include "sim/base/diag.h"

#define MESSAGE_MAX_BYTES 2000
#define WORD_MAX_BYTES                                                                             \
  100 /* longer words are nobody's misspelling, and edit distance is quadratic */

typedef struct {
  OrrPlace place;
  gboolean is_error;
  guint order;
  char *message;
} Diag;

struct OrrDiags {
  GArray *all; /* of Diag */
  guint n_errors;
};

static void clear_diag(gpointer diag) { g_free(((Diag *)diag)->message); }

OrrDiags *orr_diags_new(void) {
  OrrDiags *diags = g_new0(OrrDiags, 1);
  diags->all = g_array_new(FALSE, FALSE, sizeof(Diag));
  g_array_set_clear_func(diags->all, clear_diag);
  return diags;
}

void orr_diags_free(OrrDiags *diags) {
  if (!diags) return;
  g_array_unref(diags->all);
  g_free(diags);
}

/* Keeps invariant 2. Takes ownership of @raw. */
static char *clean_message(char *raw) {
  gboolean cut = strlen(raw) > MESSAGE_MAX_BYTES;
  g_autofree char *valid = g_utf8_make_valid(raw, cut ? MESSAGE_MAX_BYTES : -1);
  GString *clean = g_string_sized_new(strlen(valid) + 4);
  for (const char *at = valid; *at; at = g_utf8_next_char(at)) {
    gunichar c = g_utf8_get_char(at);
    if (c == '\n')
      g_string_append(clean, "\\n");
    else if (c == '\t')
      g_string_append(clean, "\\t");
    else if (g_unichar_iscntrl(c) || g_unichar_type(c) == G_UNICODE_FORMAT)
      g_string_append_printf(clean, "\\u%04X", c);
    else
      g_string_append_unichar(clean, c);
  }
  if (cut) g_string_append(clean, "...");
  g_free(raw);
  return g_string_free(clean, FALSE);
}

G_GNUC_PRINTF(4, 0)
static void add(OrrDiags *diags, OrrPlace place, gboolean is_error, const char *format,
                va_list args) {
  Diag diag = {.place = place, .is_error = is_error, .order = diags->all->len};
  diag.message = clean_message(g_strdup_vprintf(format, args));
  g_array_append_val(diags->all, diag);
  diags->n_errors += is_error ? 1 : 0;
}

void orr_diags_error(OrrDiags *diags, OrrPlace place, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add(diags, place, TRUE, format, args);
  va_end(args);
}

void orr_diags_warning(OrrDiags *diags, OrrPlace place, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add(diags, place, FALSE, format, args);
  va_end(args);
}

guint orr_diags_n_errors(const OrrDiags *diags) { return diags->n_errors; }

guint orr_diags_n_warnings(const OrrDiags *diags) { return diags->all->len - diags->n_errors; }

static int compare(gconstpointer left, gconstpointer right) {
  const Diag *a = *(const Diag *const *)left, *b = *(const Diag *const *)right;
  int by_file = g_strcmp0(a->place.file, b->place.file);
  if (by_file != 0) return by_file;
  if (a->place.line != b->place.line) return a->place.line < b->place.line ? -1 : 1;
  if (a->place.column != b->place.column) return a->place.column < b->place.column ? -1 : 1;
  return a->order < b->order ? -1 : a->order > b->order;
}

static void append_diag(GString *text, const Diag *diag) {
  if (diag->place.file) g_string_append(text, diag->place.file);
  if (diag->place.file && diag->place.line > 0)
    g_string_append_printf(text, ":%d:%d", diag->place.line, diag->place.column);
  g_string_append(text, diag->place.file ? ": " : "");
  g_string_append_printf(text, "%s: %s\n", diag->is_error ? "error" : "warning", diag->message);
}

char *orr_diags_text(const OrrDiags *diags) {
  g_autoptr(GPtrArray) sorted = g_ptr_array_sized_new(diags->all->len);
  ORR_EACH(Diag, diag, diags->all) g_ptr_array_add(sorted, diag);
  g_ptr_array_sort(sorted, compare);
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < sorted->len; i++) {
    const Diag *diag = sorted->pdata[i], *last = i ? sorted->pdata[i - 1] : NULL;
    if (!last || g_strcmp0(last->place.file, diag->place.file) != 0 ||
        last->place.line != diag->place.line || last->place.column != diag->place.column ||
        strcmp(last->message, diag->message) != 0)
      append_diag(text, diag);
  }
  return g_string_free(text, FALSE);
}

gboolean orr_diags_check(const OrrDiags *diags, GError **error) {
  if (diags->n_errors == 0) return TRUE;
  g_autofree char *text = orr_diags_text(diags);
  g_set_error_literal(error, ORR_FAULT, ORR_FAULT_DOCUMENT, g_strchomp(text));
  return FALSE;
}

/* Differences of case, and between '-' and '_', cost nothing. */
static char fold(char c) { return c == '_' ? '-' : g_ascii_tolower(c); }

/* Optimal string alignment: insert, delete, replace, or swap two neighbours (Damerau 1964).
 * Words of at most WORD_MAX_BYTES. */
static guint edit_distance(const char *a, const char *b) {
  guint rows[3][WORD_MAX_BYTES + 1];
  guint n = (guint)strlen(b);
  for (guint j = 0; j <= n; j++) rows[0][j] = j;
  for (guint i = 1; a[i - 1]; i++) {
    guint *row = rows[i % 3], *before = rows[(i + 2) % 3], *before2 = rows[(i + 1) % 3];
    row[0] = i;
    for (guint j = 1; j <= n; j++) {
      gboolean same = fold(a[i - 1]) == fold(b[j - 1]);
      row[j] = MIN(MIN(row[j - 1], before[j]) + 1, before[j - 1] + (same ? 0 : 1));
      if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) && fold(a[i - 2]) == fold(b[j - 1]))
        row[j] = MIN(row[j], before2[j - 2] + 1);
    }
  }
  return rows[strlen(a) % 3][n];
}

/* The longest word at @text that '-', '.', '_', '/' or a blank ends. */
static gsize part_length(const char *text) { return strcspn(text, "-._/ "); }

/* Whether a part of @name is the part of @length bytes at @part, or begins with it. Short parts
 * ("tp") must be whole: they begin too many words. */
static gboolean has_part(const char *name, const char *part, gsize length) {
  enum { SHORT = 2 };
  for (gsize own; *name; name += own + (name[own] != '\0')) {
    own = part_length(name);
    if ((own == length || (own > length && length > SHORT)) &&
        g_ascii_strncasecmp(name, part, length) == 0)
      return TRUE;
  }
  return FALSE;
}

/* Whether @name has all parts of @word: "double-binary-tree" has the parts of "double-tree". */
static gboolean has_parts(const char *name, const char *word) {
  gboolean has = FALSE;
  for (gsize length; *word; word += length + (word[length] != '\0')) {
    length = part_length(word);
    if (length > 0 && !has_part(name, word, length)) return FALSE;
    has |= length > 1;
  }
  return has;
}

/* Whether @name has the digits of @word, in that order, and perhaps more. */
static gboolean has_digits(const char *name, const char *word) {
  static const char digits[] = "0123456789";
  for (word += strcspn(word, digits); *word; name++) {
    name += strcspn(name, digits);
    if (!*name) return FALSE;
    if (*name != *word) continue;
    word++;
    word += strcspn(word, digits);
  }
  return TRUE;
}

/* A user who writes h100 does not mean h800; who writes gpt-175b may mean gpt3-175b. */
static gboolean has_same_digits(const char *a, const char *b) {
  return has_digits(a, b) || has_digits(b, a);
}

/* Ranks: the edit distance of a misspelt name; from PARTS a name with n letters more; from WHOLE a
 * word with n letters more; from OTHER a misspelt name with other digits; from FAR the rest. */
enum { PARTS = 1000, WHOLE = 2000, OTHER = 3000, FAR = 4000 };

/* How far @name is from @word, in the order in which people mean names: misspelt, cut short
 * ("h100" for "h100-sxm"), with words of their own ("llama-3.1-8b-instruct"). */
static guint rank_of(const char *word, const char *name) {
  const gsize length = strlen(word), own = strlen(name);
  if (length > WORD_MAX_BYTES || own > WORD_MAX_BYTES) return G_MAXUINT;
  const guint distance = edit_distance(word, name);
  const gboolean is_near = distance * 3 <= MAX(length, own);
  if (is_near && has_same_digits(word, name)) return distance;
  if (own > length && has_parts(name, word)) return PARTS + (guint)(own - length);
  if (own < length && has_parts(word, name)) return WHOLE + (guint)(length - own);
  return (is_near ? OTHER : FAR) + distance;
}

const char *orr_diag_nearest_word(const char *word, const char *const *words) {
  const char *nearest = NULL;
  guint nearest_rank = FAR;
  for (; *words; words++) {
    const guint rank = rank_of(word, *words);
    if (rank >= nearest_rank) continue;
    nearest = *words;
    nearest_rank = rank;
  }
  return nearest;
}

enum { MOST_KNOWN = 20, NEAR = 5 };

char *orr_diag_known_words(const char *word, const char *const *words, const char *catalog) {
  const guint n = g_strv_length((char **)words);
  if (n == 0) return g_strdup("none");
  if (n <= MOST_KNOWN || strlen(word) > WORD_MAX_BYTES) return g_strjoinv(", ", (char **)words);
  GString *text = g_string_new(NULL);
  gint64 last = -1; /* the rank and place of the word that was shown last, as one number */
  for (guint shown = 0; shown < NEAR; shown++) {
    gint64 best = G_MAXINT64;
    for (guint i = 0; i < n; i++) {
      const gint64 place = (gint64)rank_of(word, words[i]) * n + i;
      if (place > last && place < best) best = place;
    }
    g_string_append_printf(text, "%s%s", shown > 0 ? ", " : "", words[best % n]);
    last = best;
  }
  g_string_append_printf(text, "; 'orrery list %s' has all %u", catalog, n);
  return g_string_free(text, FALSE);
}
