// The floor of a launch: a loop of cuLaunchKernelEx in C, as a shared library for launch.py.
//
// Only the few entry points of the driver that it needs are declared here, so that it compiles without CUDA's headers.

#include <dlfcn.h>
#include <string.h>
#include <time.h>

typedef struct {
  unsigned grid[3], block[3], sharedBytes;
  void *stream, *attributes;
  unsigned attributeCount;
} LaunchConfig;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

// Loads `cubin` into the caller's context and returns its function `name`, or
// null.
void *findFunction(const void *cubin, const char *name) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver)
    return 0;
  int (*load)(void **, const void *) = dlsym(driver, "cuModuleLoadData");
  int (*find)(void **, void *, const char *) =
      dlsym(driver, "cuModuleGetFunction");
  void *module, *function;
  return load(&module, cubin) || find(&function, module, name) ? 0 : function;
}

// Returns the seconds that a launch of `function` takes, of `count`, or a
// negative number if one fails. `pointers` are its `parameterCount` parameters.
double launchOften(void *function, void **pointers, int parameterCount,
                   int count) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  int (*launch)(const LaunchConfig *, void *, void **, void **) =
      dlsym(driver, "cuLaunchKernelEx");
  void *parameters[16];
  for (int i = 0; i < parameterCount; ++i)
    parameters[i] = &pointers[i];
  LaunchConfig config;
  memset(&config, 0, sizeof config);
  config.grid[0] = config.grid[1] = config.grid[2] = 1;
  config.block[0] = 128;
  config.block[1] = config.block[2] = 1;
  double start = now();
  for (int i = 0; i < count; ++i)
    if (launch(&config, function, parameters, 0))
      return -1;
  return (now() - start) / count;
}
