/*
 * dialect_manifest.c - the keys of manifests, Helm values, Compose files and tasks around a
 * server's command. A key is its path without the numbers of lists:
 * "spec.template.spec.containers.resources.limits.cpu". The commands are other dialects'.
 *
 * Sources: Kubernetes' API reference 1.33 (Pod, Deployment); values.yaml of vLLM's production
 * stack 0.1.7, of vLLM's and llm-d's charts; KServe 0.16; the Compose specification; SkyPilot and
 * dstack.
 */
#include <string.h>

#include "sim/import/launch/dialects_serving.h"
#include "sim/import/launch/launch_config.h"
#include "sim/import/launch/launch_serving.h"

#define SPEC "servingenginespec.modelspec."
#define TIERS "workload.engine.cache-tiers"

/* How the production stack's router chooses an engine (vllm_router/routers/routing_logic.py). */
static void convert_router(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                           const OrrLaunchRule *rule) {
  static const OrrLaunchWordPair routers[] = {{"roundrobin", "round-robin"},
                                              {"session", "session-affinity"},
                                              {"prefixaware", "prefix-aware"},
                                              {"kvaware", "kv-aware"},
                                              {NULL, NULL}};
  const char *router = orr_launch_config_word(routers, setting->value);
  if (router)
    orr_launch_draft_set(draft, rule->path, router, setting, NULL);
  else
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                           "this router: round-robin is simulated");
}

/* LMCache's buffers in GB, where it is on. */
static void convert_buffer(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                           const OrrLaunchRule *rule) {
  double size = 0;
  const gboolean is_on =
      orr_launch_draft_is_on(draft, setting->dialect, SPEC "lmcacheconfig.enabled");
  if (!is_on || !setting->value || !*setting->value) {
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT,
                           "LMCache is off, or has no such "
                           "tier");
  } else if (!orr_launch_serving_number(setting->value, &size) || size < 0) {
    orr_launch_draft_bad(draft, setting, "'%s' is not a size in GB", setting->value);
  } else {
    g_autofree char *text = g_strdup_printf("%.9g GB", size);
    orr_launch_draft_set(draft, rule->path, text, setting, NULL);
  }
}

#define OTHERS(keys_, why_) ORR_SERVING_IGNORES(VALUE, keys_, why_)
#define LACKS(keys_, neutral_, why_) ORR_SERVING_WARNS(VALUE, keys_, neutral_, why_)

