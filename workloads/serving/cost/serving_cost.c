/*
 * serving_cost.c - computes the time of steps from operators, and caches it by number of tokens and
 * by mean context.
 */
#include "workloads/serving/cost/serving_cost_private.h"

#include "workloads/serving/cost/serving_joules.h"

static guint kind_of(const OrrServingCostParams *params, const OrrModel *model, gint64 layer) {
  return orr_model_layer_kind(model, layer) + (orr_inference_is_plain(model, &params->shard, layer)
                                                   ? orr_model_n_layer_kinds(model)
                                                   : 0);
}

/* Of layers [first, first + n). */
static gint64 layers_of_kind(const OrrServingCostParams *params, guint k, gint64 first, gint64 n) {
  gint64 count = 0;
  for (gint64 layer = first; layer < first + n; layer++)
    count += kind_of(params, params->world->model, layer) == k;
  return count;
}

static void init_kind(OrrServingCost *cost, guint k) {
  const OrrServingCostParams *params = &cost->params;
  const OrrModel *model = params->world->model;
  Kind *kind = &cost->kinds[k];
  const gint64 stage = (model->layers + params->pp - 1) / params->pp;
  const guint n_kinds = orr_model_n_layer_kinds(model);
  *kind = (Kind){.kind = k % n_kinds,
                 .shard = k < n_kinds ? params->shard : orr_inference_plain(&params->shard),
                 .n = layers_of_kind(params, k, 0, model->layers)};
  for (gint64 first = 0; first < model->layers; first += stage)
    kind->n_of_largest_stage =
        MAX(kind->n_of_largest_stage,
            layers_of_kind(params, k, first, MIN(stage, model->layers - first)));
  kind->heads = orr_inference_heads(model, kind->kind, &params->shard);
  kind->decode_heads = orr_inference_decode_heads(model, kind->kind, &params->shard);
  kind->source = orr_inference_source(model, kind->kind);
  kind->has_core = params->shard.part != ORR_PART_FEED &&
                   (kind->source > 0 || orr_inference_attends(model, kind->kind));
  const OrrBatchAttention of = {.dtype = params->shard.activations,
                                .kv_dtype = params->shard.kv,
                                .heads = kind->heads.heads,
                                .kv_heads = kind->heads.kv_heads,
                                .head_dim = kind->heads.head_dim};
  if (kind->has_core)
    kind->module = orr_serving_modules_new(&cost->params, kind->kind, &kind->shard);
  kind->batch =
      kind->module || kind->source > 0 ? NULL : orr_cost_batch_find(params->world->cost, &of);
  if (params->shard.part != ORR_PART_FEED && orr_serving_states_are_known(params, kind->kind))
    kind->states = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
  for (guint q = 0; q <= MOST_QUERIES; q++)
    kind->ladders[q] = g_ptr_array_new_with_free_func(g_free);
  GPtrArray **const pieces[] = {&kind->pieces,  &kind->experts, &kind->shared,
                                &kind->prompts, &kind->decodes, &kind->crosses};
  for (guint i = 0; i < G_N_ELEMENTS(pieces); i++)
    *pieces[i] = g_ptr_array_new_with_free_func(g_free);
}

OrrServingCost *orr_serving_cost_new(const OrrServingCostParams *params, GError **error) {
  OrrServingCost *cost = g_new0(OrrServingCost, 1);
  cost->params = *params;
  cost->n_kinds = 2 * orr_model_n_layer_kinds(params->world->model);
  cost->kinds = g_new0(Kind, cost->n_kinds);
  for (guint i = 0; i < LADDER; i++) cost->rung_keys[i] = ceil(exp2((double)i / RUNGS));
  for (guint k = 0; k < cost->n_kinds; k++) init_kind(cost, k);
  cost->embedding = g_ptr_array_new_with_free_func(g_free);
  cost->final_norm = g_ptr_array_new_with_free_func(g_free);
  cost->head = g_ptr_array_new_with_free_func(g_free);
  cost->candidates = g_ptr_array_new_with_free_func(g_free);
  cost->encoder = g_ptr_array_new_with_free_func(g_free);
  cost->gather = g_ptr_array_new_with_free_func(g_free);
  if (params->pp > 1) cost->stages = orr_serving_stages(params);
  cost->operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  if (orr_serving_collectives_try(params, error) && orr_serving_cost_check_missing(cost, error))
    return cost;
  orr_serving_cost_free(cost);
  return NULL;
}

