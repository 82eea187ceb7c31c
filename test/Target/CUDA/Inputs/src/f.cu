#include "near.h"
#include <far.h>
extern "C" __global__ void f(int *x) { x[0] = NEAR + FAR; }
