"""A warehouse as one YAML file: parsed, checked, compared with what there is.

Pure: text and schemas in, a ``Declaration``, faults with their places, and steps out.  Who reads the
file, looks into the warehouse and changes it is elsewhere: ``table-core plan``, ``apply`` and
``validate``, and the provider's ``load_dags``.
"""
