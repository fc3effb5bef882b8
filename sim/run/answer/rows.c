#include "sim/run/answer/rows.h"

#define COLUMN(struct_, name_, kind_, member_, unit_, sentence_)                                   \
  {                                                                                                \
    .name = name_, .kind = kind_, .offset = offsetof(struct_, member_), .sentence = sentence_,     \
    .unit = unit_, .flags = ORR_FIELD_OPTIONAL                                                     \
  }

static const OrrField training_result_fields[] = {
    COLUMN(OrrTrainingResult, "iteration-time-s", ORR_FIELD_REAL, iteration_time_s,
           ORR_UNIT_SECONDS, "Time of one optimizer step, mean over the steps."),
    COLUMN(OrrTrainingResult, "step-p50-s", ORR_FIELD_REAL, step_p50_s, ORR_UNIT_SECONDS,
           "Time of one optimizer step, median over the steps; they differ where workload.noise "
           "says so."),
    COLUMN(OrrTrainingResult, "step-p99-s", ORR_FIELD_REAL, step_p99_s, ORR_UNIT_SECONDS,
           "Time that 99 % of the steps are within."),
    COLUMN(OrrTrainingResult, "tokens-per-s", ORR_FIELD_REAL, tokens_per_s, ORR_UNIT_NONE,
           "Tokens trained a second, whole job."),
    COLUMN(OrrTrainingResult, "tokens-per-s-per-gpu", ORR_FIELD_REAL, tokens_per_s_per_gpu,
           ORR_UNIT_NONE, "Tokens trained a second and GPU."),
    COLUMN(OrrTrainingResult, "model-tflops-per-gpu", ORR_FIELD_REAL, model_tflops_per_gpu,
           ORR_UNIT_NONE, "Model FLOPs (no recomputation) a second and GPU, in 1e12."),
    COLUMN(OrrTrainingResult, "hardware-tflops-per-gpu", ORR_FIELD_REAL, hardware_tflops_per_gpu,
           ORR_UNIT_NONE, "Model FLOPs with recomputation a second and GPU, in 1e12."),
    COLUMN(OrrTrainingResult, "mfu", ORR_FIELD_REAL, mfu, ORR_UNIT_FRACTION,
           "Model FLOPs utilisation: model FLOPs per second and GPU, of peak_tflops_per_gpu."),
    COLUMN(OrrTrainingResult, "hfu", ORR_FIELD_REAL, hfu, ORR_UNIT_FRACTION,
           "Hardware FLOPs utilisation: the same with recomputation."),
    COLUMN(OrrTrainingResult, "peak-tflops-per-gpu", ORR_FIELD_REAL, peak_tflops_per_gpu,
           ORR_UNIT_NONE,
           "What MFU and HFU are shares of: a GPU's dense peak in the format in which the "
           "precision's linear layers "
           "multiply (fp8 where they are cast to fp8), in 1e12 FLOP/s."),
    COLUMN(OrrTrainingResult, "memory-peak-bytes", ORR_FIELD_REAL, memory_peak_bytes,
           ORR_UNIT_BYTES, "Most memory that any GPU holds, as nvidia-smi shows it."),
    COLUMN(OrrTrainingResult, "allocator-peak-bytes", ORR_FIELD_REAL, allocator_peak_bytes,
           ORR_UNIT_BYTES,
           "Of that, what the framework's allocator has reserved: no CUDA context, no buffers of "
           "NCCL."),
    COLUMN(OrrTrainingResult, "headroom-bytes", ORR_FIELD_REAL, headroom_bytes, ORR_UNIT_BYTES,
           "A GPU's memory less the most that any holds; below 0: by how much it does not fit."),
    COLUMN(OrrTrainingResult, "host-memory-peak-bytes", ORR_FIELD_REAL, host_memory_peak_bytes,
           ORR_UNIT_BYTES, "Most memory of any node's host that offloading takes."),
    COLUMN(OrrTrainingResult, "host-headroom-bytes", ORR_FIELD_REAL, host_headroom_bytes,
           ORR_UNIT_BYTES,
           "A node's host memory less that; below 0: by how much it does not fit; 0 where nothing "
           "is offloaded."),
    COLUMN(OrrTrainingResult, "fits", ORR_FIELD_BOOL, fits, ORR_UNIT_NONE, "Whether both fit."),
    COLUMN(OrrTrainingResult, "bubble-fraction", ORR_FIELD_REAL, bubble_fraction, ORR_UNIT_FRACTION,
           "Share of the step that GPUs idle for the pipeline, mean over GPUs."),
    COLUMN(OrrTrainingResult, "padding-fraction", ORR_FIELD_REAL, padding_fraction,
           ORR_UNIT_FRACTION, "Tokens of packed sequences that are no document's, of all."),
    COLUMN(OrrTrainingResult, "exposed-comm-fraction", ORR_FIELD_REAL, exposed_comm_fraction,
           ORR_UNIT_FRACTION,
           "Share of the step that communication holds compute up, mean over GPUs."),
    COLUMN(OrrTrainingResult, "n-gpus", ORR_FIELD_INT, n_gpus, ORR_UNIT_NONE, "GPUs of the job."),
    COLUMN(OrrTrainingResult, "tp", ORR_FIELD_INT, tp, ORR_UNIT_NONE, "Tensor-parallel size."),
    COLUMN(OrrTrainingResult, "pp", ORR_FIELD_INT, pp, ORR_UNIT_NONE, "Pipeline-parallel size."),
    COLUMN(OrrTrainingResult, "dp", ORR_FIELD_INT, dp, ORR_UNIT_NONE, "Data-parallel size."),
    COLUMN(OrrTrainingResult, "cp", ORR_FIELD_INT, cp, ORR_UNIT_NONE, "Context-parallel size."),
    COLUMN(OrrTrainingResult, "micro-batches", ORR_FIELD_INT, micro_batches, ORR_UNIT_NONE,
           "Micro-batches a step and replica."),
    COLUMN(OrrTrainingResult, "layer-forward-s", ORR_FIELD_REAL, layer_forward_s, ORR_UNIT_SECONDS,
           "Forward of one layer and micro-batch, tensor-parallel communication included."),
    COLUMN(OrrTrainingResult, "layer-backward-s", ORR_FIELD_REAL, layer_backward_s,
           ORR_UNIT_SECONDS,
           "Backward of one layer and micro-batch, with recomputation and communication."),
    COLUMN(OrrTrainingResult, "events", ORR_FIELD_INT, events, ORR_UNIT_NONE,
           "Engine events of the replay."),
    COLUMN(OrrTrainingResult, "wall-time-s", ORR_FIELD_REAL, wall_time_s, ORR_UNIT_SECONDS,
           "Wall time of the simulation."),
    COLUMN(OrrTrainingResult, "costs-outside", ORR_FIELD_INT, costs_outside, ORR_UNIT_NONE,
           "Operators whose shape lies outside the measured range."),
};
const OrrFieldTable orr_training_result_table =
    ORR_FIELD_TABLE("training_result", "One row a training run: the answer.", OrrTrainingResult,
                    training_result_fields);

