//===- VectorOps.cpp - Vectors as C++ -------------------------------------===//

#include "KernelPrinter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tl;
using namespace tl::cuda;

static int64_t getCount(Value vector) {
  return cast<VectorType>(vector.getType()).getNumElements();
}

/// The one position of an access to a vector of one dimension.
template <typename OpTy>
static std::optional<OpFoldResult> getPosition(OpTy op) {
  SmallVector<OpFoldResult> positions = op.getMixedPosition();
  if (positions.empty())
    return std::nullopt;
  return positions.front();
}

static int64_t getOffset(ArrayAttr offsets) {
  return cast<IntegerAttr>(offsets[0]).getInt();
}

std::optional<Expression>
KernelPrinter::printVector(Operation *op, unsigned result, StringRef element) {
  auto at = [](Expression vector, const Twine &index) {
    vector.text = vector.at(Binding::Primary) + "[" + index.str() + "]";
    vector.binding = Binding::Primary;
    return vector;
  };
  auto list = [](ArrayRef<Expression> elements) {
    Expression all = call("", elements);
    all.text.front() = '{';
    all.text.back() = '}';
    return all;
  };
  return TypeSwitch<Operation *, std::optional<Expression>>(op)
      .Case([&](vector::BroadcastOp broadcast) {
        Expression x = get(broadcast.getSource(), "0");
        if (!element.empty())
          return x;
        return call("tl::splat<" + Twine(getCount(broadcast.getResult())) +
                        ", " + getScalarType(broadcast.getType()) + ">",
                    x);
      })
      .Case([&](vector::ExtractOp extract) {
        Expression source = get(extract.getSource());
        std::optional<OpFoldResult> position = getPosition(extract);
        if (!position)
          return at(source, "0");
        if (auto constant = dyn_cast<Attribute>(*position))
          return at(source, Twine(cast<IntegerAttr>(constant).getInt()));
        return at(source, get(cast<Value>(*position)).text);
      })
      .Case([&](vector::ToElementsOp elements) {
        return at(get(elements.getSource()), Twine(result));
      })
      .Case([&](vector::ExtractStridedSliceOp slice) {
        int64_t offset = getOffset(slice.getOffsets());
        int64_t stride = getOffset(slice.getStrides());
        Expression source = get(slice.getSource());
        if (!element.empty()) {
          std::string scaled =
              stride == 1 ? element.str()
                          : element.str() + " * " + std::to_string(stride);
          return at(source,
                    offset ? scaled + " + " + std::to_string(offset) : scaled);
        }
        return call("tl::slice<" + Twine(getCount(slice.getResult())) + ">",
                    {source, {std::to_string(offset)}});
      })
      .Case([&](vector::FromElementsOp elements) {
        Expression all =
            list(llvm::map_to_vector(elements.getElements(), [&](Value x) {
              // Braces allow no narrowing.
              Expression text = get(x);
              return isa<FloatType>(x.getType()) ? text
                                                 : asSigned(text, x.getType());
            }));
        all.text = getValueType(elements.getType()) + all.text;
        return all;
      })
      .Case([&](vector::ShuffleOp shuffle) {
        Value a = shuffle.getV1(), b = shuffle.getV2();
        SmallVector<Expression> elements;
        for (int64_t index : shuffle.getMask()) {
          // An element that nobody reads may be any.
          int64_t from = std::max<int64_t>(index, 0);
          bool first = from < getCount(a);
          elements.push_back(
              get(first ? a : b,
                  std::to_string(first ? from : from - getCount(a))));
        }
        Expression all = list(elements);
        all.text = getValueType(shuffle.getType()) + all.text;
        return all;
      })
      .Case([&](vector::BitCastOp cast) {
        return call("tl::bit_cast<" + getValueType(cast.getType()) + ">",
                    get(cast.getSource()));
      })
      .Default([](Operation *) { return std::nullopt; });
}

bool KernelPrinter::printVectorStatement(Operation *op) {
  if (auto insert = dyn_cast<vector::InsertOp>(op)) {
    std::string target = takeOver(op, insert.getDest(), insert.getResult());
    std::string index = "0";
    if (std::optional<OpFoldResult> position = getPosition(insert)) {
      if (auto constant = dyn_cast<Attribute>(*position))
        index = std::to_string(cast<IntegerAttr>(constant).getInt());
      else
        index = get(cast<Value>(*position)).text;
    }
    statement(op, target + "[" + index +
                      "] = " + get(insert.getValueToStore(), "0").text);
    return true;
  }
  if (auto insert = dyn_cast<vector::InsertStridedSliceOp>(op)) {
    std::string target = takeOver(op, insert.getDest(), insert.getResult());
    Expression value = get(insert.getValueToStore());
    statement(op, "tl::insert(" + target + ", " +
                      Twine(getOffset(insert.getOffsets())) + ", " +
                      value.text + ")");
    return true;
  }
  return false;
}
