//===- Frame.h - The values of one call -------------------------*- C++ -*-===//
//
// Memory of a call: slots, grids, and kernel parameters of all launches. Lives
// on the caller's stack and leaves it only for unusually large plans.
//
//===----------------------------------------------------------------------===//

#ifndef TL_RUNTIME_FRAME_H
#define TL_RUNTIME_FRAME_H

#include "tl/Runtime/Executable.h"
#include "llvm/ADT/SmallVector.h"

namespace tl::runtime {

class Frame {
public:
  /// What was computed for one launch.
  struct Values {
    int64_t grid[3];
    int64_t shared;
    /// Pointers to the values of the kernel's parameters.
    void **params;

    bool isEmpty() const { return !grid[0] || !grid[1] || !grid[2]; }
  };

  explicit Frame(const LaunchPlan &plan);

  llvm::MutableArrayRef<int64_t> getSlots() { return slots; }
  llvm::ArrayRef<Values> getLaunches() const { return launches; }

  /// Once the slots are filled: computes everything about every launch, except
  /// for the contents of tensor maps. Launches with an empty grid get no
  /// parameters.
  llvm::Error evaluate(llvm::ArrayRef<Argument> arguments);

  /// Returns the memory of a parameter's value; a tensor map's is aligned to
  /// 128 bytes.
  uint64_t *getValue(const Parameter &parameter) {
    return words + parameter.firstWord;
  }

  /// Returns the address of the first element of tensor `position`.
  static void *getBase(const Argument &argument) {
    const DLTensor &tensor = *argument.value.tensor;
    return static_cast<char *>(tensor.data) + tensor.byteOffset;
  }

private:
  llvm::Error evaluateGrid(const Launch &launch, Values &values);
  llvm::Error evaluateParameter(const Parameter &parameter,
                                llvm::ArrayRef<Argument> arguments,
                                uint64_t *word);
  llvm::Error evaluateStruct(const Parameter &parameter,
                             llvm::ArrayRef<Argument> arguments,
                             uint64_t *words);

  const LaunchPlan &plan;
  llvm::SmallVector<int64_t, 64> slots;
  llvm::SmallVector<Values, 4> launches;
  llvm::SmallVector<void *, 32> pointers;
  llvm::SmallVector<uint64_t, 128> storage;
  /// Within `storage`, aligned.
  uint64_t *words;
};

} // namespace tl::runtime

#endif // TL_RUNTIME_FRAME_H