static const OrrField collectives_result_fields[] = {
    COLUMN(OrrCollectivesResult, "time-s", ORR_FIELD_REAL, time_s, ORR_UNIT_SECONDS,
           "Time of one call of the last size, out of place, mean over the groups."),
    COLUMN(OrrCollectivesResult, "algbw-bytes-per-s", ORR_FIELD_REAL, algbw_bytes_per_s,
           ORR_UNIT_BYTES_PER_S, "Its size over its time."),
    COLUMN(OrrCollectivesResult, "busbw-bytes-per-s", ORR_FIELD_REAL, busbw_bytes_per_s,
           ORR_UNIT_BYTES_PER_S, "Its bus bandwidth, as nccl-tests define it."),
    COLUMN(OrrCollectivesResult, "size-bytes", ORR_FIELD_REAL, size_bytes, ORR_UNIT_BYTES,
           "The last size."),
    COLUMN(OrrCollectivesResult, "mean-busbw-bytes-per-s", ORR_FIELD_REAL, mean_busbw_bytes_per_s,
           ORR_UNIT_BYTES_PER_S, "Bus bandwidth, mean over the sizes."),
    COLUMN(OrrCollectivesResult, "n-gpus", ORR_FIELD_INT, n_gpus, ORR_UNIT_NONE,
           "GPUs that take part."),
    COLUMN(OrrCollectivesResult, "n-ranks", ORR_FIELD_INT, n_ranks, ORR_UNIT_NONE,
           "Ranks of a group."),
    COLUMN(OrrCollectivesResult, "n-groups", ORR_FIELD_INT, n_groups, ORR_UNIT_NONE,
           "Groups that run at once."),
    COLUMN(OrrCollectivesResult, "n-sizes", ORR_FIELD_INT, n_sizes, ORR_UNIT_NONE,
           "Sizes: rows of nccl_test."),
    COLUMN(OrrCollectivesResult, "events", ORR_FIELD_INT, events, ORR_UNIT_NONE,
           "Engine events of the replay."),
    COLUMN(OrrCollectivesResult, "wall-time-s", ORR_FIELD_REAL, wall_time_s, ORR_UNIT_SECONDS,
           "Wall time of the simulation."),
};
const OrrFieldTable orr_collectives_result_table =
    ORR_FIELD_TABLE("collectives_result", "One row a run of collectives: the answer.",
                    OrrCollectivesResult, collectives_result_fields);

