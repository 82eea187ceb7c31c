//===- VectorOps.cpp - Vectors in registers -------------------------------===//
//
// A vector of CuTe DSL does not change; what changes one element makes a new
// vector, which costs nothing once it is compiled.
//
//===----------------------------------------------------------------------===//

#include "KernelPrinter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tl::cutedsl;

static int64_t getCount(Value vector) {
  return cast<VectorType>(vector.getType()).getNumElements();
}

static int64_t getNumber(ArrayAttr numbers) {
  return cast<IntegerAttr>(numbers[0]).getInt();
}

/// A tuple of these elements, also of one.
static Expression makeTuple(ArrayRef<Expression> elements) {
  Expression all = call("", elements);
  if (elements.size() == 1)
    all.text.insert(all.text.size() - 1, ",");
  return all;
}

static Expression makeVector(Type type, const Expression &elements) {
  return call("Vector.from_elements", {elements, {getScalarType(type)}});
}

std::optional<Expression> KernelPrinter::printVector(Operation *op) {
  return TypeSwitch<Operation *, std::optional<Expression>>(op)
      .Case([&](vector::BroadcastOp broadcast) {
        Expression x = get(broadcast.getSource());
        if (isa<VectorType>(broadcast.getSourceType()))
          x.text = x.operand() + "[0]";
        Expression elements{"(" + x.text + ",) * " +
                            std::to_string(getCount(broadcast.getResult()))};
        return makeVector(broadcast.getType(), elements);
      })
      .Case([&](vector::FromElementsOp elements) {
        return makeVector(
            elements.getType(),
            makeTuple(llvm::map_to_vector(elements.getElements(),
                                          [&](Value x) { return get(x); })));
      })
      .Case([&](vector::ExtractOp extract) {
        std::string at = "0";
        if (extract.getNumIndices()) {
          OpFoldResult position = extract.getMixedPosition().front();
          if (auto constant = dyn_cast<Attribute>(position))
            at = std::to_string(cast<IntegerAttr>(constant).getInt());
          else
            at = get(cast<Value>(position)).text;
        }
        return Expression{get(extract.getSource()).operand() + "[" + at + "]"};
      })
      .Case([&](vector::ExtractStridedSliceOp slice) {
        int64_t from = getNumber(slice.getOffsets());
        int64_t stride = getNumber(slice.getStrides());
        int64_t to = from + (getCount(slice.getResult()) - 1) * stride + 1;
        std::string range = std::to_string(from) + ":" + std::to_string(to);
        if (stride != 1)
          range += ":" + std::to_string(stride);
        return Expression{get(slice.getSource()).operand() + "[" + range + "]"};
      })
      .Case([&](vector::InsertOp insert) -> std::optional<Expression> {
        int64_t at = 0;
        if (insert.getNumIndices()) {
          auto constant =
              dyn_cast<Attribute>(insert.getMixedPosition().front());
          if (!constant)
            return std::nullopt;
          at = cast<IntegerAttr>(constant).getInt();
        }
        return help("_insert", {get(insert.getDest()),
                                {std::to_string(at)},
                                makeTuple(get(insert.getValueToStore()))});
      })
      .Case([&](vector::InsertStridedSliceOp insert)
                -> std::optional<Expression> {
        if (getNumber(insert.getStrides()) != 1)
          return std::nullopt;
        return help(
            "_insert",
            {get(insert.getDest()),
             {std::to_string(getNumber(insert.getOffsets()))},
             {get(insert.getValueToStore()).operand() + ".to_elements()"}});
      })
      .Case([&](vector::ShuffleOp shuffle) {
        // An element that nobody reads may be any.
        SmallVector<Expression> picks =
            llvm::map_to_vector(shuffle.getMask(), [](int64_t index) {
              return Expression{std::to_string(std::max<int64_t>(index, 0))};
            });
        return help("_shuffle", {get(shuffle.getV1()), get(shuffle.getV2()),
                                 makeTuple(picks)});
      })
      .Case([&](vector::BitCastOp cast) {
        return Expression{get(cast.getSource()).operand() + ".bitcast(" +
                          getScalarType(cast.getType()) + ")"};
      })
      .Default([](Operation *) { return std::nullopt; });
}
