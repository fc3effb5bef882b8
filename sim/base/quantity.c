/*
 * quantity.c - one table of units, from which reading, formatting and listing are derived.
 *
 * Exactness: a decimal prefix is added to the exponent of the number's text before it is converted,
 * so that "2 us" is the double nearest to 2e-6, not 2 times the double nearest to 1e-6. A factor
 * that is not a power of ten (binary prefixes, bits, minutes) is one multiplication after the
 * conversion; for binary prefixes and bits it is exact.
 */
#include "sim/base/quantity.h"

typedef struct {
  OrrUnit unit;
  const char *symbol;
  int exponent;      /* of ten */
  double multiplier; /* after the power of ten */
  enum {
    HIDDEN,
    LISTED,
    SHOWN
  } rank; /* accepted; also listed in messages; also used to show values */
} Symbol;

#define KIB 1024.0
#define MIB (KIB * KIB)
#define GIB (MIB * KIB)
#define TIB (GIB * KIB)
#define PIB (TIB * KIB)
#define BIT 0.125

/* Of each unit, SHOWN symbols rise. The symbol with exponent 0 and multiplier 1 is the base. */
static const Symbol symbols[] = {
    {ORR_UNIT_FRACTION, "%", -2, 1, SHOWN},

    {ORR_UNIT_BYTES, "B", 0, 1, SHOWN},
    {ORR_UNIT_BYTES, "kB", 3, 1, LISTED},
    {ORR_UNIT_BYTES, "MB", 6, 1, LISTED},
    {ORR_UNIT_BYTES, "GB", 9, 1, LISTED},
    {ORR_UNIT_BYTES, "TB", 12, 1, LISTED},
    {ORR_UNIT_BYTES, "PB", 15, 1, LISTED},
    {ORR_UNIT_BYTES, "KiB", 0, KIB, SHOWN},
    {ORR_UNIT_BYTES, "MiB", 0, MIB, SHOWN},
    {ORR_UNIT_BYTES, "GiB", 0, GIB, SHOWN},
    {ORR_UNIT_BYTES, "TiB", 0, TIB, SHOWN},
    {ORR_UNIT_BYTES, "PiB", 0, PIB, SHOWN},

    {ORR_UNIT_BYTES_PER_S, "B/s", 0, 1, SHOWN},
    {ORR_UNIT_BYTES_PER_S, "kB/s", 3, 1, SHOWN},
    {ORR_UNIT_BYTES_PER_S, "MB/s", 6, 1, SHOWN},
    {ORR_UNIT_BYTES_PER_S, "GB/s", 9, 1, SHOWN},
    {ORR_UNIT_BYTES_PER_S, "TB/s", 12, 1, SHOWN},
    {ORR_UNIT_BYTES_PER_S, "PB/s", 15, 1, SHOWN},
    {ORR_UNIT_BYTES_PER_S, "b/s", 0, BIT, LISTED},
    {ORR_UNIT_BYTES_PER_S, "kb/s", 3, BIT, LISTED},
    {ORR_UNIT_BYTES_PER_S, "Mb/s", 6, BIT, LISTED},
    {ORR_UNIT_BYTES_PER_S, "Gb/s", 9, BIT, LISTED},
    {ORR_UNIT_BYTES_PER_S, "Tb/s", 12, BIT, LISTED},
    {ORR_UNIT_BYTES_PER_S, "kbit/s", 3, BIT, HIDDEN},
    {ORR_UNIT_BYTES_PER_S, "Mbit/s", 6, BIT, HIDDEN},
    {ORR_UNIT_BYTES_PER_S, "Gbit/s", 9, BIT, HIDDEN},
    {ORR_UNIT_BYTES_PER_S, "Tbit/s", 12, BIT, HIDDEN},
    {ORR_UNIT_BYTES_PER_S, "Gbps", 9, BIT, HIDDEN},
    {ORR_UNIT_BYTES_PER_S, "Tbps", 12, BIT, HIDDEN},
    {ORR_UNIT_BYTES_PER_S, "KiB/s", 0, KIB, LISTED},
    {ORR_UNIT_BYTES_PER_S, "MiB/s", 0, MIB, LISTED},
    {ORR_UNIT_BYTES_PER_S, "GiB/s", 0, GIB, LISTED},
    {ORR_UNIT_BYTES_PER_S, "TiB/s", 0, TIB, LISTED},

    {ORR_UNIT_SECONDS, "ns", -9, 1, SHOWN},
    {ORR_UNIT_SECONDS, "us", -6, 1, SHOWN},
    {ORR_UNIT_SECONDS, "\302\265s", -6, 1, HIDDEN}, /* micro sign */
    {ORR_UNIT_SECONDS, "\316\274s", -6, 1, HIDDEN}, /* Greek mu */
    {ORR_UNIT_SECONDS, "ms", -3, 1, SHOWN},
    {ORR_UNIT_SECONDS, "s", 0, 1, SHOWN},
    {ORR_UNIT_SECONDS, "min", 0, 60, SHOWN},
    {ORR_UNIT_SECONDS, "h", 0, 3600, SHOWN},
    {ORR_UNIT_SECONDS, "d", 0, 86400, SHOWN},

    {ORR_UNIT_FLOP_PER_S, "FLOP/s", 0, 1, SHOWN},
    {ORR_UNIT_FLOP_PER_S, "kFLOP/s", 3, 1, SHOWN},
    {ORR_UNIT_FLOP_PER_S, "MFLOP/s", 6, 1, SHOWN},
    {ORR_UNIT_FLOP_PER_S, "GFLOP/s", 9, 1, SHOWN},
    {ORR_UNIT_FLOP_PER_S, "TFLOP/s", 12, 1, SHOWN},
    {ORR_UNIT_FLOP_PER_S, "PFLOP/s", 15, 1, SHOWN},
    {ORR_UNIT_FLOP_PER_S, "EFLOP/s", 18, 1, SHOWN},
    {ORR_UNIT_FLOP_PER_S, "GFLOPS", 9, 1, HIDDEN},
    {ORR_UNIT_FLOP_PER_S, "TFLOPS", 12, 1, HIDDEN},
    {ORR_UNIT_FLOP_PER_S, "PFLOPS", 15, 1, HIDDEN},

    {ORR_UNIT_HERTZ, "Hz", 0, 1, SHOWN},
    {ORR_UNIT_HERTZ, "kHz", 3, 1, SHOWN},
    {ORR_UNIT_HERTZ, "MHz", 6, 1, SHOWN},
    {ORR_UNIT_HERTZ, "GHz", 9, 1, SHOWN},

    {ORR_UNIT_WATTS, "W", 0, 1, SHOWN},
    {ORR_UNIT_WATTS, "kW", 3, 1, SHOWN},
    {ORR_UNIT_WATTS, "MW", 6, 1, SHOWN},
    {ORR_UNIT_WATTS, "GW", 9, 1, SHOWN},

    {ORR_UNIT_J_PER_BYTE, "pJ/B", -12, 1, SHOWN},
    {ORR_UNIT_J_PER_BYTE, "nJ/B", -9, 1, SHOWN},
    {ORR_UNIT_J_PER_BYTE, "J/B", 0, 1, SHOWN},
};

