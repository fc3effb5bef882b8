/* test_shell.c - the commands that pasted scripts would run, word by word. */
#include <glib.h>
#include <string.h>

#include "sim/import/launch/launch_server.h"
#include "sim/import/launch/shell.h"

typedef struct {
  OrrLibrary *library;
  OrrLaunchDraft *draft;
  OrrShell *shell;
  OrrLaunchOptions options;
} Walk;

static void walk(Walk *walk, const char *script, char **variables) {
  walk->library = orr_library_new(NULL);
  walk->options = (OrrLaunchOptions){.variables = variables};
  walk->draft = orr_launch_draft_new(walk->library, &walk->options);
  walk->shell = orr_shell_new(walk->draft);
  const OrrLaunchSource *source =
      orr_launch_form_add_text(walk->draft, "run.sh", script, strlen(script));
  orr_shell_run(walk->shell, source);
}

static void drop(Walk *walk) {
  orr_shell_free(walk->shell);
  orr_launch_draft_free(walk->draft);
  orr_library_free(walk->library);
}

/* Words in brackets, unresolved ones with "?NAME", commands on lines of their own. */
static char *shown(const Walk *walk) {
  const GPtrArray *commands = orr_shell_commands(walk->shell);
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < commands->len; i++) {
    const OrrLaunchCommand *command = commands->pdata[i];
    for (guint k = 0; k < command->words->len; k++) {
      const OrrLaunchWord *word = command->words->pdata[k];
      g_string_append_printf(text, "[%s%s%s]", word->text, word->unresolved ? "?" : "",
                             word->unresolved ? word->unresolved : "");
    }
    g_string_append_c(text, '\n');
  }
  return g_string_free(text, FALSE);
}

