#include "farther.h"
