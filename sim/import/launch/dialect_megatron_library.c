/*
 * dialect_megatron_library.c - a model of the library in place of a launch line's dimensions.
 *
 * A launch line of Megatron-LM states every dimension, by an argument or by the argument's default.
 *
 *   all dimensions agree        the library's model, by its name
 *   the shape agrees, others    the library's model is the base, and the dimensions that differ are
 *   differ                      written over it; its published count of parameters is another's
 *   no model has the shape      the launch line's dimensions
 *
 * An input that has no size of its vocabulary takes the library's model with an assumption aloud:
 * where all other dimensions agree, or where it names a tokenizer, which may be that model's.
 *
 * The shape: layers, width, heads, feed-forward, experts, and the vocabulary but for its padding.
 * Configs that are laid over recipes (NeMo, Megatron-Bridge, Primus) state only what they have.
 */
#include "models/model.h"
#include "sim/import/launch/launch_trainer.h"

static const OrrLaunchDialect *const own = &orr_dialect_megatron;

/* Dimensions that two models of one shape can differ in, with the arguments that state them. */
static const struct {
  const char *path, *keys;
} compared[] = {
    {"head-dim", "kv-channels"},
    {"ffn", "ffn-hidden-size"},
    {"activation", "swiglu geglu quick-geglu squared-relu"},
    {"norm", "normalization"},
    {"position", "position-embedding-type use-rotary-position-embeddings no-position-embedding"},
    {"tied-embeddings", "untie-embeddings-and-output-weights"},
    {"bias", "disable-bias-linear"},
    {"qkv-bias", "add-qkv-bias"},
    {"qk-norm", "qk-layernorm"},
    {"parallel-blocks", ""}, /* no argument of Megatron's makes them; GPT-NeoX has one */
    {"mtp-layers", "mtp-num-layers"},
    {"mla.q-lora-rank", "q-lora-rank"},
    {"mla.qk-nope-head-dim", "qk-head-dim"},
    {"mla.qk-rope-head-dim", "qk-pos-emb-head-dim"},
    {"mla.v-head-dim", "v-head-dim"},
    {"moe.shared-ffn", "moe-shared-expert-intermediate-size"},
};
enum { POSITION = 4, N_COMPARED = G_N_ELEMENTS(compared), LAYOUT = N_COMPARED };

/* --- Two models --- */

static gboolean read_model(const OrrNode *tree, OrrModel *ret_model) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  const gboolean is_read = orr_field_read(&orr_model_table, tree, NULL, diags, ret_model);
  if (is_read) orr_model_settle(ret_model, (OrrPlace){0}, diags);
  return is_read && orr_diags_n_errors(diags) == 0;
}

/* The model of the draft's lines. A vocabulary of 1 is not known. */
static gboolean read_lines(const OrrLaunchDraft *draft, OrrModel *ret_model) {
  g_autoptr(OrrNode) root = orr_node_new_map((OrrPlace){0});
  orr_field_set(&orr_model_table, root, "vocab", "1", NULL);
  ORR_EACH_POINTER(const OrrLaunchLine, line, draft->lines)
    if (g_str_has_prefix(line->path, "model."))
      orr_field_set(&orr_model_table, root, line->path + strlen("model."), line->value, NULL);
  return read_model(root, ret_model);
}

static char *text_of(OrrModel *model, const char *path) {
  void *data = NULL;
  const OrrField *field = orr_field_assign_member(&orr_model_table, model, path, &data);
  return orr_field_text(field, data);
}

static gboolean is_dense_somewhere(const OrrModel *model) {
  for (guint i = 0; i < orr_model_n_layer_kinds(model); i++)
    if (orr_model_kind(model, i).feed == ORR_FEED_DENSE) return TRUE;
  return FALSE;
}

static gboolean has_shape(const OrrModel *theirs, const OrrModel *mine) {
  return theirs->layers == mine->layers && theirs->hidden == mine->hidden &&
         theirs->heads == mine->heads && theirs->moe.experts == mine->moe.experts &&
         theirs->mla.kv_rank == mine->mla.kv_rank &&
         (mine->mla.kv_rank || theirs->kv_heads == mine->kv_heads) &&
         (mine->moe.experts ? theirs->moe.topk == mine->moe.topk && theirs->moe.ffn == mine->moe.ffn
                            : theirs->ffn == mine->ffn) &&
         /* paddings differ by framework */
         (mine->vocab == 1 || ABS(theirs->vocab - mine->vocab) * 50 <= theirs->vocab);
}