static const OrrField nccl_test_fields[] = {
    COLUMN(OrrNcclTestRow, "size-bytes", ORR_FIELD_INT, size_bytes, ORR_UNIT_BYTES,
           "Size, as nccl-tests counts it."),
    COLUMN(OrrNcclTestRow, "count", ORR_FIELD_INT, count, ORR_UNIT_NONE,
           "Elements; of one rank's part where each rank has a part."),
    COLUMN(OrrNcclTestRow, "type", ORR_FIELD_TEXT, type, ORR_UNIT_NONE, "Number format."),
    COLUMN(OrrNcclTestRow, "redop", ORR_FIELD_TEXT, redop, ORR_UNIT_NONE, "Reduction, or none."),
    COLUMN(OrrNcclTestRow, "root", ORR_FIELD_INT, root, ORR_UNIT_NONE, "Root rank; -1: none."),
    COLUMN(OrrNcclTestRow, "time-s", ORR_FIELD_REAL, time_s, ORR_UNIT_SECONDS,
           "Time of one call, out of place, mean over the groups."),
    COLUMN(OrrNcclTestRow, "algbw-bytes-per-s", ORR_FIELD_REAL, algbw_bytes_per_s,
           ORR_UNIT_BYTES_PER_S, "Size over time."),
    COLUMN(OrrNcclTestRow, "busbw-bytes-per-s", ORR_FIELD_REAL, busbw_bytes_per_s,
           ORR_UNIT_BYTES_PER_S, "Bus bandwidth: algbw times 2(n-1)/n, (n-1)/n or 1."),
    COLUMN(OrrNcclTestRow, "collective", ORR_FIELD_TEXT, collective, ORR_UNIT_NONE,
           "The collective."),
    COLUMN(OrrNcclTestRow, "algorithm", ORR_FIELD_TEXT, algorithm, ORR_UNIT_NONE,
           "Algorithm: what loads the links."),
    COLUMN(OrrNcclTestRow, "protocol", ORR_FIELD_TEXT, protocol, ORR_UNIT_NONE,
           "NCCL's protocol; auto: the profile knows none, or the time was measured."),
    COLUMN(OrrNcclTestRow, "how", ORR_FIELD_TEXT, how, ORR_UNIT_NONE,
           "How the time alone on the fabric is known."),
    COLUMN(OrrNcclTestRow, "alone-s", ORR_FIELD_REAL, alone_s, ORR_UNIT_SECONDS,
           "Time alone on the fabric."),
};
const OrrFieldTable orr_nccl_test_table =
    ORR_FIELD_TABLE("nccl_test", "One row a size of a run of collectives: a line of nccl-tests.",
                    OrrNcclTestRow, nccl_test_fields);

static const OrrField step_fields[] = {
    COLUMN(OrrStepRow, "step", ORR_FIELD_INT, step, ORR_UNIT_NONE, "Number of the step, from 0."),
    COLUMN(OrrStepRow, "begin-s", ORR_FIELD_REAL, begin_s, ORR_UNIT_SECONDS, "When it began."),
    COLUMN(OrrStepRow, "end-s", ORR_FIELD_REAL, end_s, ORR_UNIT_SECONDS,
           "When its last rank ended."),
};
const OrrFieldTable orr_step_table =
    ORR_FIELD_TABLE("step", "One row an optimizer step.", OrrStepRow, step_fields);

static const OrrField lane_fields[] = {
    COLUMN(OrrLaneRow, "lane", ORR_FIELD_INT, lane, ORR_UNIT_NONE, "Number of the class."),
    COLUMN(OrrLaneRow, "name", ORR_FIELD_TEXT, name, ORR_UNIT_NONE, "Its name."),
    COLUMN(OrrLaneRow, "multiplicity", ORR_FIELD_INT, multiplicity, ORR_UNIT_NONE,
           "GPUs it stands for."),
    COLUMN(OrrLaneRow, "stage", ORR_FIELD_INT, stage, ORR_UNIT_NONE, "Pipeline stage."),
    COLUMN(OrrLaneRow, "replica", ORR_FIELD_INT, replica, ORR_UNIT_NONE,
           "First data-parallel replica of the class."),
    COLUMN(OrrLaneRow, "compute-s", ORR_FIELD_REAL, compute_s, ORR_UNIT_SECONDS,
           "Time in kernels."),
    COLUMN(OrrLaneRow, "comm-s", ORR_FIELD_REAL, comm_s, ORR_UNIT_SECONDS,
           "Time that communication holds compute up."),
    COLUMN(OrrLaneRow, "wait-s", ORR_FIELD_REAL, wait_s, ORR_UNIT_SECONDS,
           "Time waiting for other stages."),
    COLUMN(OrrLaneRow, "other-s", ORR_FIELD_REAL, other_s, ORR_UNIT_SECONDS,
           "Host and other time."),
    COLUMN(OrrLaneRow, "end-s", ORR_FIELD_REAL, end_s, ORR_UNIT_SECONDS, "When it ended."),
};
const OrrFieldTable orr_lane_table = ORR_FIELD_TABLE(
    "lane",
    "One row a replayed rank class: a tensor-parallel group of a stage, for all replicas like it.",
    OrrLaneRow, lane_fields);