void orr_serving_cost_free(OrrServingCost *cost) {
  if (!cost) return;
  for (guint k = 0; k < cost->n_kinds; k++) {
    for (guint q = 0; q <= MOST_QUERIES; q++) g_ptr_array_unref(cost->kinds[k].ladders[q]);
    GPtrArray *const pieces[] = {cost->kinds[k].pieces,  cost->kinds[k].experts,
                                 cost->kinds[k].shared,  cost->kinds[k].prompts,
                                 cost->kinds[k].decodes, cost->kinds[k].crosses};
    for (guint i = 0; i < G_N_ELEMENTS(pieces); i++) g_ptr_array_unref(pieces[i]);
    orr_serving_modules_free(cost->kinds[k].module);
    g_clear_pointer(&cost->kinds[k].states, g_hash_table_unref);
  }
  g_ptr_array_unref(cost->embedding);
  g_ptr_array_unref(cost->final_norm);
  g_ptr_array_unref(cost->head);
  g_ptr_array_unref(cost->candidates);
  g_ptr_array_unref(cost->encoder);
  g_ptr_array_unref(cost->gather);
  g_array_unref(cost->operators);
  ORR_FREE(cost->kinds, cost);
}

double orr_serving_cost_kernels_s(const OrrServingCost *cost) { return cost->kernels_s; }

double orr_serving_cost_layer_s(const OrrServingCost *cost, gint64 layer) {
  const OrrModel *model = cost->params.world->model;
  return cost->kinds[kind_of(&cost->params, model, layer)].layer_s;
}

OrrPoolStage orr_serving_cost_stage(const OrrServingCost *cost, gint64 layer) {
  const OrrModel *model = cost->params.world->model;
  return cost->kinds[kind_of(&cost->params, model, layer)].stage;
}

OrrServingParts orr_serving_cost_parts(const OrrServingCost *cost) { return cost->parts; }

const double *orr_serving_cost_trust(const OrrServingCost *cost) { return cost->trust; }

OrrCost orr_serving_cost_operator(const OrrServingCostParams *params, const OrrOperator *op) {
  const OrrCostModel *model = params->world->cost;
  OrrCost answer;
  if (op->kind == ORR_OPERATOR_COMM) return orr_serving_collectives_cost(params, op);
  if (op->kind == ORR_OPERATOR_MOE)
    return orr_serving_experts(model, op, params->shard.activations, &params->experts,
                               params->world->cluster->device.sms);
  if (op->kind == ORR_OPERATOR_MEMORY &&
      orr_cost_serving_token_kernel(model, op->name, (double)op->memory.rows,
                                    (double)op->memory.width, &answer))
    return answer;
  OrrOperator ours = *op;
  ours.library = (guint8)params->kernels;
  return orr_cost_among(model, &ours);
}

/* @states: what the operators are of; NULL: no layer with a state. */
static void sum_states(OrrServingCost *cost, const OrrServingStates *states, Piece *piece) {
  g_autoptr(GArray) costs = g_array_new(FALSE, FALSE, sizeof(OrrCost));
  *piece = (Piece){0};
  for (guint i = 0; i < cost->operators->len; i++) {
    const OrrCost answer =
        orr_serving_cost_operator(&cost->params, &g_array_index(cost->operators, OrrOperator, i));
    g_array_append_val(costs, answer);
  }
  if (states) orr_serving_states_settle(&cost->params, states, cost->operators, costs);
  for (guint i = 0; i < cost->operators->len; i++) {
    const OrrOperator *op = &g_array_index(cost->operators, OrrOperator, i);
    const OrrCost answer = g_array_index(costs, OrrCost, i);
    piece->total_s += answer.time_s;
    piece->by_how[answer.how] += answer.time_s;
    orr_joules_add(&piece->joules, orr_serving_joules_operator(&cost->params, op, answer.time_s),
                   1);
    if (op->kind == ORR_OPERATOR_COMM)
      piece->comm_s += answer.time_s;
    else
      piece->bytes += op->bytes;
    if (op->kind == ORR_OPERATOR_COMM && g_str_equal(op->name, "combine"))
      piece->combine_s += answer.time_s;
    piece->kernels++;
  }
  g_array_set_size(cost->operators, 0);
}

