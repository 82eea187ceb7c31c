// What is in a cache directory. Two runs fill one; they differ in the pipeline
// alone, so that the one kernel has two entries.

// RUN: rm -rf %t && mkdir %t
// RUN: tl-opt %s -o %t/first.mlir --pass-pipeline="builtin.module(tl-outline-kernels,tl-attach-target{chip=sm_80},tl-cached{dir=%t/cache pipeline=gpu.module(canonicalize)})"
// RUN: tl-opt %s -o %t/second.mlir --pass-pipeline="builtin.module(tl-outline-kernels,tl-attach-target{chip=sm_80},tl-cached{dir=%t/cache pipeline=gpu.module(cse)})"

// The keys are in what was compiled; the beginning of one is enough.
// RUN: sed -n 's/.*tl.cache_key = "\([^"]\{20\}\).*/\1/p' %t/first.mlir > %t/first
// RUN: sed -n 's/.*tl.cache_key = "\([^"]\{20\}\).*/\1/p' %t/second.mlir > %t/second
// RUN: cat %t/first %t/second > %t/both

// DEFINE: %{status} = sh -c '"$@"; echo "status $?"' sh
// DEFINE: %{cache} = tl-cache --dir=%t/cache

//===----------------------------------------------------------------------===//
// Looking
//===----------------------------------------------------------------------===//

// Options may stand on both sides of the command.
// RUN: %{cache} ls | FileCheck %s --check-prefix=LS
// RUN: tl-cache ls --dir=%t/cache | FileCheck %s --check-prefix=LS
// RUN: env TL_CACHE_DIR=%t/cache tl-cache ls | FileCheck %s --check-prefix=LS
// LS:      KEY SIZE LAST USE KERNEL FILES{{$}}
// LS-NEXT: {{^[0-9a-f]{12} [0-9.]+ K?i?B [-0-9]+T[0-9:]+Z zero_all input.mlir kernel.mlir$}}
// LS-NEXT: {{^[0-9a-f]{12} [0-9.]+ K?i?B [-0-9]+T[0-9:]+Z zero_all input.mlir kernel.mlir$}}
// LS-NOT:  {{.}}

// RUN: %{cache} --json ls | FileCheck %s --check-prefix=LS-JSON
// LS-JSON:         [
// LS-JSON-COUNT-2: "creator": "tl",

// RUN: xargs %{cache} show < %t/first | FileCheck %s --check-prefix=SHOW
// SHOW:      key [[KEY:[0-9a-f]{64}]]{{$}}
// SHOW-NEXT: directory {{.*}}cache/v1/{{..}}/[[KEY]]{{$}}
// SHOW-NEXT: size
// SHOW-NEXT: created
// SHOW-NEXT: creator tl{{$}}
// SHOW-NEXT: last use
// SHOW-NEXT: {{^}}components{{$}}
// SHOW-NEXT: {{^ attribute tl.target [0-9a-f]{12} #tl.target<chip = "sm_80">$}}
// SHOW-NEXT: {{^ compiler [0-9a-f]{12} [0-9a-f]+$}}
// SHOW-NEXT: {{^ kernel [0-9a-f]{12} -$}}
// SHOW-NEXT: {{^ name [0-9a-f]{12} zero_all$}}
// SHOW-NEXT: {{^ pass canonicalize [0-9a-f]{12} .*max-iterations=10 .*$}}
// SHOW-NEXT: {{^ pipeline [0-9a-f]{12} gpu.module\(canonicalize\)$}}
// SHOW-NEXT: {{^ use [0-9a-f]{12} compile$}}
// SHOW-NEXT: {{^}}files{{$}}
// SHOW-NEXT: {{^ input.mlir [0-9a-f]{12} [0-9.]+ K?i?B$}}
// SHOW-NEXT: {{^ kernel.mlir [0-9a-f]{12} [0-9.]+ K?i?B$}}
// SHOW-NEXT: {{^}}metadata{{$}}
// SHOW:      {{^ kernel zero_all$}}

// RUN: xargs %{cache} --json show < %t/first | FileCheck %s --check-prefix=SHOW-JSON
// SHOW-JSON: "components": [
// SHOW-JSON: "kernel": "zero_all"

