//===- Counters.cpp - How much a launch does, and where -------------------===//
//
// See Counters.h. A block counts by itself and adds that to the launch's counts
// when it ends; only the sectors that were touched are noted for all blocks at
// once, in a bit each.
//
// Sectors are counted from where a tensor begins. On a GPU an allocation begins
// with one, and an array of the host need not.
//
//===----------------------------------------------------------------------===//

#include "tl/Simulator/Counters/Counters.h"

#include "tl/Simulator/Counters/Traffic.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"
#include <atomic>
#include <deque>

using namespace llvm;
using namespace tl::sim;

OpCounts &OpCounts::operator+=(const OpCounts &other) {
  executed += other.executed;
  device.requests += other.device.requests;
  device.bytes += other.device.bytes;
  device.sectors += other.device.sectors;
  shared.requests += other.shared.requests;
  shared.bytes += other.shared.bytes;
  shared.wavefronts += other.shared.wavefronts;
  shared.leastWavefronts += other.shared.leastWavefronts;
  flop += other.flop;
  if (other.flop)
    type = other.type;
  return *this;
}

//===----------------------------------------------------------------------===//
// What was touched
//===----------------------------------------------------------------------===//

namespace {
/// A bit for each of some sectors, set by several threads.
class SectorSet {
public:
  explicit SectorSet(uint64_t count) : words(divideCeil(count, 64)) {}

  void insert(uint64_t sector) {
    std::atomic<uint64_t> &word = words[sector / 64];
    uint64_t bit = uint64_t(1) << sector % 64;
    if (!(word.load(std::memory_order_relaxed) & bit))
      word.fetch_or(bit, std::memory_order_relaxed);
  }

  uint64_t count() const {
    uint64_t count = 0;
    for (const std::atomic<uint64_t> &word : words)
      count += popcount(word.load(std::memory_order_relaxed));
    return count;
  }

private:
  std::deque<std::atomic<uint64_t>> words;
};

/// What blocks have touched of a tensor.
struct Touched {
  explicit Touched(const GlobalMemory::Range &range)
      : range(range), read(divideCeil(range.end - range.begin, kSectorBytes)),
        written(divideCeil(range.end - range.begin, kSectorBytes)) {}

  const GlobalMemory::Range &range;
  SectorSet read, written;
};

//===----------------------------------------------------------------------===//
// Observers
//===----------------------------------------------------------------------===//

class LaunchCounter : public LaunchObserver {
public:
  LaunchCounter(const LaunchInfo &info, std::vector<LaunchCounts> &launches);

  std::unique_ptr<BlockObserver> beginBlock(uint64_t,
                                            const SharedMemory &) override;
  void onLaunchEnd() override;

  /// Adds what a block did.
  void add(ArrayRef<OpCounts> ops);

  const Program &program;
  const GlobalMemory &global;
  /// One for each range of device memory.
  std::deque<Touched> tensors;

private:
  std::vector<LaunchCounts> &launches;
  LaunchCounts counts;
  std::mutex mutex;
};

class BlockCounter : public BlockObserver {
public:
  explicit BlockCounter(LaunchCounter &launch)
      : launch(launch), ops(launch.program.places.size()) {}

  void onInstruction(const Event &event) override {
    if (event.lanes)
      ++getOp(event).executed;
  }
  void onAccess(const AccessEvent &event) override;
  void onAsyncIssue(const AsyncEvent &event) override;
  void onProduct(const ProductEvent &event) override;
  void onBlockEnd() override { launch.add(ops); }

private:
  OpCounts &getOp(const Event &event) {
    return ops[launch.program.placeOf[event.instruction]];
  }
  void countDevice(DeviceTraffic &traffic, ArrayRef<Span> spans, bool isRead,
                   bool isWritten);
  void countShared(SharedTraffic &traffic, ArrayRef<uint64_t> addresses,
                   uint32_t bytes, LaneMask lanes);
  void countCopy(const AsyncEvent &event);

