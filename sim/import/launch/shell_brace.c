/*
 * shell_brace.c - braces that stand for several words: a{1,2}b is a1b and a2b, {0..3} is 0 to 3.
 *
 * As in bash, they expand before everything else: {1..$N} is a word, not a sequence.
 */
#include "sim/import/launch/shell_private.h"

enum { MOST_WORDS = 10000 };

typedef struct {
  OrrShell *shell;
  OrrPlace place;
  GPtrArray *words; /* of char * */
  guint depth;
} Braces;

/* --- Sequences --- */

typedef struct {
  gint64 first, last, step;
  gsize width;        /* of zero-padded numbers; 0: none are */
  gboolean is_letter; /* a..e */
} Sequence;

static gboolean is_number(const char *text) {
  const char *digits = text + (*text == '-' || *text == '+');
  const gsize n = strlen(digits);
  return n > 0 && n < 18 && strspn(digits, "0123456789") == n;
}

static gsize padding(const char *text) {
  const char *digits = text + (*text == '-');
  return digits[0] == '0' && digits[1] ? strlen(text) : 0;
}

/* "a..b" or "a..b..step" */
static gboolean read_sequence(const char *inside, Sequence *ret_sequence) {
  g_auto(GStrv) parts = g_strsplit(inside, "..", 4);
  const guint n = g_strv_length(parts);
  if (n < 2 || n > 3 || (n == 3 && !is_number(parts[2]))) return FALSE;
  Sequence sequence = {.step = n == 3 ? ABS(g_ascii_strtoll(parts[2], NULL, 10)) : 1};
  sequence.is_letter =
      g_ascii_isalpha(parts[0][0]) && !parts[0][1] && g_ascii_isalpha(parts[1][0]) && !parts[1][1];
  if (!sequence.is_letter && !(is_number(parts[0]) && is_number(parts[1]))) return FALSE;
  sequence.first = sequence.is_letter ? parts[0][0] : g_ascii_strtoll(parts[0], NULL, 10);
  sequence.last = sequence.is_letter ? parts[1][0] : g_ascii_strtoll(parts[1], NULL, 10);
  sequence.step = MAX(sequence.step, 1) * (sequence.last < sequence.first ? -1 : 1);
  if (!sequence.is_letter) sequence.width = MAX(padding(parts[0]), padding(parts[1]));
  *ret_sequence = sequence;
  return TRUE;
}

static void add_word(Braces *braces, const char *raw);

/* The word @raw with @text between its first @before characters and @after. */
static void add_joined(Braces *braces, const char *raw, gsize before, const char *text,
                       const char *after) {
  const gsize length = before + strlen(text) + strlen(after);
  if (!orr_shell_draw(braces->shell, length + 16, braces->place)) return;
  g_autofree char *word = g_strdup_printf("%.*s%s%s", (int)before, raw, text, after);
  add_word(braces, word);
}

static void add_sequence(Braces *braces, const char *raw, gsize before, const Sequence *sequence,
                         const char *after) {
  const guint64 n = (guint64)ABS((sequence->last - sequence->first) / sequence->step) + 1;
  if (n > MOST_WORDS)
    return orr_shell_stop(braces->shell, braces->place, "'%.60s' has more than 10,000 words", raw);
  for (guint64 i = 0; i < n && !braces->shell->is_over; i++) {
    const gint64 value = sequence->first + (gint64)i * sequence->step;
    g_autofree char *text = sequence->is_letter
                                ? g_strdup_printf("%c", (char)value)
                                : g_strdup_printf("%0*ld", (int)sequence->width, value);
    add_joined(braces, raw, before, text, after);
  }
}

/* --- Lists --- */

static void add_list(Braces *braces, const char *raw, const char *open, const char *close) {
  const char *begin = open + 1;
  guint n_open = 0;
  for (const char *at = begin; !braces->shell->is_over; at = orr_shell_part_end(at)) {
    if (at == close || (*at == ',' && n_open == 0)) {
      g_autofree char *item = g_strndup(begin, (gsize)(at - begin));
      add_joined(braces, raw, (gsize)(open - raw), item, close + 1);
      if (at == close) return;
      begin = at + 1;
    }
    n_open += *at == '{';
    n_open -= *at == '}';
  }
}

/* --- Words --- */

/* A brace that is open, or one that closes. */
typedef struct {
  const char *open, *close;
  gboolean has_comma; /* in it, and not in a brace inside */
  gboolean is_sequence;
  Sequence sequence;
} Brace;

/* Whether the brace stands for several words. */
static gboolean is_several(Brace *brace) {
  const gsize length = (gsize)(brace->close - brace->open) - 1;
  if (brace->has_comma) return TRUE;
  if (length > 64) return FALSE;
  g_autofree char *inside = g_strndup(brace->open + 1, length);
  return brace->is_sequence = read_sequence(inside, &brace->sequence);
}

/* The leftmost brace of @raw that stands for several words, in one pass: quotes and expansions hide
 * braces. FALSE: there is none. */
static gboolean find_brace(const char *raw, Brace *ret_brace) {
  g_autoptr(GArray) open = g_array_new(FALSE, TRUE, sizeof(Brace));
  gboolean is_found = FALSE;
  for (const char *at = raw; *at; at = orr_shell_part_end(at)) {
    Brace *last = open->len ? &g_array_index(open, Brace, open->len - 1) : NULL;
    if (*at == '{') {
      ORR_APPEND(open, Brace, {.open = at});
    } else if (last && *at == ',') {
      last->has_comma = TRUE;
    } else if (last && *at == '}') {
      last->close = at;
      const gboolean is_left = !is_found || last->open < ret_brace->open;
      if (is_left && is_several(last)) {
        *ret_brace = *last;
        is_found = TRUE;
      }
      g_array_set_size(open, open->len - 1);
      if (is_found && open->len == 0) return TRUE;
    }
  }
  return is_found;
}

/* Expands the first brace of @raw, and what comes of it. */
static void add_word(Braces *braces, const char *raw) {
  Brace brace = {0};
  if (braces->depth >= ORR_SHELL_DEPTH)
    return orr_shell_stop(braces->shell, braces->place, "more than %d braces in one word",
                          ORR_SHELL_DEPTH);
  braces->depth++;
  if (!find_brace(raw, &brace))
    g_ptr_array_add(braces->words, g_strdup(raw));
  else if (brace.is_sequence)
    add_sequence(braces, raw, (gsize)(brace.open - raw), &brace.sequence, brace.close + 1);
  else
    add_list(braces, raw, brace.open, brace.close);
  braces->depth--;
}

GPtrArray *orr_shell_braces(OrrShell *shell, const char *raw, OrrPlace place) {
  if (!strchr(raw, '{') || !strpbrk(raw, ",.")) return NULL;
  Braces braces = {shell, place, g_ptr_array_new_with_free_func(g_free), 0};
  add_word(&braces, raw);
  return braces.words;
}
