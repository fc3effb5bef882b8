/*
 * explain.h - where the time of a run, or of a profiler's trace, went.
 */
#pragma once

#include "sim/base/diag.h"
#include "sim/run/answer/outcome.h"

/* kernel_family.c: what a kernel is, by its name: a table of patterns (kernel_family.c).
 *
 * Sources of the names: NCCL (src/device: ncclDevKernel_OP_ALGORITHM_PROTOCOL, before 2.19
 * ncclKernel_...), cuBLAS and CUTLASS ("gemm", "xmma", "nvjet"), rocBLAS (Tensile: "Cijk_"),
 * FlashAttention, FlashInfer, cuDNN, DeepEP, PyTorch (ATen's templates, multi_tensor_apply,
 * Inductor's triton_poi, _red and _per), Transformer Engine, and CUPTI's words for copies. */

/* The kinds of a GPU's time, in the order of reports. */
typedef enum {
  ORR_EXPLAIN_GEMM,
  ORR_EXPLAIN_ATTENTION,
  ORR_EXPLAIN_MEMORY, /* kernels bound by HBM bandwidth */
  ORR_EXPLAIN_OPTIMIZER,
  ORR_EXPLAIN_UNKNOWN, /* kernels that no pattern knows */
  ORR_EXPLAIN_COMM,
  ORR_EXPLAIN_COPIES, /* the copy engines, and fills */
  ORR_EXPLAIN_IDLE,   /* nothing runs: the GPU waits for its host or for other GPUs */
  ORR_N_EXPLAIN
} OrrExplainKind;
extern const char *const orr_explain_words[]; /* "gemm", "attention", "memory-bound", ..., NULL */

/* Kernels of one use; static. */
typedef struct {
  const char *name; /* "all-gather"; "unknown" */
  OrrExplainKind kind;
} OrrKernelFamily;

/* Never NULL. A name "orrery::FAMILY" (what kineto_write.h writes) is of that family. */
const OrrKernelFamily *orr_kernel_family_of(const char *kernel);
/* The family of that name; where there is none, the one for the rest of its kind. */
const OrrKernelFamily *orr_kernel_family_named(const char *name, OrrExplainKind kind);

/* timeline.c: what GPUs did when: kernels and copies, measured or simulated, and the steps.
 *
 * Times are seconds from some origin of the time line's own. An event takes 24 bytes, and names
 * are kept once, so that a trace of gigabytes fits. */

typedef struct {
  char *text; /* the kernel's */
  const OrrKernelFamily *family;
  const char *purpose; /* of communication: "tp", "dp", ...; interned; NULL: not known */
  double bytes;        /* of communication: the larger of its two buffers; 0: not known */
} OrrTimelineName;

typedef struct {
  double begin_s, end_s;
  guint32 name; /* of OrrTimeline.names */
  gint16 device, stream;
} OrrTimelineEvent;

typedef struct {
  char *name;
  double begin_s, end_s;
} OrrTimelineStep;

typedef struct {
  GArray *events; /* of OrrTimelineEvent, by begin once orr_timeline_sort was called */
  GArray *names;  /* of OrrTimelineName */
  GArray *steps;  /* of OrrTimelineStep, by begin */
  GHashTable *known;
  gsize name_bytes;
} OrrTimeline;

OrrTimeline *orr_timeline_new(void);
void orr_timeline_free(OrrTimeline *timeline); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrTimeline, orr_timeline_free)

/* The index of a name, which is added where it is new. @purpose may be NULL. */
guint32 orr_timeline_name(OrrTimeline *timeline, const char *text, const char *purpose,
                          double bytes);
void orr_timeline_add(OrrTimeline *timeline, guint32 name, gint64 device, gint64 stream,
                      double begin_s, double end_s);
void orr_timeline_add_step(OrrTimeline *timeline, const char *name, double begin_s, double end_s);
void orr_timeline_sort(OrrTimeline *timeline);

/* The lowest device that has kernels; 0 where there are none. */
gint64 orr_timeline_device(const OrrTimeline *timeline);

/* Steps from what repeats, where the time line has none: a kernel of @device that is launched at
 * even distances, as rarely as possible, begins each step. FALSE: nothing does. */
gboolean orr_timeline_find_steps(OrrTimeline *timeline, gint64 device);

/* The median of the steps by length (the lower one of two) that @device was busy in; the whole time
 * line where there are no steps. Borrows its name. */
OrrTimelineStep orr_timeline_median(const OrrTimeline *timeline, gint64 device);

/* account.c: where the time of one GPU went between two dates: every second to one kind.
 *
 *   a kernel computes                  to the kind of the kernel that began first
 *   none does, a collective runs       communication (exposed)
 *   neither, a copy runs               copies
 *   nothing runs                       idle
 *
 * Invariant: the kinds add up to the time between the dates.
 */

/* The kernels of one family; communication also of one purpose. */
typedef struct {
  const OrrKernelFamily *family;
  const char *purpose; /* NULL: none known */
  guint64 calls;       /* that begin between the dates */
  double seconds;      /* sum over the kernels, overlapped or not */
  double bytes;        /* of communication, sum over the calls; 0: not known */
  guint32 most;        /* name of the kernel that took longest */
  double most_s;
} OrrAccountPart;