static void sum_operators(OrrServingCost *cost, Piece *piece) { sum_states(cost, NULL, piece); }

/* Runs ask for few of the sizes up to the largest: pieces are in blocks, made when they are asked
 * for. */
static Piece *piece_at(GPtrArray *blocks, gint64 size, gboolean *ret_known) {
  const guint block = (guint)(size / PIECES_A_BLOCK);
  if (block >= blocks->len) g_ptr_array_set_size(blocks, (gint)block + 1);
  Piece *pieces = blocks->pdata[block];
  if (!pieces) {
    blocks->pdata[block] = pieces = g_new0(Piece, PIECES_A_BLOCK);
    for (guint i = 0; i < PIECES_A_BLOCK; i++) pieces[i].total_s = -1;
  }
  Piece *piece = &pieces[size % PIECES_A_BLOCK];
  *ret_known = piece->total_s >= 0;
  return piece;
}

static const Piece *layer_piece(OrrServingCost *cost, Kind *kind, gint64 tokens) {
  gboolean known;
  Piece *piece = piece_at(kind->pieces, tokens, &known);
  if (known) return piece;
  orr_inference_layer(cost->params.world->model, kind->kind, &kind->shard, tokens, cost->operators);
  sum_operators(cost, piece);
  piece->kernels++; /* the attention core */
  return piece;
}

typedef void (*PartOperators)(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                              gint64 size, GArray *operators);

static const Piece *part_piece(OrrServingCost *cost, const Kind *kind, GPtrArray *pieces,
                               PartOperators decompose, gint64 size) {
  gboolean known;
  Piece *piece = piece_at(pieces, size, &known);
  if (known) return piece;
  if (size > 0)
    decompose(cost->params.world->model, kind->kind, &kind->shard, size, cost->operators);
  sum_operators(cost, piece);
  return piece;
}

enum { KEYS_A_TILE = 64 }; /* cached costs of prompts are by tiles of keys, or by tokens */

static void prompts_by_keys(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                            gint64 tiles, GArray *operators) {
  orr_inference_prompts(model, kind, shard, tiles * KEYS_A_TILE, tiles * KEYS_A_TILE, operators);
}

static void prompts_by_tokens(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                              gint64 tokens, GArray *operators) {
  orr_inference_prompts(model, kind, shard, tokens, tokens, operators);
}

/* The keys that all chunks attend to, in whole sequences: their own tokens and those computed
 * before. */
static double chunk_keys(const OrrStepShape *shape) {
  const double own = shape->chunk / shape->n_chunks;
  return shape->chunk + shape->n_chunks * fmax(0, shape->chunk_key_sum / shape->chunk - own / 2);
}

static const Piece *state_prompts(OrrServingCost *cost, const Kind *kind,
                                  const OrrStepShape *shape) {
  const gint64 key = orr_serving_states_key(shape->n_chunks, shape->chunk / shape->n_chunks);
  Piece *piece = g_hash_table_lookup(kind->states, &key);
  if (piece) return piece;
  const double queries = orr_serving_states_queries(key);
  const OrrServingStates states = {kind->kind, kind->shard.tp, FALSE, shape->n_chunks, queries};
  const gint64 tokens = (gint64)ceil(queries * shape->n_chunks);
  piece = g_new0(Piece, 1);
  orr_inference_prompts(cost->params.world->model, kind->kind, &kind->shard, tokens, tokens,
                        cost->operators);
  sum_states(cost, &states, piece);
  g_hash_table_insert(kind->states, g_memdup2(&key, sizeof key), piece);
  return piece;
}

