"""Arguments of operators, sensors and triggers, checked where they are written."""
