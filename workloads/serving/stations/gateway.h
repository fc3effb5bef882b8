/*
 * gateway.h - admission to a pool of replicas: a queue, and the router's choice.
 */
#pragma once

#include "workloads/serving/stations/station.h"

typedef struct OrrGateway OrrGateway;

/* The gateways of a fleet: one, or one for each pool where prefill and decode are separate. */
typedef struct {
  OrrGateway *first;  /* to all replicas, or to those that prefill */
  OrrGateway *decode; /* NULL: prefill and decode are not separate */
} OrrGatewayPair;

extern const OrrStation orr_station_gateway;

const OrrGatewayPair *orr_gateway_pair(const OrrRoute *route);
/* Sends @request to a replica, or lets it wait for one. FALSE: the queue is full. */
gboolean orr_gateway_send(OrrGateway *gateway, OrrRequest *request);
/* The same, to replica @i, whatever the limits. */
void orr_gateway_send_to(OrrGateway *gateway, OrrRequest *request, guint i);
guint orr_gateway_pick(OrrGateway *gateway, const OrrRequest *request); /* whatever the limits */
/* A request has ended, or a replica is up: the first of the queue can have its place. */
void orr_gateway_notice(OrrGateway *gateway);
gboolean orr_gateway_any_open(OrrGateway *gateway);
gint64 orr_gateway_n_waiting(const OrrGateway *gateway);
/* Of clients to whom @region is the nearest with replicas. */
gint64 orr_gateway_n_waiting_near(const OrrGateway *gateway, guint region);