static const Piece *prompt_piece(OrrServingCost *cost, const Kind *kind,
                                 const OrrStepShape *shape) {
  if (shape->chunk <= 0) return part_piece(cost, kind, kind->prompts, prompts_by_tokens, 0);
  if (kind->states) return state_prompts(cost, kind, shape);
  if (!kind->has_core || kind->module) /* a module's queries have keys of their own each */
    return part_piece(cost, kind, kind->prompts, prompts_by_tokens, (gint64)shape->chunk);
  if (!kind->decode_heads.latent) return part_piece(cost, kind, kind->prompts, prompts_by_keys, 1);
  const gint64 tiles = (gint64)ceil(chunk_keys(shape) / KEYS_A_TILE);
  return part_piece(cost, kind, kind->prompts, prompts_by_keys, tiles);
}

static const Piece *decode_piece(OrrServingCost *cost, const Kind *kind, gint64 tokens) {
  gboolean known;
  Piece *piece = piece_at(kind->decodes, tokens, &known);
  const OrrServingStates states = {kind->kind, kind->shard.tp, TRUE, (double)tokens, 1};
  if (known) return piece;
  if (tokens > 0)
    orr_inference_decodes(cost->params.world->model, kind->kind, &kind->shard, tokens,
                          cost->operators);
  sum_states(cost, kind->states && tokens > 0 ? &states : NULL, piece);
  return piece;
}

typedef void (*EndOperators)(const OrrModel *model, const OrrInferenceShard *shard, gint64 size,
                             GArray *operators);

static const Piece *end_piece(OrrServingCost *cost, GPtrArray *pieces, EndOperators decompose,
                              gint64 size) {
  gboolean known;
  Piece *piece = piece_at(pieces, size, &known);
  if (known) return piece;
  if (size > 0) decompose(cost->params.world->model, &cost->params.shard, size, cost->operators);
  sum_operators(cost, piece);
  return piece;
}

/* --- the attention core --- */

OrrOperator orr_serving_cost_core(const OrrServingCost *cost, const OrrInferenceHeads *heads,
                                  gint64 batch, gint64 queries, gint64 keys) {
  return orr_operator_attention("attention", ORR_PASS_FORWARD, cost->params.shard.activations,
                                (OrrAttentionShape){.batch = batch,
                                                    .q_length = queries,
                                                    .kv_length = keys,
                                                    .heads = heads->heads,
                                                    .kv_heads = heads->kv_heads,
                                                    .head_dim = heads->head_dim,
                                                    .causal = TRUE,
                                                    .value_dim = heads->value_dim,
                                                    .latent = heads->latent});
}

static OrrCost ask_core(const OrrServingCost *cost, const Kind *kind, gint64 batch, gint64 queries,
                        gint64 keys) {
  const OrrOperator op = orr_serving_cost_core(cost, &kind->heads, batch, queries, keys);
  const OrrCostModel *model = cost->params.world->cost;
  return orr_cost_limited(model, &op,
                          orr_cost_serving_attention_over(model, &op, cost->params.shard.kv));
}

/* All chunks as one kernel over chunks of their mean size, scaled by the actual number of
 * query-key pairs. */
static OrrCost prefill_core(const OrrServingCost *cost, const Kind *kind,
                            const OrrStepShape *shape) {
  const double n = shape->n_chunks, queries = shape->chunk / n;
  if (kind->source > 0)
    return ask_core(cost, kind, shape->n_chunks, (gint64)ceil(queries),
                    MAX(kind->source, (gint64)ceil(queries)));
  double history = fmax(0, shape->chunk_key_sum / shape->chunk - queries / 2);
  if (kind->heads.window > 0)
    history = orr_serving_keys_history(kind, cost->params.world->model, history);
  OrrCost answer =
      ask_core(cost, kind, shape->n_chunks, (gint64)ceil(queries), (gint64)ceil(queries + history));
  const double mean_pairs =
      n * (ceil(queries) * floor(history) + ceil(queries) * (ceil(queries) + 1) / 2);
  if (shape->n_chunks > 1 && mean_pairs > 0 && kind->heads.window == 0) {
    const double floor_s = ask_core(cost, kind, 1, 1, 2).time_s; /* the minimum of any core */
    const double ratio = shape->chunk_pairs / mean_pairs;
    answer.time_s = floor_s + fmax(0, answer.time_s - floor_s) * ratio;
  }
  return answer;
}

