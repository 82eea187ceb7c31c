//===- CheckersTest.cpp - What checkers make of sequences of events -------===//
//
// Blocks of two warps, as sequences of events that are written by hand: what
// each kind of order orders, and what no order is.
//
//===----------------------------------------------------------------------===//

#include "tl/Simulator/Checkers/Checkers.h"
#include "tl/Simulator/Program.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace tl::sim;

namespace {

constexpr uint64_t kBase = SharedMemory::kBase;
/// An mbarrier.
constexpr uint64_t kBarrier = kBase + 4096;

/// A block whose events are told one by one. Each event is an instruction of
/// its own, with numbers from 1 on.
class CheckersTest : public testing::Test {
protected:
  CheckersTest() : shared(8192) { begin(64); }

  void begin(unsigned threads, std::array<uint32_t, 3> grid = {1, 1, 1}) {
    info.block = {threads, 1, 1};
    info.grid = grid;
    info.reports = &reports;
    launch = checkers.beginLaunch(info);
    block = launch->beginBlock(0, shared);
  }

  template <typename EventTy>
  EventTy make(unsigned warp, LaneMask lanes = kAllLanes) {
    EventTy event;
    event.warp = {number, warp};
    event.lanes = lanes;
    event.instruction = ++instruction;
    return event;
  }

  /// Each of `lanes` touches `bytes` bytes, lane l at `address` + l * `step`.
  void access(AccessEvent::Kind kind, unsigned warp, LaneMask lanes,
              uint64_t address, uint32_t bytes, uint32_t step,
              std::optional<uint8_t> value = std::nullopt,
              Space space = Space::Shared, Scope scope = Scope::Device) {
    auto event = make<AccessEvent>(warp, lanes);
    event.kind = kind;
    event.scope = scope;
    event.space = space;
    event.bytes = bytes;
    std::array<uint64_t, kLanes> addresses;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      addresses[lane] = address + lane * step;
    event.addresses = addresses;
    std::vector<uint8_t> values(kLanes * bytes, value.value_or(0));
    if (value)
      event.values = values;
    block->onAccess(event);
    if (value && space == Space::Shared)
      for (unsigned lane = 0; lane < kLanes; ++lane)
        if (lanes >> lane & 1)
          std::memset(shared.at(addresses[lane]), *value, bytes);
  }
  void write(unsigned warp, LaneMask lanes, uint64_t address,
             uint32_t bytes = 4, uint32_t step = 4,
             std::optional<uint8_t> value = std::nullopt) {
    access(AccessEvent::Kind::Write, warp, lanes, address, bytes, step, value);
  }
  void read(unsigned warp, LaneMask lanes, uint64_t address, uint32_t bytes = 4,
            uint32_t step = 4) {
    access(AccessEvent::Kind::Read, warp, lanes, address, bytes, step);
  }

  /// All threads meet at barrier 0.
  void barrier() { meet({{0, kAllLanes}, {1, kAllLanes}}); }
  void meet(std::vector<std::pair<unsigned, LaneMask>> warps) {
    std::vector<Event> events;
    for (auto [warp, lanes] : warps) {
      auto event = make<BarrierEvent>(warp, lanes);
      event.threads = 64;
      events.push_back(event);
      block->onBarrierArrive(event);
    }
    auto event = make<BarrierEvent>(warps.back().first, warps.back().second);
    event.threads = 64;
    block->onBarrierComplete(event, events);
  }
  void syncWarp(unsigned warp, LaneMask lanes = kAllLanes) {
    auto event = make<WarpEvent>(warp, lanes);
    event.kind = WarpEvent::Kind::Sync;
    block->onWarp(event);
  }
  void fenceAsync(unsigned warp, LaneMask lanes = kAllLanes) {
    auto event = make<FenceEvent>(warp, lanes);
    event.kind = FenceEvent::Kind::AsyncProxy;
    event.shared = true;
    block->onFence(event);
  }

  void mbarrier(MbarrierEvent::Kind kind, unsigned warp, LaneMask lanes,
                uint32_t count = 0, uint32_t bytes = 0, uint64_t phase = 0) {
    auto event = make<MbarrierEvent>(warp, lanes);
    event.kind = kind;
    event.address = kBarrier;
    event.count = count;
    event.bytes = bytes;
    event.phase = phase;
    block->onMbarrier(event);
  }
  /// Thread 0 sets the mbarrier up, as kernels do.
  void setUp() {
    mbarrier(MbarrierEvent::Kind::Init, 0, 1, 1);
    auto fence = make<FenceEvent>(0, 1);
    fence.kind = FenceEvent::Kind::MbarrierInit;
    block->onFence(fence);
    barrier();
  }
  void expect(uint32_t bytes) {
    mbarrier(MbarrierEvent::Kind::Arrive, 0, 1, 1, bytes);
  }
  void complete(uint64_t phase, uint32_t bytes) {
    mbarrier(MbarrierEvent::Kind::Landed, 0, 1, 0, bytes);
    mbarrier(MbarrierEvent::Kind::Completed, 0, 1, 0, 0, phase);
  }
  void wait(unsigned warp, uint64_t phase, LaneMask lanes = kAllLanes) {
    mbarrier(MbarrierEvent::Kind::Waited, warp, lanes, 0, 0, phase);
  }

  AsyncId issue(AsyncKind kind, unsigned warp, LaneMask lanes,
                std::vector<Span> reads, std::vector<Span> writes) {
    auto event = make<AsyncEvent>(warp, lanes);
    event.id = ++lastId;
    event.kind = kind;
    event.reads = reads;
    event.writes = writes;
    event.barrier = kind == AsyncKind::TensorLoad ? kBarrier : 0;
    block->onAsyncIssue(event);
    return event.id;
  }
  AsyncId load(uint64_t address, uint32_t bytes) {
    return issue(AsyncKind::TensorLoad, 0, 1, {},
                 {{Space::Shared, address, bytes}});
  }
  AsyncId store(uint64_t address, uint32_t bytes) {
    return issue(AsyncKind::TensorStore, 0, 1,
                 {{Space::Shared, address, bytes}},
                 {{Space::Global, 0x10000ull * (lastId + 1), bytes}});
  }
  AsyncId multiply(unsigned warp, uint64_t address, uint32_t bytes) {
    return issue(AsyncKind::Wgmma, warp, kAllLanes,
                 {{Space::Shared, address, bytes}}, {});
  }
  void waitGroups(AsyncKind kind, unsigned warp, LaneMask lanes,
                  std::vector<AsyncId> operations, bool readsOnly = false) {
    auto event = make<GroupEvent>(warp, lanes);
    event.kind = kind;
    event.readsOnly = readsOnly;
    event.operations = operations;
    block->onWaitGroups(event);
  }

