"""The protocol of Paimon's REST catalog: resources, documents, refusals and signatures, without a connection."""