static Ladder *ladder_of(GPtrArray *ladders, guint decodes) {
  if (decodes >= ladders->len) g_ptr_array_set_size(ladders, (gint)decodes + 1);
  if (!ladders->pdata[decodes]) {
    Ladder *ladder = g_new(Ladder, 1);
    for (guint i = 0; i < LADDER; i++) ladder->core_s[i] = NAN;
    ladders->pdata[decodes] = ladder;
  }
  return ladders->pdata[decodes];
}

/* A kernel that reads no faster than each multiprocessor asks, and reads its keys and values for
 * each query head by itself. */
static OrrCost limit_decode(const OrrServingCost *cost, const Kind *kind, guint decodes,
                            gint64 keys, OrrCost fed) {
  const OrrWorld *world = cost->params.world;
  const gboolean is_chunked = kind->heads.window > 0 && world->model->window.chunked;
  const double per_sm = kind->source > 0 ? cost->params.cross_bytes_per_s
                        : is_chunked     ? cost->params.chunked_bytes_per_s
                                         : 0;
  const double rate = per_sm * (double)world->cluster->device.sms;
  const double bytes = (double)decodes * (double)keys * 2 * (double)kind->heads.heads *
                       (double)kind->heads.head_dim * orr_dtype_bytes(cost->params.shard.kv);
  if (rate <= 0 || bytes / rate <= fed.time_s) return fed;
  return (OrrCost){bytes / rate, ORR_HOW_MODELLED};
}

/* Further queries count as additional heads over the same keys: no row was measured with them. */
static OrrCost ask_decode(const OrrServingCost *cost, const Kind *kind, guint decodes,
                          guint queries, gint64 keys) {
  if (kind->module)
    return orr_serving_modules_decodes(kind->module, decodes, queries, (double)keys);
  OrrOperator op = orr_serving_cost_core(cost, &kind->decode_heads, decodes, 1, keys);
  if (queries == 1)
    return limit_decode(
        cost, kind, decodes, keys,
        orr_cost_serving_attention_over(cost->params.world->cost, &op, cost->params.shard.kv));
  op.attention.heads *= queries;
  const OrrCost answer =
      orr_cost_serving_attention_over(cost->params.world->cost, &op, cost->params.shard.kv);
  return (OrrCost){answer.time_s, ORR_HOW_MODELLED};
}

typedef struct {
  guint decodes, queries; /* queries per decode */
} Decodes;
static double rung(OrrServingCost *cost, Kind *kind, Ladder *ladder, Decodes of, guint i) {
  if (isnan(ladder->core_s[i])) {
    const OrrCost answer =
        ask_decode(cost, kind, of.decodes, of.queries, MAX((gint64)cost->rung_keys[i], 2));
    ladder->core_s[i] = (float)answer.time_s;
    ladder->how[i] = (guint8)answer.how;
  }
  return ladder->core_s[i];
}

static OrrCost decode_core(OrrServingCost *cost, Kind *kind, Decodes of, double keys_mean) {
  Ladder *ladder = ladder_of(kind->ladders[of.queries], of.decodes);
  guint i = MIN((guint)(RUNGS * log2(fmax(keys_mean, 1))), (guint)LADDER - 2);
  while (i > 0 && cost->rung_keys[i] > keys_mean) i--;
  const double low = cost->rung_keys[i], high = cost->rung_keys[i + 1];
  const double below = rung(cost, kind, ladder, of, i);
  const double share = high > low ? (keys_mean - low) / (high - low) : 0;
  if (share <= 0) return (OrrCost){below, ladder->how[i]};
  const double above = rung(cost, kind, ladder, of, i + 1);
  return (OrrCost){below + (above - below) * share, MAX(ladder->how[i], ORR_HOW_INTERPOLATED)};
}

