/*
 * training_layout - cuts a model's layers, with its embedding and its head, into the blocks of a
 * pipeline.
 *
 *   E t t t | t t t t | t t t t | t t t L      4 blocks of 14 layers; embedding and loss count, too
 *
 * Three methods, as in Megatron-LM (megatron/training/arguments.py, 2025):
 *
 *   evenly      layers / blocks each. count-embedding and count-loss count the embedding and the
 *               loss as layers (account-for-embedding-in-pipeline-split,
 *               account-for-loss-in-pipeline-split); count-where-needed counts them only where the
 *               layers alone cannot be divided. With `fill` the last block takes the remainder: 61
 *               layers in 16 blocks, "Et*4|(t*4|)*14tL"; in 32, where 31 blocks of 2 would exceed
 *               the layers, "Et|(tt|)*30L" (Megatron-Bridge's layouts of DeepSeek-V3)
 *   ends        the first and the last stage hold `first` and `last` layers; the other stages
 *               divide the rest evenly (decoder-first-pipeline-num-layers,
 *               decoder-last-pipeline-num-layers)
 *   layout      a list of blocks in the order of the model (pipeline-model-parallel-layout): E
 *               embedding, t layer, m layer of multi-token prediction, L loss, | ends a block, x*n
 *               and (xy)*n repeat; commas and blanks only help the reader: "Et*3|(tt|)*29,m|L"
 *
 * Multi-token-prediction layers come after all others, in the head's block unless a layout has
 * them in an earlier one; the head's block computes their logits.
 */
#include "workloads/training/job/training_job.h"

/* --- the layout's text --- */

/* A repetition is expanded to text, so its length must be limited. */
#define MOST_SYMBOLS 1000000

static gboolean refuse_text(const OrrTraining *params, GError **error, const char *why) {
  return orr_fault_set(error, ORR_FAULT_DOCUMENT, "pipeline-split.layout '%s': %s",
                       params->split.layout, why);
}

/* Expands the text at @*at up to a closing bracket or the end, and appends it to @out. Returns
 * NULL, or what is wrong. */
static const char *expand(const char **at, int depth, GString *out) {
  while (**at && **at != ')') {
    const gsize begin = out->len;
    if (**at == ' ' || **at == ',') {
      (*at)++;
      continue;
    }
    if (**at == '(') {
      (*at)++;
      const char *wrong = depth > 8 ? "brackets nest too deep" : expand(at, depth + 1, out);
      if (wrong) return wrong;
      if (**at != ')') return "a bracket is not closed";
    } else if (strchr("EtmL|", **at)) {
      g_string_append_c(out, **at);
    } else {
      return "it may hold E, t, m, L, |, *, brackets, commas and blanks only";
    }
    (*at)++;
    if (**at != '*') continue;
    char *end = NULL;
    const guint64 times = g_ascii_strtoull(*at + 1, &end, 10);
    if (end == *at + 1 || times < 1) return "* must be followed by a number of 1 or more";
    *at = end;
    const gsize n = out->len - begin;
    if (times > MOST_SYMBOLS || out->len + (times - 1) * n > MOST_SYMBOLS) return "it is too long";
    g_autofree char *repeated = g_strndup(out->str + begin, n);
    for (guint64 i = 1; i < times; i++) g_string_append_len(out, repeated, n);
  }
  return NULL;
}

gint64 orr_layout_n_blocks(const char *layout) {
  g_autoptr(GString) text = g_string_new(NULL);
  const char *wrong = expand(&layout, 0, text);
  g_auto(GStrv) blocks = g_strsplit(text->str, "|", -1);
  return wrong || *layout ? 0 : g_strv_length(blocks);
}

/* How many times @symbol stands in the block. */
static gint64 count_symbol(const char *symbols, char symbol) {
  gint64 n = 0;
  for (; *symbols; symbols++) n += *symbols == symbol;
  return n;
}

