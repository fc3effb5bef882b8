/*
 * transport.c - what a transport does to the bytes of a message.
 */
#include "topologies/transport.h"

const char *const orr_transport_protocols_words[] = {"all", "no-ll128", "simple", NULL};
const char *const orr_transport_rendezvous_words[] = {"hop", "call", NULL};

#define REFERENCE_MTU 4096.0   /* what nic-efficiency was measured with ... */
#define REFERENCE_HEADERS 26.0 /* ... on InfiniBand (NCCL's 24 of 25 and 48 of 50 GB/s) */

double orr_transport_packet_fraction(const OrrTransport *transport) {
  const double reference = REFERENCE_MTU / (REFERENCE_MTU + REFERENCE_HEADERS);
  return transport->mtu_bytes / (transport->mtu_bytes + transport->header_bytes) / reference;
}
