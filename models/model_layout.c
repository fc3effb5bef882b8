/*
 * model_layout.c - reads `layout`, which states the kind of each layer.
 *
 * `layout` is a list of items `[COUNT] WORD[+WORD]`: a mixer and a feed-forward, or one of them. A
 * dense feed-forward can have a width of its own, `dense:WIDTH`.
 * Settled, it is a table of kinds in the order of their first layer, and the kind of each layer of
 * one round of the list.
 */
#include "models/model.h"

#include "sim/base/idle.h"

static const char *const mixer_words[ORR_N_MIXERS + 1] = {
    [ORR_MIXER_NONE] = "",           [ORR_MIXER_ATTENTION] = "attention",
    [ORR_MIXER_WINDOW] = "window",   [ORR_MIXER_MAMBA] = "mamba",
    [ORR_MIXER_LINEAR] = "linear",   [ORR_MIXER_SPARSE] = "sparse",
    [ORR_MIXER_SHARED] = "shared",   [ORR_MIXER_CSA] = "csa",
    [ORR_MIXER_HCA] = "hca",         [ORR_MIXER_CROSS] = "cross",
    [ORR_MIXER_ENCODER] = "encoder",
};
static const char *const feed_words[ORR_N_FEEDS + 1] = {
    [ORR_FEED_NONE] = "", [ORR_FEED_DENSE] = "dense", [ORR_FEED_MOE] = "moe"};

/* The words of a layout. */
static const char *const words[] = {"attention", "window", "mamba", "linear", "sparse", "shared",
                                    "csa",       "hca",    "cross", "dense",  "moe",    NULL};

/* --- reading --- */

typedef struct {
  OrrModel *model;
  OrrPlace place;
  OrrDiags *diags;
  gboolean fine;
} Reading;

static void complain(Reading *reading, const char *item, const char *why) {
  reading->fine = FALSE;
  orr_diags_error(reading->diags, reading->place,
                  "layout '%s': %s; an item is [COUNT] MIXER+FEED-FORWARD, or one of both: "
                  "attention, window, mamba, linear, sparse, shared, csa, hca, cross; dense, "
                  "dense:WIDTH, moe",
                  item, why);
}

/* Adds one word to @kind; FALSE where it is unknown, or the second mixer or feed-forward. */
static gboolean read_word(const char *word, OrrLayerKind *kind) {
  for (int mixer = ORR_MIXER_ATTENTION; mixer < ORR_MIXER_ENCODER; mixer++)
    if (strcmp(word, mixer_words[mixer]) == 0 && !kind->mixer && !kind->feed) {
      kind->mixer = (guint8)mixer;
      return TRUE;
    }
  for (int feed = ORR_FEED_DENSE; feed < ORR_N_FEEDS; feed++)
    if (strcmp(word, feed_words[feed]) == 0 && !kind->feed) {
      kind->feed = (guint8)feed;
      return TRUE;
    }
  guint64 width;
  if (kind->feed || !g_str_has_prefix(word, "dense:") ||
      !g_ascii_string_to_unsigned(word + strlen("dense:"), 10, 1, 100000000, &width, NULL))
    return FALSE;
  kind->feed = ORR_FEED_DENSE;
  kind->ffn = (gint32)width;
  return TRUE;
}