static const OrrField span_fields[] = {
    COLUMN(OrrSpanRow, "lane", ORR_FIELD_INT, lane, ORR_UNIT_NONE, "Rank class."),
    COLUMN(OrrSpanRow, "stream", ORR_FIELD_TEXT, stream, ORR_UNIT_NONE,
           "Stream of the rank class."),
    COLUMN(OrrSpanRow, "name", ORR_FIELD_TEXT, name, ORR_UNIT_NONE, "What it was."),
    COLUMN(OrrSpanRow, "category", ORR_FIELD_TEXT, category, ORR_UNIT_NONE,
           "Kind of time, or compute."),
    COLUMN(OrrSpanRow, "micro-batch", ORR_FIELD_INT, micro_batch, ORR_UNIT_NONE,
           "Micro-batch; -1: none."),
    COLUMN(OrrSpanRow, "begin-s", ORR_FIELD_REAL, begin_s, ORR_UNIT_SECONDS,
           "When the stream reached it."),
    COLUMN(OrrSpanRow, "started-s", ORR_FIELD_REAL, started_s, ORR_UNIT_SECONDS,
           "When all members had arrived."),
    COLUMN(OrrSpanRow, "end-s", ORR_FIELD_REAL, end_s, ORR_UNIT_SECONDS, "When it ended."),
};
const OrrFieldTable orr_span_table =
    ORR_FIELD_TABLE("span", "One row an operation that took time.", OrrSpanRow, span_fields);

static const OrrField time_kind_fields[] = {
    COLUMN(OrrTimeRow, "lane", ORR_FIELD_INT, lane, ORR_UNIT_NONE, "Rank class."),
    COLUMN(OrrTimeRow, "category", ORR_FIELD_TEXT, category, ORR_UNIT_NONE, "Kind of time."),
    COLUMN(OrrTimeRow, "seconds", ORR_FIELD_REAL, seconds, ORR_UNIT_SECONDS,
           "Seconds in all steps."),
    COLUMN(OrrTimeRow, "fraction", ORR_FIELD_REAL, fraction, ORR_UNIT_FRACTION,
           "Share of the whole."),
};
const OrrFieldTable orr_time_kind_table = ORR_FIELD_TABLE(
    "time_kind", "Where the time of a rank class went, by kind; the kinds add up to the whole.",
    OrrTimeRow, time_kind_fields);

static const OrrField operator_cost_fields[] = {
    COLUMN(OrrOperatorRow, "phase", ORR_FIELD_TEXT, phase, ORR_UNIT_NONE, "Phase it belongs to."),
    COLUMN(OrrOperatorRow, "name", ORR_FIELD_TEXT, name, ORR_UNIT_NONE, "Operator."),
    COLUMN(OrrOperatorRow, "kind", ORR_FIELD_TEXT, kind, ORR_UNIT_NONE,
           "gemm, attention or memory."),
    COLUMN(OrrOperatorRow, "count", ORR_FIELD_INT, count, ORR_UNIT_NONE,
           "How often it runs a step, on a rank that has the phase."),
    COLUMN(OrrOperatorRow, "seconds-each", ORR_FIELD_REAL, seconds_each, ORR_UNIT_SECONDS,
           "One call."),
    COLUMN(OrrOperatorRow, "seconds-total", ORR_FIELD_REAL, seconds_total, ORR_UNIT_SECONDS,
           "All calls of a step."),
    COLUMN(OrrOperatorRow, "how", ORR_FIELD_TEXT, how, ORR_UNIT_NONE,
           "measured, interpolated, carried over from a device (its rows), modelled or outside "
           "(the measured range)."),
    COLUMN(OrrOperatorRow, "flops", ORR_FIELD_REAL, flops, ORR_UNIT_NONE, "FLOPs of one call."),
    COLUMN(OrrOperatorRow, "bytes", ORR_FIELD_REAL, bytes, ORR_UNIT_BYTES,
           "Memory traffic of one call."),
};
const OrrFieldTable orr_operator_cost_table = ORR_FIELD_TABLE(
    "operator_cost", "One row a kind of operator and phase: what it costs and how that is known.",
    OrrOperatorRow, operator_cost_fields);

