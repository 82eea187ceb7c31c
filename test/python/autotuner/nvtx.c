// A library of NVTX's names that notes ranges in the file that RANGES names.
#include <stdio.h>
#include <stdlib.h>

static int note(const char *what, const char *text) {
  FILE *file = fopen(getenv("RANGES"), "a");
  fprintf(file, "%s%s\n", what, text);
  fclose(file);
  return 0;
}

int nvtxRangePushA(const char *text) { return note("+ ", text); }
int nvtxRangePop(void) { return note("-", ""); }
