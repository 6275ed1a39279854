"""The operating-system process around a broker: signals, log output, memory, the ready line."""
