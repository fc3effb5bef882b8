/*
 * report_page.c - what stands around a report: the head with its style, and the scripts at its end,
 * from the files of results/explorer/.
 *
 * The page forbids itself every request (Content-Security-Policy), so that it needs no network and
 * sends nothing, whatever stands in it. The scripts share one function, in the order below.
 */
#include "results/report_private.h"

/* Made from results/explorer/ by embed.sh. */
extern const OrrPagePart orr_page_data[];
extern const guint orr_page_data_n;

const char *orr_report_part(const char *name) {
  for (guint i = 0; i < orr_page_data_n; i++)
    if (strcmp(orr_page_data[i].name, name) == 0) return orr_page_data[i].text;
  return "";
}

void orr_report_append_head(GString *html, const char *title, gboolean is_wide) {
  g_string_append(html,
                  "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
                  "<title>");
  orr_report_append_text(html, title);
  g_string_append(html, "</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n");
  g_string_append(html, orr_report_part("page-style"));
  if (is_wide) g_string_append(html, orr_report_part("explorer-style"));
  g_string_append_printf(html,
                         "</style></head><body%s>\n<button id=\"theme\" hidden>light or "
                         "dark</button>\n",
                         is_wide ? " class=\"wide\"" : "");
}

void orr_report_append_scripts(GString *html, gboolean with_explorer) {
  /* Each uses only what stands before it when it is run. */
  static const char *const scripts[] = {"columns",  "filters", "front",  "canvas",  "scatter",
                                        "parallel", "grid",    "detail", "explorer"};
  g_string_append(html, "<script>\n(function () {\n'use strict';\n");
  g_string_append(html, orr_report_part("page"));
  for (guint i = 0; with_explorer && i < G_N_ELEMENTS(scripts); i++)
    g_string_append(html, orr_report_part(scripts[i]));
  g_string_append(html, "})();\n</script>\n");
}