/* Tokens per decode: one plus its draft; if decodes differ, the mean rounded up. */
static guint queries_of(const OrrStepShape *shape) {
  if (shape->decodes == 0) return 1;
  return CLAMP((guint)ceil((shape->tokens - shape->chunk) / shape->decodes), 1, MOST_QUERIES);
}

static OrrJoules core_joules(const OrrServingCost *cost, const Kind *kind,
                             const OrrStepShape *shape, double core_s) {
  if (kind->module) return orr_serving_modules_joules(kind->module, shape, core_s);
  const double mean = orr_serving_keys_mean(kind, cost->params.world->model, shape),
               window = (double)kind->heads.window;
  OrrServingCoreWork work = {shape->chunk_pairs, shape->decodes * mean, shape->tokens};
  if (window > 0) work.pairs = fmin(work.pairs, shape->chunk * window);
  if (kind->source > 0) {
    work.pairs = shape->chunk * mean;
    work.keys += shape->n_chunks * mean;
  } else if (shape->chunk > 0) {
    work.keys += chunk_keys(shape);
  }
  work.pairs += (shape->tokens - shape->chunk) * mean;
  return orr_serving_joules_core(&cost->params, &kind->decode_heads, work, core_s);
}

static double add_core(OrrServingCost *cost, Kind *kind, const OrrStepShape *shape) {
  const double n = (double)kind->n,
               mean = orr_serving_keys_mean(kind, cost->params.world->model, shape);
  const guint queries = queries_of(shape);
  if (kind->batch && kind->heads.window == 0 && queries == 1) {
    const OrrBatchAttention asked = {.chunk = shape->chunk,
                                     .chunk_keys =
                                         shape->chunk > 0 ? shape->chunk_key_sum / shape->chunk : 0,
                                     .decodes = shape->decodes,
                                     .keys_mean = mean,
                                     .keys_least = shape->keys_least,
                                     .keys_most = shape->keys_most};
    const OrrCost whole = orr_cost_batch_attention(cost->params.world->cost, kind->batch, &asked);
    cost->trust[whole.how] += n * whole.time_s;
    return whole.time_s;
  }
  double core_s = 0;
  if (shape->chunk > 0) {
    const OrrCost prefill = kind->module ? orr_serving_modules_prompts(kind->module, shape)
                                         : prefill_core(cost, kind, shape);
    cost->trust[prefill.how] += n * prefill.time_s;
    core_s += prefill.time_s;
  }
  if (shape->decodes > 0) {
    const OrrCost decode = decode_core(cost, kind, (Decodes){shape->decodes, queries}, mean);
    cost->trust[decode.how] += n * decode.time_s;
    core_s += decode.time_s;
  }
  return core_s;
}

gboolean orr_serving_cost_pads(const OrrServingCost *cost, const OrrStepShape *shape) {
  return cost->params.pads && orr_serving_graph_holds(&cost->params, shape);
}
gint64 orr_serving_cost_padded(const OrrServingCost *cost, const OrrStepShape *shape) {
  return orr_serving_graph_tokens(&cost->params, shape);
}

/* The time that shared experts add to the @routed ones. In graphs of few tokens the two overlap
 * (TensorRT-LLM, maybe_execute_in_parallel; SGLang, alt_stream, up to 1,024 tokens; vLLM, up to
 * 256: VLLM_SHARED_EXPERTS_STREAM_TOKEN_THRESHOLD): they take as long as the longer one, and at
 * least the memory time of both. The exchange of routed tokens overlaps too. */
