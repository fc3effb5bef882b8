/*
 * quantity.h - numbers with units, as documents write them.
 *
 * "450 GB/s", "400 Gb/s", "2 us", "80 GiB", "312 TFLOP/s", "90 %". Decimal and binary prefixes
 * differ (GB is 1e9 bytes, GiB 2^30), and so do bits (b) and bytes (B). A value is stored in the
 * base unit of its dimension. A number without a required unit is an error that lists the units;
 * dimensionless values take no unit.
 */
#pragma once

#include "sim/base/ground.h"

typedef enum {
  ORR_UNIT_NONE,        /* a pure number */
  ORR_UNIT_FRACTION,    /* 0.9 or "90 %"; base 1 */
  ORR_UNIT_BYTES,       /* B, kB, MB, GB, TB, KiB .. TiB; base byte */
  ORR_UNIT_BYTES_PER_S, /* GB/s, Gb/s (or Gbit/s), GiB/s, TB/s ...; base byte/s */
  ORR_UNIT_SECONDS,     /* ns, us, ms, s, min, h, d; base second */
  ORR_UNIT_FLOP_PER_S,  /* GFLOP/s, TFLOP/s, PFLOP/s; base FLOP/s */
  ORR_UNIT_HERTZ,       /* MHz, GHz; base Hz */
  ORR_UNIT_WATTS,       /* W, kW, MW */
  ORR_UNIT_J_PER_BYTE,  /* pJ/B, nJ/B; base joule per byte */
  ORR_N_UNITS
} OrrUnit;

/* The value of @text in the base unit. FALSE with ORR_FAULT_DOCUMENT and a message that lists the
 * units allowed. Infinity and NaN are refused. Counts can be written 1_000_000 or 1e6. */
gboolean orr_quantity_parse(const char *text, OrrUnit unit, double *ret_value, GError **error);

/* Text for people, with a prefix that keeps 1 <= |x| < 1000: "26.1 s", "450 GB/s", "80 GiB" (bytes
 * have binary prefixes). Four significant digits without trailing zeros; fractions in %; pure
 * numbers have no prefix. Newly allocated. */
char *orr_quantity_format(double value, OrrUnit unit);

/* Exact text that orr_quantity_parse reads back to the same double, e.g. "4.5e+11 B/s". Newly
 * allocated. */
char *orr_quantity_exact(double value, OrrUnit unit);

const char *orr_unit_symbol(OrrUnit unit);  /* base unit: "B", "B/s", "s", "" ... */
const char *orr_unit_allowed(OrrUnit unit); /* "B, kB, MB, ...": for messages and documentation */
