#define WHERE "near.h"
#include WHERE
extern "C" __global__ void g() {}
