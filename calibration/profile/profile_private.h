/*
 * profile_private.h - the structs of a profile, for calibration/ alone.
 *
 * Axes and latencies stay text, as read and checked by orr_profile_read; the cost model turns them
 * into dense tables once.
 */
#pragma once

#include "calibration/profile/profile.h"
#include "calibration/profile/profile_module.h"
#include "sim/base/interference.h"

/* The constants of the models that stand in for rows nobody measured. The defaults are for a
 * device without a profile. */
typedef struct {
  double kernel_overhead_s;
  double host_launch_s;
  double operator_dispatch_s;               /* of kernels: modern, in training */
  double eager_operator_s, eager_operators; /* of kernels: eager */
  double gemm_efficiency;
  double gemm_wave_share;
  double memory_efficiency, trainer_efficiency;
  double fp8_row_launch_s, fp8_row_cast; /* seconds; bytes/s of the 16-bit input */
  double fp4_row_launch_s, fp4_row_cast;
  double fp8_exact_sums;
  OrrInterference interference;
  double speed_spread;
  double attention_efficiency;
  double attention_backward_flops;
  double attention_backward_efficiency;
  double flash_2_forward, flash_2_backward;
  double flash_2_forward_64; /* 0: as flash_2_forward */
  double flash_triton_forward, flash_triton_backward;
  double flash_1;
  double moe_efficiency;
  double moe_overhead_s;
  double collective_launch_s;
  double scale_up_step_s;
  double scale_out_step_s;
  char *source;
} OrrProfileConstants;

extern const OrrFieldTable orr_profile_constants_table;

/* Kernels bound by HBM: the fraction of the bandwidth that they reach, by operator and
 * generation; and the rate of their FLOPs, as a multiple of the fp32 peak. */
typedef struct {
  char **operators; /* names that models/transformer_*.c give */
  int pass;         /* 0: any, 1: forward, 2: backward */
  double eager, modern, flops;
  char *source;
} OrrProfileKernel;

typedef struct {
  gint64 n, k;
  char *us; /* one latency per m of the table, '-' where none was measured */
} OrrProfileGemmRow;

/* Which operands have k innermost: of y = x w^T both, of dx = dy w the first, of dw = dy^T x
 * none. */
typedef enum { ORR_GEMM_FORWARD, ORR_GEMM_DGRAD, ORR_GEMM_WGRAD } OrrGemmLayout;
extern const char *const orr_gemm_layout_words[]; /* "forward", "dgrad", "wgrad", NULL */

typedef struct {
  int dtype;
  int library;   /* OrrKernelLibrary; ANY: not stated */
  int layout;    /* OrrGemmLayout */
  gint64 batch;  /* products of one call */
  char *release; /* of the library: "cublas-12.8.4"; NULL: not stated */
  char *source;
  char *m;         /* the common axis of all rows */
  GPtrArray *rows; /* OrrProfileGemmRow* */
} OrrProfileGemm;

/* The same products by the kernels of another library. */
typedef struct {
  OrrProfileGemm table;
  gboolean blocks;     /* of fp8: a scale for each block, as OrrOperandStorage */
  gboolean tuned;      /* a row is the fastest of the kernels that a tuner tried for the shape */
  double weight_bytes; /* per weight, where it is stored narrower; 0: as dtype */
  char *measured_on;   /* another device than the profile's; NULL: the profile's */
} OrrProfileLibraryGemm;

typedef enum { ORR_PHASE_PREFILL, ORR_PHASE_DECODE, ORR_N_PHASES } OrrProfilePhase;

typedef struct {
  gint64 head_dim, heads, kv_heads;
  /* Batch by batch, one latency per length: n_batches * n_lengths, '-' where none was measured. */
  char *us;
} OrrProfileAttentionRow;

typedef struct {
  int phase; /* OrrProfilePhase */
  int dtype, kv_dtype;
  char *source;
  char *batch, *length; /* common axes of all rows; decode: the keys read, the new one included */
  GPtrArray *rows;      /* OrrProfileAttentionRow* */
} OrrProfileAttention;

