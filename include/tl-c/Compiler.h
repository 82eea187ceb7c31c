//===- Compiler.h - C API of the compiler -------------------------*- C -*-===//
//
// Parse a module of the `tl` dialect, print it, compile it through the cache,
// read the artifacts. Thread safe: every module has a context of its own.
//
// Strings returned as `char *` belong to the caller and are freed by `tlFree`;
// `const char *` and `const void *` belong to the object they came from.
//
//===----------------------------------------------------------------------===//

#ifndef TL_C_COMPILER_H
#define TL_C_COMPILER_H

#include "tl-c/Runtime.h"
#include "tl-c/Support.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TlModule TlModule;
typedef struct TlCompiled TlCompiled;

/// The compiler's version, such as "0.1.0".
TL_API const char *tlVersion(void);

/// Identifies the very bytes of this library; part of every cache key.
TL_API const char *tlBuildId(void);

/// Parses and verifies a module in MLIR's text or bytecode form. `name` is used
/// as file name in locations. Returns null on error. In any case `*diagnostics`
/// (if `diagnostics` is not null) is set to a JSON list, possibly empty, of
/// {"severity": "error" | "warning" | "remark", "message", "file", "line",
/// "column", "notes": [...]}; free it with `tlFree`. An error of
/// `requireCached` has in addition {"kind": "not-cached"}.
TL_API TlModule *tlModuleParse(const char *text, size_t length,
                               const char *name, char **diagnostics);

TL_API void tlModuleDestroy(TlModule *module);

/// The module's text. With `locations` not zero, every op carries its location.
TL_API char *tlModulePrint(TlModule *module, int locations);

/// JSON: where the tiles lie of the kernels in a module that
/// `tl-plan-shared-memory` has left, as `dumpDir` has it. [{"name", "bytes": of
/// shared memory, "steps": [{"op", "acts": whether it touches memory or waits,
/// "file", "line", "column"}], "shared": [buffer], "fragments": [buffer],
/// "operands": [buffer]}]; operands are the tiles in shared memory that warps
/// load for `mma.sync`, as they then hold them. Every buffer is {"name": the
/// user's or null, "file", "line", "column", "space": "shared" | "barriers" |
/// "fragment" | "operand", "shape", "type"}. Those with elements have "bits" of
/// one and "layout", as the dialect prints it; those in shared memory "offset",
/// "bytes", and "holds", the first and last step of each time that they hold
/// something, and "keeps", the same with the loops around; tiles there "slots"
/// of "shape", one every "slot_bytes".
TL_API char *tlModuleDescribeTiles(TlModule *module);

/// A program of the caller's that edits generated source before it is compiled
/// further.
typedef struct TlPostProcessor {
  /// Says everything that it does; part of the cache's key.
  const char *id;
  /// Returns the source to use in place of `source`, which is for `chip`, in
  /// memory of `malloc`; or NULL, with the reason in `*error`. Called from any
  /// thread.
  char *(*process)(const char *source, const char *chip, void *data,
                   char **error);
  void *data;
  /// Called when nobody needs `data` any more, from any thread; may be NULL.
  void (*release)(void *data);
} TlPostProcessor;

typedef struct TlCompileOptions {
  const char *chip;      ///< "sm_90a", "sm_80" …, or "cpu"
  const char *backend;   ///< null or "auto", or a backend of the chip
  const char *assembler; ///< "auto", "nvjitlink", "ptxas", "driver" or "none"
  const char *cacheDir;  ///< null or "": memory tier only
  int useCache;          ///< zero: neither look up nor store
  int requireCached;     ///< not zero: what is not in the cache is an error
  int lineInfo;          ///< not zero: source lines in PTX and cubin
  int fastMath;          ///< not zero: approximate division, square root, exp
  int checks;            ///< not zero: report what has no meaning at run time
  const char *dumpDir;   ///< null, or where the IR after every pass is written
  int dumpLocations;     ///< not zero: there, every op carries its location
  /// Null, or what edits the kernels' source; copied.
  const TlPostProcessor *postProcessor;
} TlCompileOptions;

/// Runs the pipeline `tl-compile` on a copy of the module. Null on error;
/// `diagnostics` as for `tlModuleParse`.
TL_API TlCompiled *tlModuleCompile(TlModule *module,
                                   const TlCompileOptions *options,
                                   char **diagnostics);

TL_API void tlCompiledDestroy(TlCompiled *compiled);

/// JSON: {"functions": {name: launch plan}, "kernels": [{"name", "shared",
/// "block", "files": [names], "cached": bool, "unsigned": true if nobody
/// vouches for what was found (docs/security.md), "path": entry directory or
/// null, "key"}], "files_read": {path: SHA-256, "" if it was not there} or null
/// if not all are known, "stages": [{"name", "seconds"}]}.
TL_API const char *tlCompiledInfo(TlCompiled *compiled);