static const char *const base_symbols[ORR_N_UNITS] = {
    [ORR_UNIT_NONE] = "",           [ORR_UNIT_FRACTION] = "", [ORR_UNIT_BYTES] = "B",
    [ORR_UNIT_BYTES_PER_S] = "B/s", [ORR_UNIT_SECONDS] = "s", [ORR_UNIT_FLOP_PER_S] = "FLOP/s",
    [ORR_UNIT_HERTZ] = "Hz",        [ORR_UNIT_WATTS] = "W",   [ORR_UNIT_J_PER_BYTE] = "J/B",
};

const char *orr_unit_symbol(OrrUnit unit) { return base_symbols[unit]; }

static char *list_symbols(OrrUnit unit) {
  GString *list = g_string_new(NULL);
  for (guint i = 0; i < G_N_ELEMENTS(symbols); i++)
    if (symbols[i].unit == unit && symbols[i].rank >= LISTED)
      g_string_append_printf(list, "%s%s", list->len ? ", " : "", symbols[i].symbol);
  return g_string_free(list, FALSE);
}

const char *orr_unit_allowed(OrrUnit unit) {
  static char *lists[ORR_N_UNITS];
  static gsize is_made = 0;
  if (g_once_init_enter(&is_made)) {
    for (int i = 0; i < ORR_N_UNITS; i++) lists[i] = list_symbols((OrrUnit)i);
    g_once_init_leave(&is_made, 1);
  }
  return lists[unit];
}

