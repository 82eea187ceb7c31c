"""Packages under whose names programs that were written for other tile compilers run here, unchanged."""
