/*
 * measured_transport.c - the plain transport, which adds nothing: the NIC's figures were measured
 * with a transport, and hold unchanged.
 *
 *   transport: measured
 */
#include "topologies/transport.h"

static const OrrFieldTable params_table =
    ORR_FIELDS("measured", "Parameters of the transport measured.", OrrTransport,
               ORR_TRANSPORT_FIELDS("26 B", "0", "0 s", "2", "1", "1", "true", "0", "0 s"));

const OrrEntry orr_measured = {
    .name = "measured",
    .sentence = "Adds nothing to the measured nic-efficiency and nic-latency.",
    .params = &params_table,
};