  /// What was reported up to now.
  std::vector<Report> take() { return reports.take(); }
  void end() {
    block->onBlockEnd();
    launch->onLaunchEnd();
  }
  void expectNone() {
    for (const Report &report : take())
      ADD_FAILURE() << report.message;
  }
  void expectOne(Report::Kind kind, llvm::StringRef text) {
    std::vector<Report> found = take();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].kind, kind);
    EXPECT_NE(found[0].message.find(text.str()), std::string::npos)
        << found[0].message;
  }

  Reports reports;
  LaunchInfo info;
  Checkers checkers;
  SharedMemory shared;
  std::unique_ptr<LaunchObserver> launch;
  std::unique_ptr<BlockObserver> block;
  uint64_t number = 0;
  InstructionId instruction = 0;
  AsyncId lastId = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Ordinary accesses
//===----------------------------------------------------------------------===//

TEST_F(CheckersTest, ABarrierOrdersWarps) {
  write(0, kAllLanes, kBase);
  barrier();
  read(1, kAllLanes, kBase);
  barrier();
  write(1, kAllLanes, kBase);
  expectNone();
}

TEST_F(CheckersTest, WarpsAreNotOrdered) {
  write(0, kAllLanes, kBase);
  read(1, kAllLanes, kBase);
  std::vector<Report> found = take();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Report::Kind::Race);
  ASSERT_EQ(found[0].sides.size(), 2u);
  EXPECT_EQ(found[0].sides[0].instruction, 2u);
  EXPECT_EQ(found[0].sides[0].text, "reads bytes 0 to 3 of shared memory");
  EXPECT_EQ(found[0].sides[1].instruction, 1u);
  EXPECT_EQ(found[0].sides[1].text, "writes bytes 0 to 3 of shared memory");
}

TEST_F(CheckersTest, AReadIsOrderedBeforeTheNextWrite) {
  write(0, kAllLanes, kBase);
  barrier();
  read(1, kAllLanes, kBase);
  write(0, kAllLanes, kBase);
  expectOne(Report::Kind::Race, "no barrier stands between them");
}

TEST_F(CheckersTest, LanesAreThreads) {
  write(0, kAllLanes, kBase);
  // Each its own.
  read(0, kAllLanes, kBase);
  expectNone();
  // Each that of its neighbour.
  read(0, 0x7fffffff, kBase + 4);
  expectOne(Report::Kind::Race, "lanes of one warp are threads");
}

TEST_F(CheckersTest, LanesMeet) {
  write(0, kAllLanes, kBase);
  syncWarp(0);
  read(0, 0x7fffffff, kBase + 4);
  expectNone();
  // Only some of them.
  write(0, kAllLanes, kBase + 256);
  syncWarp(0, 0xffff);
  read(0, 0xf, kBase + 256 + 16);
  expectNone();
  read(0, 0xf, kBase + 256 + 64);
  expectOne(Report::Kind::Race, "lanes of one warp are threads");
}

TEST_F(CheckersTest, AShuffleOrdersNoMemory) {
  write(0, kAllLanes, kBase);
  auto event = make<WarpEvent>(0);
  event.kind = WarpEvent::Kind::Shuffle;
  block->onWarp(event);
  read(0, 0x7fffffff, kBase + 4);
  expectOne(Report::Kind::Race, "lanes of one warp are threads");
}

TEST_F(CheckersTest, BytesBesideEachOtherAreNoRace) {
  write(0, kAllLanes, kBase, 1, 2);
  write(1, kAllLanes, kBase + 1, 1, 2);
  barrier();
  read(0, 1, kBase, 16);
  expectNone();
  write(1, 1, kBase + 7, 1);
  expectOne(Report::Kind::Race, "no barrier");
}

TEST_F(CheckersTest, TheSameValueMayBeWrittenTwice) {
  write(0, kAllLanes, kBase, 4, 0, 7);
  write(1, kAllLanes, kBase, 4, 0, 7);
  // Who has written it himself reads nothing else.
  read(0, kAllLanes, kBase, 4, 0);
  expectNone();
  write(1, kAllLanes, kBase, 4, 0, 8);
  EXPECT_FALSE(take().empty());
}

TEST_F(CheckersTest, WhoReadsHoldsNoCopy) {
  write(0, 1, kBase, 4, 0, 7);
  barrier();
  read(1, 1, kBase);
  // It is not the value but the order that the reader relies on.
  write(0, 1, kBase, 4, 0, 7);
  expectOne(Report::Kind::Race, "no barrier stands between them");
}

TEST_F(CheckersTest, ACopyIsReadBeforeTheNextOneIsWritten) {
  write(0, 1, kBase, 4, 0, 7);
  read(0, 1, kBase);
  write(1, 1, kBase, 4, 0, 7);
  expectNone();
}

TEST_F(CheckersTest, AReadComesBehindAllAtomicOperations) {
  write(0, 1, kBase);
  barrier();
  access(AccessEvent::Kind::Atomic, 0, 1, kBase, 4, 0);
  access(AccessEvent::Kind::Atomic, 1, 1, kBase, 4, 0);
  // It knows of its own, and not of the other one.
  read(1, 1, kBase);
  expectOne(Report::Kind::Race, "no barrier stands between them");
  barrier();
  read(1, 1, kBase);
  expectNone();
}

TEST_F(CheckersTest, WordsOfTwoWidthsAreNotAtomicToEachOther) {
  write(0, 1, kBase, 8);
  barrier();
  access(AccessEvent::Kind::Atomic, 0, 1, kBase, 8, 0);
  access(AccessEvent::Kind::Atomic, 1, 1, kBase + 4, 4, 0);
  expectOne(Report::Kind::Race, "words of different widths");
}

TEST_F(CheckersTest, AtomicOperationsDoNotRaceWithEachOther) {
  write(0, 1, kBase);
  barrier();
  access(AccessEvent::Kind::Atomic, 0, kAllLanes, kBase, 4, 0);
  access(AccessEvent::Kind::Atomic, 1, kAllLanes, kBase, 4, 0);
  expectNone();
  read(1, 1, kBase);
  expectOne(Report::Kind::Race, "");
}

TEST_F(CheckersTest, TheSidesOfARaceAreTwoThreads) {
  write(0, 1, kBase);
  barrier();
  access(AccessEvent::Kind::Read, 0, kAllLanes, kBase, 4, 0);
  write(0, 1, kBase);
  std::vector<Report> found = take();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].sides[0].lane, 0u);
  EXPECT_EQ(found[0].sides[1].lane, 1u);
}

/// Each of these looks like an access by a thread, or a warp, that knows of the
/// one before.
TEST_F(CheckersTest, LanesAreToldByWhatTheyDidThemselves) {
  write(0, kAllLanes, kBase);
  syncWarp(0);
  read(0, 0xffff, kBase, 4, 0);
  InstructionId ofOthers = instruction;
  // Lane 16 by another instruction, and it may write what it has read.
  read(0, 1 << 16, kBase, 4, 0);
  write(0, 1 << 16, kBase, 4, 0);
  std::vector<Report> found = take();
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].sides.size(), 2u);
  EXPECT_EQ(found[0].sides[1].instruction, ofOthers);
  EXPECT_EQ(found[0].sides[1].lane, 0u);
}

