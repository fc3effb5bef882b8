/* test_shell.c - the commands that pasted scripts would run, word by word. */
#include <glib.h>
#include <string.h>

#include "sim/import/launch/launch_form.h"
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
  orr_shell_run(walk->shell, source->text, ORR_SHELL_BEGIN(source->name));
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
    /* what only the machine knows takes no branch, not even its opposite's */
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

/* Scripts that are known in full: bash itself says which commands they run. */
static const char *const as_bash[] = {
    "for i in $(seq 0 3); do run $i; done",
    "for i in `seq 3`; do run $i; done",
    "for i in $(seq 0 2 6); do run $i; done",
    "for i in $(seq 3 -1 1); do run $i; done",
    "for i in {0..3}; do run a$i; done",
    "for i in {01..03} x{a,b}y {a..c} {5..1..2}; do run $i; done",
    "run {a,b}{1,2} pre{x,}post '{a,b}' \"{a,b}\" {a} {} a{b,{c,d}}e",
    "for ((i = 0; i < 3; i++)); do run $i; done",
    "for ((i=8;i>0;i/=2)) do run $i; done",
    "for ((i=0, j=9; i<3; i+=1, j--)); do run $i $j; done",
    "i=0; while [ $i -lt 3 ]; do run $i; i=$((i+1)); done",
    "i=0; while ((i<3)); do run $i; ((i++)); done",
    "i=0; while [[ $i -lt 3 ]]; do run $i; let i=i+1; done",
    "i=0; until [ $i -ge 3 ]; do run $i; i=`expr $i + 1`; done",
    "i=0; while true; do run $i; ((++i)); if [ $i -eq 3 ]; then break; fi; done",
    "for i in 1 2 3 4; do [ $i = 2 ] && continue; run $i; done",
    "for i in 1 2; do for j in a b c; do [ $j = b ] && continue 2; run $i $j; done; done",
    "for i in 1 2; do for j in a b c; do [ $j = b ] && break 2; run $i $j; done; done; run "
    "end",
    "mapfile -t A < <(seq 0 2); run ${#A[@]} \"${A[@]}\"",
    "readarray -t A <<< \"$(seq 5 6)\"; for a in \"${A[@]}\"; do run $a; done",
    "IFS=, read -ra G <<< \"1,2,3\"; for i in \"${!G[@]}\"; do run $i ${G[$i]}; done; run "
    "${#G[@]} ${G[-1]}",
    "IFS=',' read -r a b c <<< \"x,y,z,w\"; run \"$a\" \"$b\" \"$c\"",
    "read -r a b <<< \"one  two three\"; run \"$a\" \"$b\"",
    "read -r -d '' X <<EOF\na b\nc\nEOF\nrun $X",
    "while read -r h n; do run $h $n; done <<EOF\nnode0 4\nnode1 8\nEOF",
    "echo \"a b c\" | while read -r x y; do run \"$x\" \"$y\"; done",
    "printf '%s\\n' p q | while read i; do run $i; done",
    "while read i; do run $i; done < <(printf '%s,' a b | tr , '\\n')",
    "L=1,2,3; for i in ${L//,/ }; do run $i; done",
    "L=1,2,3; IFS=,; for i in $L; do run $i; done",
    "L=1,2; for i in $(echo $L | tr ',' ' '); do run $i; done",
    "L=\"a b c\"; N=$(echo $L | wc -w); run $N",
    "N=4; for i in $(seq 0 $((N-1))); do run --port $((8000+i)); done",
    "A=(a b c d); run \"${A[@]:1}\" \"${A[@]:1:2}\" ${A[@]: -1} ${A:0:1}",
    "declare -A M; M[x]=1; M[y]=2; run ${M[x]} ${M[y]} ${#M[@]}",
    "declare -A M=([p]=8 [d]=4); for k in p d; do run $k ${M[$k]}; done",
    "A=([0]=x [1]=y); run ${A[1]} ${A[0]}",
    "f() { run $1 $# \"$@\"; shift; run \"$@\"; }; f a b c; f z",
    "set -- a b c; run $# $2 \"${@:2}\"; while [ $# -gt 0 ]; do run $1; shift; done",
    "f() { if [ $1 = 1 ]; then return; fi; run $1; }; f 1; f 2; run end",
    "i=5; run $((i++)) $((i--)) $((++i)) $((i+=2)) $i",
    "run $((1<<4)) $((7&3)) $((4|1)) $((5^1)) $((2**10)) $((~0)) $((10#08)) $((1,2)) $((0 && "
    "(x=1))) $((3>2?4:5))",
    "x=1; : $((0 && (x=5))); run $x",
    "x=$'a\\tb\\nc'; run \"$x\" $x",
    "a=\"x:y:z\"; IFS=: read -a P <<< \"$a\"; run ${P[0]} ${P[2]}",
    "for f in 1 2 3; do A+=(\"n$f\"); done; run \"${A[@]}\" ${#A[*]}",
    "S=; for i in 1 2; do S=\"$S --o $i\"; done; run $S",
    "run $(basename /a/b.sh .sh) $(dirname /a/b) $(echo hi | cut -d i -f 1) $(printf '%d-%s' "
    "3 x)",
    "case abc in a*) run 1;; *) run 2;; esac; case x in a|x) run 3;; esac",
    "X=8b; if [[ $X =~ ^([0-9]+)(b|m)$ && 1 = 1 ]]; then run m; fi; [[ a =~ b|a ]] && run n",
    "[[ abc =~ ^a.c$ ]] && run m; [[ abc =~ ^b ]] || run n",
    "true && true; false || run x; true && false || run y; false && run q && run r || run z",
    "IFS=' ' read -r -a arr <<< \"0 1 2\"; n=${#arr[@]}; for ((k=0;k<n;k++)); do run "
    "${arr[k]}; done",
    "for i in 0 1; do for p in a b; do run $((i*2)) $p; done; done",
    "v=a,b,,c; IFS=, read -ra w <<< \"$v\"; run ${#w[@]} \"${w[2]}\" \"${w[3]}\"",
    "x=\"a b\"; for i in $x c; do run \"$i\"; done; for i in \"$x\" c; do run \"$i\"; done",
    "n=3; while (( n-- )); do run $n; done",
    "for x in \"$@\"; do run $x; done; run none",
    "GPUS=(0 1 2 3); for ((i=0;i<${#GPUS[@]};i+=2)); do run ${GPUS[i]},${GPUS[i+1]}; done",
    "i=0; for g in 0,1 2,3; do run $g $((8000+i)); i=$((i+1)); done",
    "A=(x y); A[5]=z; run ${A[0]} ${A[5]}",
    "for host in h{0..2}; do run ssh $host; done",
    "x=abcabc; run ${x/b/X} ${x//b/X} ${x#*b} ${x##*b} ${x%b*} ${x%%b*} ${x:1:2} ${x^^} ${#x}",
    "if (( 3 > 2 )); then run yes; else run no; fi",
    "{ read -r a; read -r b; run $a $b; } <<< $'l1\\nl2'",
    "N=2; D=3; TOTAL=$((N + D)); for ((i = 0; i < TOTAL; i++)); do if [ $i -lt $N ]; then "
    "run P $i; else run D $((i - N)); fi; done",
    "for i in 1 2 3; do run $i; done | cat",
    "for i in $(seq -w 8 10) $(seq -s, 1 3); do run $i; done",
    "for i in $(seq 0 1)\ndo\n  run $i \\\n    --x\ndone",
    "export A=1; run ${A:+--a}${B:+--b} x",
    "i=0; while [ $i -lt 10 ]; do i=$((i+1)); [ $i -eq 2 ] && continue; [ $i -gt 3 ] && "
    "break; run $i; done",
    "A=(--x \"1 2\" --y); run \"${A[@]}\" \"${A[*]}\"",
    "for a in \"${A[@]:-none}\"; do run \"$a\"; done",
    "declare -i n=3; for i in $(seq $n); do run $i; done",
    "IFS=$'\\n'; for l in $(printf 'a b\\nc d\\n'); do run \"$l\"; done",
    "port=8000; for m in a b; do run $m --port $port; ((port++)); done",
    "HOSTS=\"h1 h2\"; i=0; for h in $HOSTS; do run $h --node_rank $i; i=$((i + 1)); done",
    "for x in 1 2 3; do case $x in 2) continue;; esac; run $x; done",
    "a=5; while ((a > 3)); do run $a; a=$((a - 1)); done; run $a",
    "for ((;;)); do run once; break; done",
    "f() { for i in 1 2; do [ $i = 2 ] && return 0; run $i; done; }; f; run after",
    "s=\"a;b\"; IFS=';' read -ra p <<< \"$s\"; run \"${p[@]}\"",
    "while IFS=, read -r a b; do run \"$a\" \"$b\"; done <<< $'1,2\\n3,4'",
    "x=\"  lead trail  \"; run \"$x\" $x x$x",
    "run a\"$(seq 2)\"b",
    "arr=($(seq 0 2)); run ${#arr[@]} ${arr[@]}",
    "arr=($(echo \"a,b\" | tr \",\" \"\\n\")); run \"${arr[1]}\"",
};