static const OrrLaunchRule rules[] = {
    ORR_SERVING_MAPS(VALUE, "replicas *.replicas replicacount *.replicacount", "workload.replicas",
                     orr_launch_convert_later),
    ORR_SERVING_MAPS(VALUE, "routerspec.routinglogic", "workload.router", convert_router),
    ORR_SERVING_MAPS(VALUE, SPEC "lmcacheconfig.enabled", TIERS, orr_launch_convert_later),
    ORR_SERVING_MAPS(VALUE, SPEC "lmcacheconfig.cpuoffloadingbuffersize", TIERS ".host",
                     convert_buffer),
    ORR_SERVING_MAPS(VALUE, SPEC "lmcacheconfig.diskoffloadingbuffersize", TIERS ".ssd",
                     convert_buffer),
    LACKS(SPEC "lmcacheconfig.kvrole " SPEC "lmcacheconfig.nixlrole " SPEC
               "lmcacheconfig.enablenixl " SPEC "lmcacheconfig.enablepd",
          "kv_both false 0",
          "engines that prefill apart from those that decode: give their launch lines"),
    LACKS(SPEC "lmcacheconfig.*", "false 0", "LMCache's own settings"),
    LACKS("cacheserverspec.*", "",
          "a cache on the network: set workload.engine.cache-tiers.remote"),
    LACKS("*.minreplicas *.maxreplicas minreplicas maxreplicas *.minreplicacount "
          "*.maxreplicacount *.scaletarget *.scalemetric autoscaling.* *.autoscaling.* keda.* "
          "*.keda.* *.replica-policy.* scaler.* *.scaler.*",
          "", "replicas that follow the load: see workload.autoscaler"),
    LACKS("routing.* *.router.* *.routing.*", "", "a router's rules: round-robin is simulated"),
    LACKS("*.router-command", "", "a router before the servers: round-robin is simulated"),
    LACKS("configmap.*", "", "a file of a ConfigMap, which is not read"),
    LACKS("autoscaler.*", "", "replicas that follow the load: see workload.autoscaler"),
    LACKS("num-nodes nodes *.worker.*", "1", "more nodes for one server"),
    OTHERS("other.*", "a document that starts no server"),
    OTHERS("apiversion kind name *.name *.componenttype *.subcomponenttype *.dynamonamespace "
           "version schema *.enabled enabled *.create type "
           "metadata.* *.metadata.* *.labels.* labels.* *.annotations.* annotations.* "
           "*.matchlabels.* *.selector.* selector.*",
           "names and labels"),
    OTHERS("*.ports.* ports.* ports *.ports *.port *.targetport *.containerport *.serviceport "
           "*.service.* service.* *.ingress.* ingress.* *.networks* networks.* *.hostname "
           "*.protocol *.expose* *.route* *.gateway* port auth",
           "how the server is reached"),
    OTHERS("*.volumes.* *.volumemounts.* *.volumeclaimtemplates.* volumes.* *.volumes "
           "*.shm-size *.pvc* *.storage* *.persistent* *.sharedmemory* *.size* *.hf-token* "
           "*.hftoken* *.secret* secrets.* *.file-mounts.* file-mounts.* *.uri *.extrainit.* "
           "extrainit.* *.model-path *.cachedir",
           "where models and data lie"),
    OTHERS("*.livenessprobe.* *.readinessprobe.* *.startupprobe.* *.readiness-probe* "
           "*.probe* *.healthcheck.* *.lifecycle.* *.terminationgraceperiodseconds *.restart* "
           "restart *.strategy.* *.updatestrategy.* *.rolloutstrategy.* *.startuppolicy "
           "*.progressdeadlineseconds *.revisionhistorylimit *.minreadyseconds *.depends-on* "
           "*.retry* *.timeout*",
           "starts, restarts and health"),
    OTHERS("*.resources.* resources.* *.requestcpu *.requestmemory *.requestgpu *.limitcpu "
           "*.limitmemory *.requestgputype *.deploy.* *.gpus *.ipc *.runtime *.ulimits* "
           "*.mem-limit *.cpus *.privileged *.cap-add* *.security* *.devices* *.accelerator*",
           "what the container may use: the server's parallelism says how many GPUs it has"),
    OTHERS("*.affinity.* *.tolerations.* *.nodeselector.* *.nodeselectorterms.* *.schedulername "
           "*.priorityclassname *.runtimeclassname *.serviceaccountname *.serviceaccount* "
           "*.imagepull* *.dnspolicy *.hostnetwork *.hostipc *.hostpid *.hostaliases.* "
           "*.topologyspreadconstraints.* *.servicename *.podmanagementpolicy "
           "*.subdomain* *.networkconfig.* *.automountserviceaccounttoken *.shareprocessnamespace "
           "*.imagepullpolicy *.imagepullsecrets.* *.containersecuritycontext.* "
           "*.podsecuritycontext.* *.enableservicelinks *.os.*",
           "where the container runs, and as whom"),
    OTHERS("*.initcontainers.* *.command *.args *.image *.image.* "
           "*.entrypoint *.workingdir *.working-dir workdir *.container-name "
           "*.tty *.stdin* *.image-tag *.tag *.repository *.logging.* *.pull-policy *.profiles "
           "*.build.* *.extends.* *.init* *.modelformat.* *.runtimeversion *.protocolversion",
           "another program's container, or how this one is run"),
    OTHERS("*.env.* *.envfrom.* *.environment* env.* envs.*",
           "a variable for the words of a command, or one that no server reads"),
    OTHERS("routerspec.*", "the router's own process"),
    OTHERS("loraadapters.* loracontroller.* grafana* prometheus* *.monitoring* *.podmonitor* "
           "*.servicemonitor* *.metrics.*",
           "what is beside the servers"),
    LACKS("*", "", "a key that is not known here: it may change the answer"),
};

const OrrLaunchDialect orr_dialect_manifest = {
    .name = "manifest",
    .sentence = "Keys of manifests, Helm values, Compose files and tasks around a server.",
    .rules = rules,
    .n_rules = G_N_ELEMENTS(rules),
};
