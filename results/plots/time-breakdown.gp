# Bars of the iteration's kinds of time, run beside run.
set style fill solid 0.9 border -1
set ylabel "seconds of the iteration, mean over ranks"
set yrange [0:*]
set offsets 0.6, 0.6, 0, 0
set xtics rotate by -35
set key outside right top
set bmargin 11
plot for [i = 0:blocks - 1] data index i using 1:4:($1 - 0.35):($1 + 0.35):3:4:xtic(2) with boxxyerror linecolor i + 1 title columnheader(1)