static double shared_seconds(const OrrServingCost *cost, const Piece *routed, const Piece *shared,
                             const OrrStepShape *shape) {
  const gboolean is_few = orr_serving_graph_holds(&cost->params, shape) &&
                          orr_serving_cost_padded(cost, shape) <= MOST_BESIDE;
  if (!is_few || routed->total_s <= 0 || shared->total_s <= 0) return shared->total_s;
  const double memory_s =
      (routed->bytes + shared->bytes) / cost->params.world->cluster->device.memory_bytes_per_s;
  return fmax(fmax(shared->total_s, memory_s) - routed->total_s, 0);
}

static void add_trust(OrrServingCost *cost, const Piece *piece, double n) {
  for (int how = 0; how < N_HOWS; how++) cost->trust[how] += n * piece->by_how[how];
}

static void add_ends(OrrServingCost *cost, gint64 padded, const OrrStepShape *shape,
                     OrrStepTime *time, guint *kernels) {
  if (cost->params.shard.part == ORR_PART_FEED) return;
  const Piece *const ends[] = {
      end_piece(cost, cost->embedding, orr_inference_embedding, padded),
      end_piece(cost, cost->final_norm, orr_inference_final_norm, padded),
      end_piece(cost, cost->head, orr_inference_head, shape->logits),
      end_piece(cost, cost->candidates, orr_inference_candidates, shape->candidates),
  };
  double last_s = 0; /* time of the last stage, the busiest */
  for (guint i = 0; i < G_N_ELEMENTS(ends); i++) {
    if (ends[i]->kernels == 0) continue;
    time->gpu_s += ends[i]->total_s;
    time->comm_s += ends[i]->comm_s;
    orr_joules_add(&time->joules, ends[i]->joules, 1);
    if (i > 0) last_s += ends[i]->total_s;
    *kernels += ends[i]->kernels;
    add_trust(cost, ends[i], 1);
  }
  time->stage_s += cost->params.pp > 1 ? last_s : last_s + ends[0]->total_s;
}

static void add_sends(OrrServingCost *cost, gint64 padded, OrrStepTime *time) {
  const OrrServingCostParams *params = &cost->params;
  if (params->pp == 1) return;
  const Piece *gather =
      end_piece(cost, cost->gather, orr_serving_stages_gather, params->stage_slices ? padded : 0);
  cost->trust[ORR_HOW_MODELLED] +=
      orr_serving_stages_add(&cost->stages, params, padded, gather->total_s, time);
  const double n = (double)((params->pp - 1) * params->stage_tensors);
  orr_joules_add(&time->joules, gather->joules, n);
  add_trust(cost, gather, n);
}

/* Not cached: both numbers change from step to step. */
static void add_adapters(OrrServingCost *cost, gint64 padded, guint adapters, OrrStepTime *time,
                         guint *kernels) {
  if (adapters == 0 || cost->params.lora.rank == 0) return;
  for (guint k = 0; k < cost->n_kinds; k++) {
    const Kind *kind = &cost->kinds[k];
    Piece piece;
    if (kind->n == 0) continue;
    orr_inference_adapters(cost->params.world->model, kind->kind, &cost->params.shard,
                           &cost->params.lora, padded, adapters, cost->operators);
    sum_operators(cost, &piece);
    time->gpu_s += (double)kind->n * piece.total_s;
    time->stage_s += (double)kind->n_of_largest_stage * piece.total_s;
    orr_joules_add(&time->joules, piece.joules, (double)kind->n);
    *kernels += (guint)kind->n * piece.kernels;
    add_trust(cost, &piece, (double)kind->n);
  }
}

static void add_images(OrrServingCost *cost, guint images, OrrStepTime *time) {
  if (images == 0) return;
  const Piece *encoded = end_piece(cost, cost->encoder, orr_inference_encoder, images);
  time->gpu_s += encoded->total_s;
  time->stage_s += encoded->total_s;
  orr_joules_add(&time->joules, encoded->joules, 1);
  add_trust(cost, encoded, 1);
}

/* Adds the layers of one kind in a step of @padded tokens, and of @group tokens of all ranks of
 * attention data parallelism. */
