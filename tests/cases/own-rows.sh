# Rows that the program itself answers with known times of the host: closed loops of 2, 8 and 32 clients.
echo concurrency,requests,input_tokens,output_tokens,ttft_mean_s,tpot_mean_s > own-rows.csv
for c in 2 8 32; do
  orrery run own-rows.yaml --db r.db --set workload.load.concurrency=$c --set workload.requests=$((5 * c)) \
    --set "workload.engine.host={step: 1 ms, sequence: 30 us, exposed: 100 %}" \
    --set "workload.engine.front-end={prompt-token: 5 us}" > /dev/null
  echo $c,$((5 * c)),1024,128,$(orrery query r.db "select ttft_mean_s, tpot_mean_s from serving_result" --csv | tail -1) >> own-rows.csv
  rm r.db
done
orrery calibrate stack own-rows.yaml --rows own-rows.csv -o fitted.yaml
