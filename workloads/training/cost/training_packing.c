/*
 * training_packing - sequences packed with documents: how much attention each micro-batch of each
 * replica has.
 *
 *   sequence   | document 1 |  2  |     document 3     | padding |
 *              the next document begins the next sequence
 *   mask       block-diagonal: a token attends to the earlier tokens of its own document
 *              (variable-length kernels)
 *
 * Lengths are drawn from workload.packing.documents, from one stream of random numbers per replica,
 * seeded by the scenario's seed. Whole documents fill a sequence one after the other while they
 * fit; longer ones are cut to the sequence. With `cut`, a document that does not fit continues in
 * the next sequence, and there is no padding. Attention over documents of L_j tokens takes
 *
 *   sum_j t(L_j)      t(L): the time per document of a kernel over equal documents of L tokens that
 *                     fill a micro-batch
 *
 * so that sum L_j^2 pairs replace s^2, at the kernel's rate for such lengths. t is interpolated
 * linearly in the logarithms between powers of two. All other operators process all tokens,
 * padding included. A micro-batch's work lists the mean attention time in its kinds of time; the
 * difference from the mean is lateness, which cancels over a step.
 *
 * Documents may have `images`, drawn from a stream of their own and no more than their tokens hold.
 * A micro-batch with k images of its own takes k / (encoder.images micro-batch) of the encoder's
 * time, which is costed for encoder.images in each sequence; the encoder's attention stays inside
 * an image.
 *
 * Replicas wait for the one with the longest documents wherever they meet, and stages for the
 * micro-batch with the longest. packing.balance deals a step's sequences to replicas, and each
 * replica's to its micro-batches, by sum L_j^2, which a framework can know
 * (workloads/training/balances). Not modelled: context-parallel ranks with unequal work.
 *
 *   packing: {documents: {kind: lognormal, tokens: 1200, sigma: 1}, balance: karmarkar-karp}
 */
#include "sim/base/random.h"
#include "workloads/training/cost/training_costs.h"
#include "workloads/training/cost/training_packing.h"

const OrrFieldTable orr_training_packing_table = ORR_FIELDS(
    "packing", "Documents that share a sequence; none attends to another.", OrrPacking,
    ORR_FIELD_SECTION(
        OrrPacking, "documents", documents, &orr_lengths_table, "{}",
        "How long documents are; with a mean of 0 tokens, each sequence is one document."),
    ORR_FIELD_SECTION(OrrPacking, "images", images, &orr_lengths_table, "{}",
                      "Images of a document, as lengths are given; with a mean of 0, each sequence "
                      "has the encoder's `images`."),
    ORR_FIELD_BOOL(
        OrrPacking, "cut", cut, "false",
        "Cut documents where a sequence ends (pre-training); false: keep them whole, and "
        "pad the rest of the sequence."),
    ORR_FIELD_CHOICE(OrrPacking, "balance", balance, &orr_balance_registry, "in-order",
                     "How a step's sequences are dealt to replicas and micro-batches."));

gboolean orr_training_packing_is_on(const OrrPacking *packing) {
  return orr_lengths_mean(&packing->documents) > 0;
}

/* --- the cost of one document --- */

enum { N_LENGTHS = 32 };

/* Seconds per document, by length: powers of two up to the sequence. */
typedef struct {
  double length[N_LENGTHS], seconds[N_LENGTHS];
  guint n;
} Ladder;

/* Finds an attention operator. Layers differ only in their heads, so any layer's will do. */
static gboolean find_attention(const OrrJob *job, OrrOperator *ret_op) {
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  for (guint kind = 0; kind < orr_model_n_layer_kinds(job->world->model); kind++)
    orr_transformer_layer_forward(job->world->model, kind, &job->shard, operators);
  for (guint i = 0; i < operators->len; i++) {
    *ret_op = g_array_index(operators, OrrOperator, i);
    if (ret_op->kind == ORR_OPERATOR_ATTENTION) return TRUE;
  }
  return FALSE;
}

static double document_seconds(const OrrJob *job, const OrrOperator *like, gint64 length) {
  const gint64 batch = MAX(1, job->shard.micro_batch * job->shard.sequence / length);
  OrrAttentionShape shape = like->attention;
  shape.batch = batch;
  shape.q_length = shape.kv_length = length;
  shape.causal = TRUE;
  OrrOperator op = orr_operator_attention(like->name, like->pass, like->dtype, shape);
  op.kernels = job->shard.kernels;
  return orr_training_operator_cost(job, &op).time_s / (double)batch;
}

static void fill_ladder(const OrrJob *job, const OrrOperator *like, Ladder *ladder) {
  for (gint64 length = 64; ladder->n + 1 < N_LENGTHS; length *= 2) {
    const gint64 at = MIN(length, job->shard.sequence);
    ladder->length[ladder->n] = (double)at;
    ladder->seconds[ladder->n++] = document_seconds(job, like, at);
    if (at == job->shard.sequence) return;
  }
}