/* Whether Megatron's arguments can describe all that @model has. */
static gboolean is_within_reach(OrrLaunchDraft *draft, const OrrModel *model) {
  const gboolean has_window = orr_launch_draft_find(draft, own, "window-size") != NULL;
  if (model->encoder.layers) return FALSE;
  for (guint i = 0; i < orr_model_n_layer_kinds(model); i++) {
    const int mixer = orr_model_kind(model, i).mixer;
    if (mixer != ORR_MIXER_ATTENTION && !(mixer == ORR_MIXER_WINDOW && has_window)) return FALSE;
  }
  return TRUE;
}

/* --- What differs --- */

/* Whether the input says what the row's dimension is. */
static gboolean is_stated(OrrLaunchDraft *draft, const char *keys) {
  static const OrrLaunchDialect *const partial[] = {&orr_dialect_nemo, &orr_dialect_bridge,
                                                    &orr_dialect_primus};
  g_auto(GStrv) all = g_strsplit(keys, " ", -1);
  for (char **key = all; *key; key++)
    if (orr_launch_draft_find(draft, own, *key)) return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS(partial); i++)
    if (orr_launch_config_has(draft, partial[i])) return FALSE;
  return TRUE;
}

/* Whether the row is a dimension of these models at all. */
static gboolean applies(const char *path, const OrrModel *mine, const OrrModel *theirs) {
  const gboolean is_latent = mine->mla.kv_rank > 0;
  if (g_str_has_prefix(path, "mla.")) return is_latent;
  if (g_str_has_prefix(path, "moe.")) return mine->moe.experts > 0;
  if (strcmp(path, "head-dim") == 0 || strcmp(path, "qk-norm") == 0) return !is_latent;
  if (strcmp(path, "qkv-bias") == 0) return !mine->bias || !theirs->bias;
  if (strcmp(path, "ffn") == 0) return is_dense_somewhere(mine) || is_dense_somewhere(theirs);
  return TRUE;
}

static gboolean is_layout_equal(const OrrModel *a, const OrrModel *b) {
  for (gint64 i = 0; i < a->layers; i++)
    if (orr_model_kind(a, orr_model_layer_kind(a, i)).feed !=
        orr_model_kind(b, orr_model_layer_kind(b, i)).feed)
      return FALSE;
  return TRUE;
}

/* The rows in which the models differ, as bits. */
static guint differences(OrrLaunchDraft *draft, OrrModel *mine, OrrModel *theirs) {
  guint bits = 0;
  for (guint i = 0; i < N_COMPARED; i++) {
    if (!applies(compared[i].path, mine, theirs) || !is_stated(draft, compared[i].keys)) continue;
    g_autofree char *is = text_of(mine, compared[i].path);
    g_autofree char *was = text_of(theirs, compared[i].path);
    if (strcmp(is, was) != 0) bits |= 1u << i;
  }
  if (is_stated(draft, "moe-layer-freq") && !is_layout_equal(mine, theirs)) bits |= 1u << LAYOUT;
  return bits;
}

/* --- Choosing --- */

typedef struct {
  char *name; /* NULL: none */
  guint differences;
  gint64 context;
  gboolean is_counted[2]; /* it has published counts: of parameters, of the active ones */
  gboolean is_learned;    /* positions, so that a longer context is a larger table */
} Match;

/* Fewer differences, then the launch line's longest sequence, then the first. */
static gboolean is_better(const Match *match, const Match *best, gint64 context) {
  const int n = __builtin_popcount(match->differences),
            least = __builtin_popcount(best->differences);
  if (!best->name || n != least) return !best->name || n < least;
  return match->context == context && best->context != context;
}

static Match best_match(OrrLaunchDraft *draft, OrrModel *mine) {
  Match best = {0};
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  g_auto(GStrv) names = orr_library_names(draft->library, "model");
  for (char **name = names; *name; name++) {
    OrrModel theirs;
    const OrrNode *tree =
        orr_library_borrow(draft->library, "model", *name, (OrrPlace){0}, ignored);
    const char *layers = tree ? orr_node_get_text(tree, "layers") : NULL;
    if (!layers || g_ascii_strtoll(layers, NULL, 10) != mine->layers) continue;
    if (read_model(tree, &theirs) && has_shape(&theirs, mine) && is_within_reach(draft, &theirs)) {
      const gboolean is_own = is_stated(draft, compared[POSITION].keys);
      Match match = {g_strdup(*name),
                     differences(draft, mine, &theirs),
                     theirs.context,
                     {theirs.parameters > 0, theirs.active_parameters > 0},
                     (is_own ? mine : &theirs)->position == ORR_POSITION_LEARNED};
      const gboolean is_next = is_better(&match, &best, mine->context);
      g_free(is_next ? best.name : match.name);
      if (is_next) best = match;
    }
    orr_field_clear(&orr_model_table, &theirs);
  }
  return best;
}

/* --- The lines --- */

