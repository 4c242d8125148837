"""The same work on Spark: the only importer of pyspark."""
