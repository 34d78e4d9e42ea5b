"""The use cases. They decide with the domain, write through ports, and know no face."""