static const Symbol *find_symbol(OrrUnit unit, const char *text) {
  for (guint i = 0; i < G_N_ELEMENTS(symbols); i++)
    if (symbols[i].unit == unit && g_str_equal(symbols[i].symbol, text)) return &symbols[i];
  return NULL;
}

/* Copies digits and drops '_' between two digits. Returns the number of digits. */
static guint take_digits(const char **at, GString *digits) {
  guint n = 0;
  for (; g_ascii_isdigit(**at) || (**at == '_' && n > 0 && g_ascii_isdigit((*at)[1])); (*at)++) {
    if (**at == '_') continue;
    g_string_append_c(digits, **at);
    n++;
  }
  return n;
}

/* Splits [+-] digits [. digits] [e [+-] digits] into the text before the exponent and the exponent.
 * FALSE where the text is not a number. */
static gboolean take_number(const char **at, GString *mantissa, long *ret_exponent) {
  if (**at == '+' || **at == '-') g_string_append_c(mantissa, *(*at)++);
  guint n = take_digits(at, mantissa);
  if (**at == '.') {
    g_string_append_c(mantissa, *(*at)++);
    n += take_digits(at, mantissa);
  }
  if (n == 0) return FALSE;
  *ret_exponent = 0;
  const char *digits = *at + 1 + (**at && ((*at)[1] == '+' || (*at)[1] == '-'));
  if ((**at != 'e' && **at != 'E') || !g_ascii_isdigit(*digits)) return TRUE;
  *ret_exponent = CLAMP(strtol(*at + 1, NULL, 10), -100000, 100000);
  for (*at = digits; g_ascii_isdigit(**at);) (*at)++;
  return TRUE;
}

static gboolean refuse_unit(const char *text, const char *found, OrrUnit unit, GError **error) {
  const char *allowed = orr_unit_allowed(unit);
  if (unit == ORR_UNIT_NONE)
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "'%.60s' has a unit ('%.20s') where a pure number is needed", text, found);
  if (found[0] == '\0')
    return orr_fault_set(error, ORR_FAULT_DOCUMENT, "'%.60s' has no unit: allowed are %s", text,
                         allowed);
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "'%.60s' has an unknown unit '%.20s': allowed %s %s", text, found,
                       unit == ORR_UNIT_FRACTION ? "no unit or" : "are", allowed);
}

static gboolean refuse_number(const char *text, OrrUnit unit, GError **error) {
  const char *kind = unit == ORR_UNIT_NONE || unit == ORR_UNIT_FRACTION ? "" : " with a unit: ";
  return orr_fault_set(error, ORR_FAULT_DOCUMENT, "'%.60s' is not a number%s%s", text, kind,
                       kind[0] ? orr_unit_allowed(unit) : "");
}

