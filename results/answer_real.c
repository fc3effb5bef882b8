/*
 * answer_real.c - real numbers as text.
 *
 * A double is m * 2^e, with m below 2^53. Of a number at or above 10^p and below 10^(p + 1), the
 * first 17 digits are the integer part of
 *
 *   m * 2^e * 10^k = m * 5^k / 2^s    with k = 16 - p and s = -(e + k)
 *
 * For k from 0 to 27, 5^k has at most 63 bits, so the product is exact in 128 bits, and so is what
 * the shift by s cuts off: rounding to 17, 16 or 15 digits is exact, ties to even, as in glibc. A
 * rounded number reads back as the same double where it is less than half a unit of m away, that is
 * half of 5^k before the shift; at just half, where m is even.
 */
#include "results/store_private.h"

typedef unsigned __int128 Wide;

enum { MOST_DIGITS = 17, MOST_FIVES = 27 };

static const guint64 tens[] = {G_GUINT64_CONSTANT(1),
                               G_GUINT64_CONSTANT(10),
                               G_GUINT64_CONSTANT(100),
                               G_GUINT64_CONSTANT(1000),
                               G_GUINT64_CONSTANT(10000),
                               G_GUINT64_CONSTANT(100000),
                               G_GUINT64_CONSTANT(1000000),
                               G_GUINT64_CONSTANT(10000000),
                               G_GUINT64_CONSTANT(100000000),
                               G_GUINT64_CONSTANT(1000000000),
                               G_GUINT64_CONSTANT(10000000000),
                               G_GUINT64_CONSTANT(100000000000),
                               G_GUINT64_CONSTANT(1000000000000),
                               G_GUINT64_CONSTANT(10000000000000),
                               G_GUINT64_CONSTANT(100000000000000),
                               G_GUINT64_CONSTANT(1000000000000000),
                               G_GUINT64_CONSTANT(10000000000000000),
                               G_GUINT64_CONSTANT(100000000000000000)};

/* --- Digits to text --- */

/* A number of @n digits; the first one stands for 10^@exponent. */
typedef struct {
  guint64 digits;
  int n, exponent;
} Decimal;

/* As %.*g of @precision writes it: no zeros at the end, an exponent where it is below -4 or at
 * least @precision. */
static gsize write_decimal(Decimal decimal, int precision, gboolean is_negative, char *text) {
  char digits[24], *out = text;
  while (decimal.n > 1 && decimal.digits % 10 == 0) decimal.digits /= 10, decimal.n--;
  for (int i = decimal.n; i-- > 0; decimal.digits /= 10)
    digits[i] = (char)('0' + decimal.digits % 10);
  const int exponent = decimal.exponent, n = decimal.n;
  if (is_negative) *out++ = '-';
  const gboolean is_scientific = exponent < -4 || exponent >= precision;
  const int before = is_scientific ? 1 : MAX(exponent + 1, 0); /* digits before the point */
  if (before == 0) *out++ = '0';
  for (int i = 0; i < before; i++) *out++ = i < n ? digits[i] : '0';
  if (n > before) *out++ = '.';
  for (int i = exponent; !is_scientific && i < -1; i++) *out++ = '0';
  for (int i = before; i < n; i++) *out++ = digits[i];
  if (is_scientific) {
    const int size = exponent < 0 ? -exponent : exponent;
    *out++ = 'e';
    *out++ = exponent < 0 ? '-' : '+';
    if (size >= 100) *out++ = (char)('0' + size / 100);
    *out++ = (char)('0' + size / 10 % 10);
    *out++ = (char)('0' + size % 10);
  }
  *out = '\0';
  return (gsize)(out - text);
}

/* --- The shortest digits of a double --- */

/* The first 17 digits of m * 2^e, and what comes after them. */
typedef struct {
  Wide product; /* m * 5^k */
  Wide rest;    /* of it, what the shift cuts off */
  guint64 five; /* 5^k */
  guint64 digits;
  int shift, exponent;
} Scaled;

static guint64 power_of_five(int k) {
  guint64 five = 1;
  for (; k > 0; k--) five *= 5;
  return five;
}

static gboolean scale_by(Scaled *scaled, guint64 m, int e, int exponent) {
  static guint64 fives[MOST_FIVES + 1];
  const int k = MOST_DIGITS - 1 - exponent, shift = -(e + k);
  if (k < 0 || k > MOST_FIVES || shift < 1 || shift > 63) return FALSE;
  if (fives[k] == 0) fives[k] = power_of_five(k);
  scaled->five = fives[k];
  scaled->product = (Wide)m * fives[k];
  scaled->digits = (guint64)(scaled->product >> shift);
  scaled->rest = scaled->product & (((Wide)1 << shift) - 1);
  scaled->shift = shift;
  scaled->exponent = exponent;
  return TRUE;
}

/* @value is positive. FALSE where it is out of range, or a power of two, whose neighbours are at
 * two distances. */
