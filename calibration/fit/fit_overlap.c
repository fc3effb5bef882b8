/*
 * fit_overlap.c - computes how much products, all-reduces and copies slow each other down: ratios
 * of rows of interference.csv, which are of the same kernels in one session.
 *
 *   factor of A by B = mean of t(A during B) / t(the same A alone)
 *
 * The mean is over the products and sizes of the plan (family_interference.c), all large enough to
 * fill the device. Copies to and from the host count as one kind, copies within the device as
 * another: they show what a product loses to a stream through memory. Rows in which NCCL was held
 * to a number of thread blocks are averaged by that number.
 */
#include "calibration/fit/fit.h"
#include "calibration/fit/measured_private.h"

enum { BYTES, BLOCKS, M, N, K, N_NUMBERS };
static const char *const number_names[] = {"bytes", "blocks", "m", "n", "k"};

static const struct {
  const char *word;
  OrrFitKind kind;
} works[] = {{"gemm", ORR_FIT_COMPUTE},
             {"host-to-device", ORR_FIT_COPY},
             {"device-to-host", ORR_FIT_COPY},
             {"device", ORR_FIT_MEMORY},
             {"all-reduce", ORR_FIT_COMM}};

typedef struct {
  int watched, companion; /* of `works`; -1: nothing */
  double at[N_NUMBERS], us;
  OrrPlace place;
} Row;

static gboolean read_number(const OrrCsv *csv, const OrrCsvLine *line, int column, OrrDiags *diags,
                            double *ret_value) {
  if (!orr_csv_number(csv, line, column, diags, ret_value)) return FALSE;
  if (*ret_value >= 0) return TRUE;
  orr_diags_error(diags, line->place, "%s is %s: want 0 or more", csv->header[column],
                  line->cells[column]);
  return FALSE;
}

static gboolean read_work(const OrrCsv *csv, const OrrCsvLine *line, int column, OrrDiags *diags,
                          int *ret_work) {
  const char *word = line->cells[column];
  for (guint i = 0; i < G_N_ELEMENTS(works); i++) {
    *ret_work = (int)i;
    if (strcmp(word, works[i].word) == 0) return TRUE;
  }
  orr_diags_error(diags, line->place,
                  "%s is %s: want gemm, host-to-device, device-to-host, device or all-reduce",
                  csv->header[column], word);
  return FALSE;
}

static gboolean read_companion(const OrrCsv *csv, const OrrCsvLine *line, int column,
                               OrrDiags *diags, int *ret_work) {
  *ret_work = -1;
  return strcmp(line->cells[column], "nothing") == 0 ||
         read_work(csv, line, column, diags, ret_work);
}

static void read_rows(const OrrCsv *csv, GArray *rows, OrrDiags *diags) {
  int numbers[N_NUMBERS], watched = orr_measured_column(csv, "watched", diags),
                          companion = orr_measured_column(csv, "companion", diags),
                          latency = orr_measured_column(csv, "latency_us", diags);
  gboolean complete = watched >= 0 && companion >= 0 && latency >= 0;
  for (int i = 0; i < N_NUMBERS; i++)
    complete &= (numbers[i] = orr_measured_column(csv, number_names[i], diags)) >= 0;
  for (guint i = 0; complete && i < csv->lines->len; i++) {
    const OrrCsvLine *line = csv->lines->pdata[i];
    if (!line->cells) continue;
    Row row = {.place = line->place};
    gboolean good = read_work(csv, line, watched, diags, &row.watched);
    good &= read_companion(csv, line, companion, diags, &row.companion);
    good &= orr_measured_latency(csv, line, latency, diags, &row.us);
    for (int k = 0; k < N_NUMBERS; k++)
      good &= read_number(csv, line, numbers[k], diags, &row.at[k]);
    if (good) g_array_append_val(rows, row);
  }
}