// A name cannot give orders to the terminal.
// RUN: echo 'gpu.module @"a\1B[31mb" { gpu.func @k() kernel attributes {known_block_size = array<i32: 32, 1, 1>} { gpu.return } }' > %t/escape.mlir
// RUN: tl-opt %t/escape.mlir -o /dev/null --pass-pipeline="builtin.module(tl-attach-target{chip=sm_80},tl-cached{dir=%t/escape pipeline=gpu.module(canonicalize)})"
// RUN: tl-cache --dir=%t/escape ls | FileCheck %s --check-prefix=ESCAPE
// ESCAPE: Z a?[31mb input.mlir kernel.mlir

// Of two keys only what differs is named; one is compared with the nearest.
// RUN: xargs %{cache} explain < %t/both | FileCheck %s --check-prefix=EXPLAIN
// RUN: xargs %{cache} explain < %t/first | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN:      COMPONENT WHAT IT IS {{[0-9a-f]{12} [0-9a-f]{12}$}}
// EXPLAIN-NEXT: {{^pass canonicalize the configuration of `canonicalize` .*max-iterations=10 .* -$}}
// EXPLAIN-NEXT: {{^pipeline the list of passes gpu.module\(canonicalize\) gpu.module\(cse\)$}}
// EXPLAIN-NOT:  {{.}}
// RUN: cat %t/first %t/first | xargs %{cache} explain | FileCheck %s --check-prefix=SAME
// SAME: the keys are the same
// RUN: xargs %{cache} --json explain < %t/both | FileCheck %s --check-prefix=EXPLAIN-JSON
// EXPLAIN-JSON: "name": "pass canonicalize"
// EXPLAIN-JSON: "name": "pipeline"
// EXPLAIN-JSON-NOT: "name":

// RUN: %{cache} stats | FileCheck %s --check-prefix=STATS
// STATS:      directory {{.*}}cache{{$}}
// STATS-NEXT: entries 2{{$}}
// STATS-NEXT: size {{[0-9.]+}} {{K?i?}}B{{$}}
// STATS-NEXT: oldest use {{.*}}Z{{$}}
// STATS-NEXT: newest use {{.*}}Z{{$}}
// RUN: %{cache} --json stats | FileCheck %s --check-prefix=STATS-JSON
// STATS-JSON: "bytes": {{[1-9][0-9]*}},
// STATS-JSON: "entries": 2,

//===----------------------------------------------------------------------===//
// Carrying entries elsewhere
//===----------------------------------------------------------------------===//

// All, into a directory that is made for them; a second time nothing is new.
// What a compiler goes on with is taken only with a signature.
// RUN: head -c 32 /dev/urandom > %t/key && chmod 600 %t/key
// RUN: %{cache} export %t/unsigned.bundle
// RUN: tl-cache --dir=%t/strangers import %t/unsigned.bundle 2>&1 | FileCheck %s --check-prefix=UNSIGNED
// UNSIGNED-DAG: 0 imported, 0 B; 0 were there
// UNSIGNED-DAG: tl-cache: warning: 2 were left out: anyone may have made the file; sign it where it is exported
// RUN: env TL_CACHE_KEY_FILE=%t/key tl-cache --dir=%t/cache export %t/all.bundle | FileCheck %s --check-prefix=EXPORT
// EXPORT: 2 exported, {{[0-9.]+ K?i?}}B
// RUN: env TL_CACHE_KEY_FILE=%t/key tl-cache --dir=%t/image import %t/all.bundle | FileCheck %s --check-prefix=IMPORT
// IMPORT: 2 imported, {{[0-9.]+ K?i?}}B; 0 were there
// RUN: env TL_CACHE_KEY_FILE=%t/key tl-cache --dir=%t/image --json import %t/all.bundle | FileCheck %s --check-prefix=AGAIN
// AGAIN:      "bytes": 0,
// AGAIN-NEXT: "imported": 0,
// AGAIN-NEXT: "present": 2,
// AGAIN-NEXT: "refused": 0
// RUN: tl-cache --dir=%t/image verify | FileCheck %s --check-prefix=IMAGE
// IMAGE: 2 checked, 0 damaged

// One, by the beginning of its key.
// RUN: xargs env TL_CACHE_KEY_FILE=%t/key %{cache} --json export %t/one.bundle < %t/first | FileCheck %s --check-prefix=ONE
// ONE: "entries": 1
// RUN: %{status} %{cache} export %t/one.bundle 123 2>&1 | FileCheck %s --check-prefix=NO-ENTRY

// So is machine code of the host.
// RUN: tl-cache warm --dir=%t/host --chip=cpu %s | FileCheck %s --check-prefix=HOST
// HOST: `zero_all` compiled
// RUN: tl-cache --dir=%t/host export %t/host.bundle
// RUN: tl-cache --dir=%t/other import %t/host.bundle 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED-DAG: 0 imported, 0 B; 0 were there
// REFUSED-DAG: tl-cache: warning: {{[1-9]}} were left out: anyone may have made the file

