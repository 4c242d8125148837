"""Sessions of Spark, their tasks and their failures."""