static double seconds_of(const Ladder *ladder, double length) {
  if (length <= ladder->length[0]) return ladder->seconds[0] * length / ladder->length[0];
  guint i = 1;
  while (i + 1 < ladder->n && ladder->length[i] < length) i++;
  const double x =
      log(length / ladder->length[i - 1]) / log(ladder->length[i] / ladder->length[i - 1]);
  return ladder->seconds[i - 1] * pow(ladder->seconds[i] / ladder->seconds[i - 1], x);
}

/* --- packing --- */

typedef struct {
  OrrRandom random, image_random;
  gint64 left;   /* tokens of the current document that are not packed yet */
  gint64 images; /* of the current document, where none of it is packed yet */
} Source;

/* A step's packed sequences, replica by replica. */
typedef struct {
  gsize n;
  double *seconds, *pairs; /* by sequence: attention time; sum of its documents' L_j^2 */
  double *images;
} Sequences;

static gboolean has_images(const OrrJob *job) {
  return orr_lengths_mean(&job->params->packing.images) > 0;
}

/* Of a document of @tokens, whose images are some of them. */
static gint64 draw_images(const OrrJob *job, Source *source, gint64 tokens) {
  const double each = fmax(orr_encoder_decoder_tokens(job->world->model), 1);
  if (!has_images(job)) return 0;
  return MIN(orr_lengths_draw(&job->params->packing.images, &source->image_random),
             (gint64)((double)tokens / each));
}

static void pack(const OrrJob *job, const Ladder *ladder, Source *source, gsize at,
                 Sequences *sequences, OrrPackedLoads *loads) {
  const OrrPacking *packing = &job->params->packing;
  gint64 room = job->shard.sequence;
  sequences->seconds[at] = sequences->pairs[at] = sequences->images[at] = 0;
  while (room > 0) {
    if (source->left == 0) {
      const gint64 drawn = MAX(1, orr_lengths_draw(&packing->documents, &source->random));
      source->images = draw_images(job, source, drawn);
      source->left = packing->cut ? drawn : MIN(drawn, job->shard.sequence);
      loads->left_out += (double)(drawn - source->left);
    }
    if (!packing->cut && source->left > room) break;
    const gint64 length = MIN(source->left, room);
    sequences->seconds[at] += seconds_of(ladder, (double)length);
    sequences->pairs[at] += (double)length * (double)length;
    sequences->images[at] += (double)source->images;
    source->images = 0;
    room -= length;
    source->left -= length;
  }
  loads->pairs += sequences->pairs[at];
  loads->padding += (double)room;
}

/* --- dealing --- */

/* The @n_each of @n @items that are dealt to @group; newly allocated. */
static gsize *members(const gsize *items, const guint32 *groups, gsize n, guint32 group,
                      gsize n_each) {
  gsize *found = g_new(gsize, n_each), at = 0;
  for (gsize i = 0; i < n; i++)
    if (groups[i] == group) found[at++] = items[i];
  return found;
}

/* The group, of @k, that each of @items is dealt to; newly allocated. */
static guint32 *deal(const OrrJob *job, const Sequences *sequences, const gsize *items, gsize n,
                     gint64 k) {
  const OrrBalanceKind *balance = (const OrrBalanceKind *)job->params->packing.balance.entry;
  g_autofree double *weights = g_new(double, n);
  guint32 *groups = g_new(guint32, n);
  for (gsize i = 0; i < n; i++) weights[i] = sequences->pairs[items[i]];
  balance->deal(weights, n, (gsize)k, groups);
  return groups;
}

/* Adds up the step's seconds and images by micro-batch of each replica: @ret_seconds[replica * m +
 * micro-batch]. */
static void deal_step(const OrrJob *job, const Sequences *sequences, double *ret_seconds,
                      double *ret_images) {
  const gint64 m = job->shape.micro_batches;
  const gsize each = sequences->n / (gsize)job->dp;
  g_autofree gsize *all = g_new(gsize, sequences->n);
  for (gsize i = 0; i < sequences->n; i++) all[i] = i;
  g_autofree guint32 *replicas = deal(job, sequences, all, sequences->n, job->dp);
  for (gint64 replica = 0; replica < job->dp; replica++) {
    g_autofree gsize *own = members(all, replicas, sequences->n, (guint32)replica, each);
    g_autofree guint32 *micro_batches = deal(job, sequences, own, each, m);
    for (gsize i = 0; i < each; i++) {
      ret_seconds[replica * m + micro_batches[i]] += sequences->seconds[own[i]];
      ret_images[replica * m + micro_batches[i]] += sequences->images[own[i]];
    }
  }
}

