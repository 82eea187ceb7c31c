#pragma once

namespace math {
template <typename T> __device__ T squared(T value) { return value * value; }
} // namespace math