gboolean orr_quantity_parse(const char *text, OrrUnit unit, double *ret_value, GError **error) {
  static const Symbol pure = {.symbol = "", .multiplier = 1};
  g_autofree char *trimmed = g_strstrip(g_strdup(text));
  g_autoptr(GString) number = g_string_new(NULL);
  const char *at = trimmed;
  long exponent = 0;
  if (!take_number(&at, number, &exponent)) return refuse_number(trimmed, unit, error);
  while (*at == ' ') at++;
  const Symbol *symbol = find_symbol(unit, at);
  if (!symbol && at[0] == '\0' && (unit == ORR_UNIT_NONE || unit == ORR_UNIT_FRACTION))
    symbol = &pure;
  if (!symbol) return refuse_unit(trimmed, at, unit, error);
  g_string_append_printf(number, "e%ld", exponent + symbol->exponent);
  double value = g_ascii_strtod(number->str, NULL) * symbol->multiplier;
  if (!isfinite(value))
    return orr_fault_set(error, ORR_FAULT_DOCUMENT, "'%.60s' is too large", trimmed);
  *ret_value = value;
  return TRUE;
}

/* @value with four significant digits, without trailing zeros. */
static double round_to_four(double value) {
  char digits[G_ASCII_DTOSTR_BUF_SIZE];
  return g_ascii_strtod(g_ascii_formatd(digits, sizeof digits, "%.3e", value), NULL);
}

/* The first SHOWN symbol that keeps the rounded value below a thousand (binary: 1024), else the
 * last; NULL for none. */
static const Symbol *symbol_to_show(OrrUnit unit, double value) {
  const Symbol *symbol = NULL;
  for (guint i = 0; i < G_N_ELEMENTS(symbols); i++) {
    if (symbols[i].unit != unit || symbols[i].rank != SHOWN) continue;
    symbol = &symbols[i];
    double scaled = fabs(round_to_four(value / (pow(10, symbol->exponent) * symbol->multiplier)));
    if (scaled < (unit == ORR_UNIT_BYTES ? 1024 : 1000)) break;
  }
  return symbol;
}

char *orr_quantity_format(double value, OrrUnit unit) {
  char digits[G_ASCII_DTOSTR_BUF_SIZE];
  if (!isfinite(value))
    return g_strdup(isnan(value) ? "unknown" : value > 0 ? "infinite" : "-infinite");
  const Symbol *symbol = value == 0 ? NULL : symbol_to_show(unit, value);
  if (value != 0 && symbol) value /= pow(10, symbol->exponent) * symbol->multiplier;
  /* %g turns to an exponent at 1e4: whole numbers are shown whole as long as they are counts. */
  const char *format = fabs(value) < 1000 || fabs(value) >= 1e15 ? "%.4g" : "%.0f";
  g_ascii_formatd(digits, sizeof digits, format, value);
  const char *name = symbol ? symbol->symbol : orr_unit_symbol(unit);
  return g_strconcat(digits, name[0] ? " " : "", name, NULL);
}

/* A pure number has a point before its exponent, "5.0e+09": YAML 1.1 (PyYAML) reads "5e+09" as
 * text. */
static void put_point(char *digits, gsize size) {
  char *e = strchr(digits, 'e');
  if (!e || strchr(digits, '.')) return;
  g_autofree char *exponent = g_strdup(e);
  g_snprintf(e, size - (gsize)(e - digits), ".0%s", exponent);
}

char *orr_quantity_exact(double value, OrrUnit unit) {
  char digits[G_ASCII_DTOSTR_BUF_SIZE], format[8];
  if (value == rint(value) && fabs(value) < 1e6) {
    g_ascii_formatd(digits, sizeof digits, "%.0f", value);
  } else {
    for (int precision = 1; precision <= 17; precision++) {
      g_snprintf(format, sizeof format, "%%.%dg", precision);
      if (g_ascii_strtod(g_ascii_formatd(digits, sizeof digits, format, value), NULL) == value)
        break;
    }
  }
  const char *name = orr_unit_symbol(unit);
  if (!name[0]) put_point(digits, sizeof digits);
  return g_strconcat(digits, name[0] ? " " : "", name, NULL);
}