/* The section that a part of @kind needs and the model lacks; NULL: none. */
static const char *lacking(const OrrModel *model, OrrLayerKind kind) {
  if (kind.feed == ORR_FEED_MOE && !model->moe.experts)
    return "the model has no 'moe' with 'experts'";
  if (kind.mixer == ORR_MIXER_WINDOW && !model->window.size)
    return "the model has no 'window' with 'size'";
  if (kind.mixer == ORR_MIXER_MAMBA && !model->mamba.heads)
    return "the model has no 'mamba' with 'heads'";
  if (kind.mixer == ORR_MIXER_LINEAR && !model->linear.key_heads)
    return "the model has no 'linear-attention' with 'key-heads'";
  if ((orr_mixer_is_sparse(kind.mixer) || kind.mixer == ORR_MIXER_CSA) && !model->sparse.topk)
    return "the model has no 'sparse-attention' with 'topk'";
  if ((kind.mixer == ORR_MIXER_CSA || kind.mixer == ORR_MIXER_HCA) && !model->compressed.ratio)
    return "the model has no 'compressed-attention' with 'ratio'";
  if (kind.mixer == ORR_MIXER_CROSS && !model->cross.tokens)
    return "the model has no 'cross-attention' with 'tokens'";
  return NULL;
}

static gboolean read_kind(Reading *reading, const char *item, const char *text,
                          OrrLayerKind *ret_kind) {
  g_auto(GStrv) parts = g_strsplit(text, "+", -1);
  *ret_kind = (OrrLayerKind){0};
  for (guint i = 0; parts[i]; i++) {
    if (read_word(g_strstrip(parts[i]), ret_kind)) continue;
    const char *near = orr_diag_nearest_word(parts[i], words);
    g_autofree char *why = near && strcmp(near, parts[i])
                               ? g_strdup_printf("unknown '%s', did you mean '%s'?", parts[i], near)
                               : g_strdup_printf("'%s' cannot stand there", parts[i]);
    complain(reading, item, why);
    return FALSE;
  }
  gboolean is_empty = !ret_kind->mixer && !ret_kind->feed;
  const char *lack = is_empty ? "it is empty" : lacking(reading->model, *ret_kind);
  if (lack) complain(reading, item, lack);
  return !lack;
}

static gboolean same_kind(OrrLayerKind a, OrrLayerKind b) {
  return a.mixer == b.mixer && a.feed == b.feed && a.ffn == b.ffn;
}

static void append(Reading *reading, const char *item, gint64 count, OrrLayerKind kind) {
  OrrModelLayout *layout = &reading->model->settled;
  guint at = 0;
  while (at < layout->n_kinds && !same_kind(layout->kinds[at], kind)) at++;
  if (at == ORR_MAX_LAYER_KINDS) return complain(reading, item, "there are more than 32 kinds");
  if (at == layout->n_kinds) layout->kinds[layout->n_kinds++] = kind;
  if (count < 1 || count > ORR_MAX_LAYOUT - layout->length)
    return complain(reading, item, "a round of the layout is 1 to 512 layers");
  for (gint64 i = 0; i < count; i++) layout->at[layout->length++] = (guint8)at;
}

static void read_item(Reading *reading, const char *item) {
  char *rest = NULL;
  gint64 count = g_ascii_strtoll(item, &rest, 10);
  OrrLayerKind kind;
  if (rest == item) count = 1;
  while (g_ascii_isspace(*rest)) rest++;
  if (read_kind(reading, item, rest, &kind)) append(reading, item, count, kind);
}

/* Drops kinds whose first layer is beyond the last: 2 layers of [5 window, attention] have one
 * kind. */
static void drop_unused(OrrModel *model) {
  OrrModelLayout *layout = &model->settled;
  guint used = 0;
  for (guint i = 0; i < layout->length && i < model->layers; i++)
    used = MAX(used, layout->at[i] + 1u);
  layout->n_kinds = used;
}

static OrrLayerKind plain_kind(const OrrModel *model) {
  return (OrrLayerKind){ORR_MIXER_ATTENTION, model->moe.experts ? ORR_FEED_MOE : ORR_FEED_DENSE};
}

static gboolean has_mixer(const OrrModel *model, int mixer) {
  for (guint i = 0; i < MAX(1, model->settled.n_kinds); i++)
    if (orr_model_kind(model, i).mixer == mixer) return TRUE;
  return FALSE;
}

