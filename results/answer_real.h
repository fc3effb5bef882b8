/*
 * answer_real.h - real numbers as text, for answers of many cells.
 *
 * Both functions write the very bytes that printf would, tens of times faster where the number lies
 * between 1e-11 and 1e16; elsewhere, and in the rare cases that need it, they call printf.
 */
#pragma once

#include "sim/base/ground.h"

/* Enough for both. */
#define ORR_ANSWER_REAL_SIZE 48

/* The shortest text that reads back as @value, which is finite: %.15g, else %.16g, else %.17g, with
 * a point or an exponent to mark it as a real number ("10.0"). Returns its length. */
gsize orr_answer_real(double value, char text[ORR_ANSWER_REAL_SIZE]);

/* @number, which orr_answer_real wrote, as %.6g writes it. Returns its length. */
gsize orr_answer_real_short(const char *number, char text[ORR_ANSWER_REAL_SIZE]);