TEST_F(CheckersTest, ReadsOfManyInstructionsHideNoOther) {
  write(0, kAllLanes, kBase);
  barrier();
  read(1, 3, kBase, 4, 0);
  read(0, 1, kBase, 4, 0);
  // Pairs of lanes, none of which follows from another.
  for (unsigned one = 0; one < 8; ++one)
    for (unsigned other = one + 1; other < kLanes; ++other)
      read(1, LaneMask(1) << one | LaneMask(1) << other, kBase, 4, 0);
  write(1, 1, kBase, 4, 0);
  EXPECT_TRUE(llvm::any_of(take(), [](const Report &report) {
    return report.sides[1].warp.warp == 0;
  }));
}

TEST_F(CheckersTest, AThreadKnowsOfItselfAlone) {
  write(0, 8, kBase, 4, 0, 1);
  syncWarp(0);
  read(0, kAllLanes, kBase, 4, 0);
  expectNone();
  write(0, 1, kBase, 4, 0, 2);
  expectOne(Report::Kind::Race, "lanes of one warp are threads");
}

TEST_F(CheckersTest, LanesThatDoSomethingTogetherAreNotOneThread) {
  write(0, 1, kBase, 16);
  syncWarp(0);
  read(0, kAllLanes, kBase, 16, 0);
  issue(AsyncKind::CopyAsync, 0, kAllLanes, {{Space::Global, 0, 16}},
        {{Space::Shared, kBase, 16}});
  expectOne(Report::Kind::Race, "lanes of one warp are threads");
}

TEST_F(CheckersTest, ALaneThatWaitedAloneKnowsMoreThanItsWarp) {
  setUp();
  write(0, 1, kBase);
  mbarrier(MbarrierEvent::Kind::Arrive, 0, 1, 1);
  complete(0, 0);
  wait(1, 0, 1);
  read(1, 1, kBase);
  expectNone();
  read(1, 3, kBase, 4, 0);
  expectOne(Report::Kind::Race, "no barrier stands between them");
}

TEST_F(CheckersTest, AThreadDoesNotKnowItsOwnCopiesComplete) {
  issue(AsyncKind::CopyAsync, 0, 1, {{Space::Global, 0, 4}},
        {{Space::Shared, kBase, 4}});
  read(0, 1, kBase);
  expectOne(Report::Kind::Race, "nothing waits until the `cp.async`");
}

TEST_F(CheckersTest, AThreadsOwnWriteIsNotThereForItsBulkStore) {
  write(0, 1, kBase);
  store(kBase, 4);
  expectOne(Report::Kind::MissingFence, "the async proxy need not see");
}

TEST_F(CheckersTest, WhatNothingHasWritten) {
  write(0, 0xffff, kBase);
  barrier();
  read(0, 0xffff, kBase);
  expectNone();
  read(0, kAllLanes, kBase);
  std::vector<Report> found = take();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Report::Kind::Uninitialized);
  EXPECT_EQ(found[0].sides[0].text, "reads bytes 64 to 67 of shared memory");
}

TEST_F(CheckersTest, AnAtomicOperationOnWhatNothingHasWritten) {
  access(AccessEvent::Kind::Atomic, 0, kAllLanes, kBase, 4, 0);
  expectOne(Report::Kind::Uninitialized, "nothing has written these bytes");
  // An exchange whose result nobody needs is a store.
  auto event = make<AccessEvent>(0, 1);
  event.kind = AccessEvent::Kind::Atomic;
  event.space = Space::Shared;
  event.bytes = 4;
  event.usesOld = false;
  std::array<uint64_t, kLanes> addresses;
  addresses.fill(kBase + 64);
  event.addresses = addresses;
  block->onAccess(event);
  barrier();
  access(AccessEvent::Kind::Atomic, 1, 1, kBase + 64, 4, 0);
  read(1, 1, kBase + 64);
  expectNone();
}

TEST_F(CheckersTest, AMistakeIsReportedOnce) {
  for (int i = 0; i < 3; ++i) {
    instruction = 0;
    write(0, kAllLanes, kBase);
    read(1, kAllLanes, kBase);
  }
  EXPECT_EQ(take().size(), 2u); // The read races with the next write, too.
}

//===----------------------------------------------------------------------===//
// Copies by threads
//===----------------------------------------------------------------------===//

TEST_F(CheckersTest, CopyAsyncIsSeenByTheThreadThatWaited) {
  std::vector<Span> spans;
  for (unsigned i = 0; i < kLanes; ++i)
    spans.push_back({Space::Shared, kBase + 16 * i, 16});
  AsyncId id = issue(AsyncKind::CopyAsync, 0, kAllLanes, {}, spans);
  waitGroups(AsyncKind::CopyAsync, 0, kAllLanes, {id});
  read(0, kAllLanes, kBase, 16, 16);
  expectNone();
  // Not by its neighbours.
  read(0, 0x7fffffff, kBase + 16, 16, 16);
  expectOne(Report::Kind::Race, "has not met this one since");
  barrier();
  read(1, kAllLanes, kBase, 16, 16);
  expectNone();
}

TEST_F(CheckersTest, ABarrierDoesNotCompleteCopyAsync) {
  AsyncId id =
      issue(AsyncKind::CopyAsync, 0, 1, {}, {{Space::Shared, kBase, 16}});
  barrier();
  read(1, 1, kBase);
  expectOne(Report::Kind::Race, "`cp.async.wait_group` would order them");
  // Waiting behind the barrier is too late for others.
  waitGroups(AsyncKind::CopyAsync, 0, 1, {id});
  read(1, 2, kBase, 4, 0);
  expectOne(Report::Kind::Race, "has not met this one since");
}

//===----------------------------------------------------------------------===//
// mbarriers and bulk copies
//===----------------------------------------------------------------------===//

TEST_F(CheckersTest, ABulkLoadIsSeenByWhoWaitsForItsPhase) {
  setUp();
  expect(256);
  load(kBase, 256);
  complete(0, 256);
  wait(0, 0);
  wait(1, 0);
  read(0, kAllLanes, kBase);
  read(1, kAllLanes, kBase);
  multiply(0, kBase, 256);
  expectNone();
}

TEST_F(CheckersTest, NobodyWaitsForABulkLoad) {
  setUp();
  expect(256);
  load(kBase, 256);
  read(1, kAllLanes, kBase);
  expectOne(Report::Kind::Race, "nothing waits until the bulk load is");
  // It has landed, but the warp has not seen it.
  complete(0, 256);
  wait(0, 0);
  read(1, kAllLanes, kBase);
  expectOne(Report::Kind::Race, "does not know that the bulk load");
}