static const OrrField collective_fields[] = {
    COLUMN(OrrCollectiveRow, "name", ORR_FIELD_TEXT, name, ORR_UNIT_NONE, "What it is for."),
    COLUMN(OrrCollectiveRow, "op", ORR_FIELD_TEXT, op, ORR_UNIT_NONE, "Collective."),
    COLUMN(OrrCollectiveRow, "algorithm", ORR_FIELD_TEXT, algorithm, ORR_UNIT_NONE,
           "Algorithm chosen."),
    COLUMN(OrrCollectiveRow, "n-ranks", ORR_FIELD_INT, n_ranks, ORR_UNIT_NONE, "Ranks of a group."),
    COLUMN(OrrCollectiveRow, "bytes", ORR_FIELD_REAL, bytes, ORR_UNIT_BYTES,
           "Size, as NCCL counts it."),
    COLUMN(OrrCollectiveRow, "count", ORR_FIELD_INT, count, ORR_UNIT_NONE,
           "How many a step and rank."),
    COLUMN(OrrCollectiveRow, "latency-s", ORR_FIELD_REAL, latency_s, ORR_UNIT_SECONDS,
           "Latency part."),
    COLUMN(OrrCollectiveRow, "predicted-s", ORR_FIELD_REAL, predicted_s, ORR_UNIT_SECONDS,
           "Alone on the fabric; mean of those that were replayed."),
    COLUMN(OrrCollectiveRow, "mean-s", ORR_FIELD_REAL, mean_s, ORR_UNIT_SECONDS,
           "As replayed, mean; of those that were replayed on their own."),
    COLUMN(OrrCollectiveRow, "busbw-bytes-per-s", ORR_FIELD_REAL, busbw_bytes_per_s,
           ORR_UNIT_BYTES_PER_S, "Bus bandwidth as predicted."),
    COLUMN(OrrCollectiveRow, "how", ORR_FIELD_TEXT, how, ORR_UNIT_NONE, "How the cost is known."),
};
const OrrFieldTable orr_collective_table =
    ORR_FIELD_TABLE("collective", "One row a kind of communication of the step.", OrrCollectiveRow,
                    collective_fields);

static const OrrField link_use_fields[] = {
    COLUMN(OrrLinkRow, "link", ORR_FIELD_TEXT, link, ORR_UNIT_NONE, "Its name."),
    COLUMN(OrrLinkRow, "kind", ORR_FIELD_TEXT, kind, ORR_UNIT_NONE, "scale-up, nic or fabric."),
    COLUMN(OrrLinkRow, "stands-for", ORR_FIELD_INT, stands_for, ORR_UNIT_NONE,
           "Links that were folded into it."),
    COLUMN(OrrLinkRow, "bandwidth-bytes-per-s", ORR_FIELD_REAL, bandwidth_bytes_per_s,
           ORR_UNIT_BYTES_PER_S, "Effective bandwidth."),
    COLUMN(OrrLinkRow, "bytes", ORR_FIELD_REAL, bytes, ORR_UNIT_BYTES, "Bytes carried."),
    COLUMN(OrrLinkRow, "utilization", ORR_FIELD_REAL, utilization, ORR_UNIT_FRACTION,
           "Share of the bandwidth over the whole run."),
};
const OrrFieldTable orr_link_use_table =
    ORR_FIELD_TABLE("link_use", "One row a link that the replay kept: what it carried.", OrrLinkRow,
                    link_use_fields);

static const OrrField link_time_fields[] = {
    COLUMN(OrrLinkTimeRow, "link", ORR_FIELD_TEXT, link, ORR_UNIT_NONE, "Its name."),
    COLUMN(OrrLinkTimeRow, "begin-s", ORR_FIELD_REAL, begin_s, ORR_UNIT_SECONDS,
           "Where this part of the run begins."),
    COLUMN(OrrLinkTimeRow, "end-s", ORR_FIELD_REAL, end_s, ORR_UNIT_SECONDS, "Where it ends."),
    COLUMN(OrrLinkTimeRow, "bytes", ORR_FIELD_REAL, bytes, ORR_UNIT_BYTES,
           "Bytes carried in it, each communication's spread evenly over its time."),
    COLUMN(OrrLinkTimeRow, "utilization", ORR_FIELD_REAL, utilization, ORR_UNIT_FRACTION,
           "Share of the bandwidth in this part."),
};
const OrrFieldTable orr_link_time_table =
    ORR_FIELD_TABLE("link_time",
                    "One row for each of the busiest links and each of 200 equal parts of the run; "
                    "written with spans.",
                    OrrLinkTimeRow, link_time_fields);

