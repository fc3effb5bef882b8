/*
 * sweep_section.c - the fields of the sweep: section; the parser, the reference and the checks use
 * this one table.
 */
#include "sim/sweep/sampler.h"
#include "sim/sweep/sweep.h"

const char *const orr_point_words[] = {"ok",      "unfit",   "refused", "failed",
                                       "crashed", "timeout", "pruned",  NULL};
static const char *const prune_words[] = {"none", "best", "front", NULL};

static const OrrFieldTable slurm_table =
    ORR_FIELDS("slurm", "How --executor slurm submits a sweep.", OrrSlurm,
               ORR_FIELD_TEXT(OrrSlurm, "partition", partition, NULL,
                              "The partition to submit to; absent: the cluster's default.",
                              .flags = ORR_FIELD_OPTIONAL),
               ORR_FIELD_TEXT(OrrSlurm, "account", account, NULL, "The account to charge.",
                              .flags = ORR_FIELD_OPTIONAL),
               ORR_FIELD_TEXT(OrrSlurm, "time", time, NULL,
                              "Time limit of one task, in the format of sbatch, e.g. 01:00:00.",
                              .flags = ORR_FIELD_OPTIONAL),
               ORR_FIELD_TEXT(OrrSlurm, "memory", memory, NULL,
                              "Memory of one task, in the format of sbatch, e.g. 4G.",
                              .flags = ORR_FIELD_OPTIONAL),
               ORR_FIELD_TEXT(OrrSlurm, "extra", extra, NULL,
                              "More options for sbatch, e.g. --qos=low --exclude=node7.",
                              .flags = ORR_FIELD_OPTIONAL),
               ORR_FIELD_INT(OrrSlurm, "tasks", tasks, "8",
                             "Size of the job array; its tasks divide the points between them.",
                             .min = 1, .max = 10000),
               ORR_FIELD_INT(OrrSlurm, "cpus", cpus, "1", "Cores per task; each core runs points.",
                             .min = 1, .max = 1024));

static const OrrField fields[] = {
    ORR_FIELD_TREE(
        OrrSweepSection, "axes", axes, NULL,
        "The parameter that varies: a path of the scenario or a short name (tp, pp, dp, cp, ep, "
        "chunks, schedule, micro-batch, global-batch, sequence, recompute, sharding, precision, "
        "nodes, gpus, model, cluster) and its values: a list; {from, to, step}; {powers-of, from, "
        "to}; {divisors-of, from, to}, of a number or an expression of facts; or all.",
        .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_TREE(OrrSweepSection, "space", space, NULL,
                   "Short names of axes to vary over all their values; the word all: tp, pp, cp, "
                   "ep, schedule, chunks, micro-batch, recompute and sharding.",
                   .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_TREE(
        OrrSweepSection, "where", where, NULL,
        "Constraints on points, an expression or a list. An expression that uses a result is "
        "evaluated after the simulation: points that fail it are stored, but never the best.",
        .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_TREE(OrrSweepSection, "objective", objective, NULL,
                   "minimize or maximize and an expression, or a list of up to four; several make "
                   "a Pareto front. Absent: minimize iteration_time_s.",
                   .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_CHOICE(OrrSweepSection, "sampler", sampler, &orr_sampler_registry, "grid",
                     "How combinations are chosen as points."),
    ORR_FIELD_WORD(OrrSweepSection, "prune", prune, prune_words, "none",
                   "Points that are not simulated, because a lower bound of their step's time "
                   "shows that they are worse than points found so far: none; best, all that "
                   "cannot be one of the ten best points by the first objective; front, of those "
                   "the ones that cannot be on the Pareto front."),
    ORR_FIELD_INT(OrrSweepSection, "seed", seed, "1", "Seed of the sampler.",
                  .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrSweepSection, "timeout", timeout_s, ORR_UNIT_SECONDS, "600 s",
                   "Time limit of one point; a timeout is recorded, and the sweep continues.",
                   .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_INT(OrrSweepSection, "most", most, "100000", "A sweep with more points needs --yes.",
                  .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_SECTION(OrrSweepSection, "slurm", slurm, &slurm_table, "{}",
                      "How --executor slurm submits it."),
};
static const OrrMovedKey moved[] = {{"gpu-hour-price", "prices.gpu-hour of the scenario"},
                                    {NULL, NULL}};
const OrrFieldTable orr_sweep_section_table = {.name = "sweep",
                                               .sentence = "Many configurations of one scenario.",
                                               .size = sizeof(OrrSweepSection),
                                               .fields = fields,
                                               .n_fields = G_N_ELEMENTS(fields),
                                               .moved = moved};