TEST_F(CheckersTest, ASlotIsRefilledWhileItIsRead) {
  setUp();
  expect(256);
  load(kBase, 256);
  complete(0, 256);
  wait(0, 0);
  wait(1, 0);
  read(1, kAllLanes, kBase);
  expect(256);
  load(kBase, 256);
  expectOne(Report::Kind::Race, "no barrier stands between them");
}

TEST_F(CheckersTest, AnArrivalGivesASlotBack) {
  setUp();
  write(0, kAllLanes, kBase);
  mbarrier(MbarrierEvent::Kind::Arrive, 0, kAllLanes, 1);
  mbarrier(MbarrierEvent::Kind::Completed, 0, 1, 0, 0, 0);
  // What comes behind the arrival is not part of it.
  write(0, kAllLanes, kBase + 256);
  wait(1, 0, 1);
  read(1, 1, kBase);
  expectNone();
  read(1, 2, kBase, 4, 0);
  EXPECT_EQ(take().size(), 1u);
  read(1, 1, kBase + 256);
  EXPECT_EQ(take().size(), 1u);
}

TEST_F(CheckersTest, TheAsyncProxySeesWritesBehindAFence) {
  write(0, kAllLanes, kBase, 16, 16);
  write(1, kAllLanes, kBase + 512, 16, 16);
  fenceAsync(0);
  barrier();
  store(kBase, 512);
  expectNone();
  // Warp 1 has not executed it.
  AsyncId id = store(kBase, 1024);
  expectOne(Report::Kind::MissingFence, "`fence.proxy.async` by the thread");
  waitGroups(AsyncKind::TensorStore, 0, 1, {id});
}

TEST_F(CheckersTest, AFenceBehindTheBarrierIsTooLate) {
  write(1, kAllLanes, kBase, 16, 16);
  barrier();
  fenceAsync(0);
  fenceAsync(1);
  store(kBase, 512);
  expectOne(Report::Kind::MissingFence, "async proxy");
}

TEST_F(CheckersTest, AStoreReadsUntilItsGroupIsWaitedFor) {
  write(0, 1, kBase, 16);
  fenceAsync(0, 1);
  AsyncId id = store(kBase, 16);
  write(0, 1, kBase, 16);
  expectOne(Report::Kind::Race, "`cp.async.bulk.wait_group.read` would");
  write(0, 1, kBase + 16, 16);
  fenceAsync(0, 1);
  id = store(kBase + 16, 16);
  waitGroups(AsyncKind::TensorStore, 0, 1, {id}, /*readsOnly=*/true);
  write(0, 1, kBase + 16, 16);
  expectNone();
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

TEST_F(CheckersTest, AGemmReadsUntilItIsWaitedFor) {
  write(0, kAllLanes, kBase, 16, 16);
  fenceAsync(0);
  barrier();
  AsyncId first = multiply(0, kBase, 256);
  AsyncId second = multiply(1, kBase, 256);
  waitGroups(AsyncKind::Wgmma, 0, kAllLanes, {first});
  // Warp 1 may still read.
  write(0, 1, kBase);
  expectOne(Report::Kind::Race, "`wgmma.wait_group` would order them");
  waitGroups(AsyncKind::Wgmma, 1, kAllLanes, {second});
  barrier();
  write(0, 1, kBase);
  expectNone();
}

TEST_F(CheckersTest, SomethingIsUnderWayAtTheEnd) {
  write(0, kAllLanes, kBase, 16, 16);
  fenceAsync(0);
  barrier();
  multiply(0, kBase, 256);
  end();
  expectOne(Report::Kind::Race, "when the block ends");
}

//===----------------------------------------------------------------------===//
// Misuse of mbarriers
//===----------------------------------------------------------------------===//

TEST_F(CheckersTest, AnMbarrierIsUsedBeforeItIsKnownToBeSetUp) {
  mbarrier(MbarrierEvent::Kind::Init, 0, 1, 1);
  mbarrier(MbarrierEvent::Kind::Arrive, 1, 1, 1);
  expectOne(Report::Kind::Race, "behind its initialisation");
}

TEST_F(CheckersTest, TheAsyncProxySeesAnMbarrierBehindAFence) {
  mbarrier(MbarrierEvent::Kind::Init, 0, 1, 1);
  barrier();
  expect(256);
  load(kBase, 256);
  expectOne(Report::Kind::MissingFence, "`fence.mbarrier_init`");
}

TEST_F(CheckersTest, BytesDoNotAddUp) {
  setUp();
  expect(128);
  load(kBase, 256);
  complete(0, 128);
  expectOne(Report::Kind::Barrier, "128 bytes expected and copies of 256");
}

TEST_F(CheckersTest, APhaseIsMissed) {
  setUp();
  for (uint64_t phase = 0; phase < 3; ++phase) {
    mbarrier(MbarrierEvent::Kind::Arrive, 0, 1, 1);
    mbarrier(MbarrierEvent::Kind::Completed, 0, 1, 0, 0, phase);
  }
  wait(1, 2);
  expectOne(Report::Kind::Barrier, "phase 1, which has the other parity");
}

TEST_F(CheckersTest, AnMbarrierIsNoData) {
  setUp();
  write(0, 1, kBarrier + 4);
  expectOne(Report::Kind::Barrier, "only be used by the instructions for");
}

TEST_F(CheckersTest, AnMbarrierIsSetUpTwice) {
  setUp();
  mbarrier(MbarrierEvent::Kind::Init, 0, 1, 1);
  expectOne(Report::Kind::Barrier, "set up while it is in use");
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

TEST_F(CheckersTest, BlocksTouchOneElement) {
  std::vector<uint8_t> memory(256);
  uint64_t address = reinterpret_cast<uint64_t>(memory.data());
  begin(64, {2, 1, 1});
  auto use = [&](AccessEvent::Kind kind, uint64_t at) {
    access(kind, 0, 1, at, 4, 4, std::nullopt, Space::Global);
  };
  use(AccessEvent::Kind::Read, address);
  use(AccessEvent::Kind::Write, address + 16);
  use(AccessEvent::Kind::Atomic, address + 32);
  block->onBlockEnd();
  number = 1;
  block = launch->beginBlock(1, shared);
  use(AccessEvent::Kind::Read, address);
  use(AccessEvent::Kind::Write, address + 20);
  use(AccessEvent::Kind::Atomic, address + 32);
  use(AccessEvent::Kind::Read, address + 16);
  end();
  std::vector<Report> found = take();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].sides[0].warp.block, 1u);
  EXPECT_EQ(found[0].sides[1].warp.block, 0u);
}

/// What two blocks do one after the other to one element each.
class BlocksTest : public CheckersTest {
protected:
  using Kind = AccessEvent::Kind;
  struct Use {
    Kind kind;
    Scope scope = Scope::Device;
  };

