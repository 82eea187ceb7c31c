//===- MutationTest.cpp - Other kernels have other keys -------------------===//
//
// Kernels are changed in one thing, or a few, at random. Two of them have the
// same key if and only if they are printed as the same text: text is the other
// canonical form of IR, and knows nothing of fingerprints.
//
// `TL_TEST_MUTATIONS` says how often.
//
//===----------------------------------------------------------------------===//

#include "KernelGenerator.h"
#include "Mutator.h"
#include "TestSupport.h"

#include <cstdlib>

using namespace mlir;
using namespace tl;
using namespace tl::test;

static unsigned getNumMutations() {
  const char *asked = std::getenv("TL_TEST_MUTATIONS");
  return asked ? std::atoi(asked) : 10000;
}

namespace {
/// Texts and keys that belong together.
class Pairs {
public:
  void add(const std::string &text, const std::string &key, StringRef change) {
    auto [knownKey, isNewText] = keys.try_emplace(text, key);
    EXPECT_EQ(knownKey->second, key)
        << "one kernel has two keys; " << change.str() << "\n"
        << text;
    auto [knownText, isNewKey] = texts.try_emplace(key, text);
    EXPECT_EQ(knownText->second, text)
        << "two kernels have one key; " << change.str();
  }

  size_t size() const { return keys.size(); }

private:
  std::map<std::string, std::string> keys, texts;
};
} // namespace

TEST(MutationTest, KeysDifferIfAndOnlyIfKernelsDo) {
  MLIRContext context(getRegistry(), MLIRContext::Threading::DISABLED);
  std::vector<Stage> stages = getPlainStages();
  OwningOpRef<ModuleOp> corpus =
      parseKernels(context, generateKernels(/*seed=*/1, /*count=*/16));
  // Attributes of modules change too: they need values to take.
  OwningOpRef<ModuleOp> others =
      parseKernels(context, generateKernels(/*seed=*/2, /*count=*/16),
                   "chip=sm_80 fast-math");
  for (auto kernel :
       llvm::make_early_inc_range(others->getOps<gpu::GPUModuleOp>()))
    kernel->moveBefore(corpus->getBody(), corpus->getBody()->end());
  SmallVector<gpu::GPUModuleOp> kernels(corpus->getOps<gpu::GPUModuleOp>());
  ASSERT_EQ(kernels.size(), 32u);

  Mutator mutator(*corpus, /*seed=*/3);
  Pairs pairs;
  std::map<std::string, unsigned> numChanges;
  for (gpu::GPUModuleOp kernel : kernels)
    pairs.add(print(kernel), keyOf(kernel, stages).hex(), "nothing");
  for (unsigned done = 0, wanted = getNumMutations(); done < wanted;) {
    gpu::GPUModuleOp kernel = kernels[mutator.draw(kernels.size())];
    OwningOpRef<gpu::GPUModuleOp> mutant = kernel.clone();
    StringRef change = mutator.mutate(*mutant);
    if (change.empty())
      continue;
    if (mutator.draw(4) == 0)
      mutator.mutate(*mutant);
    pairs.add(print(*mutant), keyOf(*mutant, stages).hex(), change);
    ++numChanges[change.str()];
    ++done;
    if (HasFailure())
      return;
  }

  // A generator that draws the same again and again would show nothing.
  EXPECT_GT(pairs.size(), kernels.size() + getNumMutations() / 4);
  EXPECT_EQ(numChanges.size(), 9u) << "every kind of change was drawn";
  for (const auto &[change, number] : numChanges)
    llvm::outs() << number << " × " << change << "\n";
}
