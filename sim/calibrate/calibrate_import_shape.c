/*
 * calibrate_import_shape.c - shapes from the texts of NVTX ranges and the names of kernels.
 *
 * Names of cuBLAS's kernels hold format and layout. Its letters are of column-major operands, so TN
 * is a forward product, NN dgrad and NT wgrad (calibration/measure/cuda/cuda_gemm.c):
 *
 *   sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_...      bf16, forward
 *   ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn          fp16, dgrad
 *   nvjet_tst_192x192_64x4_1x2_h_bz_coopB_NTN            t: bf16, h: fp16, q: e4m3; wgrad
 */
#include "calibration/measure/family.h"
#include "sim/calibrate/calibrate_import.h"

enum { MOST_SIZES = 3, MOST_DIMENSIONS = 3 };

typedef struct {
  gint64 at[MOST_SIZES][MOST_DIMENSIONS];
  int n_dimensions[MOST_SIZES];
  int n;
} Sizes;

static gboolean refuse(char **ret_reason, const char *reason) {
  *ret_reason = g_strdup(reason);
  return FALSE;
}

/* "sizes = [[4096, 1024], [1024, 512]]"; more operands than MOST_SIZES are not read. */
static gboolean read_sizes(const char *range, Sizes *sizes) {
  const char *at = strstr(range, "sizes = [");
  *sizes = (Sizes){0};
  if (!at) return FALSE;
  for (at += strlen("sizes = ["); *at == '[' && sizes->n < MOST_SIZES;) {
    int *n = &sizes->n_dimensions[sizes->n];
    for (at++; g_ascii_isdigit(*at) && *n < MOST_DIMENSIONS;) {
      char *end;
      sizes->at[sizes->n][(*n)++] = g_ascii_strtoll(at, &end, 10);
      at = end + strspn(end, ", ");
    }
    if (*at != ']') return FALSE;
    sizes->n++;
    at += 1 + strspn(at + 1, ", ");
  }
  return sizes->n > 0;
}

static const char *format_of(const char *kernel) {
  static const struct {
    const char *mark, *format;
  } marks[] = {{"nvjet_qq", "fp8"},      {"e4m3", "fp8"},  {"nvjet_t", "bf16"},   {"bf16", "bf16"},
               {"nvjet_h", "fp16"},      {"fp16", "fp16"}, {"f16f16", "fp16"},    {"hgemm", "fp16"},
               {"f16_s16816", "fp16"},   {"tf32", "tf32"}, {"s1688gemm", "tf32"}, {"sgemm", "fp32"},
               {"f32f32_f32f32", "fp32"}};
  for (guint i = 0; i < G_N_ELEMENTS(marks); i++)
    if (strstr(kernel, marks[i].mark)) return marks[i].format;
  return NULL;
}

static const char *layout_of(const char *kernel) {
  static const struct {
    const char *letters, *layout;
  } layouts[] = {{"tn", "forward"}, {"nn", "dgrad"}, {"nt", "wgrad"}};
  g_autofree char *lower = g_ascii_strdown(kernel, -1);
  g_auto(GStrv) words = g_strsplit(lower, "_", -1);
  for (char **word = words; *word; word++)
    for (guint i = 0; i < G_N_ELEMENTS(layouts); i++) {
      const gsize n = strlen(*word);
      const gboolean is_word = n == 2 || (n == 3 && strchr("tn", (*word)[2]));
      if (is_word && g_str_has_prefix(*word, layouts[i].letters)) return layouts[i].layout;
    }
  return NULL;
}

/* The operands of mm, addmm (its first is the bias) and bmm. */
static gboolean read_product(const char *range, gint64 *ret_batch, gint64 *ret_m, gint64 *ret_n,
                             gint64 *ret_k) {
  Sizes sizes;
  const gboolean is_added = g_str_has_prefix(range, "aten::addmm,");
  const gboolean is_batched = g_str_has_prefix(range, "aten::bmm,");
  const int x = is_added, w = x + 1, d = is_batched;
  if (!read_sizes(range, &sizes) || sizes.n <= w || sizes.n_dimensions[x] != 2 + d ||
      sizes.n_dimensions[w] != 2 + d)
    return FALSE;
  *ret_batch = d ? sizes.at[x][0] : 1;
  *ret_m = sizes.at[x][d];
  *ret_k = sizes.at[x][d + 1];
  *ret_n = sizes.at[w][d + 1];
  return sizes.at[w][d] == *ret_k && (!d || sizes.at[w][0] == *ret_batch) && *ret_batch > 0 &&
         *ret_m > 0 && *ret_n > 0 && *ret_k > 0;
}

static gboolean product_shape(const char *range, const char *kernel, OrrShape *ret_shape,
                              char **ret_reason) {
  const char *format = format_of(kernel), *layout = layout_of(kernel);
  gint64 batch, m, n, k;
  if (!read_product(range, &batch, &m, &n, &k))
    return refuse(ret_reason, "its sizes do not make a product");
  if (!format) return refuse(ret_reason, "the kernel's name does not say the format");
  if (!layout) return refuse(ret_reason, "the kernel's name does not say the layout");
  g_autofree char *text = g_strdup_printf("dtype=%s layout=%s batch=%ld m=%ld n=%ld k=%ld", format,
                                          layout, batch, m, n, k);
  return orr_shape_parse(orr_family_find("gemm"), text, ret_shape, NULL) ||
         refuse(ret_reason, "its sizes do not make a product");
}

static gboolean own_shape(const char *text, OrrShape *ret_shape, char **ret_reason) {
  g_autoptr(GError) error = NULL;
  const char *blank = strchr(text, ' ');
  g_autofree char *name = g_strndup(text, blank ? (gsize)(blank - text) : strlen(text));
  const OrrMeasureFamily *family = orr_family_find(name);
  if (!family) {
    *ret_reason = g_strdup_printf("there is no family of microkernels '%s'", name);
    return FALSE;
  }
  if (orr_shape_parse(family, blank ? blank + 1 : "", ret_shape, &error)) return TRUE;
  *ret_reason = g_strdup(error->message);
  return FALSE;
}

gboolean orr_calibrate_import_shape(const char *range, const char *kernel, OrrShape *ret_shape,
                                    char **ret_reason) {
  static const char *const products[] = {"aten::mm,", "aten::addmm,", "aten::bmm,"};
  if (g_str_has_prefix(range, "orrery:"))
    return own_shape(range + strlen("orrery:"), ret_shape, ret_reason);
  for (guint i = 0; i < G_N_ELEMENTS(products); i++)
    if (g_str_has_prefix(range, products[i]))
      return product_shape(range, kernel, ret_shape, ret_reason);
  if (strstr(kernel, "nccl"))
    return refuse(ret_reason, "a collective without its size: 'orrery import nsys --ranks N' reads "
                              "NCCL's ranges");
  if (strstr(range, "scaled_dot_product"))
    return refuse(ret_reason, "attention whose mask the range does not hold");
  return refuse(ret_reason, *range ? "the range holds no shape" : "in no range with a shape");
}