static const struct {
  const char *script, *shown;
} cases[] = {
    /* quotes, joins, comments */
    {"run --a 'x y' \"z w\"v b\\ c # no\n", "[run][--a][x y][z wv][b c]\n"},
    {"run '' \"\" $'q'\n", "[run][][][q]\n"},
    {"run a; run b && run c || run d &\nrun e | run f\n",
     "[run][a]\n[run][b]\n[run][c]\n[run][e]\n[run][f]\n"},
    /* variables: split unless quoted */
    {"A=1 B='x  y'\nrun $A ${B} \"$B\"\n", "[run][1][x][y][x  y]\n"},
    {"A=1; A+=2; run $A${A}3\n", "[run][12123]\n"},
    {"run ${A:-7} ${B-8} ${C:=9} $C ${C:+yes} ${D:+yes}x\n", "[run][7][8][9][9][yes][x]\n"},
    {"A=; run ${A:-7} x${A-8}\n", "[run][7][x]\n"},
    {": \"${N:=4}\"\nrun $N\n", "[run][4]\n"},
    {"M=Llama-3.TAR.gz; run ${M,,} ${M^^} ${M%.*} ${M%%.*} ${M#*-} ${M##*.} ${#M}\n",
     "[run][llama-3.tar.gz][LLAMA-3.TAR.GZ][Llama-3.TAR][Llama-3][3.TAR.gz][gz][14]\n"},
    {"M=a/b/c; run ${M/\\//-} ${M//\\//-} ${M:2} ${M:0:3}\n", "[run][a-b/c][a-b-c][b/c][a/b]\n"},
    {"A=B; B=5; run ${!A}\n", "[run][5]\n"},
    /* [ ] with a variable that nobody set, unquoted (alibaba/Pai-Megatron-Patch, examples) */
    {"if [ -z ${N} ]; then N=1; else N=2; fi\nif [ $E = dsw ]; then N=3; fi\nrun $N\n",
     "[run][1]\n"},
    {"if [ $E != x ]; then run a; else run b; fi\n", "[run][b]\n"},
    /* arithmetic */
    {"N=4; G=8; run $((N*G)) $(( ($N+1) / 2 - 7 % 4 )) $((N>3 && G==8))\n", "[run][32][-1][1]\n"},
    {"N=4; run $((N>3 ? N : N/2)) $((N<3 ? 1 : (N>9 ? 2 : 3)))\n", "[run][4][3]\n"},
    /* arrays */
    {"A=()\nif [ 1 -eq 1 ]; then A=(x); fi\nrun \"${A[@]}\"\nA=()\nrun \"${A[@]}\" b\n",
     "[run][x]\n[run][b]\n"},
    {"A=(\n  --x 1 # one\n  \"--y z\"\n)\nA+=(--w)\nrun \"${A[@]}\" ${A[1]} ${#A[@]}\n",
     "[run][--x][1][--y z][--w][1][4]\n"},
    {"A=(a b)\nA=(\"${A[@]}\" c)\nC=\"`pwd`/run x\"\nbash -c \"$C ${A[*]}\"\n",
     "[bash][-c][$(pwd)/run x a b c?$(pwd)]\n[$(pwd)/run?$(pwd)][x][a][b][c]\n"},
    {"declare -a A=(a b); A[1]=c; run ${A[*]}\n", "[run][a][c]\n"},
    /* unresolved, never guessed */
    {"run $X \"a $Y\" ${Z}b $(hostname -s) `date`\n",
     "[run][$X?X][a $Y?Y][$Zb?Z][$(hostname -s)?$(hostname -s)][$(date)?$(date)]\n"},
    {"G=$(nvidia-smi -L | wc -l)\nrun $G $((G*2)) ${G:-8}\n", "[run][$G?G][$G?G][$G?G]\n"},
    {"ARGS=\"--tp 8 --data $DATA\"\nrun $ARGS\n", "[run][--tp][8][--data][$DATA?DATA]\n"},
    {"A=(--tp 8 --data $DATA)\nrun ${A[@]}\n", "[run][--tp][8][--data][$DATA?DATA]\n"},
    /* continuations, as meant */
    {"run \\\n  --a 1 \\\n  --b 2\n", "[run][--a][1][--b][2]\n"},
    {"run \\ # why\n  --a 1 \\  \n  --b 2\n", "[run][--a][1][--b][2]\n"},
    {"run --a 1\n  --b 2\n\nrun\n", "[run][--a][1][--b][2]\n[run]\n"},
    {"run --a 1 \\\n  # --c 3 \\\n  --b 2\n", "[run][--a][1][--b][2]\n"},
    {"A=\"--x 1 \\\n --y 2\"\nrun $A\n", "[run][--x][1][--y][2]\n"},
    /* redirections */
    {"run a > log 2>&1 < in; run b >> $LOG &> x 2>/dev/null\n", "[run][a]\n[run][b]\n"},
    /* conditions */
    {"S=7b\nif [ \"$S\" = 7b ]; then run a; elif [[ $S == 13b ]]; then run b; else run c; fi\n",
     "[run][a]\n"},
    {"N=16; if [[ $N -gt 8 && -z \"$U\" ]] || [ -f x ]; then run a; fi\n", "[run][a]\n"},
    {"if [ -d /data ]; then run a; else run b; fi\n", "[run][b]\n"},
    {"[[ -n $NOT ]] && run a\n[ 1 -eq 1 ] && run b\n", "[run][b]\n"},
    /* what only the machine knows takes no branch, not even that of its opposite */
    {"if [ ! -f x.py ]; then exit 1; fi\nrun a\n", "[run][a]\n"},
    {"[ -d x ] || exit 1\n[ -d x ] && run b\nif ! which y; then exit; fi\nrun a\n",
     "[which][y]\n[run][a]\n"},
    {"if [[ -f x || 1 == 1 ]]; then run a; fi\nif ! [ 1 = 2 ]; then run b; fi\n",
     "[run][a]\n[run][b]\n"},
    {"N=2\nsbatch <<EOF\n#SBATCH --nodes=$N\nsrun -l bash -x -c \"run \\$SLURM_NNODES\"\nEOF\n",
     "[sbatch]\n[srun][-l][bash][-x][-c][run 2]\n[run][2]\n"},
    {"case 70b in 7b|8b) run a ;; 70*) run b ;; *) run c ;; esac\n", "[run][b]\n"},
    {"for n in 1 2; do run $n; done\nwhile false; do run x; done\n", "[run][1]\n[run][2]\n"},
    {"f() { run \"$1\" \"$@\"; }\nfunction g { run g; }\nf a b\ng\n", "[run][a][a][b]\n[run][g]\n"},
    {"(cd x && run a)\n{ run b; }\n", "[run][a]\n[run][b]\n"},
    {"run a\nexit 0\nrun b\n", "[run][a]\n"},
    /* scripts in words */
    {"srun bash -c \"run --rank \\$R --n $N\"\n",
     "[srun][bash][-c][run --rank $R --n $N?N]\n[run][--rank][$R?R][--n][$N?N]\n"},
    {"CMD=\"run --a 1\"\neval \"$CMD --b\"\n$CMD\n", "[run][--a][1][--b]\n[run][--a][1]\n"},
};

