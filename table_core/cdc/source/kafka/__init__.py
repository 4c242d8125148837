"""Kafka: topics and the schema registry."""