typedef struct {
  char *op; /* as nccl-tests names it */
  gint64 ranks;
  char *bytes, *us;
  /* Number of lists of collectives in the document's bases beneath this row's;
   * profile_collectives.c. */
  gint64 laid_over;
} OrrProfileCollective;

struct OrrProfile {
  char *name;
  char *device;
  char *source;
  OrrProfileConstants constants;
  GPtrArray *kernels;         /* OrrProfileKernel*; NULL: none */
  GPtrArray *gemm;            /* OrrProfileGemm*; NULL: none */
  GPtrArray *library_gemm;    /* OrrProfileLibraryGemm*; NULL: none */
  GPtrArray *attention;       /* OrrProfileAttention* */
  GPtrArray *collectives;     /* OrrProfileCollective* */
  GPtrArray *moe;             /* OrrProfileMoe* (profile_moe.h); NULL: none */
  GPtrArray *nccl;            /* OrrProfileNccl* */
  GPtrArray *choices;         /* OrrProfileChoice*; NULL: none */
  GPtrArray *libraries;       /* OrrProfileLibrary* */
  GPtrArray *token_kernels;   /* OrrProfileTokenKernel* (profile_serving.h) */
  GPtrArray *batch_attention; /* OrrProfileBatchAttention* */
  OrrProfileModules modules;  /* its own: ask orr_profile_modules instead */
  char *modules_of;           /* NULL: none */
  OrrLibrary *library;        /* that has `modules-of`; not the document's */
  GPtrArray *errors;          /* OrrProfileErrors* (profile.h); NULL: not stated */
};

/* @node is a profile merged with its bases. Returns a tree that shares parts with it, whose
 * `collectives` also has the rows that its own list replaced, behind its own; NULL where it
 * replaced none. */
OrrNode *orr_profile_lay_collectives(const OrrNode *node);
/* The same for `library-gemm`. */
OrrNode *orr_profile_lay_gemm(const OrrNode *node);
void orr_profile_check_collective(const OrrProfileCollective *row, const OrrNode *map,
                                  GHashTable *seen, OrrDiags *diags);

/* Names a table of `gemm`: "bf16 wgrad batch 8 cublas-12.8.4". Newly allocated. */
char *orr_profile_gemm_label(const OrrProfileGemm *gemm);

/* profile_module.c: sparse and linear attention, of the profile's own or of its `modules-of`, which
 * is read when they are first asked for. Without tables: none. A damaged installation has
 * none either, and answers say that they are modelled. */
const OrrProfileModules *orr_profile_modules(const OrrProfile *profile);
/* Reads `modules-of` at once unless the shipped library has it, whose documents tests check. */
void orr_profile_modules_find(const OrrProfile *profile, OrrPlace place, OrrDiags *diags);

/* The numbers of @text, separated by white space; '-' reads as NAN where @holes. All are finite
 * and above 0. NULL with ORR_FAULT_DOCUMENT, which names the first bad one. Array of double,
 * owned by the caller. */
GArray *orr_profile_numbers(const char *text, gboolean holes, GError **error);

/* The checks that all sections share. @map is the section's node, @diags receives the findings.
 *   place    of the value of @key, or of the map where it has no such key
 *   axis     the length of the list of numbers, which must rise; 0 where it is not one
 *   row      needs @wanted numbers (0: the axis was wrong already, so any number is accepted)
 *   unique   takes over @key, the row's identity, and reports it where @seen holds it already */
OrrPlace orr_profile_check_place(const OrrNode *map, const char *key);
guint orr_profile_check_axis(const OrrNode *map, const char *key, const char *text,
                             OrrDiags *diags);
void orr_profile_check_row(const OrrNode *map, const char *text, guint wanted, gboolean holes,
                           OrrDiags *diags);
void orr_profile_check_unique(GHashTable *seen, char *key, const OrrNode *map, OrrDiags *diags);

static inline guint orr_profile_length(const GPtrArray *array) { return array ? array->len : 0; }