static gboolean scale(double value, Scaled *ret_scaled, gboolean *ret_even) {
  guint64 bits;
  memcpy(&bits, &value, sizeof bits);
  const guint64 m = bits & ((G_GUINT64_CONSTANT(1) << 52) - 1);
  const int biased = (int)(bits >> 52);
  if (biased == 0 || m == 0) return FALSE;
  const int e = biased - 1075;
  *ret_even = m % 2 == 0;
  const guint64 whole = m | G_GUINT64_CONSTANT(1) << 52;
  /* log10(2) = 0.30103: at most one below the exponent */
  const int guess = (int)floor((biased - 1023) * 0.30102999566398);
  if (!scale_by(ret_scaled, whole, e, guess)) return FALSE;
  if (ret_scaled->digits >= tens[MOST_DIGITS]) return scale_by(ret_scaled, whole, e, guess + 1);
  return ret_scaled->digits >= tens[MOST_DIGITS - 1];
}

/* Rounded to @n digits, ties to even. */
static guint64 round_to(const Scaled *scaled, int n) {
  if (n == MOST_DIGITS) {
    const Wide half = (Wide)1 << (scaled->shift - 1);
    const gboolean is_up = scaled->rest > half || (scaled->rest == half && scaled->digits % 2 == 1);
    return scaled->digits + is_up;
  }
  const guint64 unit = tens[MOST_DIGITS - n], cut = scaled->digits % unit;
  const guint64 kept = scaled->digits / unit;
  const gboolean is_tie = 2 * cut == unit && scaled->rest == 0;
  return kept + (is_tie ? kept % 2 : 2 * cut >= unit);
}

static gboolean reads_back(const Scaled *scaled, guint64 digits, int n, gboolean is_even) {
  const Wide near = (Wide)(digits * tens[MOST_DIGITS - n]) << scaled->shift;
  const Wide away = 2 * (near > scaled->product ? near - scaled->product : scaled->product - near);
  return away < scaled->five || (is_even && away == scaled->five);
}

static gsize write_printf(double value, char *text) {
  for (int digits = 15; digits <= 17; digits++) {
    char format[] = "%.00g";
    format[2] = (char)('0' + digits / 10);
    format[3] = (char)('0' + digits % 10);
    g_ascii_formatd(text, ORR_ANSWER_REAL_SIZE, format, value);
    if (g_ascii_strtod(text, NULL) == value) break;
  }
  return strlen(text);
}

static gsize write_shortest(double value, char *text) {
  Scaled scaled;
  gboolean is_even = FALSE;
  if (!scale(fabs(value), &scaled, &is_even)) return write_printf(value, text);
  int n = 15;
  guint64 digits = round_to(&scaled, n);
  while (n < MOST_DIGITS && !reads_back(&scaled, digits, n, is_even))
    digits = round_to(&scaled, ++n);
  const gboolean is_longer = digits == tens[n]; /* 9.99... became 10 */
  const Decimal decimal = {is_longer ? tens[n - 1] : digits, n, scaled.exponent + is_longer};
  return write_decimal(decimal, n, value < 0, text);
}

gsize orr_answer_real(double value, char text[ORR_ANSWER_REAL_SIZE]) {
  gsize length = write_shortest(value, text);
  if (!strpbrk(text, ".e")) {
    memcpy(text + length, ".0", 3);
    length += 2;
  }
  return length;
}

/* --- Six digits of a text --- */

/* The digits of @number, without zeros in front; FALSE where there are more than 17, or zeros
 * alone. */
static gboolean read_decimal(const char *number, Decimal *ret_decimal) {
  guint64 digits = 0;
  int n = 0, exponent = -1; /* of the digit before the point, less the zeros after it */
  gboolean is_after = FALSE;
  for (; g_ascii_isdigit(*number) || *number == '.'; number++) {
    if (*number == '.') {
      is_after = TRUE;
      continue;
    }
    if (n > 0 || *number != '0') digits = digits * 10 + (guint64)(*number - '0'), n++;
    if (is_after ? n == 0 : n > 0) exponent += is_after ? -1 : 1;
    if (n > MOST_DIGITS) return FALSE;
  }
  if (*number == 'e') exponent += (int)g_ascii_strtoll(number + 1, NULL, 10);
  *ret_decimal = (Decimal){digits, n, exponent};
  return n > 0;
}

gsize orr_answer_real_short(const char *number, char text[ORR_ANSWER_REAL_SIZE]) {
  Decimal decimal = {0};
  const gboolean is_negative = *number == '-';
  gboolean is_known = read_decimal(number + is_negative, &decimal);
  if (is_known && decimal.n > 6) {
    const guint64 unit = tens[decimal.n - 6], cut = decimal.digits % unit;
    is_known = 2 * cut != unit; /* the double may lie on either side of it */
    decimal.digits = decimal.digits / unit + (2 * cut > unit);
    decimal.n = 6;
    if (decimal.digits == tens[6]) decimal.digits = tens[5], decimal.exponent++;
  }
  if (is_known) return write_decimal(decimal, 6, is_negative, text);
  g_ascii_formatd(text, ORR_ANSWER_REAL_SIZE, "%.6g", g_ascii_strtod(number, NULL));
  return strlen(text);
}