  LaunchCounter &launch;
  std::vector<OpCounts> ops;
};
} // namespace

static uint64_t getBytes(ArrayRef<Span> spans) {
  uint64_t bytes = 0;
  for (const Span &span : spans)
    bytes += span.bytes;
  return bytes;
}

void BlockCounter::countDevice(DeviceTraffic &traffic, ArrayRef<Span> spans,
                               bool isRead, bool isWritten) {
  ++traffic.requests;
  traffic.bytes += getBytes(spans);
  SmallVector<SmallVector<Span>> spansOf(launch.tensors.size());
  SmallVector<Span> atAddresses;
  ArrayRef<GlobalMemory::Range> ranges = launch.global.getRanges();
  for (const Span &span : spans) {
    // A copy that fills reads nothing, and that may be anywhere.
    if (!span.bytes)
      continue;
    auto *range = launch.global.find(span.address, span.bytes);
    bool isTensor = range >= ranges.begin() && range < ranges.end();
    (isTensor ? spansOf[range - ranges.begin()] : atAddresses).push_back(span);
  }
  traffic.sectors += findSectors(atAddresses, /*base=*/0).size();
  for (auto [tensor, own] : zip_equal(launch.tensors, spansOf)) {
    SmallVector<uint64_t> sectors = findSectors(own, tensor.range.begin);
    traffic.sectors += sectors.size();
    for (uint64_t sector : sectors) {
      if (isRead)
        tensor.read.insert(sector);
      if (isWritten)
        tensor.written.insert(sector);
    }
  }
}

void BlockCounter::countShared(SharedTraffic &traffic,
                               ArrayRef<uint64_t> addresses, uint32_t bytes,
                               LaneMask lanes) {
  Wavefronts wavefronts = countWavefronts(addresses, bytes, lanes);
  ++traffic.requests;
  traffic.bytes += uint64_t(bytes) * popcount(lanes);
  traffic.wavefronts += wavefronts.count;
  traffic.leastWavefronts += wavefronts.least;
}

void BlockCounter::onAccess(const AccessEvent &event) {
  OpCounts &op = getOp(event);
  if (event.space == Space::Shared)
    return countShared(op.shared, event.addresses, event.bytes, event.lanes);
  if (event.space == Space::Local)
    return;
  SmallVector<Span> spans;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (event.lanes & LaneMask(1) << lane)
      spans.push_back({event.space, event.addresses[lane], event.bytes});
  countDevice(op.device, spans,
              /*isRead=*/event.kind != AccessEvent::Kind::Write,
              /*isWritten=*/event.writes());
}

/// `cp.async`, which writes as many bytes for each lane.
void BlockCounter::countCopy(const AsyncEvent &event) {
  OpCounts &op = getOp(event);
  countDevice(op.device, event.reads, /*isRead=*/true, /*isWritten=*/false);
  std::array<uint64_t, kLanes> addresses = {};
  const Span *next = event.writes.begin();
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (event.lanes & LaneMask(1) << lane)
      addresses[lane] = next++->address;
  countShared(op.shared, addresses, event.writes.front().bytes, event.lanes);
}

void BlockCounter::onAsyncIssue(const AsyncEvent &event) {
  OpCounts &op = getOp(event);
  switch (event.kind) {
  case AsyncKind::CopyAsync:
    return countCopy(event);
  case AsyncKind::TensorLoad:
    countDevice(op.device, event.reads, /*isRead=*/true, /*isWritten=*/false);
    ++op.shared.requests;
    op.shared.bytes += getBytes(event.writes);
    return;
  case AsyncKind::TensorStore:
    countDevice(op.device, event.writes, /*isRead=*/event.accumulates,
                /*isWritten=*/true);
    ++op.shared.requests;
    op.shared.bytes += getBytes(event.reads);
    return;
  case AsyncKind::Wgmma:
    return; // `onProduct`
  }
}