  std::vector<Report> run(const std::vector<Use> &first,
                          const std::vector<Use> &second) {
    std::vector<uint8_t> memory(4);
    begin(64, {2, 1, 1});
    auto useAll = [&](const std::vector<Use> &uses) {
      for (const Use &use : uses)
        access(use.kind, 0, 1, reinterpret_cast<uint64_t>(memory.data()), 4, 4,
               std::nullopt, Space::Global, use.scope);
    };
    useAll(first);
    block->onBlockEnd();
    number = 1;
    block = launch->beginBlock(1, shared);
    useAll(second);
    end();
    number = 0;
    return take();
  }
};

TEST_F(BlocksTest, AtomicLoadsReadOnly) {
  EXPECT_TRUE(run({{Kind::AtomicRead}}, {{Kind::Read}}).empty());
  EXPECT_TRUE(run({{Kind::Read}}, {{Kind::AtomicRead}}).empty());
  EXPECT_TRUE(run({{Kind::AtomicRead}}, {{Kind::Atomic}}).empty());
  EXPECT_EQ(run({{Kind::AtomicRead}}, {{Kind::Write}}).size(), 1u);
  EXPECT_EQ(run({{Kind::Write}}, {{Kind::AtomicRead}}).size(), 1u);
  // One that is plain is not forgotten for one that is not.
  EXPECT_EQ(run({{Kind::Read}, {Kind::AtomicRead}}, {{Kind::Atomic}}).size(),
            1u);
  EXPECT_EQ(run({{Kind::AtomicRead}, {Kind::Read}}, {{Kind::Atomic}}).size(),
            1u);
}

TEST_F(BlocksTest, WhatIsPlainBesideWhatIsAtomicRacesWithOtherBlocks) {
  const std::vector<Use> atomic = {{Kind::Atomic}};
  EXPECT_TRUE(run(atomic, atomic).empty());
  for (Kind plain : {Kind::Read, Kind::Write})
    for (const std::vector<Use> &uses :
         {std::vector<Use>{{plain}, {Kind::Atomic}},
          std::vector<Use>{{Kind::Atomic}, {plain}},
          std::vector<Use>{{Kind::Atomic}, {plain}, {Kind::Atomic}}}) {
      EXPECT_EQ(run(uses, atomic).size(), 1u);
      EXPECT_EQ(run(atomic, uses).size(), 1u);
    }
}

/// Blocks that atomic operations order: block 0 writes a word and releases, and
/// block 1 acquires and reads it.
class OrderedBlocksTest : public CheckersTest {
protected:
  using Kind = AccessEvent::Kind;

  OrderedBlocksTest() {
    info.ordersBlocks = true;
    begin(64, {3, 1, 1});
  }

  void use(AccessEvent::Kind kind, unsigned warp, LaneMask lanes,
           uint32_t *word, Ordering ordering = Ordering::Relaxed,
           bool usesOld = true) {
    auto event = make<AccessEvent>(warp, lanes);
    event.kind = kind;
    event.usesOld = usesOld;
    event.space = Space::Global;
    event.ordering = ordering;
    event.bytes = 4;
    std::array<uint64_t, kLanes> addresses;
    addresses.fill(reinterpret_cast<uint64_t>(word));
    event.addresses = addresses;
    block->onAccess(event);
  }
  /// An atomic store.
  void store(unsigned warp, LaneMask lanes, uint32_t *word,
             Ordering ordering = Ordering::Relaxed) {
    use(Kind::Atomic, warp, lanes, word, ordering, /*usesOld=*/false);
  }
  void next() {
    block->onBlockEnd();
    block = launch->beginBlock(++number, shared);
  }

  alignas(16) uint32_t data[4] = {}, flag[4] = {};
};

TEST_F(OrderedBlocksTest, AReleaseAndAnAcquireThatFindsItOrderThem) {
  use(Kind::Write, 0, 1, data);
  use(Kind::Atomic, 0, 1, flag, Ordering::Release);
  next();
  use(Kind::Atomic, 0, 1, flag, Ordering::Acquire);
  use(Kind::Read, 0, 1, data);
  expectNone();
  // Another lane has not acquired anything, until there is a barrier.
  use(Kind::Read, 1, 1, data);
  expectOne(Report::Kind::Race, "nothing orders the two blocks");
  barrier();
  use(Kind::Read, 1, 2, data);
  expectNone();
}

TEST_F(OrderedBlocksTest, WhatTheReleasingThreadDoesNotKnowIsNotReleased) {
  use(Kind::Write, 1, 1, data);
  use(Kind::Atomic, 0, 1, flag, Ordering::Release);
  next();
  use(Kind::Atomic, 0, 1, flag, Ordering::Acquire);
  use(Kind::Read, 0, 1, data);
  expectOne(Report::Kind::Race, "nothing orders the two blocks");
}

TEST_F(OrderedBlocksTest, RelaxedOperationsOrderNothing) {
  use(Kind::Write, 0, 1, data);
  use(Kind::Atomic, 0, 1, flag, Ordering::Relaxed);
  next();
  use(Kind::Atomic, 0, 1, flag, Ordering::Acquire);
  use(Kind::Read, 0, 1, data);
  expectOne(Report::Kind::Race, "nothing orders the two blocks");
}

TEST_F(OrderedBlocksTest, AReadComesBehindAllAtomicOperations) {
  use(Kind::Atomic, 0, 1, data);
  next();
  use(Kind::Atomic, 0, 1, data);
  use(Kind::Read, 0, 1, data);
  expectOne(Report::Kind::Race, "nothing orders the two blocks");
}

TEST_F(OrderedBlocksTest, ABulkStoreThatAddsIsNotDoneByTheThreadsNextUpdate) {
  auto add = make<AsyncEvent>(0, 1);
  add.id = ++lastId;
  add.kind = AsyncKind::TensorStore;
  add.accumulates = true;
  Span words = {Space::Global, reinterpret_cast<uint64_t>(data), 4};
  add.writes = words;
  block->onAsyncIssue(add);
  use(Kind::Atomic, 0, 1, data);
  use(Kind::Atomic, 0, 1, flag, Ordering::Release);
  waitGroups(AsyncKind::TensorStore, 0, 1, {add.id});
  next();
  use(Kind::Atomic, 0, 1, flag, Ordering::Acquire);
  use(Kind::Read, 0, 1, data);
  expectOne(Report::Kind::Race, "nothing orders the two blocks");
}

TEST_F(OrderedBlocksTest, AtomicLoadsReadOnly) {
  use(Kind::AtomicRead, 0, 1, data);
  use(Kind::Read, 1, 1, data);
  next();
  use(Kind::AtomicRead, 0, 1, data);
  use(Kind::Read, 0, 2, data);
  expectNone();
  // Of the two in the other block one is no race with it.
  use(Kind::Atomic, 1, 1, data);
  EXPECT_FALSE(take().empty());
}

