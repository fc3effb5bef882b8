/*
 * fake_gpu.h - a machine with GPUs that exists only in this process: devices with a clock, memory,
 * streams, events and power. The files fake_*.c give it the faces of CUDA's runtime, cuBLASLt,
 * cuDNN, NCCL and NVML, so that the code of calibration/measure/cuda runs unchanged without a GPU.
 *
 * Time. The host has a virtual clock in microseconds, which each call advances and which replaces
 * GLib's. A stream is a queue of operations; each takes the time of a cost function, begins when
 * the one before it has ended and the host has posted it, and so has an exact begin and end:
 *
 *   host      post post post ........ wait
 *   stream         | op | op |   op   |        end = max(end of the last, posted) + cost
 *
 * An operation that waits for another process (a collective of a job) leaves its stream pending
 * until all ranks have come; everything behind it is pending as well.
 *
 * Memory is reserved, not filled. Each write is kept as a recipe; a recipe computes an element
 * when somebody reads it (fake_memory.c). So products of any size cost nothing but the elements
 * that a check reads.
 *
 * Faults come from the environment: ORRERY_FAKE_FAULTS="oom=3,noise=0.02" (FakeFaults).
 */
#pragma once

#include <glib.h>

#include "sim/base/dtype.h"

/* The device: an H100's rates, with little memory and cache, so that operands stay small. */
enum { FAKE_SMS = 132, FAKE_MOST_GPUS = 16, FAKE_BUS_BITS = 5120 };
double fake_memory_bytes(void); /* 400 MB unless ORRERY_FAKE_MEMORY says otherwise: in MB */
#define FAKE_L2_BYTES 2e6
#define FAKE_SM_HZ 1.98e9
#define FAKE_MEMORY_HZ 2.619e9
#define FAKE_MEMORY_BYTES_PER_S (2 * FAKE_MEMORY_HZ * FAKE_BUS_BITS / 8)
#define FAKE_POWER_LIMIT_WATTS 700.0

/* What a calibration should find: fractions of the peak rates, and times. */
#define FAKE_GEMM_EFFICIENCY 0.75
#define FAKE_ATTENTION_EFFICIENCY 0.60
#define FAKE_MEMORY_EFFICIENCY 0.90
#define FAKE_KERNEL_US 2.0         /* the least time of a kernel that does something */
#define FAKE_NOTHING_US 1.2        /* of an empty one */
#define FAKE_GAP_US 0.8            /* between two kernels of a stream */
#define FAKE_LAUNCH_US 2.1         /* of the host, for each kernel */
#define FAKE_GRAPH_LAUNCH_US 6.0   /* of the host, for a graph */
#define FAKE_REACH_US 2.0          /* from the host's call to the begin on an idle stream */
#define FAKE_PCIE_BYTES_PER_S 50e9 /* one direction */
#define FAKE_COPY_US 1.5
#define FAKE_LINK_BYTES_PER_S 300e9 /* of a collective, through one GPU */
#define FAKE_COLLECTIVE_US 6.0
#define FAKE_STEP_US 1.5
#define FAKE_NCCL_BLOCKS 32           /* thread blocks of a collective, unless limited */
#define FAKE_NCCL_FULL_BLOCKS 12      /* that reach the link's rate */
#define FAKE_COMPUTE_BESIDE_COMM 1.25 /* slow-downs of work beside other work; this by all blocks */
#define FAKE_COMM_BESIDE_COMPUTE 1.50
#define FAKE_COMPUTE_BESIDE_COPY 1.06
#define FAKE_COPY_BESIDE_COMPUTE 1.10
#define FAKE_COPY_BESIDE_COMM 1.30
#define FAKE_COMM_BESIDE_COPY 1.15
#define FAKE_IDLE_WATTS 100.0
#define FAKE_PRODUCT_WATTS 850.0 /* at the full clock: above the limit */
#define FAKE_MEMORY_WATTS 450.0
#define FAKE_CROWD_WATTS 30.0 /* what the limit loses beside a GPU that runs products */
#define FAKE_COMM_WATTS 300.0
#define FAKE_POWER_TAU_US 40e3 /* in which the board notices power */

typedef struct {
  gint64 oom;         /* this allocation finds no memory */
  gint64 launch;      /* this launch fails, once */
  gint64 capture;     /* 1: no capture succeeds */
  gint64 hang;        /* this collective never ends */
  gint64 die, die_at; /* this rank ends at its die_at-th collective; -1: none */
  gint64 absent;      /* this rank never calls ncclCommInitRank; -1: none */
  gint64 slow_post;   /* from this collective on the host posts later by slow_us */
  double slow_us;
  gint64 wrong;       /* 1: products are off by a tenth */
  double throttle;    /* fraction of the clock that heat leaves; 1: all */
  double noise;       /* standard deviation of times, as a fraction */
  double clock_noise; /* likewise of the clock */
  double link;        /* fraction of the link's rate */
  gint64 no_nvml;     /* 1: NVML does not start */
  /* for the doctor */
  gint64 mig, other_processes, ecc_off, no_nvlink, low_cap, old_clock, persistence_off, hot;
  gint64 no_driver, old_driver, no_dma_buf;
} FakeFaults;

const FakeFaults *fake_faults(void);

/* --- The host's clock --- */

double fake_now_us(void);
void fake_spend_us(double us); /* the host works */

/* --- Devices --- */

