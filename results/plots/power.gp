# Power of a job's GPUs over time.
set xlabel "seconds"
set ylabel "power of all GPUs (kW)"
set yrange [0:*]
set key outside bottom center horizontal maxcols 4
set grid
plot for [i = 0:blocks - 1] data index i using 1:2 with steps title columnheader(1)
