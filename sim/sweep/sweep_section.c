/*
 * sweep_section.c - the sweep: section, described once.
 */
#include "sim/sweep/sampler.h"
#include "sim/sweep/sweep_private.h"

const char *const orr_point_words[] = {"ok",      "unfit",   "refused", "failed",
                                       "crashed", "timeout", NULL};

#define SLURM(name_, member_, sentence_)                                                           \
  {                                                                                                \
    .name = name_, .kind = ORR_FIELD_TEXT, .offset = offsetof(OrrSlurm, member_),                  \
    .sentence = sentence_, .flags = ORR_FIELD_OPTIONAL                                             \
  }

static const OrrField slurm_fields[] = {
    SLURM("partition", partition, "The partition to submit to; absent: the cluster's default."),
    SLURM("account", account, "The account that pays."),
    SLURM("time", time, "Time limit of one task as sbatch takes it, e.g. 01:00:00."),
    SLURM("memory", memory, "Memory of one task as sbatch takes it, e.g. 4G."),
    SLURM("extra", extra, "More options of sbatch, e.g. --qos=low --exclude=node7."),
    {.name = "tasks",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrSlurm, tasks),
     .sentence = "Size of the job array: so many tasks share the points.",
     .fallback = "8",
     .min = 1,
     .max = 10000},
    {.name = "cpus",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrSlurm, cpus),
     .sentence = "Cores of one task, each of which runs points.",
     .fallback = "1",
     .min = 1,
     .max = 1024},
};
static const OrrFieldTable slurm_table = ORR_FIELD_TABLE(
    "slurm", "How a sweep is submitted with --executor slurm.", OrrSlurm, slurm_fields);

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
         "expression over facts; or "
         "all."),
    TREE("space", space,
         "Short names whose every value is tried, as if axes said all; the word all: tp, pp, cp, "
         "ep, schedule, chunks, "
         "micro-batch, recompute and sharding."),
    TREE("where", where,
         "Expressions that every point satisfies, one or a list. One that names a result is judged "
         "after the "
         "simulation: points that fail it are kept, and are never the best."),
    TREE("objective", objective,
         "What is best: minimize or maximize and an expression, one or up to four; several make a "
         "Pareto front. "
         "Absent: minimize iteration_time_s."),
    {.name = "sampler",
     .kind = ORR_FIELD_CHOICE,
     .offset = offsetof(OrrSweepSection, sampler),
     .sentence = "Which combinations become points.",
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
     .sentence = "The longest that one point may take; it is recorded, and the sweep goes on.",
     .fallback = "600 s",
     .flags = ORR_FIELD_POSITIVE,
     .unit = ORR_UNIT_SECONDS},
    {.name = "gpu-hour-price",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrSweepSection, gpu_hour_price),
     .sentence = "What an hour of one GPU costs, in any currency: what cost_per_token counts in.",
     .fallback = "0",
     .flags = ORR_FIELD_UNSIGNED},
    {.name = "most",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrSweepSection, most),
     .sentence = "A sweep of more points asks for --yes.",
     .fallback = "100000",
     .flags = ORR_FIELD_POSITIVE},
    {.name = "slurm",
     .kind = ORR_FIELD_SECTION,
     .offset = offsetof(OrrSweepSection, slurm),
     .sentence = "How it is submitted with --executor slurm.",
     .table = &slurm_table,
     .fallback = "{}"},
};
const OrrFieldTable orr_sweep_section_table =
    ORR_FIELD_TABLE("sweep", "Many configurations of one scenario.", OrrSweepSection, fields);