TEST_F(OrderedBlocksTest, AnUpdateIsNoRaceWithAtomicLoads) {
  use(Kind::AtomicRead, 0, 1, data);
  next();
  use(Kind::Atomic, 0, 1, data);
  next();
  use(Kind::AtomicRead, 0, 1, data);
  expectNone();
  use(Kind::Write, 1, 1, data);
  EXPECT_FALSE(take().empty());
}

TEST_F(OrderedBlocksTest, AnUpdatePassesOnWhatOthersReleased) {
  use(Kind::Write, 0, 1, data);
  store(0, 1, flag, Ordering::Release);
  next();
  use(Kind::Atomic, 0, 1, flag);
  next();
  use(Kind::Atomic, 0, 1, flag, Ordering::Acquire);
  use(Kind::Read, 0, 1, data);
  expectNone();
}

TEST_F(OrderedBlocksTest, AStorePassesOnNothingOfOthers) {
  for (Ordering ordering : {Ordering::Relaxed, Ordering::Release}) {
    use(Kind::Write, 0, 1, data);
    store(0, 1, flag, Ordering::Release);
    next();
    store(0, 1, flag, ordering);
    next();
    use(Kind::Atomic, 0, 1, flag, Ordering::Acquire);
    use(Kind::Read, 0, 1, data);
    expectOne(Report::Kind::Race, "nothing orders the two blocks");
    number = 0;
    begin(64, {3, 1, 1});
  }
}

TEST_F(OrderedBlocksTest, AStorePassesOnNothingOfOtherThreads) {
  use(Kind::Write, 0, 1, data);
  store(0, 1, flag, Ordering::Release);
  store(1, 2, flag);
  use(Kind::Atomic, 1, 1, flag, Ordering::Acquire);
  use(Kind::Read, 1, 1, data);
  expectOne(Report::Kind::Race, "no barrier stands between them");
}

TEST_F(OrderedBlocksTest, AStoreBehindTheThreadsOwnReleasePassesItOn) {
  use(Kind::Write, 0, 1, data);
  store(0, 1, flag, Ordering::Release);
  store(0, 1, flag);
  use(Kind::Atomic, 1, 1, flag, Ordering::Acquire);
  use(Kind::Read, 1, 1, data);
  next();
  use(Kind::Atomic, 0, 1, flag, Ordering::Acquire);
  use(Kind::Read, 0, 1, data);
  expectNone();
}

TEST_F(OrderedBlocksTest, WhatABlockKnowsOfOthersItPassesOn) {
  use(Kind::Write, 0, 1, data);
  use(Kind::Atomic, 0, 1, flag, Ordering::Release);
  next();
  use(Kind::Atomic, 0, 1, flag, Ordering::Acquire);
  use(Kind::Atomic, 0, 1, flag + 1, Ordering::Release);
  next();
  use(Kind::Atomic, 0, 1, flag + 1, Ordering::Acquire);
  use(Kind::Write, 0, 1, data);
  expectNone();
}

TEST_F(OrderedBlocksTest, AWriteComesBehindTheReadsOfOtherBlocks) {
  use(Kind::Read, 0, 1, data);
  use(Kind::Atomic, 0, 1, flag, Ordering::Release);
  use(Kind::Read, 0, 2, data);
  next();
  use(Kind::Atomic, 0, 1, flag, Ordering::Acquire);
  use(Kind::Write, 0, 1, data);
  expectOne(Report::Kind::Race, "nothing orders the two blocks");
}

/// Block 1 of a cluster of two reaches into block 0.
class ClusterTest : public CheckersTest {
protected:
  ClusterTest() {
    info.cluster = {2, 1, 1};
    begin(64, {2, 1, 1});
    other = launch->beginBlock(1, shared);
  }

  void reach() {
    number = 1;
    access(AccessEvent::Kind::Write, 0, 1, kBase, 4, 4);
    number = 0;
  }
  /// Each warp of both blocks arrives, and then waits.
  void meetInCluster() {
    for (auto kind : {ClusterEvent::Kind::Arrive, ClusterEvent::Kind::Complete,
                      ClusterEvent::Kind::Wait})
      for (unsigned i = 0; i < 4; ++i) {
        if (kind == ClusterEvent::Kind::Complete && i)
          continue;
        number = i / 2;
        auto event = make<ClusterEvent>(i % 2);
        event.kind = kind;
        (number ? other : block)->onCluster(event);
      }
    number = 0;
  }

  std::unique_ptr<BlockObserver> other;
};

TEST_F(ClusterTest, ABlockEndsBehindWhatOthersDoInItsMemory) {
  reach();
  meetInCluster();
  block->onBlockEnd();
  expectNone();
}

TEST_F(ClusterTest, ABlockMayEndBeforeOthersAreDoneInItsMemory) {
  meetInCluster();
  reach();
  block->onBlockEnd();
  expectOne(Report::Kind::OutOfBounds, "may have ended");
}

class DependentTest : public CheckersTest {
protected:
  using Kind = AccessEvent::Kind;

  DependentTest() {
    info.isDependent = true;
    begin(64);
  }
  void waitForKernels(unsigned warp, LaneMask lanes) {
    auto event = make<FenceEvent>(warp, lanes);
    event.kind = FenceEvent::Kind::Kernels;
    block->onFence(event);
  }
  void readGlobal(unsigned warp, LaneMask lanes) {
    access(Kind::Read, warp, lanes, reinterpret_cast<uint64_t>(&word), 4, 0,
           std::nullopt, Space::Global);
  }

  uint32_t word = 0;
};

TEST_F(DependentTest, WhatIsBehindTheWaitMayBeTouched) {
  waitForKernels(0, 1);
  readGlobal(0, 1);
  barrier();
  readGlobal(0, kAllLanes);
  readGlobal(1, kAllLanes);
  end();
  expectNone();
}

TEST_F(DependentTest, AWaitIsTheThreadsOwn) {
  waitForKernels(0, 1);
  readGlobal(0, 2);
  expectOne(Report::Kind::Race, "the kernel launched before may still run");
  readGlobal(1, 1);
  expectOne(Report::Kind::Race, "the kernel launched before may still run");
}

TEST_F(DependentTest, SomeThreadOfTheLaunchWaits) {
  end();
  expectOne(Report::Kind::Race, "no thread waits for the kernel");
}

TEST_F(BlocksTest, TheScopeOfABlockIsAtomicForItsThreadsOnly) {
  const std::vector<Use> device = {{Kind::Atomic}};
  const std::vector<Use> narrow = {{Kind::Atomic, Scope::Block}};
  EXPECT_EQ(run(narrow, device).size(), 1u);
  EXPECT_EQ(run(device, narrow).size(), 1u);
  std::vector<Report> found = run(narrow, narrow);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].message.find("the scope of the device"),
            std::string::npos);
}

//===----------------------------------------------------------------------===//
// Iterations of a parallel loop
//===----------------------------------------------------------------------===//

