"""Functions as kernels: what turns a decorated Python function into calls of the builder."""
