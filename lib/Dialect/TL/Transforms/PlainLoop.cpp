//===- PlainLoop.cpp - A pipelined loop as a plain one --------------------===//

#include "PlainLoop.h"

#include "tl/Dialect/TL/IR/Locations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tl;

void tl::makePlain(PipelinedOp loop) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto plain =
      scf::ForOp::create(builder, loc, loop.getLower(), loop.getUpper(), one);
  Block &body = loop.getBody().front();
  plain.getInductionVar().setLoc(withNameOf(body.getArgument(0).getLoc(), loc));
  body.getArgument(0).replaceAllUsesWith(plain.getInductionVar());
  body.getTerminator()->erase();
  plain.getBody()->getOperations().splice(plain.getBody()->begin(),
                                          body.getOperations());
  loop.erase();
}