typedef struct {
  double seconds[ORR_N_EXPLAIN];
  double comm_s; /* in which any collective ran, exposed or not */
  /* what the parts' seconds sum to beyond the time in which anything ran */
  double overlapped_s;
  GArray *parts;  /* of OrrAccountPart, longest first */
  GArray *name_s; /* of double: seconds by name */
  double begin_s, end_s;
} OrrAccount;

/* @timeline is sorted. */
OrrAccount *orr_account_new(const OrrTimeline *timeline, gint64 device, double begin_s,
                            double end_s);
void orr_account_free(OrrAccount *account); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrAccount, orr_account_free)

/* difference.c: two accounts, measured and simulated, as the rows of `orrery compare --trace`. */

/* A time line and the account of its step. */
typedef struct {
  const OrrTimeline *timeline;
  const OrrAccount *account;
} OrrDifferenceSide;

/* Appends a row per kind to @kinds (OrrExplainKindRow), and one per family to @families
 * (OrrExplainDifferenceRow), largest difference first. @simulated may be NULL: its columns are NAN
 * and 0. Purposes of communication are distinguished only where both sides know them. @is_coarse:
 * the simulated side cannot tell gemm from other kernels, so all but attention count as gemm. */
void orr_difference_add(const OrrDifferenceSide *measured, const OrrDifferenceSide *simulated,
                        gboolean is_coarse, GArray *kinds, GArray *families);

/* kineto.c: reads a trace of PyTorch's profiler (Kineto): Trace Event JSON, plain or gzipped, as a
 * stream.
 *
 * Read are complete events ("ph": "X") of the categories of GPUs (kernel, gpu_memcpy, gpu_memset;
 * Kernel, Memcpy and Memset until 2021; mtia_ccp_events) and the ranges that mark steps. ts and
 * dur are microseconds, whole or with decimals. Of a collective's arguments "Collective name", "In
 * msg nelems", "Out msg nelems", "dtype" and "Process Group Description". Everything else is
 * skipped: it says what the host did. Metadata (user and host names) is never kept. Source:
 * pytorch/kineto, libkineto/src/output_json.cpp; torch/csrc/profiler/util.cpp (the arguments of
 * collectives). */

typedef struct {
  guint most_events; /* kernels and copies */
  double most_s;     /* seconds that a read may take */
} OrrKinetoLimits;

/* A sorted time line. @step: the beginning of the name of the ranges that mark steps; NULL:
 * "ProfilerStep#". NULL with the reason in @diags: no JSON, cut short, an event that ends before
 * it begins, no kernel at all, or beyond the limits (@limits NULL: 50 million events, 10
 * minutes). */
OrrTimeline *orr_kineto_read(const char *path, const char *step, const OrrKinetoLimits *limits,
                             OrrDiags *diags);

/* kineto_write.c: time lines as a trace in Kineto's form, which Perfetto opens too, and which
 * kineto.h reads back. */

/* One of the time lines that stand one above the other in a file, each from its own time 0. */
typedef struct {
  const OrrTimeline *timeline;
  const char *title;     /* of its process; NULL: the numbers of its devices */
  gint64 device;         /* only this one; -1: all */
  double begin_s, end_s; /* only what runs between these dates; the first becomes 0 */
} OrrKinetoPart;

/* FALSE with ORR_FAULT_RESOURCE: the file cannot be written. */
gboolean orr_kineto_write(const OrrKinetoPart *parts, guint n_parts, const char *path,
                          GError **error);

/* simulated.c: a run as a time line of kernels, so that a trace and a simulation are counted in
 * the same way.
 *
 * Training and collectives: the spans of one rank class (run with spans). A span of computation
 * consists of several kinds (OrrWork.label_seconds), and each kind of families, in the proportion
 * of the costs of its operators: these follow one another in it. Launches that the GPU waits for,
 * bubbles and storage are gaps. A collective begins when its rank reaches it, as NCCL's kernel
 * does; what is sent between stages, when the computation before it is done, too.
 *
 * Serving: no time line is kept. One step of the median length, divided by the whole run's
 * fractions of attention and communication; the rest counts as gemm. */

/* Sorted; the device of an event is its lane. @lane: -1 for all lanes. NULL with ORR_FAULT_USAGE:
 * there is no such lane, or the run kept no spans. */
OrrTimeline *orr_simulated_timeline(const OrrOutcome *outcome, gint64 lane, GError **error);

/* Whether only attention, communication and the rest can be distinguished. */
gboolean orr_simulated_is_coarse(const OrrOutcome *outcome);

/* trace_read.c: a trace of any form that can be read: Kineto's JSON (kineto.h), plain or gzipped,
 * or an SQLite export of Nsight Systems (results/nsys_timeline.h). The first bytes say which. */

/* A sorted time line, and its form in words ("Kineto", "Nsight Systems"; static) in *@ret_form.
 * @step: the beginning of the name of the ranges that mark steps; NULL: "ProfilerStep#". NULL with
 * the reason in @diags. */
OrrTimeline *orr_trace_read(const char *path, const char *step, const char **ret_form,
                            OrrDiags *diags);