/* The block of the layers of multi-token prediction. Returns NULL, or what is wrong. */
static const char *find_mtp(char **blocks, const OrrModel *model, gint64 *ret_mtp) {
  const gint64 n_blocks = g_strv_length(blocks);
  gint64 last_layer = 0;
  *ret_mtp = n_blocks - 1;
  for (gint64 b = 0, found = 0; b < n_blocks; b++) {
    const gint64 n = count_symbol(blocks[b], 'm');
    if (n > 0 && (found || n != model->mtp_layers))
      return "m lists the model's layers of multi-token prediction (mtp-layers), in one block";
    if (n > 0) found = 1, *ret_mtp = b;
    if (strchr(blocks[b], 't')) last_layer = b;
    const char *mtp = strchr(blocks[b], 'm');
    if (mtp && strchr(mtp, 't')) last_layer = n_blocks;
  }
  return *ret_mtp < last_layer ? "m comes after every t" : NULL;
}

/* How many layers a block's symbols list; -1 where E or L stand in the wrong place. */
static gint64 block_layers(const char *symbols, gboolean first, gboolean last) {
  gint64 layers = 0;
  const gsize n = strlen(symbols);
  for (gsize i = 0; i < n; i++) {
    if (symbols[i] == 't') layers++;
    if (symbols[i] == 'E' && !(first && i == 0)) return -1;
    if (symbols[i] == 'L' && !(last && i == n - 1)) return -1;
  }
  const gboolean has_embedding = symbols[0] == 'E', has_loss = n > 0 && symbols[n - 1] == 'L';
  return has_embedding == first && has_loss == last ? layers : -1;
}

static gboolean cut_by_text(const OrrTraining *params, const OrrModel *model, gint64 n_blocks,
                            gint64 *ret_layers, gint64 *ret_mtp, GError **error) {
  g_autoptr(GString) text = g_string_new(NULL);
  const char *at = params->split.layout;
  const char *wrong = expand(&at, 0, text);
  if (!wrong && *at) wrong = "a bracket is closed that was not opened";
  if (wrong) return refuse_text(params, error, wrong);
  g_auto(GStrv) blocks = g_strsplit(text->str, "|", -1);
  if (g_strv_length(blocks) != (guint)n_blocks) {
    g_autofree char *why = g_strdup_printf("it has %u blocks, and pp * chunks makes %ld",
                                           g_strv_length(blocks), n_blocks);
    return refuse_text(params, error, why);
  }
  wrong = find_mtp(blocks, model, ret_mtp);
  if (wrong) return refuse_text(params, error, wrong);
  gint64 sum = 0;
  for (gint64 b = 0; b < n_blocks; b++) {
    ret_layers[b] = block_layers(blocks[b], b == 0, b == n_blocks - 1);
    if (ret_layers[b] < 0)
      return refuse_text(params, error,
                         "E begins the first block and L ends the last one, each exactly once");
    sum += ret_layers[b];
  }
  if (sum == model->layers) return TRUE;
  g_autofree char *why =
      g_strdup_printf("it has %ld layers, and model %s has %ld", sum, model->name, model->layers);
  return refuse_text(params, error, why);
}

/* --- cuts by number --- */

static gboolean cut_ends(const OrrTraining *params, const OrrModel *model,
                         const OrrPipelineShape *shape, gint64 n_blocks, gint64 *ret_layers,
                         GError **error) {
  const gint64 first = params->split.first, last = params->split.last, v = shape->chunks;
  const gint64 others = shape->stages - (first > 0) - (last > 0),
               rest = model->layers - first - last;
  if (n_blocks != shape->stages * v || others < 0 || first % v || last % v || rest < 0 ||
      (others == 0 ? rest != 0 : rest % (others * v) != 0))
    return orr_fault_set(
        error, ORR_FAULT_DOCUMENT,
        "pipeline-split: first (%ld) and last (%ld) leave %ld of %s's %ld layers to %ld stages of "
        "%ld chunks: all three must be divisible by chunks, the rest also by the stages, and "
        "the schedule must place chunks in a loop",
        first, last, rest, model->name, model->layers, others, v);
  for (gint64 b = 0; b < n_blocks; b++) {
    const gint64 stage = b % shape->stages;
    if (first > 0 && stage == 0)
      ret_layers[b] = first / v;
    else if (last > 0 && stage == shape->stages - 1)
      ret_layers[b] = last / v;
    else
      ret_layers[b] = rest / (others * v);
  }
  return TRUE;
}