// What was cut short, or is something else, is refused.
// RUN: head -c 1000 %t/all.bundle > %t/cut.bundle
// RUN: %{status} %{cache} import %t/cut.bundle 2>&1 | FileCheck %s --check-prefix=CUT
// CUT:      tl-cache: error: bundle `{{.*}}cut.bundle` is cut short; what stands before was imported: 0 entries
// CUT-NEXT: status 1
// RUN: %{status} %{cache} import %s 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: is not a bundle of this version of the cache
// RUN: %{status} %{cache} import %t/missing 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING:      tl-cache: error: bundle `{{.*}}missing` cannot be read: No such file or directory
// MISSING-NEXT: status 1
// RUN: %{status} %{cache} export 2>&1 | FileCheck %s --check-prefix=NO-KEY

//===----------------------------------------------------------------------===//
// Checking and removing
//===----------------------------------------------------------------------===//

// RUN: cp -r %t/cache %t/damaged
// RUN: %{status} %{cache} verify | FileCheck %s --check-prefix=SOUND
// SOUND:      2 checked, 0 damaged
// SOUND-NEXT: status 0

// One byte is wrong in one of the two. It is found once, and set aside.
// RUN: find %t/damaged -name kernel.mlir | head -n 1 > %t/victim
// RUN: xargs chmod u+w < %t/victim
// RUN: xargs sh -c 'printf "\001" | dd of="$0" bs=1 seek=7 conv=notrunc status=none' < %t/victim
// RUN: %{status} tl-cache --dir=%t/damaged verify 2>&1 | FileCheck %s --check-prefix=DAMAGED
// DAMAGED-DAG: tl-cache: error: cache `{{.*}}`: {{.*}}kernel.
// DAMAGED-DAG: 2 checked, 1 damaged
// DAMAGED:     status 1
// RUN: %{status} tl-cache --dir=%t/damaged verify --json | FileCheck %s --check-prefix=REST
// REST:      "checked": 1,
// REST-NEXT: "problems": []
// REST:      status 0

// What was just used is not old; what does not fit goes.
// RUN: %{cache} prune --max-age=100000 | FileCheck %s --check-prefix=KEEP
// KEEP:      {{^}} ENTRIES SIZE
// KEEP-NEXT: {{^}}removed 0 0 B
// KEEP-NEXT: {{^}}remaining 2 {{[0-9.]+}}
// RUN: %{cache} prune --max-bytes=100M | FileCheck %s --check-prefix=KEEP

// RUN: %{cache} prune --max-bytes=0 --json | FileCheck %s --check-prefix=PRUNE
// PRUNE: "remaining_bytes": 0,
// PRUNE: "remaining_entries": 0,
// PRUNE: "removed_entries": 2
// RUN: %{cache} stats | FileCheck %s --check-prefix=EMPTY
// EMPTY:      entries 0
// EMPTY-NEXT: size 0 B
// EMPTY-NEXT: oldest use -

// RUN: tl-cache --dir=%t/damaged clear | FileCheck %s --check-prefix=CLEAR
// CLEAR: {{^}}1 removed
// RUN: tl-cache --dir=%t/damaged clear --json | FileCheck %s --check-prefix=CLEAR-JSON
// CLEAR-JSON: "removed": 0
// RUN: tl-cache --dir=%t/damaged --json ls | FileCheck %s --check-prefix=CLEARED
// CLEARED: {{^\[\]$}}

//===----------------------------------------------------------------------===//
// Directories that are not for this user alone
//===----------------------------------------------------------------------===//

// RUN: cp -r %t/image %t/group && chmod 0770 %t/group
// RUN: %{status} tl-cache --dir=%t/group ls 2>&1 | FileCheck %s --check-prefix=GROUP
// GROUP:      tl-cache: error: cache `{{.*}}group`: can be written by group {{[0-9]+}}; run `chmod g-w` on it, or allow
// GROUP-SAME: a group that you belong to with `TL_CACHE_ALLOW_GROUP`
// GROUP-NEXT: status 1
// RUN: env TL_CACHE_ALLOW_GROUP=1 tl-cache --dir=%t/group stats | FileCheck %s --check-prefix=ALLOWED
// ALLOWED: entries 2{{$}}
// RUN: chmod 0777 %t/group
// RUN: %{status} env TL_CACHE_ALLOW_GROUP=1 tl-cache --dir=%t/group ls 2>&1 | FileCheck %s --check-prefix=ANYONE
// ANYONE:      tl-cache: error: cache `{{.*}}group`: can be written by anyone; run `chmod o-w` on it
// ANYONE-NEXT: status 1

