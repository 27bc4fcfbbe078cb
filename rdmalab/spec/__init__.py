"""Rules and tables of the standard and of the emulated devices, as data, each fact once."""