static Source *sources_new(const OrrJob *job) {
  Source *sources = g_new0(Source, job->dp);
  for (gint64 replica = 0; replica < job->dp; replica++) {
    g_autofree char *name = g_strdup_printf("packing-replica-%d", (int)replica);
    g_autofree char *images = g_strconcat(name, "-images", NULL);
    sources[replica].random = orr_random_stream(job->world->seed, name);
    sources[replica].image_random = orr_random_stream(job->world->seed, images);
  }
  return sources;
}

static void pack_steps(const OrrJob *job, const Ladder *ladder, OrrPackedLoads *loads) {
  const gint64 m = job->shape.micro_batches, each = m * job->shard.micro_batch;
  const gsize n = (gsize)(each * job->dp);
  g_autofree double *seconds = g_new(double, n), *pairs = g_new(double, n),
                    *images = g_new(double, n);
  g_autofree Source *sources = sources_new(job);
  Sequences sequences = {n, seconds, pairs, images};
  for (gint64 step = 0; step < job->params->steps; step++) {
    for (gsize i = 0; i < n; i++)
      pack(job, ladder, &sources[i / (gsize)each], i, &sequences, loads);
    deal_step(job, &sequences, &loads->ratio[step * job->dp * m],
              &loads->images[step * job->dp * m]);
  }
}

OrrPackedLoads *orr_packed_loads_new(const OrrJob *job) {
  OrrOperator like;
  Ladder ladder = {.n = 0};
  if (!orr_training_packing_is_on(&job->params->packing) || !find_attention(job, &like))
    return NULL;
  OrrPackedLoads *loads = g_new0(OrrPackedLoads, 1);
  const gint64 n = job->params->steps * job->dp * job->shape.micro_batches;
  fill_ladder(job, &like, &ladder);
  loads->ratio = g_new0(double, n);
  loads->images = g_new0(double, n);
  pack_steps(job, &ladder, loads);
  double sum = 0;
  for (gint64 i = 0; i < n; i++) sum += loads->ratio[i];
  const double sequences = (double)(n * job->shard.micro_batch), s = (double)job->shard.sequence;
  for (gint64 i = 0; i < n; i++) loads->ratio[i] /= sum / (double)n;
  for (gint64 i = 0; i < n; i++)
    loads->images[i] /=
        fmax((double)(job->world->model->encoder.images * job->shard.micro_batch), 1);
  if (!has_images(job)) g_clear_pointer(&loads->images, g_free);
  loads->mean = sum / sequences / seconds_of(&ladder, s);
  loads->pairs /= sequences * s * s;
  loads->left_out /= loads->left_out + sequences * s - loads->padding;
  loads->padding /= sequences * s;
  return loads;
}

static gint64 place_of(const OrrJob *job, const OrrPackedWork *work) {
  return (work->step * job->dp + work->replica) * job->shape.micro_batches + work->micro_batch;
}

double orr_packed_loads_late_s(const OrrPackedLoads *loads, const OrrJob *job,
                               const OrrPackedWork *work) {
  if (!loads || work->micro_batch < 0) return 0;
  return work->attention_s * (loads->ratio[place_of(job, work)] - 1);
}

double orr_packed_loads_images(const OrrPackedLoads *loads, const OrrJob *job,
                               const OrrPackedWork *work) {
  return loads && loads->images && work->micro_batch >= 0 ? loads->images[place_of(job, work)] : 1;
}

void orr_packed_loads_free(OrrPackedLoads *loads) {
  if (loads) ORR_FREE(loads->ratio, loads->images);
  g_free(loads);
}

/* --- rules --- */

void orr_training_packing_check(const OrrTraining *params, const OrrModel *model, OrrPlace place,
                                OrrDiags *diags) {
  const OrrLengths *documents = &params->packing.documents;
  if (documents->kind != 0 || documents->tokens > 0) /* the document gives lengths */
    orr_lengths_check(documents, G_MAXINT32, "packing.documents", place, diags);
  if (orr_lengths_mean(&params->packing.images) > 0) {
    orr_lengths_check(&params->packing.images, G_MAXINT32, "packing.images", place, diags);
    if (model->encoder.layers == 0 || !orr_training_packing_is_on(&params->packing))
      orr_diags_error(diags, place,
                      "packing.images needs a model with an encoder, and packing.documents");
  }
  if (!orr_training_packing_is_on(&params->packing)) return;
  if (params->attention == ORR_ATTENTION_UNFUSED)
    orr_diags_error(
        diags, place,
        "packing: attention unfused has no block-diagonal mask, and computes all pairs: "
        "use fused or flash-2");
  if (model->window.size > 0)
    orr_diags_error(diags, place,
                    "packing: model %s has windows of %ld tokens, and packed documents are not "
                    "modelled with windows: leave out "
                    "packing",
                    model->name, model->window.size);
}