/* Sections of layers that the layout does not have. */
static void warn_idle(const OrrModel *model, OrrPlace place, OrrDiags *diags) {
  const gboolean csa = has_mixer(model, ORR_MIXER_CSA), hca = has_mixer(model, ORR_MIXER_HCA);
  const gboolean sparse =
      csa || has_mixer(model, ORR_MIXER_SPARSE) || has_mixer(model, ORR_MIXER_SHARED);
  const OrrIdleKey keys[] = {
      {"window", model->window.size > 0 && !csa && !hca && !has_mixer(model, ORR_MIXER_WINDOW),
       "no layer of layout is 'window'"},
      {"mamba", model->mamba.heads > 0 && !has_mixer(model, ORR_MIXER_MAMBA),
       "no layer of layout is 'mamba'"},
      {"linear-attention", model->linear.key_heads > 0 && !has_mixer(model, ORR_MIXER_LINEAR),
       "no layer of layout is 'linear'"},
      {"sparse-attention", model->sparse.topk > 0 && !sparse,
       "no layer of layout is 'sparse', 'shared' or 'csa'"},
      {"compressed-attention", model->compressed.ratio > 0 && !csa && !hca,
       "no layer of layout is 'csa' or 'hca'"},
      {"cross-attention", model->cross.tokens > 0 && !has_mixer(model, ORR_MIXER_CROSS),
       "no layer of layout is 'cross'"},
  };
  orr_idle_warn(keys, G_N_ELEMENTS(keys), place, diags);
}

void orr_model_settle_layout(OrrModel *model, OrrPlace place, OrrDiags *diags) {
  Reading reading = {model, place, diags, TRUE};
  model->settled = (OrrModelLayout){0};
  for (guint i = 0; model->layout && model->layout[i]; i++) read_item(&reading, model->layout[i]);
  if (reading.fine && model->settled.length > 0)
    drop_unused(model);
  else
    model->settled = (OrrModelLayout){0};
  if (reading.fine) warn_idle(model, place, diags);
}

/* --- queries --- */

static guint n_decoder_kinds(const OrrModel *model) { return MAX(1, model->settled.n_kinds); }

guint orr_model_n_layer_kinds(const OrrModel *model) {
  return n_decoder_kinds(model) + (model->encoder.layers > 0);
}

guint orr_model_layer_kind(const OrrModel *model, gint64 layer) {
  const OrrModelLayout *layout = &model->settled;
  return layout->length ? layout->at[layer % layout->length] : 0;
}

OrrLayerKind orr_model_kind(const OrrModel *model, guint kind) {
  if (kind >= n_decoder_kinds(model)) return (OrrLayerKind){ORR_MIXER_ENCODER, ORR_FEED_DENSE};
  return model->settled.n_kinds ? model->settled.kinds[kind] : plain_kind(model);
}

gint64 orr_model_kind_layers(const OrrModel *model, guint kind) {
  const OrrModelLayout *layout = &model->settled;
  if (kind >= n_decoder_kinds(model)) return model->encoder.layers;
  if (!layout->length) return model->layers;
  gint64 rounds = model->layers / layout->length, rest = model->layers % layout->length, count = 0;
  for (gint64 i = 0; i < layout->length; i++)
    if (layout->at[i] == kind) count += rounds + (i < rest);
  return count;
}

gint64 orr_model_encoder_kind(const OrrModel *model) {
  return model->encoder.layers > 0 ? (gint64)n_decoder_kinds(model) : -1;
}

char *orr_model_kind_name(const OrrModel *model, guint kind) {
  OrrLayerKind parts = orr_model_kind(model, kind);
  if (parts.mixer == ORR_MIXER_ENCODER) return g_strdup("encoder");
  g_autofree char *width = parts.ffn ? g_strdup_printf(":%d", parts.ffn) : g_strdup("");
  return g_strdup_printf("%s%s%s%s", mixer_words[parts.mixer], parts.mixer && parts.feed ? "+" : "",
                         feed_words[parts.feed], width);
}
