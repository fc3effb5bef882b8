/*
 * transport.c - the registry of transports, and the plain transport `measured`, which adds nothing.
 */
#include "topologies/transport.h"

#define REFERENCE_MTU 4096.0   /* what nic-efficiency was measured with ... */
#define REFERENCE_HEADERS 26.0 /* ... on InfiniBand (NCCL's 24 of 25 and 48 of 50 GB/s) */

extern const OrrEntry orr_dpu, orr_efa, orr_infiniband, orr_roce_v2;

static const OrrField measured_fields[] = {
    ORR_TRANSPORT_FIELDS("26 B", "0", "0 s", "2", "1", "1", "true", "0", "0 s")};

static const OrrFieldTable measured_table = ORR_FIELD_TABLE(
    "measured", "Parameters of the transport measured.", OrrTransport, measured_fields);

static const OrrEntry orr_measured = {
    .name = "measured",
    .sentence = "Adds nothing to the measured nic-efficiency and nic-latency.",
    .params = &measured_table,
};

static const OrrEntry *const entries[] = {&orr_dpu,      &orr_efa,     &orr_infiniband,
                                          &orr_measured, &orr_roce_v2, NULL};

const OrrRegistry orr_transport_registry = {.family = "transport", .entries = entries};

double orr_transport_packet_fraction(const OrrTransport *transport) {
  const double reference = REFERENCE_MTU / (REFERENCE_MTU + REFERENCE_HEADERS);
  return transport->mtu_bytes / (transport->mtu_bytes + transport->header_bytes) / reference;
}
