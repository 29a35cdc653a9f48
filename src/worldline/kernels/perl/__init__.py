"""The Perl kernel: one-liners and small scripts of Perl 5.36 on simulated files."""
