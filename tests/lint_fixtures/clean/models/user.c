#include "sim/base/small.h"
