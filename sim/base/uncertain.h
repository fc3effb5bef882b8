/*
 * uncertain.h - numbers that the user marks as uncertain: {value: 4, low: 3, high: 5}.
 *
 * A reader that takes such marks (orr_field_read_uncertain) gives the member its `value` and lists
 * the mark. What the three numbers mean:
 *
 *   probability density                    As likely below `value` as above it, never outside of
 *        ________                          `low` and `high`, and even between. Of all distributions
 *       |        |                         with that median and those bounds, this one has the
 *       |        |________________         largest entropy: it assumes least besides the three
 *       |        |                |        numbers.
 *      low     value            high
 */
#pragma once

#include "sim/base/node.h"
#include "sim/base/quantity.h"

/* Numbers with bounds in one scenario. */
#define ORR_UNCERTAIN_MOST 50

typedef struct {
  char *path;              /* "workload.load.rate" */
  double value, low, high; /* in the base unit of @unit; low <= value <= high */
  OrrUnit unit;
  gboolean is_whole; /* of an INT: whole numbers */
  OrrPlace place;    /* of the mark, without its node */
} OrrUncertain;

void orr_uncertain_free(OrrUncertain *uncertain); /* NULL is fine */

/* The number that is not exceeded with @probability, from 0 to 1; rounded where it is whole. */
double orr_uncertain_quantile(const OrrUncertain *uncertain, double probability);

/* @number as a document writes it, exactly: "4.5e+11 B/s". Newly allocated. */
char *orr_uncertain_text(const OrrUncertain *uncertain, double number);

/* The same with a comma and a blank before it, for a text after the bounds. Newly allocated. */
char *orr_uncertain_note_after(double value, double low, double high, double expected);