/* What counts as a layer in addition to the transformer layers: 0 or 1 each. */
typedef struct {
  gint64 embedding, loss;
} Ends;

static gint64 rest_of(gint64 all, gint64 each, gint64 n_blocks) {
  return all - each * (n_blocks - 1);
}

static gint64 divide_up(gint64 a, gint64 b) { return (a + b - 1) / b; }

static Ends counted_ends(const OrrPipelineSplit *split, gint64 layers, gint64 n_blocks) {
  const gboolean fills = split->fill && rest_of(layers, divide_up(layers, n_blocks), n_blocks) < 1;
  const gboolean needed = split->count_where_needed && layers % n_blocks != 0 &&
                          (fills || (layers + 2) % n_blocks == 0);
  return (Ends){needed || split->count_embedding, needed || split->count_loss};
}

static gboolean cut_evenly(const OrrTraining *params, const OrrModel *model,
                           const OrrPipelineShape *shape, gint64 n_blocks, gint64 *ret_layers,
                           GError **error) {
  const Ends ends = counted_ends(&params->split, model->layers, n_blocks);
  const gint64 n_ends = ends.embedding + ends.loss, all = model->layers + n_ends;
  const gint64 each = params->split.fill ? divide_up(all, n_blocks) : all / n_blocks;
  /* With fill, the last block must get at least one layer, which can be the counted loss. */
  const gint64 last = rest_of(all, each, n_blocks);
  if ((all % n_blocks != 0 && !params->split.fill) || each < (n_blocks == 1 ? n_ends : 1) ||
      last < 1) {
    g_autofree char *counted =
        n_ends ? g_strdup_printf(" with embedding or loss counted (%ld)", n_ends) : g_strdup("");
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "model %s: layers (%ld)%s cannot be divided by pp * chunks (%ld * %ld): "
                         "see workload.pipeline-split for uneven stages",
                         model->name, model->layers, counted, shape->stages,
                         n_blocks / shape->stages);
  }
  for (gint64 b = 0; b < n_blocks; b++) ret_layers[b] = b == n_blocks - 1 ? last : each;
  ret_layers[0] -= ends.embedding;
  ret_layers[n_blocks - 1] -= ends.loss;
  return TRUE;
}

gboolean orr_layout_cut(const OrrTraining *params, const OrrModel *model,
                        const OrrPipelineShape *shape, gint64 n_blocks, gint64 *ret_layers,
                        gint64 *ret_mtp, GError **error) {
  const OrrPipelineSplit *split = &params->split;
  const gboolean text = !g_str_equal(split->layout, "none"), ends = split->first || split->last;
  const gboolean counts = split->count_embedding || split->count_loss;
  if (text + ends + counts > 1)
    return orr_fault_set(
        error, ORR_FAULT_DOCUMENT,
        "pipeline-split: give only one of layout, first and last, or count-embedding and "
        "count-loss");
  *ret_mtp = n_blocks - 1;
  if (text) return cut_by_text(params, model, n_blocks, ret_layers, ret_mtp, error);
  if (ends) return cut_ends(params, model, shape, n_blocks, ret_layers, error);
  return cut_evenly(params, model, shape, n_blocks, ret_layers, error);
}

/* --- layers --- */

static guint spec_of(OrrLayout *layout, OrrLayerSpec spec) {
  ORR_EACH_AT(i, const OrrLayerSpec, known, layout->specs)
    if (known->type == spec.type && known->kind == spec.kind && known->modules == spec.modules &&
        known->wide == spec.wide)
      return i;
  g_array_append_val(layout->specs, spec);
  return layout->specs->len - 1;
}

static void put_layer(OrrLayout *layout, gint64 block, OrrLayerSpec spec) {
  ORR_APPEND(layout->blocks[block], guint, spec_of(layout, spec));
}

