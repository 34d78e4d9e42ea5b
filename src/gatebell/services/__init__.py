"""The verbs. They decide with the domain, write through the doors, and know no face."""
