/*
 * table_placement.c - which GPU has which tables.
 *
 * Whole tables go one by one, the hottest first, to the GPU with the least work so far: its lookups
 * plus what sending its vectors takes. Balanced: the same for several plans; each next plan splits
 * the rows of the hottest shard in two; the plan whose busiest GPU has least work is taken (as
 * HugeCTR's planner in MLPerf, and TorchRec's). The busiest GPU has the lookups and
 * vectors that count; `bytes` is the most that a GPU holds.
 *
 * n lookups of a table of R rows, drawn uniformly, touch R (1 - (1 - 1/R)^n) of them.
 */
#include "workloads/steps/recommendation.h"

typedef struct {
  const OrrEmbeddingTable *table;
  gint64 parts;
} Sharded;

typedef struct {
  double lookups, vectors, bytes, unique, work;
} Load;

static double row_bytes(const OrrRecommendation *params) {
  return (double)params->recommender.width * orr_dtype_bytes((OrrDtype)params->stored);
}

static double touched(const OrrEmbeddingTable *table, double batch) {
  const double rows = (double)table->rows, n = batch * (double)table->hot;
  return rows * -expm1(n * log1p(-1 / fmax(rows, 1 + 1e-9)));
}

static gboolean is_replicated(const OrrRecommendation *params, const OrrEmbeddingTable *table) {
  return (double)table->rows * row_bytes(params) < params->replicate_bytes;
}

double orr_table_placement_shared_bytes(const OrrRecommendation *params) {
  const GPtrArray *tables = params->recommender.tables;
  double bytes = 0;
  for (guint t = 0; tables && t < tables->len; t++)
    if (!is_replicated(params, tables->pdata[t]))
      bytes += (double)((const OrrEmbeddingTable *)tables->pdata[t])->rows * row_bytes(params);
  return bytes;
}

static Load shard_of(const OrrRecommendation *params, const Sharded *sharded, double vector_cost) {
  const OrrEmbeddingTable *table = sharded->table;
  const double parts = (double)sharded->parts, lookups = (double)table->hot / parts;
  const double vectors = table->pooled ? 1 : lookups;
  return (Load){.lookups = lookups,
                .vectors = vectors,
                .bytes = (double)table->rows / parts * row_bytes(params),
                .unique = touched(table, (double)params->batch) / parts,
                .work = lookups + vectors * vector_cost};
}

static void add(Load *to, const Load *one) {
  to->lookups += one->lookups;
  to->vectors += one->vectors;
  to->bytes += one->bytes;
  to->unique += one->unique;
  to->work += one->work;
}

static double heat(const Sharded *sharded) {
  return (double)sharded->table->hot / (double)sharded->parts;
}

static int by_heat(gconstpointer a, gconstpointer b) {
  const double difference = heat(b) - heat(a);
  return difference > 0 ? 1 : difference < 0 ? -1 : 0;
}

/* The GPU with the most work when the shards are dealt out, and in `bytes` the most that a GPU
 * holds, which may be another one. Shards of one table go to different GPUs. */
static Load deal(const OrrRecommendation *params, GArray *tables, gint64 n, double vector_cost) {
  g_autofree Load *loads = g_new0(Load, n);
  g_autofree guint *has = g_new0(guint, n); /* the last table + 1 */
  Load busiest = {0};
  double most_bytes = 0;
  g_array_sort(tables, by_heat);
  ORR_EACH_AT(t, const Sharded, sharded, tables) {
    const Load shard = shard_of(params, sharded, vector_cost);
    for (gint64 part = 0; part < sharded->parts; part++) {
      gint64 least = -1;
      for (gint64 gpu = 0; gpu < n; gpu++)
        if (has[gpu] != t + 1 && (least < 0 || loads[gpu].work < loads[least].work)) least = gpu;
      add(&loads[least], &shard);
      has[least] = t + 1;
    }
  }
  for (gint64 gpu = 0; gpu < n; gpu++) {
    most_bytes = fmax(most_bytes, loads[gpu].bytes);
    if (loads[gpu].work > busiest.work) busiest = loads[gpu];
  }
  busiest.bytes = most_bytes;
  return busiest;
}

/* Splits the hottest shard that more GPUs can share; FALSE: there is none. */
static gboolean split(GArray *tables, gint64 n) {
  ORR_EACH(Sharded, one, tables) { /* sorted by deal */
    Sharded *sharded = one;
    if (sharded->parts * 2 > n) continue;
    sharded->parts *= 2;
    return TRUE;
  }
  return FALSE;
}

enum { MOST_PLANS = 20 };

static Load balance(const OrrRecommendation *params, GArray *tables, gint64 n, double vector_cost) {
  Load best = deal(params, tables, n, vector_cost);
  for (guint plan = 1; plan < MOST_PLANS && split(tables, n); plan++) {
    const Load load = deal(params, tables, n, vector_cost);
    if (load.work < best.work) best = load;
  }
  return best;
}

/* Every GPU has a part of every table. */
static Load spread(const OrrRecommendation *params, const GArray *tables, gint64 n) {
  const gboolean unsummed = params->sharding == ORR_TABLES_LOOKUPS;
  Load all = {0};
  double apart = 0; /* vectors that are not pooled */
  ORR_EACH(const Sharded, sharded, tables) {
    const Load one = shard_of(params, sharded, 0);
    add(&all, &one);
    if (!sharded->table->pooled) apart += one.vectors;
  }
  if (params->sharding != ORR_TABLES_COLUMNS) {
    /* a partial sum of each pooled table, but its own rows of the others; unsummed: of all */
    all.lookups /= (double)n;
    all.unique /= (double)n;
    all.vectors = unsummed ? all.lookups : all.vectors - apart * (1 - 1 / (double)n);
  }
  all.bytes /= (double)n;
  return all;
}

OrrTablePlacement orr_table_placement(const OrrRecommendation *params, gint64 n,
                                      double vector_cost) {
  const GPtrArray *tables = params->recommender.tables;
  g_autoptr(GArray) shared = g_array_new(FALSE, TRUE, sizeof(Sharded));
  OrrTablePlacement placement = {.share =
                                     params->sharding == ORR_TABLES_COLUMNS ? 1 / (double)n : 1};
  ORR_EACH_POINTER(const OrrEmbeddingTable, table, tables) {
    const Sharded sharded = {table, 1};
    if (!is_replicated(params, table)) {
      g_array_append_val(shared, sharded);
      continue;
    }
    placement.own_lookups += (double)table->hot;
    placement.own_bytes += (double)table->rows * row_bytes(params);
    placement.own_elements += (double)table->rows * (double)params->recommender.width;
  }
  const Load load = params->sharding == ORR_TABLES_BALANCED
                        ? balance(params, shared, n, vector_cost)
                    : params->sharding == ORR_TABLES_WHOLE ? deal(params, shared, n, vector_cost)
                                                           : spread(params, shared, n);
  placement.lookups = load.lookups;
  placement.vectors = load.vectors;
  placement.bytes = load.bytes;
  placement.unique = load.unique;
  return placement;
}
