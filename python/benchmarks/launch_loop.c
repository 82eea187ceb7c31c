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

// Returns the seconds that a launch of `name` from `cubin` takes, the best of `rounds` loops of `count` launches, or a
// negative error code. The context of the caller is used; `pointers` are the kernel's `parameterCount` parameters.
double measureLaunches(const void *cubin, const char *name, void **pointers, int parameterCount, int rounds, int count) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver)
    return -1;
  int (*load)(void **, const void *) = dlsym(driver, "cuModuleLoadData");
  int (*find)(void **, void *, const char *) = dlsym(driver, "cuModuleGetFunction");
  int (*launch)(const LaunchConfig *, void *, void **, void **) = dlsym(driver, "cuLaunchKernelEx");
  int (*synchronize)(void) = dlsym(driver, "cuCtxSynchronize");
  void *module, *function, *parameters[16];
  if (load(&module, cubin) || find(&function, module, name))
    return -2;
  for (int i = 0; i < parameterCount; ++i)
    parameters[i] = &pointers[i];
  LaunchConfig config;
  memset(&config, 0, sizeof config);
  config.grid[0] = config.grid[1] = config.grid[2] = 1;
  config.block[0] = 128;
  config.block[1] = config.block[2] = 1;
  double best = 1;
  for (int round = 0; round < rounds; ++round) {
    double start = now();
    for (int i = 0; i < count; ++i)
      if (launch(&config, function, parameters, 0))
        return -3;
    double elapsed = (now() - start) / count;
    if (synchronize())
      return -4;
    if (elapsed < best)
      best = elapsed;
  }
  return best;
}
