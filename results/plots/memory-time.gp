# Memory of a GPU of each pipeline stage over time.
set xlabel "seconds"
set ylabel "memory of a GPU filled by tensors and libraries (GiB)"
set yrange [0:*]
set key outside bottom center horizontal maxcols 8
set grid
plot for [i = 0:blocks - 1] data index i using 1:2 with steps title columnheader(1)
