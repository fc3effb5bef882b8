vllm serve Qwen/Qwen3-8B -tp 2 --additional-config '{"ascend_scheduler_config":{"enabled":true},"torchair_graph_config":{"enabled":true}}' --scheduler-cls vllm_ascend.core.scheduler.AscendScheduler