static const OrrField job_fields[] = {
    COLUMN(OrrJobRow, "job", ORR_FIELD_TEXT, job, ORR_UNIT_NONE, "Its name."),
    {.name = "first-run",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrJobRow, first_run),
     .sentence = "The run of the first job that it shared the machine with; 0: this is the first.",
     .flags = ORR_FIELD_RUN},
    COLUMN(OrrJobRow, "n-gpus", ORR_FIELD_INT, n_gpus, ORR_UNIT_NONE, "GPUs it had."),
    COLUMN(OrrJobRow, "gpus", ORR_FIELD_TEXT, gpus, ORR_UNIT_NONE,
           "Which of the machine's, in the order of its ranks."),
    COLUMN(OrrJobRow, "start-s", ORR_FIELD_REAL, start_s, ORR_UNIT_SECONDS, "When it started."),
    COLUMN(OrrJobRow, "end-s", ORR_FIELD_REAL, end_s, ORR_UNIT_SECONDS, "When it ended."),
    COLUMN(
        OrrJobRow, "together-s", ORR_FIELD_REAL, together_s, ORR_UNIT_SECONDS,
        "How long it took beside the others; of a serving job, how long its requests did, mean."),
    COLUMN(OrrJobRow, "alone-s", ORR_FIELD_REAL, alone_s, ORR_UNIT_SECONDS,
           "The same on the same GPUs with nobody else on the machine, and no faults."),
    COLUMN(OrrJobRow, "slowdown", ORR_FIELD_REAL, slowdown, ORR_UNIT_NONE,
           "Together over alone: 1 is undisturbed."),
};
const OrrFieldTable orr_job_row_table = ORR_FIELD_TABLE(
    "job", "One row a job that shared the machine with others or met faults: what they cost it.",
    OrrJobRow, job_fields);

static const OrrField storage_fields[] = {
    COLUMN(OrrStorageRow, "name", ORR_FIELD_TEXT, name, ORR_UNIT_NONE,
           "checkpoint-write, checkpoint-snapshot (to the host's memory), checkpoint-load or "
           "data-load."),
    COLUMN(OrrStorageRow, "count", ORR_FIELD_INT, count, ORR_UNIT_NONE, "How many in the run."),
    COLUMN(OrrStorageRow, "bytes", ORR_FIELD_REAL, bytes, ORR_UNIT_BYTES,
           "Bytes of one, by all GPUs together."),
    COLUMN(OrrStorageRow, "alone-s", ORR_FIELD_REAL, alone_s, ORR_UNIT_SECONDS,
           "One rank class with all its links to itself, mean."),
    COLUMN(OrrStorageRow, "mean-s", ORR_FIELD_REAL, mean_s, ORR_UNIT_SECONDS,
           "As replayed, mean over rank classes."),
    COLUMN(OrrStorageRow, "wall-s", ORR_FIELD_REAL, wall_s, ORR_UNIT_SECONDS,
           "One, from its first byte to its last, mean."),
    COLUMN(OrrStorageRow, "bytes-per-s", ORR_FIELD_REAL, bytes_per_s, ORR_UNIT_BYTES_PER_S,
           "Bytes of one over that."),
};
const OrrFieldTable orr_storage_row_table = ORR_FIELD_TABLE(
    "storage_use", "One row a kind of exchange with the file system: checkpoints and data.",
    OrrStorageRow, storage_fields);

static const OrrField fault_fields[] = {
    COLUMN(OrrFaultRow, "fault", ORR_FIELD_INT, fault, ORR_UNIT_NONE,
           "Its place in the scenario's list, from 1."),
    COLUMN(OrrFaultRow, "kind", ORR_FIELD_TEXT, kind, ORR_UNIT_NONE, "Kind of fault."),
    COLUMN(OrrFaultRow, "what", ORR_FIELD_TEXT, what, ORR_UNIT_NONE, "What went wrong with what."),
    COLUMN(OrrFaultRow, "begin-s", ORR_FIELD_REAL, begin_s, ORR_UNIT_SECONDS, "When it began."),
    COLUMN(OrrFaultRow, "end-s", ORR_FIELD_REAL, end_s, ORR_UNIT_SECONDS,
           "When it was over; NULL: it stayed."),
    COLUMN(OrrFaultRow, "step-before-s", ORR_FIELD_REAL, step_before_s, ORR_UNIT_SECONDS,
           "Mean of the steps that were whole before it; NULL: none."),
    COLUMN(OrrFaultRow, "step-during-s", ORR_FIELD_REAL, step_during_s, ORR_UNIT_SECONDS,
           "Mean of the steps that it touched; NULL: none."),
    COLUMN(OrrFaultRow, "step-after-s", ORR_FIELD_REAL, step_after_s, ORR_UNIT_SECONDS,
           "Mean of the steps that began after it; NULL: none."),
    COLUMN(OrrFaultRow, "step-without-s", ORR_FIELD_REAL, step_without_s, ORR_UNIT_SECONDS,
           "Mean step of the same job with no fault, and alone; NULL: it has no steps."),
};
const OrrFieldTable orr_fault_row_table =
    ORR_FIELD_TABLE("fault", "One row a time that a fault struck: what it did to the step.",
                    OrrFaultRow, fault_fields);