namespace {

/// Each lane of warp 0 does two iterations of a loop of 64: lane l those with
/// numbers 2 l and 2 l + 1, by instructions of their own.
class IterationsTest : public CheckersTest {
protected:
  IterationsTest() {
    program.places.resize(kInstructions);
    for (uint32_t i = 0; i < kInstructions; ++i)
      program.placeOf.push_back(i);
    info.program = &program;
    begin(64);
    beginLoop();
  }

  void beginLoop() {
    auto event = make<IterationsEvent>(0);
    event.extents = extents;
    block->onIterations(event);
    std::array<uint32_t, kLanes> indices;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      indices[lane] = 2 * lane;
    const uint32_t *row = indices.data();
    event = make<IterationsEvent>(0);
    event.indices = row;
    block->onIterations(event);
  }

  /// What lane 0 does in its first iteration or its second one, to one word.
  void touch(AccessEvent::Kind kind, int32_t iteration, uint64_t address,
             std::optional<uint8_t> value = std::nullopt,
             Space space = Space::Shared) {
    program.iterations[instruction + 1] = {0, 1, {iteration}};
    access(kind, 0, 1, address, 4, 4, value, space);
  }
  /// The same, to what some lane has in a register of a fragment.
  void touchFragment(bool isWrite, int32_t iteration, uint32_t position,
                     unsigned lane = 0, uint32_t fragment = 3) {
    program.iterations[instruction + 1] = {0, 1, {iteration}};
    auto event = make<FragmentEvent>(0, LaneMask(1) << lane);
    event.fragment = fragment;
    event.isWrite = isWrite;
    std::array<uint32_t, kLanes> positions;
    positions.fill(position);
    event.registers = positions.data();
    block->onFragment(event);
  }
  void fence() {
    auto event = make<FenceEvent>(0, 1);
    event.kind = FenceEvent::Kind::Memory;
    block->onFence(event);
  }
  void expectMet(llvm::StringRef one, llvm::StringRef other) {
    std::vector<Report> found = take();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].kind, Report::Kind::Race);
    EXPECT_NE(found[0].message.find("two iterations of one `T.Parallel`"),
              std::string::npos);
    ASSERT_EQ(found[0].sides.size(), 2u);
    EXPECT_EQ(found[0].sides[0].text, one);
    EXPECT_EQ(found[0].sides[1].text, other);
  }

  static constexpr auto Read = AccessEvent::Kind::Read;
  static constexpr auto Write = AccessEvent::Kind::Write;
  static constexpr auto Atomic = AccessEvent::Kind::Atomic;
  static constexpr uint32_t kInstructions = 64;

  Program program;
  std::array<uint32_t, 1> extents = {64};
};

} // namespace

TEST_F(IterationsTest, OneReadsWhatTheOtherWrites) {
  touch(Write, 0, kBase, 1);
  touch(Read, 1, kBase);
  expectMet("reads bytes 0 to 3 of shared memory in iteration (1)",
            "writes bytes 0 to 3 of shared memory in iteration (0)");
}

TEST_F(IterationsTest, OneWritesWhatTheOtherHasRead) {
  touch(Write, 0, kBase, 1);
  beginLoop();
  touch(Read, 1, kBase);
  expectNone();
  touch(Write, 0, kBase, 2);
  expectMet("writes bytes 0 to 3 of shared memory in iteration (0)",
            "reads bytes 0 to 3 of shared memory in iteration (1)");
}

TEST_F(IterationsTest, BothWrite) {
  touch(Write, 0, kBase, 1);
  touch(Write, 1, kBase, 1);
  // The same value, which the second one may read back.
  touch(Read, 1, kBase);
  expectNone();
  touch(Write, 1, kBase, 2);
  expectMet("writes bytes 0 to 3 of shared memory in iteration (1)",
            "writes bytes 0 to 3 of shared memory in iteration (0)");
}

TEST_F(IterationsTest, WhoHasNotWrittenItReadsWhatOthersWrote) {
  touch(Write, 0, kBase, 1);
  touch(Write, 1, kBase, 1);
  touch(Read, 2, kBase);
  expectMet("reads bytes 0 to 3 of shared memory in iteration (2)",
            "writes bytes 0 to 3 of shared memory in iteration (0)");
}

TEST_F(IterationsTest, AnIterationSeesWhatItDoes) {
  touch(Write, 0, kBase, 1);
  touch(Read, 0, kBase);
  touch(Write, 0, kBase, 2);
  touch(Write, 1, kBase + 4, 2);
  touch(Read, 1, kBase + 4);
  expectNone();
}

TEST_F(IterationsTest, ExecutionsOfALoopAreOrdered) {
  touch(Write, 0, kBase, 1);
  beginLoop();
  touch(Read, 1, kBase);
  beginLoop();
  touch(Write, 0, kBase, 2);
  expectNone();
}

TEST_F(IterationsTest, WhatBearsNoIterationsIsOfNone) {
  write(0, 1, kBase);
  touch(Read, 1, kBase);
  write(0, 1, kBase);
  expectNone();
}

TEST_F(IterationsTest, AtomicOperationsMeetPlainAccesses) {
  touch(Write, 0, kBase, 1);
  beginLoop();
  touch(Atomic, 0, kBase);
  touch(Atomic, 1, kBase);
  expectNone();
  touch(Read, 1, kBase);
  expectMet("reads bytes 0 to 3 of shared memory in iteration (1)",
            "updates bytes 0 to 3 of shared memory in iteration (0)");
}

TEST_F(IterationsTest, AtomicLoadsMeetPlainWritesAlone) {
  touch(Write, 0, kBase, 1);
  beginLoop();
  touch(AccessEvent::Kind::AtomicRead, 0, kBase);
  touch(Read, 1, kBase);
  expectNone();
  beginLoop();
  touch(AccessEvent::Kind::AtomicRead, 0, kBase);
  touch(Atomic, 1, kBase);
  touch(AccessEvent::Kind::AtomicRead, 0, kBase);
  expectNone();
  beginLoop();
  touch(AccessEvent::Kind::AtomicRead, 0, kBase);
  touch(Write, 1, kBase, 2);
  expectMet("writes bytes 0 to 3 of shared memory in iteration (1)",
            "reads bytes 0 to 3 of shared memory in iteration (0)");
}

TEST_F(IterationsTest, AnAtomicOperationOfOnesOwnHidesNoWrite) {
  touch(Write, 0, kBase, 1);
  touch(Atomic, 0, kBase);
  expectNone();
  touch(Atomic, 1, kBase);
  expectMet("updates bytes 0 to 3 of shared memory in iteration (1)",
            "writes bytes 0 to 3 of shared memory in iteration (0)");
}

TEST_F(IterationsTest, FencesMayOrderIterations) {
  touch(Write, 0, kBase, 1);
  fence();
  touch(Read, 1, kBase);
  expectNone();
  touch(Write, 0, kBase, 2);
  EXPECT_EQ(take().size(), 1u);
}

