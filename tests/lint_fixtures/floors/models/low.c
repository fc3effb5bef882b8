#include "workloads/high.h"
