"""Test kit, shipped for the tests of others; nothing else imports it."""
