# GPUs that each queue (--param by=user: each user) held, over time.
set xlabel "days"
set ylabel "GPUs"
set yrange [0:*]
set key outside right top
set grid
plot for [i = 0:blocks - 1] data index i using 1:2 with steps linewidth 1.5 title columnheader(1)