static const OrrField warning_fields[] = {
    COLUMN(OrrWarningRow, "text", ORR_FIELD_TEXT, text, ORR_UNIT_NONE,
           "What to know before the answer is believed."),
};
const OrrFieldTable orr_warning_table =
    ORR_FIELD_TABLE("warning", "One row a warning of the run.", OrrWarningRow, warning_fields);

static const OrrField cost_trust_fields[] = {
    COLUMN(OrrCostTrustRow, "how", ORR_FIELD_TEXT, how, ORR_UNIT_NONE,
           "measured, interpolated, carried over from a device (its rows), modelled, or outside "
           "the measured range."),
    COLUMN(OrrCostTrustRow, "seconds", ORR_FIELD_REAL, seconds, ORR_UNIT_SECONDS,
           "Time of steps whose cost is known so, over all replicas."),
};
const OrrFieldTable orr_cost_trust_table =
    ORR_FIELD_TABLE("cost_trust", "How the time of a serving run's steps is known: one row a way.",
                    OrrCostTrustRow, cost_trust_fields);

static const OrrField memory_fields[] = {
    COLUMN(OrrMemoryRow, "stage", ORR_FIELD_INT, stage, ORR_UNIT_NONE, "Pipeline stage."),
    COLUMN(OrrMemoryRow, "weights-bytes", ORR_FIELD_REAL, weights_bytes, ORR_UNIT_BYTES,
           "Weights."),
    COLUMN(OrrMemoryRow, "gradients-bytes", ORR_FIELD_REAL, gradients_bytes, ORR_UNIT_BYTES,
           "Gradients."),
    COLUMN(OrrMemoryRow, "optimizer-bytes", ORR_FIELD_REAL, optimizer_bytes, ORR_UNIT_BYTES,
           "Master weights and moments."),
    COLUMN(OrrMemoryRow, "activations-bytes", ORR_FIELD_REAL, activations_bytes, ORR_UNIT_BYTES,
           "Activations kept from forward to backward, at the peak of the schedule."),
    COLUMN(OrrMemoryRow, "working-bytes", ORR_FIELD_REAL, working_bytes, ORR_UNIT_BYTES,
           "Beside them then: what a backward replays, gradients of activations and logits."),
    COLUMN(OrrMemoryRow, "buffers-bytes", ORR_FIELD_REAL, buffers_bytes, ORR_UNIT_BYTES,
           "Tensors on their way between stages, and to the host and back."),
    COLUMN(OrrMemoryRow, "fragmentation-bytes", ORR_FIELD_REAL, fragmentation_bytes, ORR_UNIT_BYTES,
           "What the allocator holds for these three that none fills "
           "(workload.memory.fragmentation)."),
    COLUMN(OrrMemoryRow, "flat-copies-bytes", ORR_FIELD_REAL, flat_copies_bytes, ORR_UNIT_BYTES,
           "Copies of gradients in buckets and at the update; outputs of a step put together."),
    COLUMN(OrrMemoryRow, "workspace-bytes", ORR_FIELD_REAL, workspace_bytes, ORR_UNIT_BYTES,
           "cuBLAS' workspace."),
    COLUMN(OrrMemoryRow, "communicators-bytes", ORR_FIELD_REAL, communicators_bytes, ORR_UNIT_BYTES,
           "NCCL's buffers."),
    COLUMN(OrrMemoryRow, "context-bytes", ORR_FIELD_REAL, context_bytes, ORR_UNIT_BYTES,
           "CUDA's context."),
    COLUMN(OrrMemoryRow, "host-bytes", ORR_FIELD_REAL, host_bytes, ORR_UNIT_BYTES,
           "In the host's memory instead: offloaded optimizer, gradients and activations; not in "
           "the sum."),
    COLUMN(OrrMemoryRow, "total-bytes", ORR_FIELD_REAL, total_bytes, ORR_UNIT_BYTES, "Sum."),
    COLUMN(OrrMemoryRow, "capacity-bytes", ORR_FIELD_REAL, capacity_bytes, ORR_UNIT_BYTES,
           "Memory of the device."),
};
const OrrFieldTable orr_memory_table =
    ORR_FIELD_TABLE("memory", "One row a pipeline stage: bytes one GPU holds at the peak.",
                    OrrMemoryRow, memory_fields);

