# What a GPU of each stage holds over time.
set xlabel "seconds"
set ylabel "GiB of a GPU, what tensors and libraries fill"
set yrange [0:*]
set key outside bottom center horizontal maxcols 8
set grid
plot for [i = 0:blocks - 1] data index i using 1:2 with steps title columnheader(1)