static char *by_bash(const char *script) {
  g_autofree char *whole =
      g_strconcat("run() { printf '[run]'; for word; do printf '[%s]' \"$word\"; done; echo; }\n",
                  script, NULL);
  const char *const argv[] = {"bash", "-c", whole, NULL};
  char *text = NULL;
  g_autoptr(GError) error = NULL;
  g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL,
               NULL, &text, NULL, NULL, &error);
  g_assert_no_error(error);
  return text;
}

static void test_as_bash(void) {
  for (guint i = 0; i < G_N_ELEMENTS(as_bash); i++) {
    Walk one;
    walk(&one, as_bash[i], NULL);
    g_autofree char *text = shown(&one), *expected = by_bash(as_bash[i]);
    g_autofree char *diags = orr_diags_text(orr_launch_draft_diags(one.draft));
    if (strcmp(text, expected) != 0)
      g_error("%s\ngives:\n%s\nbash:\n%s\n%s", as_bash[i], text, expected, diags);
    drop(&one);
  }
}

/* Loops with an unknown number of turns: the loop that the last command names. */
static const struct {
  const char *script, *loop;
} open_loops[] = {
    {"for h in $(scontrol show hostnames); do run $h; done\n",
     "for h in $(scontrol show hostnames)"},
    {"for h in $HOSTS; do run $h; done\n", "for h in $HOSTS"},
    {"for h in \"${HOSTS[@]}\"; do run $h; done\n", "for h in \"${HOSTS[@]}\""},
    {"IFS=, read -ra A <<< \"$G\"; for i in \"${!A[@]}\"; do run $i; done\n",
     "for i in \"${!A[@]}\""},
    {"mapfile -t A < hosts; for h in \"${A[@]}\"; do run $h; done\n", "for h in \"${A[@]}\""},
    {"for ((i = 0; i < N; i++)); do run $i; done\n", "for ((i = 0; i < N; i++))"},
    {"for i in $(seq 1 $N); do run $i; done\n", "for i in $(seq 1 $N)"},
    {"while read -r h; do run $h; done < hosts.txt\n", "while read -r h"},
    {"cat hosts.txt | while read h; do run $h; done\n", "while read h"},
    {"while pgrep x; do run; done\n", "while pgrep x"},
    {"while true; do run & sleep 9; done\n", "while true"},
    {"for f in configs/*.yaml; do run $f; done\n", "for f in configs/*.yaml"},
    {"select m in a b; do run $m; done\n", "select m in a b"},
    {"for h in $(ls); do for i in 1 2; do run $i; done; done\n", "for h in $(ls)"},
    {"ls | xargs -n 1 run\n", "xargs"},
    {"for i in $X; do :; done; run\n", NULL},
    {"for i in \"$X\" $Y/b; do run $i; done\n", NULL},
    {"while true; do run; sleep 9; done\n", NULL}, /* in the foreground: one at a time */
    {"while ! curl x; do sleep 1; done; run\n", NULL},
    {"until curl x; do sleep 1; done; run\n", NULL},
};

