/*
 * prices.h - what things cost, as a document; and what a machine and an hour of it cost.
 *
 * Documents: topologies/prices/NAME.yaml (`schema: prices/1`); a scenario names one (`prices:`).
 * All of it is typed by the user, in one currency; nothing has a default. What is not typed is left
 * out of every sum: people always are.
 *
 *   rented      gpu-hour
 *   bought      each item of the machine's bill (bill.h) at its price, over lifetime-years, in
 *   which the GPUs work for a fraction `utilisation`:
 *
 *                 hour of a GPU = price of the machine as built / its GPUs
 *                                 / (lifetime-years * 8,766 h * utilisation)
 *
 *   energy      kwh, for each kWh at the meter: the machine's energy times pue
 *   carbon      carbon-grams-per-kwh, for the same kWh
 *
 * Switches, optics and cables are lists, because a machine may have several kinds. An item takes
 * the cheapest entry of its rate (and, a switch, of at least its ports); a list that is given but
 * has no entry for an item is an error. A list that is absent is left out.
 */
#pragma once

#include "sim/base/field.h"
#include "topologies/bill.h"
#include "topologies/cluster.h"

typedef struct {
  gint64 ports;       /* of a switch; 0 for optics and cables */
  double bytes_per_s; /* nominal, one direction */
  gboolean copper;    /* cables: with its ends; FALSE: fibre, to which optics come */
  double price;
} OrrPartPrice;

/* Prices of one device that differ from the document's. 0: as there. */
typedef struct {
  char *device;
  double gpu_hour, gpu, node;
} OrrDevicePrice;

/* A price of 0 is one that is not given. */
typedef struct {
  char *name, *source, *currency;
  double gpu_hour;
  double gpu, node, nic, scale_up_switch, storage_server; /* of one */
  GPtrArray *devices;                                     /* of OrrDevicePrice */
  GPtrArray *switches, *optics, *cables;                  /* of OrrPartPrice */
  double lifetime_years, utilisation;
  double kwh;
  double pue;
  double carbon_grams_per_kwh;
} OrrPrices;

extern const OrrFieldTable orr_prices_table;

gboolean orr_prices_given(const OrrPrices *prices);        /* FALSE: the scenario has none */
gboolean orr_prices_has_hardware(const OrrPrices *prices); /* a rent or a purchase */

/* Rules that span fields: rented or bought, and what a purchase needs. Findings at @place. */
void orr_prices_check(const OrrPrices *prices, OrrPlace place, OrrDiags *diags);
/* Whether each list that is given has an entry for each item of the machine. */
void orr_prices_check_cluster(const OrrPrices *prices, const OrrCluster *cluster, OrrPlace place,
                              OrrDiags *diags);

/* The price of one piece of an item, for a machine of @device; NAN: not given. */
double orr_prices_item(const OrrPrices *prices, const OrrBillItem *item, const char *device);

/* The whole machine; NAN where no item has a price. */
double orr_prices_machine(const OrrPrices *prices, const OrrBill *bill, const char *device);

/* One GPU for one hour, without energy: its rent, or its part of the machine, NICs, switches and
 * storage included. @device: of that GPU. NAN: no price that applies is given. */
double orr_prices_gpu_hour(const OrrPrices *prices, const OrrBill *bill, const char *device);

/* The bill with the price of each item, and what they add up to; newly allocated. */
char *orr_prices_text(const OrrPrices *prices, const OrrBill *bill, const OrrCluster *cluster);
