#include "../common.h"
#define NEAR COMMON // near
