/*
 * launch_scripts.c - the words of scripts' names.
 *
 * Sources: the entry points of NVIDIA/Megatron-LM (pretrain_*.py, train_rl.py, tasks/),
 * Megatron-DeepSpeed, alibaba/Pai-Megatron-Patch (examples/), Hugging Face's
 * examples/pytorch and trl/scripts, open-r1 (src/open_r1).
 */
#include "sim/import/launch/launch_private.h"

#define LOOP                                                                                       \
  "a loop of rollouts and updates: write a scenario (workload.kind post-training; "                \
  "docs/tutorial)"
#define PAIRS "by preferences: an example is two sequences, and mostly a reference model runs, too"
#define EXAMPLES "by preferences that are not pairs: examples are good or bad alone"

/* Words between the signs of a name; "llama*" stands for all that begin so. The first row that has
 * one counts. */
static const struct {
  const char *words, *what;
  gboolean by_model;
} others[] = {
    {"vlm vl llava* mllama multimodal* clip siglip mimo omni* internvl* blip* qwenvl kimivl",
     "images and text, not text alone"},
    {"vision vit dino swin segformer image images imagenet diffusion dit stable flux unet",
     "images, not text"},
    {"video wan sora cosmos", "videos, not text"},
    {"audio speech asr whisper wav2vec2 tts ctc", "sound, not text"},
    {"retro", "a decoder that reads retrieved neighbours, which is not simulated"},
    {"ict realm biencoder orqa retriever* embedding* colbert dpr",
     "encoders for retrieval: two towers, attention not causal"},
    {"mlm bert* roberta* deberta* electra* xlm* mbert modernbert*",
     "an encoder: masked words, attention not causal"},
    {"t5* mt5* ul2 bart* s2s seq2seq summarization translation encdec",
     "an encoder and a decoder; a GPT has only a decoder"},
    {"glue squad race multichoice classification classify ner qa",
     "a classifier on an encoder, not the next token"},
    {"mamba* hybrid* rwkv* ssm jamba* bamba* nemotronh zamba*",
     "layers with a state, and their pattern cannot be read from the launch line", TRUE},
    {"rl grpo* ppo* rloo* reinforce* dapo gspo rlhf* online", LOOP},
    {"kto*", EXAMPLES},
    {"dpo* orpo* simpo* cpo ipo", PAIRS},
    {"reward* rm prm", "a reward model with one number as output"},
    {"gkd distill distillation kd", "a student with a teacher"},
};

static const char texts[] =
    "gpt* llama* codellama* qwen* mistral* mixtral* deepseek* moonlight* baichuan* falcon* bloom* "
    "gemma* grok* phi* yi galactica* starcoder* starcoder2 internlm* nemotron* opt pythia* olmo* "
    "kimi* minimax* glm4* chatglm* clm sft granite* gptoss aquila* lm minitron*";

/* Whether @word is one of @list, whose items may end with a star. */
static gboolean is_in(const char *word, const char *list) {
  for (const char *at = list; *at; at += strspn(at, " ")) {
    const gsize n = strcspn(at, " ");
    const gsize length = at[n - 1] == '*' ? n - 1 : n;
    if (strncmp(word, at, length) == 0 && (length < n || word[length] == '\0')) return TRUE;
    at += n;
  }
  return FALSE;
}

/* The words of the base name, or of a module's last part. */
static char **words_of(const char *script) {
  g_autofree char *base = g_path_get_basename(script);
  g_autofree char *lower = g_ascii_strdown(base, -1);
  if (g_str_has_suffix(lower, ".py")) lower[strlen(lower) - 3] = '\0';
  const char *dot = strrchr(lower, '.');
  return g_strsplit_set(dot ? dot + 1 : lower, "_-", -1);
}

const char *orr_launch_scripts_other(const char *script, gboolean *ret_by_model) {
  g_auto(GStrv) words = words_of(script);
  for (guint i = 0; i < G_N_ELEMENTS(others); i++)
    for (char **word = words; *word; word++)
      if (is_in(*word, others[i].words)) {
        *ret_by_model = others[i].by_model;
        return others[i].what;
      }
  return NULL;
}

const char *orr_launch_scripts_pairs(const char *script) {
  static const char *const kinds[][2] = {{"dpo* ipo", "dpo"}, {"orpo* simpo* cpo", "orpo"}};
  g_auto(GStrv) words = words_of(script);
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
    for (char **word = words; *word; word++)
      if (is_in(*word, kinds[i][0])) return kinds[i][1];
  return NULL;
}

gboolean orr_launch_scripts_is_text(const char *script) {
  g_auto(GStrv) words = words_of(script);
  for (char **word = words; *word; word++)
    if (is_in(*word, texts)) return TRUE;
  return FALSE;
}