//===----------------------------------------------------------------------===//
// What is not there
//===----------------------------------------------------------------------===//

// RUN: xargs sh -c 'tl-cache --dir=%t/image explain $0 abc; echo "status $?"' 2>&1 < %t/first | FileCheck %s --check-prefix=NO-OTHER
// NO-OTHER:      tl-cache: error: cache `{{.*}}image`: holds no entry `abc`
// NO-OTHER-NEXT: status 1
// RUN: env TL_CACHE_KEY_FILE=%t/key tl-cache --dir=%t/alone import %t/one.bundle
// RUN: xargs sh -c 'tl-cache --dir=%t/alone explain $0; echo "status $?"' 2>&1 < %t/first | FileCheck %s --check-prefix=ALONE
// ALONE:      tl-cache: error: cache `{{.*}}alone`: holds no entry to compare with
// ALONE-NEXT: status 1

// RUN: %{status} %{cache} show 123 2>&1 | FileCheck %s --check-prefix=NO-ENTRY
// NO-ENTRY:      tl-cache: error: cache `{{.*}}cache`: holds no entry `123`
// NO-ENTRY-NEXT: status 1

// A directory is not made by looking for it.
// RUN: %{status} tl-cache --dir=%t/missing ls 2>&1 | FileCheck %s --check-prefix=NO-CACHE
// RUN: not ls %t/missing
// NO-CACHE:      tl-cache: error: there is no cache `{{.*}}missing`; say where it is with `--dir`
// NO-CACHE-NEXT: status 1

// RUN: %{status} tl-cache --dir=%t/victim clear 2>&1 | FileCheck %s --check-prefix=NO-DIR
// NO-DIR:      tl-cache: error: cache `{{.*}}victim`: is not a directory
// NO-DIR-NEXT: status 1

// RUN: %{status} env -u TL_CACHE_DIR -u XDG_CACHE_HOME HOME= tl-cache ls 2>&1 | FileCheck %s --check-prefix=NO-DEFAULT
// NO-DEFAULT: tl-cache: error:
// NO-DEFAULT: status 1

//===----------------------------------------------------------------------===//
// Command lines that make no sense
//===----------------------------------------------------------------------===//

// RUN: %{status} %{cache} 2>&1 | FileCheck %s --check-prefix=NO-COMMAND
// NO-COMMAND:      tl-cache: error: say what to do; `tl-cache --help` lists the commands
// NO-COMMAND-NEXT: status 2

// RUN: %{status} tl-cache list 2>&1 | FileCheck %s --check-prefix=BAD-COMMAND
// BAD-COMMAND:      tl-cache: Unknown subcommand 'list'.
// BAD-COMMAND-NEXT: status 2

// RUN: %{status} %{cache} show 2>&1 | FileCheck %s --check-prefix=NO-KEY
// NO-KEY: tl-cache: Not enough positional command line arguments
// NO-KEY: status 2

// RUN: %{status} %{cache} prune 2>&1 | FileCheck %s --check-prefix=NO-BOUND
// NO-BOUND:      tl-cache: error: say what to keep with `--max-bytes`, `--max-age` or both
// NO-BOUND-NEXT: status 2

// RUN: %{status} %{cache} prune --max-bytes=many 2>&1 | FileCheck %s --check-prefix=BAD-BOUND
// BAD-BOUND:      tl-cache: error: `--max-bytes`: `many` is not a number of bytes such as `100K`
// BAD-BOUND-NEXT: status 2

// RUN: %{status} env TL_CACHE_MAX_BYTES=big %{cache} ls 2>&1 | FileCheck %s --check-prefix=BAD-VARIABLE
// BAD-VARIABLE:      tl-cache: error: `TL_CACHE_MAX_BYTES`: `big` is not a number of bytes such as `4GiB`
// BAD-VARIABLE-NEXT: status 1

func.func @zero(%A: memref<1024xf32>) attributes {tl.entry} {
  %g = arith.constant 8 : index
  tl.kernel @zero_all blocks(%b) in (%g) threads(128) {
    %z = arith.constant 0.0 : f32
    tl.parallel (%i) in (128) {
      tl.store %z, %A[%i] : memref<1024xf32>
    }
  }
  return
}