/* The row's number of a line; N_COMPARED + 1: of none. */
static guint row_of(const char *path) {
  if (strcmp(path, "layout") == 0) return LAYOUT;
  for (guint i = 0; i < N_COMPARED; i++)
    if (strcmp(path, compared[i].path) == 0) return i;
  return N_COMPARED + 1;
}

/* Takes the model's lines out of the draft; returns the lines of the rows @kept, and the
 * context's. */
static GPtrArray *take_lines(OrrLaunchDraft *draft, guint kept, gboolean keeps_context) {
  GPtrArray *taken = g_ptr_array_new();
  for (guint i = 0; i < draft->lines->len;) {
    const OrrLaunchLine *line = draft->lines->pdata[i];
    if (!g_str_has_prefix(line->path, "model.")) {
      i++;
      continue;
    }
    const char *path = line->path + strlen("model.");
    const guint row = row_of(path);
    if (strcmp(path, "context") == 0 ? keeps_context : row <= LAYOUT && (kept >> row & 1))
      g_ptr_array_add(taken, g_ptr_array_steal_index(draft->lines, i));
    else
      g_ptr_array_remove_index(draft->lines, i);
  }
  return taken;
}

/* Writes what the launch line has by a default, which has no line yet. */
static void put_defaults(OrrLaunchDraft *draft, OrrModel *mine, guint rows) {
  for (guint i = 0; i < N_COMPARED; i++) {
    g_autofree char *path = g_strconcat("model.", compared[i].path, NULL);
    if (!(rows >> i & 1) || orr_launch_draft_get(draft, path)) continue;
    g_autofree char *text = text_of(mine, compared[i].path);
    orr_launch_draft_set(draft, path, text, NULL, "Megatron's default");
  }
  if (rows >> LAYOUT & 1 && !orr_launch_draft_get(draft, "model.layout"))
    orr_launch_draft_set(draft, "model.layout",
                         mine->moe.experts ? "[attention+moe]" : "[attention+dense]",
                         orr_launch_draft_find(draft, own, "moe-layer-freq"), NULL);
}

static void put_model(OrrLaunchDraft *draft, OrrModel *mine, const Match *match) {
  static const char same[] = "has the dimensions of the launch line",
                    other[] = "has the shape of the launch line; the differences follow",
                    counted[] = "the published count is the base's";
  static const char *const counts[] = {"model.parameters", "model.active-parameters"};
  const gboolean is_new = match->differences >> POSITION & 1; /* a table that the base lacks */
  const gboolean is_longer = match->is_learned && (is_new || mine->context > match->context);
  const gboolean is_base = match->differences || is_longer;
  g_autoptr(GPtrArray) kept = take_lines(draft, match->differences, is_longer);
  orr_launch_draft_set(draft, is_base ? "model.base" : "model", match->name, NULL,
                       match->differences ? other : same);
  if (is_base) orr_launch_draft_set(draft, "model.name", "from-the-launch-line", NULL, NULL);
  for (guint i = 0; i < kept->len; i++) g_ptr_array_add(draft->lines, kept->pdata[i]);
  put_defaults(draft, mine, match->differences);
  for (guint i = 0; match->differences && i < G_N_ELEMENTS(counts); i++)
    if (match->is_counted[i]) orr_launch_draft_set(draft, counts[i], "0", NULL, counted);
}

static gboolean names_tokenizer(OrrLaunchDraft *draft) {
  const GPtrArray *settings = orr_launch_draft_settings(draft);
  for (guint i = 0; i < settings->len; i++)
    if (strstr(((const OrrLaunchSetting *)settings->pdata[i])->key, "tokenizer")) return TRUE;
  return FALSE;
}

/* The input has no size of its vocabulary: says whose is taken, or asks. */
static void assume_vocab(OrrLaunchDraft *draft, const Match *match) {
  const char *others = match->differences ? "are nearest" : "agree";
  if (draft->options->strict)
    orr_launch_draft_ask(draft,
                         "how large is the vocabulary? The input does not say; the other "
                         "dimensions of %s %s: add --model %s, or --vocab-size to the line",
                         match->name, others, match->name);
  else
    orr_launch_draft_remark(draft,
                            "assumed: the vocabulary of %s, whose other dimensions %s: no "
                            "--vocab-size",
                            match->name, others);
}

gboolean orr_dialect_megatron_library(OrrLaunchDraft *draft) {
  OrrModel mine;
  const gboolean is_read = read_lines(draft, &mine);
  const Match match = is_read ? best_match(draft, &mine) : (Match){0};
  const gboolean has_vocab = mine.vocab > 1;
  const gboolean is_found =
      match.name && (has_vocab || !match.differences || names_tokenizer(draft));
  if (is_found && !has_vocab) assume_vocab(draft, &match);
  if (is_found) put_model(draft, &mine, &match);
  orr_field_clear(&orr_model_table, &mine);
  g_free(match.name);
  return is_found;
}
