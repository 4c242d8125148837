"""Real servers without a container: how each is set up and started on this machine.

Here are commands, settings and addresses.  Who starts them decides what ends them: the demo by
``demo.components``, a test by its own process.
"""
