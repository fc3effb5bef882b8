/*
 * diffusion.h - the workload `diffusion`: a batch of pictures or videos, from their text to pixels.
 *
 *   text encoders --> step 1 | step 2 | ... (backbone; guidance; communication) --> VAE's decoder
 *
 * A rank of a copy of the backbone is, from the fastest index to the slowest,
 *
 *   (((guidance * pipefusion + p) * ring + r) * ulysses + u) * tp + t
 *
 * and with displaced patches guidance * displaced + d.
 *
 * Every rank is a lane with four streams: kernels and collectives that block; sends of a ring,
 * which run under attention, to the next stage of a pipeline, or of displaced patches; weights that
 * come from elsewhere; the host, which launches. Steps are alike: the program has the first two,
 * and the rest repeats (orr_program_repeat), but for pipelines and displaced patches.
 *
 * A decoder that works in tiles of t x t pixels, whose neighbours share a part o, computes
 *
 *   n(height) n(width) tiles,   n(x) = 1 + ceil((x - t) / (t (1 - o)))   for x > t, else 1
 */
#pragma once

#include "models/generator.h"
#include "workloads/collectives/nccl.h"
#include "workloads/workload.h"

typedef struct {
  gint64 ulysses, ring, cfg, tp;
  gint64 pipefusion, patches, warm_up; /* stages; parts of a picture, 0: as many; steps */
  gint64 displaced;                    /* GPUs with a patch each, and others' of the step before */
  gboolean fsdp;
} OrrDiffusionParallel;

typedef struct {
  double dispatch_s; /* of one operator of the framework; 0: the profile's */
  double compiled_s; /* the same in compiled graphs; 0: the profile's */
  double output_s;   /* per pixel: the picture goes to the host and becomes a file's bytes */
} OrrDiffusionHost;

typedef struct {
  gboolean parallel; /* the ranks share its positions */
  double efficiency; /* of its convolutions, of the 16-bit peak; 0: as matrix products */
  gint64 tile;       /* pixels along a tile's side; 0: the whole picture at once */
  double overlap;    /* of a tile with the next one, of its side */
} OrrDiffusionDecode;

/* Weights in host memory: each stage's come before it runs; or each block's, whenever it runs; or
 * each block's while the one before it runs. */
typedef enum {
  ORR_OFFLOAD_NONE,
  ORR_OFFLOAD_STAGES,
  ORR_OFFLOAD_BLOCKS,
  ORR_OFFLOAD_PREFETCH
} OrrDiffusionOffload;

typedef struct {
  char *stack;
  OrrGenerator generator;
  gint64 height, width, frames, steps; /* 0: the generator's */
  gint64 batch;
  int guidance; /* index into orr_diffusion_guidance_words */
  OrrDiffusionParallel parallel;
  int precision;             /* OrrDtype */
  int attention;             /* OrrFlash */
  int offload;               /* OrrDiffusionOffload */
  double product_efficiency; /* of the backbone's products, of the peak; 0: the profile's */
  gboolean compiled, fused_heads;
  gint64 cached_steps;
  OrrDiffusionHost host;
  OrrDiffusionDecode decode;
  OrrNccl nccl;
} OrrDiffusion;

typedef enum {
  ORR_STAGE_TEXT,
  ORR_STAGE_STEP,
  ORR_STAGE_DECODER,
  ORR_N_STAGES
} OrrDiffusionStageKind;

extern const OrrFieldTable orr_diffusion_table;
extern const OrrWorkloadKind orr_diffusion_kind;

/* The keys' values, with the generator's where they are 0. */
OrrGuidance orr_diffusion_guidance(const OrrDiffusion *params);
/* A call of the backbone on one rank. */
OrrGeneratorShape orr_diffusion_shape(const OrrDiffusion *params);
/* The same for text encoders and for the decoder, which every rank runs. */
OrrGeneratorShape orr_diffusion_text_shape(const OrrDiffusion *params);
OrrGeneratorShape orr_diffusion_decoder_shape(const OrrDiffusion *params);
/* Tiles that the decoder computes of a picture: 1 where it is not cut. */
gint64 orr_diffusion_tiles(const OrrDiffusion *params);
gint64 orr_diffusion_steps(const OrrDiffusion *params);
gint64 orr_diffusion_ranks(const OrrDiffusion *params);
/* Patches of a picture in a pipeline, 1 without one; and the steps before they run apart. */
gint64 orr_diffusion_patches(const OrrDiffusion *params);
gint64 orr_diffusion_warm_up(const OrrDiffusion *params);
/* Whether a block's weights come from elsewhere while the block before it runs. */
gboolean orr_diffusion_fetches(const OrrDiffusion *params, OrrDiffusionStageKind stage);

/* Compute up to a collective, or to the end of a stage; or a collective. */
typedef struct {
  double seconds[ORR_N_TIMES]; /* of kernels */
  double host_s;               /* launches */
  OrrOperator comm;            /* kind COMM: the collective that ends it; else none */
  double comm_times;
  double part_s; /* a ring: one part of the attention, which comm's sends run under */
  gint64 parts;
  double fetch_bytes; /* weights that it waits for: its block's, from the host or from all ranks */
} OrrDiffusionSegment;

typedef struct {
  GArray *segments; /* of OrrDiffusionSegment, of the whole stage */
  double flops;
  double weight_bytes; /* that a rank computes with */
  OrrJoules joules;    /* of a rank's kernels, on top of static power */
} OrrDiffusionStage;

typedef struct {
  OrrWork work; /* first */
  OrrDiffusionStage stages[ORR_N_STAGES];
  double steps_copy_s; /* of the backbone's weights, before the mark of the first step */
  /* PipeFusion: the backbone's part of each stage of the pipeline, over whole pictures, then over
   * patches; 2 pipefusion of them. Else NULL. */
  GArray *parts; /* of OrrDiffusionStage */
  gint64 batch, steps, full_steps, passes, ranks;
  double pixels, positions, parameters, flops, comm_bytes;
  double weight_bytes;     /* in a rank's memory at once */
  double activation_bytes; /* diffusion_memory.c: at the peak, a lower bound */
  double cost_s[5];        /* seconds of kernels by OrrHow */
} OrrDiffusionWork;

/* Fills work->stages and work->work.power, from the costs of @world. */
void orr_diffusion_costs(const OrrDiffusion *params, const OrrWorld *world, OrrDiffusionWork *work);
double orr_diffusion_segment_s(const OrrDiffusionSegment *segment);

/* diffusion_memory.c: fills the counts of @work, its weights and its activations. */
void orr_diffusion_counts(const OrrDiffusion *params, OrrDiffusionWork *work);
/* Seconds of the copy of @bytes from a GPU's host. */
double orr_diffusion_copy_s(const OrrCluster *cluster, double bytes);

/* The batch on one GPU, without a replay: seconds of each stage, all steps together, and of the
 * host's output; the joules of all kernels. */
typedef struct {
  double stage_s[ORR_N_STAGES], output_s;
  OrrJoules joules[ORR_N_STAGES];
} OrrDiffusionAlone;
OrrDiffusionAlone orr_diffusion_alone(const OrrDiffusion *params, const OrrWorld *world);

OrrWork *orr_diffusion_compile(const void *params, const OrrWorld *world, GError **error);
