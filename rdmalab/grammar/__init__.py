"""GRAMMAR: line → Invocation, partial parse → what is expected, expressions; knows no command."""