/* What is recomputed of a block's @i-th layer: recompute-method `block` takes only the first
 * layers. */
static guint modules_of(const OrrTraining *params, guint modules, gint64 i) {
  const gboolean spared = params->recompute == ORR_RECOMPUTE_FULL &&
                          params->recompute_method == ORR_RECOMPUTE_BLOCK &&
                          i >= params->recompute_layers;
  return spared ? 0 : modules;
}

gboolean orr_layout_modules(const OrrTraining *params, guint *ret_modules, GError **error) {
  guint modules = 0;
  for (char **word = params->recompute_modules;
       params->recompute == ORR_RECOMPUTE_SELECTIVE && word && *word; word++) {
    int bit = 0;
    while (orr_module_words[bit] && !g_str_equal(orr_module_words[bit], *word)) bit++;
    if (!orr_module_words[bit]) {
      g_autofree char *known = g_strjoinv(", ", (char **)orr_module_words);
      return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                           "recompute-modules: unknown module '%s' (allowed: %s)", *word, known);
    }
    modules |= 1u << bit;
  }
  const gboolean listed = params->recompute == ORR_RECOMPUTE_SELECTIVE;
  *ret_modules = listed ? modules : orr_transformer_recompute_modules(params->recompute);
  return TRUE;
}

gboolean orr_layout_init(OrrLayout *layout, const OrrTraining *params, const OrrModel *model,
                         const OrrPipelineShape *shape, gint64 n_blocks, GError **error) {
  *layout = (OrrLayout){.specs = g_array_new(FALSE, TRUE, sizeof(OrrLayerSpec)),
                        .blocks = g_new0(GArray *, n_blocks + 1)};
  for (gint64 b = 0; b < n_blocks; b++)
    layout->blocks[b] = g_array_new(FALSE, FALSE, sizeof(guint));
  g_autofree gint64 *layers = g_new0(gint64, n_blocks);
  guint modules = 0;
  gint64 mtp = 0;
  if (!orr_layout_modules(params, &modules, error) ||
      !orr_layout_cut(params, model, shape, n_blocks, layers, &mtp, error))
    return FALSE;
  gint64 layer = 0;
  put_layer(layout, 0, (OrrLayerSpec){.type = ORR_LAYER_EMBEDDING});
  /* Megatron places all of an encoder on the first stage. */
  for (gint64 i = 0; i < model->encoder.layers; i++)
    put_layer(layout, 0,
              (OrrLayerSpec){ORR_LAYER_TRANSFORMER, (guint)orr_model_encoder_kind(model),
                             modules_of(params, modules, i), FALSE});
  for (gint64 b = 0; b < n_blocks; b++)
    for (gint64 i = 0; i < layers[b]; i++, layer++)
      put_layer(
          layout, b,
          (OrrLayerSpec){ORR_LAYER_TRANSFORMER, orr_model_layer_kind(model, layer),
                         modules_of(params, modules, i),
                         layer < params->wide.first || layer >= model->layers - params->wide.last});
  const gboolean is_apart = mtp < n_blocks - 1;
  for (gint64 i = 0; i < model->mtp_layers; i++) {
    const OrrLayerType type = is_apart ? ORR_LAYER_MTP_BODY : ORR_LAYER_MTP;
    put_layer(layout, mtp,
              (OrrLayerSpec){.type = type, .modules = modules, .wide = params->wide.mtp});
    if (is_apart) put_layer(layout, n_blocks - 1, (OrrLayerSpec){.type = ORR_LAYER_MTP_HEAD});
  }
  put_layer(layout, n_blocks - 1, (OrrLayerSpec){.type = ORR_LAYER_HEAD});
  return TRUE;
}

void orr_layout_clear(OrrLayout *layout) {
  for (gint64 b = 0; layout->blocks && layout->blocks[b]; b++) g_array_unref(layout->blocks[b]);
  g_clear_pointer(&layout->blocks, g_free);
  g_clear_pointer(&layout->specs, g_array_unref);
}