void BlockCounter::onProduct(const ProductEvent &event) {
  OpCounts &op = getOp(event);
  op.flop += uint64_t(2) * event.m * event.n * event.k * event.count;
  op.type = event.type;
  if (!event.sharedBytes)
    return;
  op.shared.requests += event.count;
  op.shared.bytes += event.sharedBytes;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

LaunchCounter::LaunchCounter(const LaunchInfo &info,
                             std::vector<LaunchCounts> &launches)
    : program(*info.program), global(*info.global), launches(launches) {
  for (const GlobalMemory::Range &range : global.getRanges())
    tensors.emplace_back(range);
  counts.kernel = program.kernel;
  counts.grid = info.grid;
  counts.block = info.block;
  counts.sharedBytes = info.sharedBytes;
  counts.places = program.places;
  counts.ops.resize(program.places.size());
}

std::unique_ptr<BlockObserver> LaunchCounter::beginBlock(uint64_t,
                                                         const SharedMemory &) {
  return std::make_unique<BlockCounter>(*this);
}

void LaunchCounter::add(ArrayRef<OpCounts> ops) {
  std::lock_guard<std::mutex> lock(mutex);
  ++counts.blocks;
  for (auto [all, own] : zip_equal(counts.ops, ops))
    all += own;
}

void LaunchCounter::onLaunchEnd() {
  for (const Touched &tensor : tensors)
    counts.tensors.push_back({tensor.range.name,
                              tensor.range.end - tensor.range.begin,
                              tensor.read.count(), tensor.written.count()});
  launches.push_back(std::move(counts));
}

std::unique_ptr<LaunchObserver>
Counters::beginLaunch(const LaunchInfo &launch) {
  return std::make_unique<LaunchCounter>(launch, launches);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static StringRef getName(MmaType type) {
  switch (type) {
  case MmaType::F16:
    return "float16";
  case MmaType::BF16:
    return "bfloat16";
  case MmaType::TF32:
    return "tfloat32";
  case MmaType::S8:
    return "int8";
  case MmaType::U8:
    return "uint8";
  case MmaType::E4M3:
    return "float8_e4m3";
  case MmaType::E5M2:
    return "float8_e5m2";
  case MmaType::F64:
    return "float64";
  }
  llvm_unreachable("all types are named");
}

static json::Object toJSON(const Place &place, const OpCounts &op) {
  json::Object object{{"op", place.op},
                      {"kind", place.kind},
                      {"file", place.file},
                      {"line", place.line},
                      {"statement", place.statement},
                      {"elements", place.elements},
                      {"executed", op.executed}};
  if (op.device.requests)
    object["device"] = json::Object{{"requests", op.device.requests},
                                    {"bytes", op.device.bytes},
                                    {"sectors", op.device.sectors}};
  if (op.shared.requests)
    object["shared"] =
        json::Object{{"requests", op.shared.requests},
                     {"bytes", op.shared.bytes},
                     {"wavefronts", op.shared.wavefronts},
                     {"least_wavefronts", op.shared.leastWavefronts}};
  if (op.flop)
    object["products"] =
        json::Object{{"flop", op.flop}, {"type", getName(op.type)}};
  return object;
}

json::Value tl::sim::toJSON(const LaunchCounts &launch) {
  json::Array ops, tensors;
  for (auto [place, op] : zip_equal(launch.places, launch.ops))
    if (op.executed)
      ops.push_back(::toJSON(place, op));
  for (const TensorCounts &tensor : launch.tensors)
    tensors.push_back(json::Object{{"name", tensor.name},
                                   {"bytes", tensor.bytes},
                                   {"sectors_read", tensor.sectorsRead},
                                   {"sectors_written", tensor.sectorsWritten}});
  return json::Object{{"kernel", launch.kernel},
                      {"grid", json::Array(launch.grid)},
                      {"block", json::Array(launch.block)},
                      {"blocks", launch.blocks},
                      {"shared_bytes", launch.sharedBytes},
                      {"ops", std::move(ops)},
                      {"tensors", std::move(tensors)}};
}
