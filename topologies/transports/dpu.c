/*
 * dpu.c - dpu: InfiniBand with DPUs (BlueField), which drive the connections instead of the host.
 *
 *   offloaded   all: the DPU's cores post, poll and forward, as MVAPICH2-DPU's and UCC's
 *               collectives have it
 *   dpu-work    1 us, as long as a host takes (NCCL's tuning, network-step): on their own,
 *               offloaded collectives are "comparable to well-optimized host-based implementations"
 *               (Karamati et al., "Optimizing application performance with BlueField", ISC 2024,
 *               abstract, DOI 10.23919/isc.2024.10528935). Weak: no time of a step is published.
 *               What they gain applications there, 14 to 49 %, is the host's cores, which run
 *               nothing here
 *   the rest    as infiniband
 *
 *   transport: {kind: dpu, dpu-work: 0.3 us}
 */
#include "topologies/transport.h"

static const OrrFieldTable params_table =
    ORR_FIELDS("dpu", "Parameters of the transport dpu.", OrrTransport,
               ORR_TRANSPORT_FIELDS("26 B", "215e6", "0 s", "4", "1", "0.96", "true", "1", "1 us"));

const OrrEntry orr_dpu = {
    .name = "dpu",
    .sentence = "InfiniBand with DPUs, which do the host's work for each message.",
    .params = &params_table,
};