static void add_kind(OrrServingCost *cost, Kind *kind, const OrrStepShape *shape, gint64 padded,
                     gint64 group, OrrStepTime *time, guint *kernels) {
  const gint64 decoded = (gint64)(shape->tokens - shape->chunk);
  const Piece *const routed = part_piece(cost, kind, kind->experts, orr_inference_experts, group);
  const Piece *const shared =
      part_piece(cost, kind, kind->shared, orr_inference_shared_experts, padded);
  const Piece *const pieces[] = {
      layer_piece(cost, kind, padded),
      routed,
      prompt_piece(cost, kind, shape),
      decode_piece(cost, kind, decoded),
      part_piece(cost, kind, kind->crosses, orr_inference_cross,
                 kind->source > 0 ? shape->images : 0),
  };
  const double core_s = kind->has_core ? add_core(cost, kind, shape) : 0, n = (double)kind->n;
  const double shared_s = shared_seconds(cost, routed, shared, shape);
  double layer_s = core_s + shared_s;
  *kernels += (guint)kind->n * shared->kernels;
  add_trust(cost, shared, n);
  orr_joules_add(&time->joules, shared->joules, n);
  if (kind->has_core) orr_joules_add(&time->joules, core_joules(cost, kind, shape, core_s), n);
  for (guint i = 0; i < G_N_ELEMENTS(pieces); i++) {
    if (pieces[i]->kernels == 0) continue; /* no operators: adds nothing */
    layer_s += pieces[i]->total_s;
    time->comm_s += n * pieces[i]->comm_s;
    *kernels += (guint)kind->n * pieces[i]->kernels;
    add_trust(cost, pieces[i], n);
    orr_joules_add(&time->joules, pieces[i]->joules, n);
  }
  kind->layer_s = layer_s;
  kind->stage = (OrrPoolStage){.attention_s = layer_s - routed->total_s - shared_s,
                               .out_s = routed->comm_s - routed->combine_s,
                               .feed_s = routed->total_s - routed->comm_s + shared->total_s,
                               .back_s = routed->combine_s};
  time->gpu_s += n * layer_s;
  time->attention_s += n * core_s;
  cost->parts.experts_s += n * (routed->total_s + shared_s);
  time->stage_s += (double)kind->n_of_largest_stage * layer_s;
}

OrrStepTime orr_serving_cost_whole(OrrServingCost *cost, const OrrStepShape *shape) {
  OrrStepTime time = {0};
  const gint64 padded = orr_serving_cost_padded(cost, shape);
  const gint64 group =
      cost->params.shard.dp > 1 && shape->group_tokens > 0 ? (gint64)shape->group_tokens : padded;
  guint kernels = 0;
  for (guint k = 0; k < cost->n_kinds; k++)
    if (cost->kinds[k].n > 0) /* others belong to an encoder */
      add_kind(cost, &cost->kinds[k], shape, padded, group, &time, &kernels);
  add_ends(cost, padded, shape, &time, &kernels);
  add_adapters(cost, padded, shape->adapters, &time, &kernels);
  add_images(cost, shape->images, &time);
  cost->kernels_s = time.gpu_s;
  const gboolean launches = cost->params.is_eager && !orr_serving_graph_holds(&cost->params, shape);
  cost->launches_s = launches ? orr_serving_graph_launches_s(cost, kernels) : 0;
  time.stage_s = fmax(time.stage_s, cost->launches_s / (double)cost->params.pp);
  time.gpu_s = fmax(time.gpu_s, cost->launches_s);
  orr_serving_joules_stretch(&cost->params, &time);
  add_sends(cost, padded, &time);
  cost->parts.gpu_s += time.gpu_s;
  cost->parts.attention_s += time.attention_s;
  return time;
}

double orr_serving_cost_images(OrrServingCost *cost, gint64 images) {
  const Piece *encoded = end_piece(cost, cost->encoder, orr_inference_encoder, images);
  add_trust(cost, encoded, 1);
  return encoded->total_s;
}