static const OrrField activation_fields[] = {
    COLUMN(OrrActivationRow, "stage", ORR_FIELD_INT, stage, ORR_UNIT_NONE, "Pipeline stage."),
    COLUMN(OrrActivationRow, "chunk", ORR_FIELD_INT, chunk, ORR_UNIT_NONE, "Chunk of the stage."),
    COLUMN(OrrActivationRow, "unit", ORR_FIELD_TEXT, unit, ORR_UNIT_NONE,
           "embedding, layer, mtp or head."),
    COLUMN(OrrActivationRow, "operator", ORR_FIELD_TEXT, operator, ORR_UNIT_NONE,
           "Whose backward reads it; layer-input of a layer that is recomputed, NAME-result where "
           "that result is kept."),
    COLUMN(OrrActivationRow, "units", ORR_FIELD_INT, units, ORR_UNIT_NONE,
           "Of the chunk, that have the operator."),
    COLUMN(OrrActivationRow, "kept-bytes", ORR_FIELD_REAL, kept_bytes, ORR_UNIT_BYTES,
           "Kept from forward to backward by all of them, of one micro-batch."),
    COLUMN(OrrActivationRow, "host-bytes", ORR_FIELD_REAL, host_bytes, ORR_UNIT_BYTES,
           "Kept in the host's memory instead."),
    COLUMN(OrrActivationRow, "replayed-bytes", ORR_FIELD_REAL, replayed_bytes, ORR_UNIT_BYTES,
           "Not kept, but recomputed before the backward."),
    COLUMN(OrrActivationRow, "micro-batches", ORR_FIELD_INT, micro_batches, ORR_UNIT_NONE,
           "Of the chunk, under way when the stage holds most."),
    COLUMN(OrrActivationRow, "peak-bytes", ORR_FIELD_REAL, peak_bytes, ORR_UNIT_BYTES,
           "Kept of all of these; over a stage the memory table's activations_bytes."),
};
const OrrFieldTable orr_activation_table = ORR_FIELD_TABLE(
    "activation", "One row for each operator of each stage: what one GPU keeps of its activations.",
    OrrActivationRow, activation_fields);

static const OrrField memory_time_fields[] = {
    COLUMN(OrrMemoryTimeRow, "stage", ORR_FIELD_INT, stage, ORR_UNIT_NONE, "Pipeline stage."),
    COLUMN(OrrMemoryTimeRow, "what", ORR_FIELD_TEXT, what, ORR_UNIT_NONE,
           "The pass: forward, backward, backward-input, backward-weight, forward-backward, or "
           "update."),
    COLUMN(OrrMemoryTimeRow, "chunk", ORR_FIELD_INT, chunk, ORR_UNIT_NONE,
           "Its chunk of the stage; -1: none."),
    COLUMN(OrrMemoryTimeRow, "micro-batch", ORR_FIELD_INT, micro_batch, ORR_UNIT_NONE,
           "Its micro-batch; -1: none."),
    COLUMN(OrrMemoryTimeRow, "begin-s", ORR_FIELD_REAL, begin_s, ORR_UNIT_SECONDS,
           "When it began to compute."),
    COLUMN(OrrMemoryTimeRow, "end-s", ORR_FIELD_REAL, end_s, ORR_UNIT_SECONDS, "When it had."),
    COLUMN(OrrMemoryTimeRow, "fixed-bytes", ORR_FIELD_REAL, fixed_bytes, ORR_UNIT_BYTES,
           "Weights, gradients, optimizer, tensors on their way, libraries."),
    COLUMN(OrrMemoryTimeRow, "activations-bytes", ORR_FIELD_REAL, activations_bytes, ORR_UNIT_BYTES,
           "Activations kept for backwards, its own included."),
    COLUMN(OrrMemoryTimeRow, "working-bytes", ORR_FIELD_REAL, working_bytes, ORR_UNIT_BYTES,
           "Beside them while it ran."),
    COLUMN(OrrMemoryTimeRow, "after-bytes", ORR_FIELD_REAL, after_bytes, ORR_UNIT_BYTES,
           "Activations that were left when it had ended."),
    COLUMN(OrrMemoryTimeRow, "total-bytes", ORR_FIELD_REAL, total_bytes, ORR_UNIT_BYTES,
           "What nvidia-smi shows: the allocator gives nothing back, so that it never falls."),
};
const OrrFieldTable orr_memory_time_table = ORR_FIELD_TABLE(
    "memory_time", "One row for each pass of each stage: bytes one GPU holds; written with spans.",
    OrrMemoryTimeRow, memory_time_fields);

const OrrFieldTable *const orr_row_tables[] = {&orr_training_result_table,
                                               &orr_collectives_result_table,
                                               &orr_serving_result_table,
                                               &orr_serving_request_table,
                                               &orr_serving_step_table,
                                               &orr_serving_replica_table,
                                               &orr_serving_class_table,
                                               &orr_serving_turn_table,
                                               &orr_nccl_test_table,
                                               &orr_step_table,
                                               &orr_lane_table,
                                               &orr_span_table,
                                               &orr_time_kind_table,
                                               &orr_operator_cost_table,
                                               &orr_collective_table,
                                               &orr_link_use_table,
                                               &orr_link_time_table,
                                               &orr_memory_table,
                                               &orr_activation_table,
                                               &orr_memory_time_table,
                                               &orr_warning_table,
                                               &orr_cost_trust_table,
                                               &orr_job_row_table,
                                               &orr_fault_row_table,
                                               &orr_storage_row_table,
                                               NULL};