/// The bytes of one file of one kernel, or null.
TL_API const void *tlCompiledFile(TlCompiled *compiled, const char *kernel,
                                  const char *file, size_t *size);

/// Loads the entry function's kernels and plan for execution.
TL_API TlExecutable *tlCompiledLoad(TlCompiled *compiled, const char *function,
                                    TlError **error);

/// Decides how calls of what was compiled for the simulator run, from the next
/// one on: the seed of everything that has no order, whether races and other
/// mistakes that a GPU would let pass are looked for, and whether what is
/// reported comes with the shortest schedule that fails, for many runs more.
TL_API void tlSimulatorSetOptions(uint64_t seed, bool checks, bool shrinks);

/// Counts what such calls of this thread do, from the next one on, in place of
/// looking for mistakes. Of each launch at most `most_blocks` blocks run,
/// evenly spaced among all.
TL_API void tlSimulatorBeginCounts(uint64_t most_blocks);

/// Ends that. Returns what was counted as JSON, one object for each launch:
/// [{"kernel", "grid", "block", "blocks", "shared_bytes", "ops": [{"op",
/// "kind", "file", "line", "statement", "elements", "executed", "device":
/// {"requests", "bytes", "sectors"}, "shared": {"requests", "bytes",
/// "wavefronts", "least_wavefronts"}, "products": {"flop", "type"}}],
/// "tensors": [{"name", "bytes", "sectors_read", "sectors_written"}]}].
TL_API char *tlSimulatorEndCounts(void);

/// Lists what the block of this number does in each launch of such calls of
/// this thread, from the next one on, in place of looking for mistakes; other
/// blocks are not run. If `line` is not 0, also the states of mbarriers each
/// time that a warp comes to it.
TL_API void tlSimulatorBeginTimeline(uint64_t block, unsigned line);

/// Ends that. Returns JSON, one object for each launch: [{"kernel", "grid",
/// "block", "acts": [{"kind", "warp", "op", "file", "line", "statement",
/// "begin", "end", "address", "bytes", "read", "barrier", "mbarrier",
/// "phase"}], "states": [{"warp", "op", "file", "line", "statement",
/// "mbarriers": [{"address", "phase", "arrivals", "pending_arrivals",
/// "pending_bytes"}]}]}]. Addresses are bytes of shared memory. Kinds are "bulk
/// load", "bulk store", "cp.async", "wgmma", "mma", "wait", "arrive", "barrier"
/// and "barrier arrive"; "begin", "end" and "read", before which the last one
/// has read what was written, are steps, which are no time
/// (tl/Simulator/Counters/Timeline.h).
TL_API char *tlSimulatorEndTimeline(void);

/// Runs such calls of this thread by the schedule that a report ends with
/// ("seed 3, launch 0, block 5: order[0]=1"), from the next one on: that block
/// alone, and no launch behind its own. "" ends that. False if it is no
/// schedule, which changes nothing.
TL_API bool tlSimulatorSetReplay(const char *replay);

/// How many instructions such calls have executed so far, each counted once for
/// each thread that executed it.
TL_API uint64_t tlSimulatorInstructions(void);

/// Gives every cache directory that this process uses from now on the bounds
/// and the shared tiers that the environment names (`TL_CACHE_REMOTE` and its
/// sisters; docs/cache.md has the tables). Tools call it when they start. Null,
/// or what makes no sense and is done without; free it with `tlFree`.
TL_API char *tlCacheUseEnvironment(void);

/// JSON: what compiling found in caches in this process, over all directories.
/// {"hits": kernels that were there, "misses": those that were not, "compiled":
/// the misses for which a pass ran (the others were there by stages), "failed":
/// the misses that have errors, "bytes": of the files of hits, "seconds_saved":
/// what it took to make them, "lookup_seconds": what it took to find them,
/// "stages": {name of the stage's last pass: {"hits", "misses", "bytes",
/// "seconds_saved"}}}. Misses look up their stages; hits do not, unless the
/// whole is one stage.
TL_API char *tlCacheCounters(void);

/// What toolchain pieces were found, as JSON (nvJitLink, ptxas, driver: version
/// and path).
TL_API char *tlToolchainInfo(void);

/// The tools' main functions; `bin/tl-opt` and its sisters only call these.
TL_API int tlCacheMain(int argc, char **argv);
TL_API int tlLspServerMain(int argc, char **argv);
TL_API int tlOptMain(int argc, char **argv);
TL_API int tlTranslateMain(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif // TL_C_COMPILER_H