TEST_F(IterationsTest, DeviceMemory) {
  uint32_t word = 0;
  auto address = reinterpret_cast<uint64_t>(&word);
  touch(Write, 0, address, 1, Space::Global);
  touch(Write, 1, address, 2, Space::Global);
  EXPECT_EQ(take().size(), 1u);
}

TEST_F(IterationsTest, RegistersOfFragments) {
  program.namesOfFragments[3] = "F";
  touchFragment(/*isWrite=*/true, 0, 7);
  touchFragment(/*isWrite=*/false, 0, 7);
  touchFragment(/*isWrite=*/false, 1, 8);
  // Another thread has one of its own, and another fragment.
  touchFragment(/*isWrite=*/false, 1, 7, /*lane=*/1);
  touchFragment(/*isWrite=*/false, 1, 7, /*lane=*/0, /*fragment=*/4);
  touchFragment(/*isWrite=*/false, 1, 7 + 1024);
  expectNone();
  touchFragment(/*isWrite=*/false, 1, 7);
  expectMet("reads an element of `F` in iteration (1)",
            "writes an element of `F` in iteration (0)");
}

TEST_F(IterationsTest, ElementsOfAVector) {
  // Two elements, each of two iterations.
  program.iterations[instruction + 1] = {0, 2, {0, 1, 2, 3}};
  access(Write, 0, 1, kBase, 8, 8, 1);
  touch(Write, 0, kBase, 1);
  take();
  beginLoop();
  program.iterations[instruction + 1] = {0, 2, {0, 1}};
  access(Write, 0, 1, kBase, 8, 8, 2);
  touch(Read, 1, kBase + 4);
  expectNone();
  touch(Read, 0, kBase + 4);
  expectMet("reads bytes 4 to 7 of shared memory in iteration (0)",
            "writes bytes 4 to 7 of shared memory in iteration (1)");
}

TEST_F(IterationsTest, OfOneIterationEachKindIsRemembered) {
  constexpr auto AtomicRead = AccessEvent::Kind::AtomicRead;
  touch(Write, 0, kBase, 1);
  // What the first of some kinds hides, if only that is kept.
  beginLoop();
  touch(AtomicRead, 0, kBase);
  touch(Read, 0, kBase);
  touch(Atomic, 1, kBase);
  expectMet("updates bytes 0 to 3 of shared memory in iteration (1)",
            "reads bytes 0 to 3 of shared memory in iteration (0)");
  beginLoop();
  touch(Read, 0, kBase);
  touch(Atomic, 0, kBase);
  touch(Read, 1, kBase);
  expectMet("reads bytes 0 to 3 of shared memory in iteration (1)",
            "updates bytes 0 to 3 of shared memory in iteration (0)");
  beginLoop();
  touch(Atomic, 0, kBase);
  touch(AtomicRead, 0, kBase);
  touch(Atomic, 1, kBase);
  expectNone();
}

TEST_F(IterationsTest, AWriteTakesThePlaceOfItsIterationsReads) {
  touch(Write, 0, kBase, 1);
  beginLoop();
  touch(Read, 0, kBase);
  touch(Write, 0, kBase, 2);
  touch(Write, 1, kBase, 2);
  expectNone();
}

TEST_F(IterationsTest, WhatSeveralDidIsForgottenByTheNextExecution) {
  touch(Write, 0, kBase + 4, 1);
  beginLoop();
  touch(Write, 0, kBase, 1);
  touch(Write, 1, kBase, 1);
  touch(Atomic, 2, kBase + 4);
  touch(Atomic, 3, kBase + 4);
  beginLoop();
  touch(Write, 2, kBase, 1);
  touch(Read, 4, kBase + 4);
  expectNone();
  touch(Write, 3, kBase, 1);
  touch(Read, 5, kBase + 4);
  expectNone();
  // It wrote the same, but in the execution before.
  touch(Read, 1, kBase);
  expectMet("reads bytes 0 to 3 of shared memory in iteration (1)",
            "writes bytes 0 to 3 of shared memory in iteration (2)");
}

TEST_F(IterationsTest, NarrowAndWideAccesses) {
  program.iterations[instruction + 1] = {0, 4, {0, 1, 2, 3}};
  access(Write, 0, 1, kBase, 4, 4, 1);
  touch(Write, 1, kBase + 4, 1);
  expectNone();
  touch(Read, 0, kBase);
  expectMet("reads byte 1 of shared memory in iteration (0)",
            "writes byte 1 of shared memory in iteration (1)");
  program.iterations[instruction + 1] = {0, 4, {1, 1, 1, 0}};
  access(Read, 0, 1, kBase + 4, 4, 4);
  expectMet("reads byte 7 of shared memory in iteration (0)",
            "writes byte 7 of shared memory in iteration (1)");
}

TEST_F(IterationsTest, IterationsOfSeveralIndices) {
  std::array<uint32_t, 2> two = {4, 8};
  auto begin = make<IterationsEvent>(0);
  begin.extents = two;
  block->onIterations(begin);
  auto goTo = [&](uint32_t i, uint32_t j) {
    std::array<uint32_t, kLanes> rows[] = {{i}, {j}};
    std::array<const uint32_t *, 2> indices = {rows[0].data(), rows[1].data()};
    auto go = make<IterationsEvent>(0);
    go.indices = indices;
    block->onIterations(go);
  };
  goTo(1, 5);
  program.iterations[instruction + 1] = {0, 1, {2, -2}};
  access(Write, 0, 1, kBase, 4, 4, 1);
  goTo(2, 6);
  program.iterations[instruction + 1] = {0, 1, {1, -3}};
  access(Read, 0, 1, kBase, 4, 4);
  expectNone();
  program.iterations[instruction + 1] = {0, 1, {0, -3}};
  access(Read, 0, 1, kBase, 4, 4);
  expectMet("reads bytes 0 to 3 of shared memory in iteration (2, 3)",
            "writes bytes 0 to 3 of shared memory in iteration (3, 3)");
}

TEST_F(IterationsTest, PlacesFarFromEachOtherAreTwo) {
  std::vector<uint32_t> words(1 << 16);
  auto address = reinterpret_cast<uint64_t>(words.data());
  for (uint64_t far = 1 << 10; far < 1 << 18; far *= 2) {
    beginLoop();
    touch(Write, 0, address, 1, Space::Global);
    touch(Write, 1, address + far, 2, Space::Global);
    touch(Read, 0, address, std::nullopt, Space::Global);
    touch(Read, 1, address + far, std::nullopt, Space::Global);
  }
  expectNone();
  touch(Read, 1, address, std::nullopt, Space::Global);
  EXPECT_EQ(take().size(), 1u);
}

TEST_F(IterationsTest, OneMistakeIsReportedOnce) {
  program.placeOf.assign(kInstructions, 0);
  touch(Write, 0, kBase, 1);
  touch(Write, 1, kBase, 2);
  touch(Read, 0, kBase);
  touch(Write, 2, kBase, 3);
  EXPECT_EQ(take().size(), 1u);
}
