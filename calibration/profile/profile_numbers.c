/*
 * profile_numbers.c - reads the numbers of an axis or of a row of latencies.
 */
#include "calibration/profile/profile_private.h"

/* A profile has tens of thousands of plain decimals, and strtod (with GLib's care for locales)
 * would take most of the time of reading one. Up to 15 digits are exact in a double, and so are
 * these powers of ten, so that the one division is the only rounding (Clinger 1990). FALSE for
 * anything longer; the caller reads exponents. */
static gboolean parse_plain(const char *text, const char **ret_end, double *ret_value) {
  static const double tens[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
  guint64 digits = 0;
  int n_digits = 0, n_decimals = -1;
  for (; g_ascii_isdigit(*text) || (*text == '.' && n_decimals < 0); text++) {
    if (*text == '.') {
      n_decimals = 0;
      continue;
    }
    digits = digits * 10 + (guint64)(*text - '0');
    n_digits++;
    n_decimals += n_decimals >= 0;
  }
  if (n_digits == 0 || n_digits > 15 || n_decimals > 9) return FALSE;
  *ret_value = (double)digits / tens[MAX(n_decimals, 0)];
  *ret_end = text;
  return TRUE;
}

static gboolean parse_number(const char *text, gboolean holes, const char **ret_end,
                             double *ret_value) {
  if (holes && *text == '-' && (text[1] == 0 || g_ascii_isspace(text[1]))) {
    *ret_value = NAN;
    *ret_end = text + 1;
    return TRUE;
  }
  if (parse_plain(text, ret_end, ret_value) && (!**ret_end || g_ascii_isspace(**ret_end)))
    return *ret_value > 0;
  if (strspn(text, "0123456789.eE+-") <
      strcspn(text, " \t\r\n")) /* strtod would accept hexadecimal and words too */
    return FALSE;
  *ret_value = g_ascii_strtod(text, (char **)ret_end);
  return *ret_end > text && (!**ret_end || g_ascii_isspace(**ret_end)) && isfinite(*ret_value) &&
         *ret_value > 0;
}

GArray *orr_profile_numbers(const char *text, gboolean holes, GError **error) {
  /* Most numbers have five letters and a blank; a tenth of a page is lost at most. */
  const guint room = (guint)(strlen(text) / 4 + 1);
  g_autoptr(GArray) numbers = g_array_sized_new(FALSE, FALSE, sizeof(double), room);
  while (TRUE) {
    while (g_ascii_isspace(*text)) text++;
    if (!*text) return g_steal_pointer(&numbers);
    double value;
    const char *end = text;
    if (!parse_number(text, holes, &end, &value))
      return orr_fault_null(error, ORR_FAULT_DOCUMENT,
                            "value %u is '%.*s': want a number above 0%s", numbers->len + 1,
                            (int)MIN(strcspn(text, " \t\r\n"), 40), text, holes ? " or '-'" : "");
    if (numbers->len < room)
      g_array_index(numbers, double, numbers->len++) = value;
    else
      g_array_append_val(numbers, value);
    text = end;
  }
}