static gboolean same(const Row *a, const Row *b) {
  return a->watched == b->watched && a->companion == b->companion &&
         memcmp(a->at, b->at, sizeof a->at) == 0;
}

/* The row of the same kernel with nothing concurrent, NCCL held to @blocks; NULL: there is none. */
static const Row *alone_of(const GArray *rows, const Row *row, double blocks) {
  const gboolean is_product = works[row->watched].kind == ORR_FIT_COMPUTE,
                 is_comm = works[row->watched].kind == ORR_FIT_COMM;
  ORR_EACH(const Row, other, rows) {
    if (other->companion >= 0 || other->watched != row->watched) continue;
    if (is_product
            ? memcmp(other->at + M, row->at + M, 3 * sizeof(double)) == 0
            : other->at[BYTES] == row->at[BYTES] && (!is_comm || other->at[BLOCKS] == blocks))
      return other;
  }
  return NULL;
}

/* The mean is a sum until the end. */
static void add(OrrFitRatio *ratio, const Row *row, const Row *alone) {
  if (!alone) return;
  ratio->mean += row->us / alone->us;
  ratio->n++;
}

static OrrFitLimited *limited_of(OrrFitOverlap *overlap, double blocks) {
  for (guint i = 0; i < overlap->n_limited; i++)
    if (overlap->limited[i].blocks == blocks) return &overlap->limited[i];
  if (overlap->n_limited == ORR_FIT_MOST_LIMITED) return NULL;
  overlap->limited[overlap->n_limited].blocks = blocks;
  return &overlap->limited[overlap->n_limited++];
}

/* Adds the row's ratio to its sum; nothing where its kernel was not measured alone. */
static void see(const GArray *rows, const Row *row, OrrFitOverlap *overlap) {
  const OrrFitKind kind = works[row->watched].kind;
  const double blocks = row->at[BLOCKS];
  OrrFitLimited *limited = blocks > 0 ? limited_of(overlap, blocks) : NULL;
  if (row->companion < 0) {
    if (limited) add(&limited->alone, row, alone_of(rows, row, 0));
    return;
  }
  const Row *alone = alone_of(rows, row, blocks);
  if (limited)
    add(kind == ORR_FIT_COMM ? &limited->comm : &limited->compute, row, alone);
  else if (!(blocks > 0))
    add(&overlap->by[kind][works[row->companion].kind], row, alone);
}

static void divide(OrrFitRatio *ratio) { ratio->mean = ratio->n ? ratio->mean / ratio->n : 1; }

static void finish(OrrFitOverlap *overlap) {
  for (int a = 0; a < ORR_FIT_N_KINDS; a++)
    for (int b = 0; b < ORR_FIT_N_KINDS; b++) divide(&overlap->by[a][b]);
  for (guint i = 0; i < overlap->n_limited; i++) {
    divide(&overlap->limited[i].compute);
    divide(&overlap->limited[i].comm);
    divide(&overlap->limited[i].alone);
  }
}

gboolean orr_fit_overlap(const char *folder, OrrFitOverlap *ret_overlap, GError **error) {
  OrrFitOverlap sums = {0};
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *path = g_build_filename(folder, "interference.csv", NULL);
  const gboolean is_there = g_file_test(path, G_FILE_TEST_EXISTS);
  g_autoptr(OrrCsv) csv = is_there ? orr_csv_read(path, diags, error) : NULL;
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(Row));
  if (is_there && !csv) return FALSE;
  if (csv) read_rows(csv, rows, diags);
  ORR_EACH_AT(i, const Row, row, rows) {
    for (guint j = 0; j < i; j++)
      if (same(row, &g_array_index(rows, Row, j)))
        orr_diags_error(diags, row->place, "the same row as line %d",
                        g_array_index(rows, Row, j).place.line);
    see(rows, row, &sums);
  }
  if (!orr_diags_check(diags, error)) return FALSE;
  finish(&sums);
  *ret_overlap = sums;
  return TRUE;
}
