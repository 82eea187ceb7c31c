//===- TakeTurns.h - Let warp groups start products one after another -----===//

#ifndef TL_DIALECT_TL_TRANSFORMS_TAKETURNS_H
#define TL_DIALECT_TL_TRANSFORMS_TAKETURNS_H

namespace tl {

class RoleOp;

/// Has the warp groups of `role` take turns where that keeps the tensor cores
/// busy. Requires products to be waited for (tl-overlap-gemms).
void takeTurns(RoleOp role);

} // namespace tl

#endif // TL_DIALECT_TL_TRANSFORMS_TAKETURNS_H
