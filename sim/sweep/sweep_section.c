/*
 * sweep_section.c - the fields of the sweep: section; the parser, the reference and the checks use this
 * one table.
 */
#include "sim/sweep/sampler.h"
#include "sim/sweep/sweep.h"

const char *const orr_point_words[] = {"ok",      "unfit",   "refused", "failed",
                                       "crashed", "timeout", NULL};

#define SLURM(name_, member_, sentence_)                                                           \
  {                                                                                                \
    .name = name_, .kind = ORR_FIELD_TEXT, .offset = offsetof(OrrSlurm, member_),                  \
    .sentence = sentence_, .flags = ORR_FIELD_OPTIONAL                                             \
  }

static const OrrField slurm_fields[] = {
    SLURM("partition", partition, "The partition to submit to; absent: the cluster's default."),
    SLURM("account", account, "The account to charge."),
    SLURM("time", time, "Time limit of one task, in the format of sbatch, e.g. 01:00:00."),
    SLURM("memory", memory, "Memory of one task, in the format of sbatch, e.g. 4G."),
    SLURM("extra", extra, "More options for sbatch, e.g. --qos=low --exclude=node7."),
    {.name = "tasks",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrSlurm, tasks),
     .sentence = "Size of the job array; its tasks divide the points between them.",
     .fallback = "8",
     .min = 1,
     .max = 10000},
    {.name = "cpus",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrSlurm, cpus),
     .sentence = "Cores per task; each core runs points.",
     .fallback = "1",
     .min = 1,
     .max = 1024},
};
static const OrrFieldTable slurm_table =
    ORR_FIELD_TABLE("slurm", "How --executor slurm submits a sweep.", OrrSlurm, slurm_fields);

#define TREE(name_, member_, sentence_)                                                            \
  {                                                                                                \
    .name = name_, .kind = ORR_FIELD_TREE, .offset = offsetof(OrrSweepSection, member_),           \
    .sentence = sentence_, .flags = ORR_FIELD_OPTIONAL                                             \
  }

static const OrrField fields[] = {
    TREE("axes", axes,
         "What varies: a path of the scenario or a short name (tp, pp, dp, cp, ep, chunks, "
         "schedule, micro-batch, "
         "global-batch, sequence, recompute, sharding, precision, nodes, gpus, model, cluster) and "
         "its values: a list; "
         "{from, to, step}; {powers-of, from, to}; {divisors-of, from, to}, of a number or an "
         "expression of facts; or all."),
    TREE("space", space,
         "Short names of axes to vary over all their values; the word all: tp, pp, cp, "
         "ep, schedule, chunks, "
         "micro-batch, recompute and sharding."),
    TREE("where", where,
         "Constraints on points, an expression or a list. An expression that uses a result is "
         "evaluated after the simulation: points that fail it are stored, but never the best."),
    TREE("objective", objective,
         "minimize or maximize and an expression, or a list of up to four; several make a Pareto "
         "front. Absent: minimize iteration_time_s."),
    {.name = "sampler",
     .kind = ORR_FIELD_CHOICE,
     .offset = offsetof(OrrSweepSection, sampler),
     .sentence = "How combinations are chosen as points.",
     .fallback = "grid",
     .registry = &orr_sampler_registry},
    {.name = "seed",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrSweepSection, seed),
     .sentence = "Seed of the sampler.",
     .fallback = "1",
     .flags = ORR_FIELD_UNSIGNED},
    {.name = "timeout",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrSweepSection, timeout_s),
     .sentence = "Time limit of one point; a timeout is recorded, and the sweep continues.",
     .fallback = "600 s",
     .flags = ORR_FIELD_POSITIVE,
     .unit = ORR_UNIT_SECONDS},
    {.name = "gpu-hour-price",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrSweepSection, gpu_hour_price),
     .sentence =
         "Price of one GPU for one hour, in any currency; cost_per_token has the same currency.",
     .fallback = "0",
     .flags = ORR_FIELD_UNSIGNED},
    {.name = "most",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrSweepSection, most),
     .sentence = "A sweep with more points needs --yes.",
     .fallback = "100000",
     .flags = ORR_FIELD_POSITIVE},
    {.name = "slurm",
     .kind = ORR_FIELD_SECTION,
     .offset = offsetof(OrrSweepSection, slurm),
     .sentence = "How --executor slurm submits it.",
     .table = &slurm_table,
     .fallback = "{}"},
};
const OrrFieldTable orr_sweep_section_table =
    ORR_FIELD_TABLE("sweep", "Many configurations of one scenario.", OrrSweepSection, fields);
