/*
 * test_answer.c - the three texts of an answer.
 */
#include "tests/results/store_fixture.h"

static OrrAnswer *ask(const Fixture *fixture, const char *sql) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  OrrAnswer *answer = orr_store_query(store, sql, 0, &error);
  g_assert_no_error(error);
  return answer;
}

static void assert_texts(const Fixture *fixture, const char *sql, const char *table,
                         const char *csv, const char *json) {
  g_autoptr(OrrAnswer) answer = ask(fixture, sql);
  g_autofree char *found_table = orr_answer_table(answer);
  g_autofree char *found_csv = orr_answer_csv(answer);
  g_autofree char *found_json = orr_answer_json(answer);
  g_assert_cmpstr(found_table, ==, table);
  g_assert_cmpstr(found_csv, ==, csv);
  g_assert_cmpstr(found_json, ==, json);
}

/* Numbers to the right, texts to the left; six digits for people, all of them for programs;
 * integers are left alone. */
static void test_plain(Fixture *fixture, gconstpointer data) {
  (void)data;
  assert_texts(fixture,
               "SELECT 'fat-tree' AS fabric, 1.0/3 AS seconds, 85899345920 AS bytes, 'a' AS last"
               " UNION ALL SELECT 'ring', NULL, 7, NULL",
               "fabric     seconds        bytes  last\n"
               "--------  --------  -----------  ----\n"
               "fat-tree  0.333333  85899345920  a\n"
               "ring             -            7  -\n",
               "fabric,seconds,bytes,last\n"
               "fat-tree,0.3333333333333333,85899345920,a\n"
               "ring,,7,\n",
               "[\n"
               " {\"fabric\": \"fat-tree\", \"seconds\": 0.3333333333333333, \"bytes\": "
               "85899345920, \"last\": \"a\"},\n"
               " {\"fabric\": \"ring\", \"seconds\": null, \"bytes\": 7, \"last\": null}\n"
               "]\n");
}

static void test_quotes_and_newlines(Fixture *fixture, gconstpointer data) {
  (void)data;
  assert_texts(
      fixture,
      "SELECT 'say \"hi\", ' || char(10) || 'you' AS a, 'back\\slash' || char(9, 27) AS "
      "\"b\"\"c\", '' AS d",
      "a           b\"c         d\n"
      "----------  ----------  -\n"
      "say \"hi\",   back\\slash\n" /* the tab and the escape at the end are blanks, and go */
      "you\n",
      "a,\"b\"\"c\",d\n"
      "\"say \"\"hi\"\", \nyou\",back\\slash\t\x1b,\"\"\n",
      "[\n {\"a\": \"say \\\"hi\\\", \\nyou\", \"b\\\"c\": \"back\\\\slash\\t\\u001b\", \"d\": "
      "\"\"}\n]\n");
}

static void test_no_rows(Fixture *fixture, gconstpointer data) {
  (void)data;
  assert_texts(fixture, "SELECT id, kind FROM run", "id  kind\n--  ----\n(no rows)\n", "id,kind\n",
               "[]\n");
}

static void test_real_is_no_integer(Fixture *fixture, gconstpointer data) {
  (void)data;
  assert_texts(fixture, "SELECT 2.0 AS a, 4.5e11 AS b", "a        b\n-  -------\n2  4.5e+11\n",
               "a,b\n2.0,450000000000.0\n", "[\n {\"a\": 2.0, \"b\": 450000000000.0}\n]\n");
}

/* Widths count letters, not bytes; other bytes are made UTF-8. */
static void test_utf8(Fixture *fixture, gconstpointer data) {
  (void)data;
  assert_texts(fixture,
               "SELECT 'Schr\u00f6der' AS a, 1 AS b UNION ALL SELECT CAST(x'61ff' AS TEXT), 2",
               "a         b\n--------  -\nSchr\u00f6der  1\na\ufffd        2\n",
               "a,b\nSchr\u00f6der,1\na\ufffd,2\n",
               "[\n {\"a\": \"Schr\u00f6der\", \"b\": 1},\n {\"a\": \"a\ufffd\", \"b\": 2}\n]\n");
}

#define ADD(name, function)                                                                        \
  g_test_add("/answer/" name, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  ADD("plain", test_plain);
  ADD("quotes-and-newlines", test_quotes_and_newlines);
  ADD("no-rows", test_no_rows);
  ADD("real-is-no-integer", test_real_is_no_integer);
  ADD("utf8", test_utf8);
  return g_test_run();
}
