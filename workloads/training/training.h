/*
 * training.h - the training workload: data, tensor, sequence, context, expert and pipeline
 * parallelism, as Megatron-LM, DeepSpeed and FSDP run them.
 *
 * What is replayed (docs/modelling/ has the equations):
 *  1. A lane is one tensor-parallel group of one pipeline stage of one data-parallel replica. Its
 *     tp ranks meet in at least two blocking collectives per layer, so they move in lock-step.
 *     Fidelity `full` has a lane for each (stage, replica); `folded` has one for each stage and
 *     class of replicas with equal routes and link loads (comm/training_fold.h).
 *  2. A lane has several streams: compute; one per direction for pipeline transfers to and from the
 *     next and the previous stage; dp for the gradient and parameter collectives of the
 *     data-parallel group.
 *  3. One step of the schedule (a forward, a backward, or half a backward, by input or by weight)
 *     runs the layers of one block: embedding, transformer layers, loss. Its tensor, context and
 *     expert collectives become part of the compute where no other transfer can use the same links
 *     meanwhile (exact); otherwise each is an operation between two operations of compute.
 *  4. The last backward is followed by the gradient reduction (or the rest of it, where it
 *     overlaps), the all-reduce of the tied embedding's gradient between first and last stage, the
 *     gradient norm, the optimizer and, with a distributed optimizer, the all-gather of the
 *     parameters.
 *
 * The folder is cut by layer; each room calls only rooms below it:
 *
 *   training_compile.c
 *         |
 *       emit/      the schedule, the costs and the communications -> operations of a program
 *         |
 *       comm/      who communicates with whom, planned as phases over links
 *         |
 *       cost/      operators -> seconds between collectives
 *         |
 *       job/       the job with all defaults filled in, and where its ranks and layers are
 *
 * memory/ (bytes that a GPU of each stage holds) uses only job/; training_compile.c and emit/ use
 * it.
 */
#pragma once

#include "workloads/training/training_params.h"
#include "workloads/training/training_work.h"

extern const OrrFieldTable orr_training_table; /* the document's fields -> OrrTraining */
extern const OrrWorkloadKind orr_training_kind;