typedef enum { FAKE_COMPUTE, FAKE_MEMORY, FAKE_COPY, FAKE_COMM, FAKE_HOLD } FakeKind;

/* An operation's cost, at the full clock and alone: fixed + max(compute, memory). */
typedef struct {
  FakeKind kind;
  double fixed_us, compute_us, memory_us;
  double watts;
  int blocks; /* of FAKE_COMM */
} FakeWork;

FakeWork fake_work(FakeKind kind, double flops, OrrDtype dtype, double bytes);

int fake_n_gpus(void);
int fake_capability(void); /* 90 unless ORRERY_FAKE_CAPABILITY says otherwise */
int fake_device(void);
void fake_set_device(int device);
double fake_peak_flops(OrrDtype dtype);
double fake_clock_ratio(int device);       /* at present */
double fake_energy_j(int device);          /* at the host's time */
double fake_watts(int device);             /* mean of the last FAKE_POWER_TAU_US */
guint64 fake_throttle_reasons(int device); /* NVML's bits */

/* --- Streams --- */

typedef struct FakeStream FakeStream;
typedef struct FakeEvent FakeEvent;
typedef struct FakeGraph FakeGraph;

/* Operations that begin together on several streams, here or in other processes. */
typedef struct FakeMeeting FakeMeeting;
typedef struct {
  /* Called when the member is the first of its stream; @ready_us: then. */
  void (*arrive)(gpointer context, int member, double ready_us);
  /* TRUE if all have arrived: @ret_begin_us is when the last came. */
  gboolean (*is_met)(gpointer context, double *ret_begin_us);
  /* Called once for each member when it begins, to write its result. */
  void (*finish)(gpointer context, int member);
  GDestroyNotify free;
  gpointer context;
} FakeMeetingKind;

FakeStream *fake_stream_new(int device);
void fake_stream_free(FakeStream *stream);
int fake_stream_device(const FakeStream *stream);
/* Posts work; on a capturing stream it becomes a node of the graph. FALSE: the launch failed. */
gboolean fake_post(FakeStream *stream, const FakeWork *work);
/* Posts a member of a meeting that @make makes now, or each time a captured graph is launched.
 * @user is a g_rc_box, or NULL, and belongs to the graph and its copies. */
typedef FakeMeeting *(*FakeMeetingMake)(gpointer user);
void fake_post_meeting(FakeStream *stream, const FakeWork *work, FakeMeeting *meeting, int member);
void fake_capture_meeting(FakeStream *stream, const FakeWork *work, FakeMeetingMake make,
                          gpointer user);
FakeMeeting *fake_meeting_new(const FakeMeetingKind *kind, int n_members);

gboolean fake_stream_is_capturing(const FakeStream *stream);
void fake_stream_begin_capture(FakeStream *stream);
FakeGraph *fake_stream_end_capture(FakeStream *stream); /* NULL: the capture failed */
void fake_stream_spoil_capture(FakeStream *stream);
FakeGraph *fake_graph_copy(const FakeGraph *graph);
void fake_graph_free(FakeGraph *graph);
void fake_graph_launch(const FakeGraph *graph, FakeStream *stream);

gboolean fake_stream_is_done(FakeStream *stream); /* spends a little time if not */
void fake_stream_wait(FakeStream *stream);        /* the host waits until it is done */
void fake_device_wait(int device);

FakeEvent *fake_event_new(void);
void fake_event_free(FakeEvent *event);
void fake_event_record(FakeEvent *event, FakeStream *stream);
void fake_event_await(FakeEvent *event, FakeStream *stream);
gboolean fake_event_is_reached(FakeEvent *event);
void fake_event_wait(FakeEvent *event);
gboolean fake_event_us(FakeEvent *event, double *ret_us); /* FALSE: not reached */

/* --- Memory --- */

/* Reserves @bytes on @device; NULL if the device is full. */
void *fake_alloc(int device, gsize bytes);
void fake_free(void *memory);
void fake_register_host(void *memory, gsize bytes);
void fake_unregister_host(void *memory);
gboolean fake_is_known(const void *memory); /* of a device, or registered */
double fake_free_bytes(int device);

/* Computes granule @index of a write into @at. */
typedef void (*FakeRecipe)(gconstpointer context, gsize index, void *at);

/* Records that @bytes from @out on will hold what @recipe computes, @granule bytes at a time, from
 * a copy of @context. @in_place: it reads the old contents, and only the first such write of a
 * place counts: checks read the result of one launch. */
void fake_write(void *out, gsize bytes, gsize granule, FakeRecipe recipe, gconstpointer context,
                gsize context_bytes, gboolean in_place);
/* Computes all that is missing of a range, so that it can be read. */
void fake_touch(const void *at, gsize bytes);
void fake_copy(void *to, const void *from, gsize bytes); /* of memory, by a recipe */
void fake_put(void *to, const void *from, gsize bytes);  /* of pageable memory, at once */
/* What the newest recipe that covers @at is: TRUE, with its context, if it is @recipe. */
gboolean fake_recipe_at(const void *at, FakeRecipe recipe, void *ret_context, gsize context_bytes);

/* --- Numbers in a format (OrrFormat) --- */

void fake_encode(int format, double value, void *data, gsize index);
double fake_decode(int format, const void *data, gsize index); /* touches it */
/* @n elements from @first on, which are computed first. */
void fake_decode_line(int format, const void *data, gsize first, gsize n, float *ret_values);
gsize fake_bytes(int format, gsize n);