static void test_open_loops(void) {
  for (guint i = 0; i < G_N_ELEMENTS(open_loops); i++) {
    Walk one;
    walk(&one, open_loops[i].script, NULL);
    const char *loop = NULL;
    const GPtrArray *commands = orr_shell_commands(one.shell);
    for (guint k = 0; k < commands->len; k++) {
      const OrrLaunchCommand *command = commands->pdata[k];
      const OrrLaunchWord *first = command->words->pdata[0];
      if (strcmp(first->text, "run") == 0 || strcmp(first->text, "xargs") == 0)
        loop = command->loop;
    }
    if (g_strcmp0(loop, open_loops[i].loop) != 0)
      g_error("%s: the loop is '%s'", open_loops[i].script, loop ? loop : "none");
    drop(&one);
  }
}

/* What such a loop changes is asked for. */
static void test_unsure(void) {
  Walk one;
  walk(&one, "N=0 M=1\nfor h in $(ls); do N=$((N+1)); L=3; done\nrun $N $M $L\n", NULL);
  g_autofree char *text = shown(&one);
  g_assert_cmpstr(text, ==, "[run][$N?N][1][3]\n");
  drop(&one);
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
  check_said("for i in {1..$N}; do run; done\n", "bash does not expand '{1..$N}'");
  check_said("for ((i = 0; i < 2)); do run; done\n", "is not of the form for ((a; b; c))");
  check_said("if (( N > 2 )); then run; fi\n", "a condition on N is not known");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/shell/words", test_words);
  g_test_add_func("/shell/set", test_set);
  g_test_add_func("/shell/said", test_said);
  g_test_add_func("/shell/as-bash", test_as_bash);
  g_test_add_func("/shell/open-loops", test_open_loops);
  g_test_add_func("/shell/unsure", test_unsure);
  return g_test_run();
}