static void test_words(void) {
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    Walk one;
    walk(&one, cases[i].script, NULL);
    g_autofree char *text = shown(&one);
    g_autofree char *diags = orr_diags_text(orr_launch_draft_diags(one.draft));
    if (strcmp(text, cases[i].shown) != 0 ||
        orr_diags_n_errors(orr_launch_draft_diags(one.draft)) > 0)
      g_error("case %u:\n%s\ngives:\n%s\nnot:\n%s\n%s", i, cases[i].script, text, cases[i].shown,
              diags);
    drop(&one);
  }
}

/* --set wins over the script; a here-document becomes a source; exports reach commands. */
static void test_set(void) {
  char *variables[] = {"TP=4", "1=8", NULL};
  Walk one;
  walk(&one,
       "TP=8\nexport NCCL_ALGO=Ring\ncat > ds.json <<EOF\n{\"tp\": $TP}\nEOF\n"
       "cat <<'EOF' > raw.json\n$TP\nEOF\nX=1 run $TP $1\n",
       variables);
  g_autofree char *text = shown(&one);
  g_assert_cmpstr(text, ==, "[run][4][8]\n");
  const OrrLaunchSource *file = orr_launch_form_source(one.draft, "some/ds.json");
  g_assert_cmpstr(file->text, ==, "{\"tp\": 4}\n");
  g_assert_cmpstr(orr_launch_form_source(one.draft, "raw.json")->text, ==, "$TP\n");
  const OrrLaunchCommand *command = orr_shell_commands(one.shell)->pdata[0];
  g_autoptr(GString) names = g_string_new(NULL);
  for (guint i = 0; i < command->environment->len; i++)
    g_string_append_printf(names, "%s ",
                           ((const OrrLaunchWord *)command->environment->pdata[i])->text);
  g_assert_cmpstr(names->str, ==, "1=8 NCCL_ALGO=Ring TP=4 X=1 ");
  drop(&one);
}

static void check_said(const char *script, const char *words) {
  Walk one;
  walk(&one, script, NULL);
  g_autofree char *diags = orr_diags_text(orr_launch_draft_diags(one.draft));
  if (!strstr(diags, words)) g_error("'%s' is missing in '%s' of:\n%s", words, diags, script);
  drop(&one);
}

static void test_said(void) {
  check_said("run --a 1\n  --b 2\n", "run.sh:1:10: warning: no backslash ends this line");
  check_said("run \\ # x\n --b 2\n", "run.sh:1:5: warning: the backslash is not the last");
  check_said("if [ -n \"$X\" ]; then run; fi\n",
             "run.sh:1:9: warning: a condition takes X as not set");
  check_said("source common.sh\n", "run.sh:1:1: warning: common.sh was not given");
  check_said("case $SIZE in 7b) run;; esac\n", "add --set SIZE=VALUE");
  check_said("if true; then\n run\n", "run.sh:3:1: error: 'the end' where fi was expected");
  check_said("cat <<EOF\nx\n", "the here-document has no end 'EOF'");
}

/* Nesting and repetition end. */
static void test_limits(void) {
  g_autoptr(GString) deep = g_string_new(NULL);
  for (int i = 0; i < 100000; i++) g_string_append(deep, "( ");
  check_said(deep->str, "nesting");
  check_said("f() { f; f; }\nf\n", "");
  check_said(
      "A=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\nfor i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 "
      "18 19 20 21 22 23 24 25 26 27 28 29 30; do A=$A$A; done\n",
      "16 MiB");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/shell/words", test_words);
  g_test_add_func("/shell/set", test_set);
  g_test_add_func("/shell/said", test_said);
  g_test_add_func("/shell/limits", test_limits);
  return g_test_run();
}
